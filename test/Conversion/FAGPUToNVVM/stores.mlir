// RUN: fa-opt %s -fagpu-assign-stages -fagpu-plan-resources -convert-fagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Matrices go from registers to global memory and to channels.

#acc = #fagpu.acc<4>
!wide = tensor<64x32xf32, #acc>
!half = tensor<64x32xbf16, #acc>
!narrow = tensor<64x40xf16, #acc>
!memory = memref<?x?x?x32xbf16, strided<[?, ?, ?, 1], offset: ?>>
!flat = memref<?x32xf32>
!f16s = memref<?x40xf16>
!tile = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!square = tensor<64x64xf32, #acc>
!bulk = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!bulkHalf = tensor<64x64xbf16, #acc>

// Two rows of 32 columns a thread: each quad transposes four words by four
// exchanges, so that a lane holds eight columns; a lane past the rows stores
// nothing.
// CHECK-LABEL: func.func @packed
func.func @packed(%m: !memory, %x: f32, %b: i32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // CHECK: fagpu.role @math
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : !wide
    %h = arith.truncf %s : !wide to !half
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW:.*]], %{{.*}} : i32
    // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2_i32, %{{.*}} : i32 -> i32
    // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32, %{{.*}} : i32 -> i32
    // CHECK: llvm.inline_asm has_side_effects {{.*}}"@$5 st.global.v4.b32 [$0 + 0], {$1, $2, $3, $4};", "l,r,r,r,r,b,~{memory}" %{{.*}}, %[[INSIDE]] :
    // CHECK: %[[BELOW:.*]] = arith.addi %[[ROW]], %c8_i32 : i32
    // CHECK: arith.cmpi slt, %[[BELOW]], %{{.*}} : i32
    // CHECK-COUNT-4: nvvm.shfl.sync
    // CHECK: "@$5 st.global.v4.b32
    // CHECK-NOT: st.global
    // CHECK-NOT: nvvm.shfl.sync
    fagpu.store %h, %m[%b, %c0, %b, %c0] sizes [1, 64, 1, 32] rows(%n) : !half into !memory
  }
  return
}

// Floats of 32 bits are stored as the threads hold them, in pairs.
// CHECK-LABEL: func.func @floats
func.func @floats(%m: !flat, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : !wide
    // CHECK-NOT: nvvm.shfl.sync
    // CHECK-COUNT-8: st.global.v2.b32
    // CHECK-NOT: st.global
    fagpu.store %s, %m[%c0, %c0] rows(%n) : !wide into !flat
  }
  return
}

// Of 40 columns 32 are exchanged; the last 8 are stored in pairs.
// CHECK-LABEL: func.func @rest_of_columns
func.func @rest_of_columns(%m: !f16s, %x: f32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : tensor<64x40xf32, #acc>
    %h = arith.truncf %s : tensor<64x40xf32, #acc> to !narrow
    // CHECK: st.global.v4.b32 [$0 + 0]
    // CHECK: st.global.b32 [$0 + 64]
    // CHECK: st.global.v4.b32 [$0 + 0]
    // CHECK: st.global.b32 [$0 + 64]
    // CHECK-NOT: st.global
    fagpu.store %h, %m[%c0, %c0] : !narrow into !f16s
  }
  return
}

// Every warp stores its rows, tells the asynchronous proxy and arrives: four
// arrivals fill the bank of a group. A load may read what other warps wrote.
// CHECK-LABEL: func.func @write
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
func.func @write(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel threads banks(2) : !tile
  fagpu.role @math(%g) groups(2) {
    %s = tensor.splat %x : tensor<64x128xf32, #acc>
    %h = arith.truncf %s : tensor<64x128xf32, #acc> to tensor<64x128xbf16, #acc>
    // CHECK: mbarrier.try_wait.parity
    // CHECK-COUNT-8: nvvm.stmatrix %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>
    // CHECK-NOT: nvvm.stmatrix
    // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    // CHECK: nvvm.bar.warp.sync
    // CHECK: mbarrier.arrive
    fagpu.write %ch bank(%g), %h : tensor<64x128xbf16, #acc> into !tile
    // CHECK: mbarrier.try_wait.parity
    %v = fagpu.acquire %ch bank(%g) : !tile
    %f = fagpu.mma_async nt %v, %v : !view, !view -> !fagpu.inflight<!square>
    %p = fagpu.wait %f pending(0) : !fagpu.inflight<!square>
    // CHECK: mbarrier.arrive
    fagpu.release %v : !view
  }
  return
}

// Read as a first operand only, each warp reads its own rows: no barrier. The
// second operand's channel has some: full and empty, of two banks.
// CHECK-LABEL: func.func @private
// CHECK-COUNT-4: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.stmatrix
// CHECK: mbarrier.try_wait
// CHECK-NOT: mbarrier
// CHECK: return
func.func @private(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %ch = fagpu.channel threads banks(2) : !tile
  %other = fagpu.channel tma banks(2) : !tile
  fagpu.role @math(%g) groups(2) {
    %s = tensor.splat %x : tensor<64x128xf32, #acc>
    %h = arith.truncf %s : tensor<64x128xf32, #acc> to tensor<64x128xbf16, #acc>
    fagpu.write %ch bank(%g), %h : tensor<64x128xbf16, #acc> into !tile
    %v = fagpu.acquire %ch bank(%g) : !tile
    %b = fagpu.acquire %other bank(%g) : !tile
    %f = fagpu.mma_async nt %v, %b : !view, !view -> !fagpu.inflight<!square>
    %p = fagpu.wait %f pending(0) : !fagpu.inflight<!square>
    fagpu.release %v : !view
  }
  return
}

