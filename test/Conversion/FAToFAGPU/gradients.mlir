// Steps of gradients become operations on block values: rows are queries, or keys with lse and delta as vectors of columns.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-to-level2{chip=sm_90a},lower-affine,canonicalize,cse,fa-outline-kernels{chip=sm_90a},canonicalize,cse,func.func(fa-decompose-to-blocks,canonicalize,cse))' -o %t.blocks
// RUN: FileCheck %s --input-file=%t.blocks
// RUN: fa-opt %t.blocks --pass-pipeline='builtin.module(func.func(fa-form-segments,canonicalize,cse))' | FileCheck %s --check-prefix=LOOPS
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=SLOTS

!q = memref<2x?x8x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<2x?x2x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x8x?xf32>

// CHECK-LABEL: func.func @gradients_rows
// CHECK-DAG: %[[INFINITE:.*]] = arith.constant dense<0x7F800000> : tensor<64xf32, #fagpu.row<4>>
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<64xf32, #fagpu.row<4>>
// CHECK: fagpu.role @compute groups(1) {
// CHECK: %[[LSE:.*]] = fagpu.gather %{{.*}} mask(%[[IS_ROW:.*]] : tensor<64xi1, #fagpu.row<4>>)
// Half of the columns of output and gradient, and the other half: all copies come first.
// CHECK-COUNT-4: fagpu.fetch %{{.*}} [1, 64, 1, 64]
// CHECK: %[[LOW:.*]] = fagpu.reduce add
// CHECK: %[[HIGH:.*]] = fagpu.reduce add
// CHECK: %[[SUM:.*]] = arith.addf %[[LOW]], %[[HIGH]]
// CHECK: %[[SEEN:.*]] = arith.cmpf une, %[[LSE]]
// CHECK: %[[IS_SEEN:.*]] = arith.andi %[[SEEN]], %[[IS_ROW]]
// CHECK: %[[BASE2:.*]] = arith.mulf %[[LSE]], %[[LOG2E]]
// An lse too large for a weight, or -inf, becomes inf; NaN stays.
// CHECK: %[[SIZE:.*]] = math.absf %[[LSE]]
// CHECK: %[[SMALL:.*]] = arith.cmpf ule, %[[SIZE]]
// CHECK: %[[IS_KNOWN:.*]] = arith.andi %[[SMALL]], %[[IS_ROW]]
// CHECK: %[[REFERENCE:.*]] = arith.select %[[IS_KNOWN]], %[[BASE2]], %[[INFINITE]]
// CHECK: %[[DELTA:.*]] = arith.select %[[IS_SEEN]], %[[SUM]]
// CHECK: fagpu.store %[[DELTA]]
// CHECK: fagpu.store %[[REFERENCE]]

// CHECK-LABEL: func.func @gradients_keys_and_values
// CHECK: %[[K:.*]] = fagpu.fetch %{{.*}} [1, 64, 1, 128]
// CHECK: %[[V:.*]] = fagpu.fetch %{{.*}} [1, 64, 1, 128]
// CHECK: scf.for
// CHECK: fa.query_ranges {{.*}} -> (tensor<64x128xf32>, tensor<64x128xf32>) {
// CHECK: %[[Q:.*]] = fagpu.fetch %{{.*}} [1, 64, 1, 128]
// CHECK: %[[S:.*]] = fagpu.product nt %[[K]], %[[Q]] : {{.*}} -> tensor<64x64xf32>
// CHECK: %[[LSES:.*]] = fagpu.fetch %{{.*}} [1, 1, 64] : memref<2x8x?xf32> -> tensor<64xf32, #fagpu.col<4>>
// CHECK: %[[AT:.*]] = fagpu.broadcast %[[LSES]]
// CHECK: %[[NEGATIVE:.*]] = arith.negf %[[AT]]
// CHECK: %[[X:.*]] = math.fma %[[S]], %{{.*}}, %[[NEGATIVE]]
// CHECK: %[[P:.*]] = math.exp2 %[[X]] fastmath<afn>
// CHECK: %[[DO:.*]] = fagpu.fetch %{{.*}} [1, 64, 1, 128]
// CHECK: %[[DP:.*]] = fagpu.product nt %[[V]], %[[DO]]
// CHECK: %[[DELTAS:.*]] = fagpu.fetch %{{.*}} [1, 1, 64]
// CHECK: %[[SPREAD:.*]] = fagpu.broadcast %[[DELTAS]]
// CHECK: %[[CENTERED:.*]] = arith.subf %[[DP]], %[[SPREAD]]
// CHECK: %[[DS:.*]] = arith.mulf %[[P]], %[[CENTERED]]
// CHECK: %[[PARTIAL:.*]] = fa.is_partial
// CHECK: %[[HIDDEN:.*]]:2 = scf.if %[[PARTIAL]]
// CHECK: scf.yield %[[P]], %[[DS]]
// CHECK: %[[PH:.*]] = arith.truncf %[[HIDDEN]]#0
// CHECK: %[[DV:.*]] = fagpu.product nn %[[PH]], %[[DO]] acc(
// CHECK: %[[DSH:.*]] = arith.truncf %[[HIDDEN]]#1
// CHECK: %[[DK:.*]] = fagpu.product nn %[[DSH]], %[[Q]] acc(
// CHECK: fa.yield %[[DK]], %[[DV]]

