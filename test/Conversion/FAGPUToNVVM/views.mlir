// RUN: fa-opt %s -fagpu-assign-waits -fagpu-assign-stages -fagpu-plan-resources -convert-fagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Slices are addresses; loads bring views into registers.

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!tile = !fagpu.channel<128x128xbf16, #sw, 1>
!whole = !fagpu.view<128x128xbf16, #sw>
!rows = !fagpu.view<64x128xbf16, #sw>
!columns = !fagpu.view<128x64xbf16, #sw>
!half = !fagpu.view<64x64xbf16, #sw>
!h = tensor<64x64xbf16, #acc>
!s = tensor<64x128xf32, #acc>
!memory = memref<?x64xbf16>

// The second panel starts after all 128 rows of the first. Sixteen rows by sixteen
// columns a load; every warp frees the stage, so it takes four arrivals.
// CHECK-LABEL: func.func @load
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
func.func @load(%m: !memory, %row: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %ch = fagpu.channel tma : !tile
  // CHECK: fagpu.role @math
  fagpu.role @math(%g) groups(1) {
    // CHECK: mbarrier.try_wait
    %v = fagpu.acquire %ch : !tile
    // CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %c128_i32
    // CHECK: %[[PART:.*]] = arith.addi %[[ROWS]], %c16384_i32
    // CHECK: arith.addi %{{.*}}, %[[PART]]
    %part = fagpu.slice %v[%row, %c64] : !whole to !half
    // CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
    // CHECK-NOT: nvvm.ldmatrix
    %h = fagpu.load %part : !half -> !h
    // CHECK: nvvm.bar.warp.sync
    // CHECK: mbarrier.arrive
    fagpu.release %v : !whole
    fagpu.store %h, %m[%c0, %c0] : !h into !memory
  }
  return
}

// A slice of rows has the panels of the whole: its next panel is 16384 bytes, 1024
// units of 16 bytes, further on. No warp but the leader's has to free the stage.
// CHECK-LABEL: func.func @product
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
func.func @product(%m: memref<?x128xf32>, %row: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !tile
  fagpu.role @math(%g) groups(1) {
    %v = fagpu.acquire %ch : !tile
    %own = fagpu.slice %v[%row, %c0] : !whole to !rows
    // CHECK: wgmma.fence.sync.aligned; add.s64 a, $64, 0; add.s64 b, $65, 0;
    // CHECK-SAME: add.s64 a, $64, 1024; add.s64 b, $65, 1024;
    %f = fagpu.mma_async nt %own, %v : !rows, !whole -> !fagpu.inflight<!s>
    %s = fagpu.wait %f : !fagpu.inflight<!s>
    // CHECK-NOT: nvvm.bar.warp.sync
    fagpu.release %v : !whole
    fagpu.store %s, %m[%c0, %c0] : !s into memref<?x128xf32>
  }
  return
}

// A thread of the accumulator's layout holds two columns of every eight, which it
// loads at once.
// CHECK-LABEL: func.func @vector
func.func @vector(%m: memref<?x8xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel threads : !fagpu.channel<16xf32, #fagpu.smem<0>, 1>
  fagpu.role @math(%g) groups(1) {
    %v = fagpu.acquire %ch : !fagpu.channel<16xf32, #fagpu.smem<0>, 1>
    // CHECK: llvm.load volatile %[[FIRST:.*]] {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[FIRST]][32]
    // CHECK: llvm.load volatile %[[SECOND]] {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
    // CHECK-NOT: llvm.load
    %x = fagpu.load %v : !fagpu.view<16xf32, #fagpu.smem<0>>
        -> tensor<16xf32, #fagpu.col<4>>
    %y = fagpu.broadcast %x : tensor<16xf32, #fagpu.col<4>>
        -> tensor<64x16xf32, #acc>
    fagpu.release %v : !fagpu.view<16xf32, #fagpu.smem<0>>
  }
  return
}

// Rows of the view become columns: sixteen rows of the value lie along two chunks.
// CHECK-LABEL: func.func @transposed
// CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4
// CHECK-NOT: nvvm.ldmatrix
func.func @transposed(%m: !memory) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @math(%g) groups(1) {
    %v = fagpu.acquire %ch : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
    %h = fagpu.load %v {fagpu.transposed} : !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> tensor<64x64xbf16, #fagpu.acc<4>>
    fagpu.release %v : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    fagpu.store %h, %m[%c0, %c0] : tensor<64x64xbf16, #fagpu.acc<4>> into !memory
  }
  return
}