// Both groups fill one stage with 64 columns of their own, transposed: the
// group's number is the panel, 128 rows of 128 bytes further on.
// CHECK-LABEL: func.func @write_part
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c2_i32
func.func @write_part(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %ch = fagpu.channel threads : !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
  // CHECK: fagpu.role @math(%[[G:[a-z0-9_]+]])
  fagpu.role @math(%g) groups(2) {
    %s = tensor.splat %x : tensor<64x128xf32, #acc>
    %h = arith.truncf %s : tensor<64x128xf32, #acc> to tensor<64x128xbf16, #acc>
    %column = arith.muli %g, %c64 : i32
    // CHECK: %[[COLUMN:.*]] = arith.muli %[[G]], %c64_i32
    // CHECK: %[[PANEL:.*]] = arith.shrui %[[COLUMN]], %c6_i32
    // CHECK: arith.muli %[[PANEL]], %c16384_i32
    // CHECK-COUNT-8: layout = #nvvm.mma_layout<col>
    // CHECK-NOT: nvvm.stmatrix
    fagpu.write %ch part(%c0, %column), %h transposed : tensor<64x128xbf16, #acc>
        into !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
    %v = fagpu.acquire %ch : !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
    fagpu.release %v : !fagpu.view<128x128xbf16, #fagpu.smem<128>>
  }
  return
}

// Two parts of a stage: the first write waits until it is empty, the last one
// fences both and arrives. What is computed behind a schedule barrier is behind
// a branch that nobody takes. Slices share a descriptor: the second one's rows
// are 8192 bytes on.
// CHECK-LABEL: func.func @write_parts
func.func @write_parts(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %ch = fagpu.channel threads : !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
  %other = fagpu.channel threads : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : tensor<64x64xf32, #acc>
    %h = arith.truncf %s : tensor<64x64xf32, #acc> to tensor<64x64xbf16, #acc>
    // CHECK: mbarrier.try_wait.parity
    // CHECK-COUNT-4: nvvm.stmatrix
    // CHECK-NOT: nvvm.fence.proxy
    // CHECK-NOT: mbarrier
    fagpu.write %ch part(%c0, %c0), %h : tensor<64x64xbf16, #acc> into !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
    // CHECK-COUNT-4: nvvm.stmatrix
    // CHECK: nvvm.fence.proxy
    // CHECK: mbarrier.arrive
    fagpu.write %ch part(%c64, %c0), %h : tensor<64x64xbf16, #acc> into !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
    // CHECK: @%empty trap;
    fagpu.schedule_barrier
    %v = fagpu.acquire %ch : !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
    %a = fagpu.slice %v[%c0, %c0] : !fagpu.view<128x64xbf16, #fagpu.smem<128>> to !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    %b = fagpu.slice %v[%c64, %c0] : !fagpu.view<128x64xbf16, #fagpu.smem<128>> to !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    // CHECK: wgmma.fence{{.*}}add.s64 a, ${{[0-9]+}}, 0; add.s64 b, ${{[0-9]+}}, 512;
    %f = fagpu.mma_async nt %a, %b : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x64xf32, #acc>>
    %p = fagpu.wait %f pending(0) : !fagpu.inflight<tensor<64x64xf32, #acc>>
    fagpu.release %v : !fagpu.view<128x64xbf16, #fagpu.smem<128>>
  }
  return
}

// The rows of a matrix lie along the dimension before the last, or dimension 1
// of four; the map covers the whole tile.
// CHECK-LABEL: func.func @bulk_rank_2
// CHECK-SAME: box = [64, 64]
func.func @bulk_rank_2(%m: memref<?x64xbf16>, %x: f32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %o = fagpu.channel tma_store : !bulk
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : !square
    %h = arith.truncf %s : !square to !bulkHalf
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
    fagpu.store %h, %m[%c0, %c0] via(%o : !bulk) : !bulkHalf into memref<?x64xbf16>
  }
  return
}

// CHECK-LABEL: func.func @bulk_rank_3
// CHECK-SAME: bounded = true, box = [1, 64, 64]
// CHECK-SAME: row = 1
func.func @bulk_rank_3(%m: memref<?x?x64xbf16>, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %o = fagpu.channel tma_store : !bulk
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : !square
    %h = arith.truncf %s : !square to !bulkHalf
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
    fagpu.store %h, %m[%c0, %c0, %c0] rows(%n) via(%o : !bulk) : !bulkHalf into memref<?x?x64xbf16>
  }
  return
}

// Where sizes say so, rows are along another dimension, and rows(...) bounds
// that one.
// CHECK-LABEL: func.func @bulk_sizes
// CHECK-SAME: bounded = true, box = [1, 1, 64, 64]
// CHECK-SAME: row = 2
func.func @bulk_sizes(%m: memref<?x?x?x64xbf16>, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %o = fagpu.channel tma_store : !bulk
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : !square
    %h = arith.truncf %s : !square to !bulkHalf
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
    fagpu.store %h, %m[%c0, %c0, %c0, %c0] sizes [1, 1, 64, 64] rows(%n) via(%o : !bulk) : !bulkHalf into memref<?x?x?x64xbf16>
  }
  return
}