// CHECK-LABEL: func.func @gradients_queries
// CHECK: %[[Q:.*]] = fagpu.fetch %{{.*}} [1, 64, 1, 128]
// CHECK: %[[DO:.*]] = fagpu.fetch %{{.*}} [1, 64, 1, 128]
// CHECK: %[[LSES:.*]] = fagpu.gather {{.*}} -> tensor<64xf32, #fagpu.row<4>>
// CHECK: %[[DELTAS:.*]] = fagpu.gather {{.*}} -> tensor<64xf32, #fagpu.row<4>>
// CHECK: fa.key_ranges
// CHECK: %[[K:.*]] = fagpu.fetch %{{.*}} [1, 128, 1, 128]
// CHECK: fagpu.product nt %[[Q]], %[[K]]
// CHECK: fagpu.broadcast %[[LSES]]
// CHECK: %[[V:.*]] = fagpu.fetch %{{.*}} [1, 128, 1, 128]
// CHECK: fagpu.product nt %[[DO]], %[[V]]
// CHECK: fagpu.broadcast %[[DELTAS]]
// CHECK: %[[DQ:.*]] = fagpu.product nn %{{.*}}, %[[K]] acc(
// CHECK: fa.yield %[[DQ]]

// The four query heads of a key head join one loop.
// LOOPS-LABEL: func.func @gradients_keys_and_values
// LOOPS-NOT: scf.for
// LOOPS: fagpu.for %[[NUMBER:.*]] = %{{.*}} step -1 segments(%{{.*}}: once, %{{.*}}: to %{{.*}}) iter(
// LOOPS: %[[PLACE:.*]] = arith.index_cast %[[NUMBER]]
// LOOPS: %[[HEAD:.*]] = arith.divui %[[PLACE]], %[[BLOCKS:.*]] : index
// LOOPS: %[[BEFORE:.*]] = arith.muli %[[HEAD]], %[[BLOCKS]]
// LOOPS: arith.subi %[[PLACE]], %[[BEFORE]]

// Both second products come ahead of the first one; the product of gradients is late.
// SLOTS-LABEL: func.func @gradients_keys_and_values
// SLOTS: fagpu.role @load
// SLOTS: fagpu.role @math
// SLOTS: fagpu.take %{{.*}} {fagpu.at = [1, 1]}
// SLOTS: fagpu.mma_async nt {{.*}}
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [0, 6]}
// SLOTS: fagpu.acquire %{{.*}} {fagpu.at = [0, 5]} : <64x128xbf16
// SLOTS: fagpu.mma_async nt
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [0, 7]}
// SLOTS: fagpu.mma_async nn {{.*}} {fagpu.at = [1, 2]}
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [1, 4]}
// SLOTS: fagpu.mma_async nn {{.*}} {fagpu.at = [1, 2]}
// SLOTS: fagpu.pass
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [1, 4]}
// SLOTS-LABEL: func.func @gradients_queries
// SLOTS: fagpu.mma_async nt {{.*}} {fagpu.at = [0, 3]}
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [0, 6]}
// SLOTS: fagpu.acquire %{{.*}} {fagpu.at = [0, 8]}
// SLOTS: fagpu.mma_async nt
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [0, 9]}
// SLOTS: fagpu.mma_async nn {{.*}} {fagpu.at = [1, 4]}
// SLOTS: fagpu.wait %{{.*}} {fagpu.at = [1, 7]}
func.func @gradients(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q, %dq: !q, %dk: !k, %dv: !k) {
  fa.attention_gradient ins(%q, %k, %v : !q, !k, !k) of(%o, %lse : !q, !lse) gradients(%do : !q)
      outs(query = %dq : !q, key = %dk : !k, value = %dv : !k) mask causal
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, tile_order = longest_first>, stages = 2>, gradient_form = two_pass>}
  return
}
