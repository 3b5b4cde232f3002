// Few queries on a GPU: one group of warps, and parts of the keys, as many as fill the device.

// RUN: fa-opt %s -fa-select-config=chip=sm_90a | FileCheck %s
// RUN: fa-opt %s -fa-select-config=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-select-config 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: fa-opt %s -fa-select-config=chip=sm_90a -fa-split-keys | FileCheck %s --check-prefix=SPLIT
// Two blocks of the other form share a multiprocessor where shared memory holds both.
// RUN: fa-opt %s -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPS
// RUN: fa-opt %s -fa-select-config=chip=sm_86 | FileCheck %s --check-prefix=ONE
// RUN: fa-opt %s -fa-select-config=chip=sm_80 -fa-split-keys | FileCheck %s --check-prefix=TWICE

!q = memref<?x8x8x128xbf16>
!k = memref<?x?x8x128xbf16>
!few = memref<?x200x8x128xbf16>
!wide = memref<?x8x8x256xbf16>
!wide_k = memref<?x?x8x256xbf16>
!more = memref<?x128x8x128xbf16>
!many = memref<?x129x8x128xbf16>

// CHECK-LABEL: func.func @few(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>
// WARPS-LABEL: func.func @few(
// WARPS: config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warps<blocks_per_sm = 2>>>
// ONE-LABEL: func.func @few(
// ONE: config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warps>>
// REMARK: parts of 256 keys at least, for 8 queries
// No more parts than there are multiprocessors for each (batch, head).
// SPLIT-LABEL: func.func @few(
// SPLIT: %[[PARTS:.*]] = arith.ceildivui
// SPLIT: %[[HEADS:.*]] = arith.muli
// SPLIT: %[[ALL:.*]] = fagpu.multiprocessors
// SPLIT: %[[TILES:.*]] = arith.maxui %[[HEADS]], %c1
// SPLIT: %[[MOST:.*]] = arith.divui %[[ALL]], %[[TILES]]
// SPLIT: %[[FEWER:.*]] = arith.minui %[[PARTS]], %[[MOST]]
// SPLIT: %[[COUNT:.*]] = arith.maxui %[[FEWER]], %c1
// SPLIT: scf.forall {{.*}}%[[COUNT]]
// TWICE-LABEL: func.func @few(
// TWICE: %[[ALL:.*]] = fagpu.multiprocessors
// TWICE: %[[TWICE:.*]] = arith.muli %[[ALL]], %c2
// TWICE: arith.divui %[[TWICE]],
func.func @few(%q: !q, %k: !k, %v: !k, %o: !q) {
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
  return
}

// Parts of one size give a sequence the same bits in any batch.
// CHECK-LABEL: func.func @invariant(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, split_keys = 2048,
// REMARK: parts of 2048 keys, for 8 queries
// WARPS-LABEL: func.func @invariant(
// WARPS: config = #fa.config<query_block = 128, key_block = 64, split_keys = 2048, target = #fa.gpu<warps>>
// SPLIT-LABEL: func.func @invariant(
// SPLIT-NOT: fagpu.multiprocessors
// SPLIT: return
func.func @invariant(%q: !q, %k: !k, %v: !k, %o: !q) {
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q) {batch_invariant}
  return
}

// CHECK-LABEL: func.func @few_keys(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>
func.func @few_keys(%q: !q, %k: !few, %v: !few, %o: !q) {
  fa.attention ins(%q, %k, %v : !q, !few, !few) outs(%o : !q)
  return
}

// CHECK-LABEL: func.func @more_queries(
// CHECK: config = #fa.config<query_block = 128, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>
func.func @more_queries(%q: !more, %k: !k, %v: !k, %o: !more) {
  fa.attention ins(%q, %k, %v : !more, !k, !k) outs(%o : !more)
  return
}

// CHECK-LABEL: func.func @wide(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>
// WARPS-LABEL: func.func @wide(
// WARPS: config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warps>>
func.func @wide(%q: !wide, %k: !wide_k, %v: !wide_k, %o: !wide) {
  fa.attention ins(%q, %k, %v : !wide, !wide_k, !wide_k) outs(%o : !wide)
  return
}

// Also where a block has half of the queries.
// WARPS-LABEL: func.func @more_wide(
// WARPS: config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warps>>
func.func @more_wide(%q: memref<?x128x8x256xbf16>, %k: !wide_k, %v: !wide_k, %o: memref<?x128x8x256xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x128x8x256xbf16>, !wide_k, !wide_k) outs(%o : memref<?x128x8x256xbf16>)
  return
}

// More keys are in flight where rows are short.
// CHECK-LABEL: func.func @narrow(
// CHECK: config = #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 2>>
// WARPS-LABEL: func.func @narrow(
// WARPS: config = #fa.config<query_block = 64, key_block = 256, split_keys = 256, target = #fa.gpu<warps<blocks_per_sm = 2>>>
func.func @narrow(%q: memref<?x8x8x64xbf16>, %k: memref<?x?x8x64xbf16>, %v: memref<?x?x8x64xbf16>, %o: memref<?x8x8x64xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x8x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>) outs(%o : memref<?x8x8x64xbf16>)
  return
}

// The same blocks for any number of keys.
// CHECK-LABEL: func.func @narrow_invariant(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, split_keys = 2048, target = #fa.gpu<warp_groups<overlap = keys>, stages = 3>>
// WARPS-LABEL: func.func @narrow_invariant(
// WARPS: config = #fa.config<query_block = 128, key_block = 128, split_keys = 2048, target = #fa.gpu<warps>>
func.func @narrow_invariant(%q: memref<?x8x8x64xbf16>, %k: memref<?x?x8x64xbf16>, %v: memref<?x?x8x64xbf16>, %o: memref<?x8x8x64xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x8x8x64xbf16>, memref<?x?x8x64xbf16>, memref<?x?x8x64xbf16>) outs(%o : memref<?x8x8x64xbf16>) {batch_invariant}
  return
}

// Few keys have small blocks.
// CHECK-LABEL: func.func @narrow_few_keys(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys>, stages = 3>>
// WARPS-LABEL: func.func @narrow_few_keys(
// WARPS: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>
func.func @narrow_few_keys(%q: memref<?x8x8x64xbf16>, %k: memref<?x200x8x64xbf16>, %v: memref<?x200x8x64xbf16>, %o: memref<?x8x8x64xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x8x8x64xbf16>, memref<?x200x8x64xbf16>, memref<?x200x8x64xbf16>) outs(%o : memref<?x8x8x64xbf16>)
  return
}

// CHECK-LABEL: func.func @head_dim_96(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<overlap = keys>, stages = 3>>
func.func @head_dim_96(%q: memref<?x8x8x96xbf16>, %k: memref<?x?x8x96xbf16>, %v: memref<?x?x8x96xbf16>, %o: memref<?x8x8x96xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x8x8x96xbf16>, memref<?x?x8x96xbf16>, memref<?x?x8x96xbf16>) outs(%o : memref<?x8x8x96xbf16>)
  return
}

// Rows that no block of columns divides are merged whole, if they are short.
// CHECK-LABEL: func.func @head_dim_248(
// CHECK-NOT: split_keys
// CHECK: return
func.func @head_dim_248(%q: memref<?x8x8x248xbf16>, %k: memref<?x?x8x248xbf16>, %v: memref<?x?x8x248xbf16>, %o: memref<?x8x8x248xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x8x8x248xbf16>, memref<?x?x8x248xbf16>, memref<?x?x8x248xbf16>) outs(%o : memref<?x8x8x248xbf16>)
  return
}

// CHECK-LABEL: func.func @floats(
// CHECK: config = #fa.config<query_block = 64, key_block = 64, split_keys = 256, target = #fa.gpu<warps<blocks_per_sm = 2>, terms<common_stages, rolled>>>
func.func @floats(%q: memref<?x8x8x64xf32>, %k: memref<?x?x8x64xf32>, %v: memref<?x?x8x64xf32>, %o: memref<?x8x8x64xf32>) {
  fa.attention ins(%q, %k, %v : memref<?x8x8x64xf32>, memref<?x?x8x64xf32>, memref<?x?x8x64xf32>) outs(%o : memref<?x8x8x64xf32>)
  return
}

// A given configuration without a part of the target: as many blocks as fit where they fill the device, one where parts are counted.
// WARPS-LABEL: func.func @given(
// WARPS: split_keys = 512, target = #fa.gpu<warps<blocks_per_sm = 2>>>
// WARPS: key_splits = 4, target = #fa.gpu<warps>>
func.func @given(%q: !q, %k: !k, %v: !k, %o: !q) {
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q) {config = #fa.config<query_block = 64, key_block = 128, split_keys = 512>}
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q) {config = #fa.config<query_block = 64, key_block = 128, key_splits = 4>}
  return
}

// CHECK-LABEL: func.func @more_wide_queries(
// CHECK: config = #fa.config<query_block = 128, key_block = 64, split_keys = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>
func.func @more_wide_queries(%q: memref<?x128x8x256xbf16>, %k: !wide_k, %v: !wide_k, %o: memref<?x128x8x256xbf16>) {
  fa.attention ins(%q, %k, %v : memref<?x128x8x256xbf16>, !wide_k, !wide_k) outs(%o : memref<?x128x8x256xbf16>)
  return
}

// CHECK-LABEL: func.func @many_queries(
// CHECK: config = #fa.config<query_block = 128, key_block = 128,
// CHECK-NOT: split_keys
func.func @many_queries(%q: !many, %k: !k, %v: !k, %o: !many) {
  fa.attention ins(%q, %k, %v : !many, !k, !k) outs(%o : !many)
  return
}
