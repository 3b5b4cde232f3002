// RUN: fa-opt %s -fa-outline-kernels=chip=sm_90 | FileCheck %s

!mem = memref<?x?xf32>

// CHECK-LABEL: func.func @f_kernel
// CHECK-SAME: (%[[M:.*]]: memref<?x?xf32>, %[[S:.*]]: f32, %[[COUNT:.*]]: i32)
// CHECK-SAME: attributes {fagpu.kernel = "sm_90"}
// CHECK: %[[COUNT_INDEX:.*]] = arith.index_cast %[[COUNT]] : i32 to index
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// The last index is the fastest, and runs from its end.
// CHECK: %[[I:.*]] = arith.divui %[[BLOCK]], %[[COUNT_INDEX]]
// CHECK: %[[WHOLE:.*]] = arith.muli %[[I]], %[[COUNT_INDEX]]
// CHECK: %[[J:.*]] = arith.subi %[[BLOCK]], %[[WHOLE]]
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT_INDEX]], %{{.*}}
// CHECK: %[[BACK:.*]] = arith.subi %[[LAST]], %[[J]]
// CHECK: %[[ROW:.*]] = arith.muli %[[BACK]], %{{.*}}
// CHECK: fagpu.role @compute groups(1) {
// CHECK: memref.store %[[S]], %[[M]][%[[I]], %[[ROW]]]

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[HOST_M:.*]]: memref<?x?xf32>, %[[HOST_S:.*]]: f32
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui
// CHECK: %[[GRID:.*]] = arith.muli %{{.*}}, %[[BLOCKS]]
// CHECK: fagpu.launch @f_kernel grid(%[[GRID]]) (%[[HOST_M]], %[[HOST_S]], %{{.*}}) : memref<?x?xf32>, f32, i32
// CHECK-NOT: scf.forall
func.func @f(%m: !mem, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %m, %c0 : !mem
  %columns = memref.dim %m, %c1 : !mem
  scf.forall (%i, %j) = (0, 0) to (%rows, %columns) step (1, 128) {
    memref.store %s, %m[%i, %j] : !mem
  }
  return
}

// A problem of one tile has no loop.
// CHECK-LABEL: func.func @single_kernel(
// CHECK: fagpu.role @compute groups(1) {
// CHECK: fa.key_ranges
// CHECK-LABEL: func.func @single(
// CHECK: fagpu.launch @single_kernel grid(
// CHECK-NOT: fa.key_ranges
func.func @single(%n: index) {
  %c0 = arith.constant 0 : index
  fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 {
  }
  return
}

// It ends where it writes: the host writes between two, and each computes what
// it needs.
// CHECK-LABEL: func.func @between_kernel(
// CHECK: fa.finalize
// CHECK-NOT: fa.finalize
// CHECK-LABEL: func.func @between_kernel_0(
// CHECK: %[[X:.*]] = memref.load
// CHECK: %[[ROWS:.*]] = tensor.splat %[[X]]
// CHECK: fa.finalize ins(%{{.*}}, %{{.*}}, %[[ROWS]] :
// CHECK-LABEL: func.func @between(
// CHECK: fagpu.launch @between_kernel grid(
// CHECK: memref.copy
// CHECK: fagpu.launch @between_kernel_0 grid(
// CHECK-NOT: fa.finalize
!one = memref<1x4x1x16xf32>
func.func @between(%s: memref<f32>, %o: !one, %p: !one, %acc: tensor<4x16xf32>, %row: tensor<4xf32>) {
  %x = memref.load %s[] : memref<f32>
  %rows = tensor.splat %x : tensor<4xf32>
  fa.finalize ins(%acc, %row, %rows : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : !one)
  memref.copy %o, %p : !one to !one
  fa.finalize ins(%acc, %row, %rows : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : !one)
  return
}

// The configuration of the attention stays with the kernel; its groups share
// the role. Sequences are worked on together as their keys fit a cache, from the
// last tile back, so that the group that holds fewer comes first: a key
// and its value take 256 bytes, 8 MiB hold 32768 of them.
// CHECK-LABEL: func.func @grouped_kernel(
// CHECK-SAME: %{{[^:]*}}: i32, %[[TOGETHER:[^:]*]]: i32) attributes {fa.config = #fa.config<query_block = 128
// CHECK-DAG: %[[T:.*]] = arith.index_cast %[[TOGETHER]] : i32 to index
// CHECK-DAG: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[TILES:.*]] = arith.muli %[[T]], %{{.*}} : index
// CHECK: %[[FROM_END:.*]] = arith.subi %{{.*}}, %[[BLOCK]]
// CHECK: %[[GROUP:.*]] = arith.divui %[[FROM_END]], %[[TILES]]
// CHECK: %[[WHOLE:.*]] = arith.muli %[[GROUP]], %[[TILES]]
// CHECK: %[[IN_GROUP:.*]] = arith.subi %[[FROM_END]], %[[WHOLE]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %[[T]]
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[FIRST]]
// CHECK: %[[HERE:.*]] = arith.minui %[[T]], %[[LEFT]]
// CHECK: %[[ROW:.*]] = arith.divui %[[IN_GROUP]], %[[HERE]]
// CHECK-NOT: arith.remui
// CHECK: arith.muli %[[ROW]], %c128
// CHECK: fagpu.role @math groups(2)
// CHECK-LABEL: func.func @grouped(
// CHECK: %[[FIT:.*]] = arith.divui %c65536
// CHECK: %[[SOME:.*]] = arith.maxui %[[FIT]], %c1
// A group of one or two sequences gets three tiles for each multiprocessor.
// CHECK: %[[PROCESSORS:.*]] = fagpu.multiprocessors
// CHECK: %[[TILES:.*]] = arith.muli %[[PROCESSORS]], %c3
// CHECK: %[[EVEN:.*]] = arith.divui %[[TILES]], %c2
// CHECK: %[[MORE:.*]] = arith.maxui %[[EVEN]], %[[SOME]]
// CHECK: %[[LONG:.*]] = arith.cmpi ule, %[[SOME]], %c2
// CHECK: %[[CHOSEN:.*]] = arith.select %[[LONG]], %[[MORE]], %[[SOME]]
// CHECK: arith.minui %[[CHOSEN]], %c
!q = memref<2x256x4x64xbf16>
!qt = memref<1x128x1x64xbf16, strided<[65536, 256, 64, 1], offset: ?>>
!k = memref<2x?x4x64xbf16>
!kt = memref<1x?x1x64xbf16, strided<[?, 256, 64, 1], offset: ?>>
!state = tensor<128x64xf32>
!row = tensor<128xf32>
func.func @grouped(%q: !q, %k: !k, %a: !state, %r: !row) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %k, %c1 : !k
  scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 4, 256) step (1, 1, 128) {
    %qt = memref.subview %q[%b, %i, %h, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to !qt
    %kt = memref.subview %k[%b, 0, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !k to !kt
    %s:3 = fa.online_attention ins(%qt, %kt, %kt : !qt, !kt, !kt)
        outs(%a, %r, %r : !state, !row, !row)
        {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>>>}
  }
  return
}

// A number that the host is given may be any, a size is not.
// CHECK-LABEL: func.func @given_kernel
// CHECK-SAME: (%{{.*}}: memref<?xindex>, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i32
// CHECK-LABEL: func.func @given(
// CHECK-SAME: %{{.*}}: memref<?xindex>, %[[LEFT:.*]]: index)
// CHECK: arith.index_cast %[[LEFT]] : index to i64
func.func @given(%m: memref<?xindex>, %left: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %m, %c0 : memref<?xindex>
  %more = arith.addi %left, %c1 : index
  scf.forall (%i) = (0) to (%rows) step (128) {
    %x = arith.addi %left, %more : index
    %y = arith.addi %x, %rows : index
    memref.store %y, %m[%i] : memref<?xindex>
  }
  return
}

// A kernel is given views of arguments as they are, and sizes of slices as
// sizes.
// CHECK-LABEL: func.func @views_kernel(
// CHECK-SAME: %{{[^:]*}}: f32, %{{[^:]*}}: i32, %[[PART:[^:]*]]: memref<?x64xf32, strided<[64, 1], offset: ?>>)
// CHECK: memref.store %{{.*}}, %[[PART]][
// CHECK-LABEL: func.func @views(
// CHECK: %[[FLAT:.*]] = memref.collapse_shape
// CHECK: %[[SLICE:.*]] = memref.subview %[[FLAT]]
// CHECK: fagpu.launch @views_kernel grid(%{{.*}}) (%{{.*}}, %{{.*}}, %[[SLICE]]) :
func.func @views(%m: memref<2x?x64xf32>, %s: f32, %first: index, %count: index) {
  %c0 = arith.constant 0 : index
  %flat = memref.collapse_shape %m [[0, 1], [2]] : memref<2x?x64xf32> into memref<?x64xf32>
  %part = memref.subview %flat[%first, 0] [%count, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
  scf.forall (%i) in (%count) {
    %last = arith.subi %count, %i : index
    memref.store %s, %part[%last, %c0] : memref<?x64xf32, strided<[64, 1], offset: ?>>
  }
  return
}

// Of a window, what a query block in the middle sees counts, and what the first
// and the last one see, and not all keys; numbers that are given stay within
// bounds on the way. Where a table lists the blocks, an eighth of the keys counts.
// CHECK-LABEL: func.func @window_kernel(
// CHECK-SAME: %{{[^:]*}}: i64, %{{[^:]*}}: i32, %{{[^:]*}}: i32)
// CHECK-LABEL: func.func @window(
// CHECK-SAME: %[[LEFT:[^:]*]]: index)
// CHECK: %[[NEAR:.*]] = arith.minsi %[[LEFT]], %c1099511627776
// CHECK: %[[BOUND:.*]] = arith.maxsi %[[NEAR]], %c-1099511627776
// CHECK: %[[FIRST:.*]] = arith.subi %c0{{.*}}, %[[BOUND]]
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[FIRST]], %c0
// CHECK: %[[SEEN:.*]] = arith.subi %dim, %[[BEGIN]]
// CHECK: %[[BY_FIRST:.*]] = arith.maxsi %c0{{.*}}, %[[SEEN]]
// CHECK: %[[BY_MIDDLE:.*]] = arith.maxsi %[[BY_FIRST]], %{{.*}}
// CHECK: %[[BY_LAST:.*]] = arith.maxsi %[[BY_MIDDLE]], %{{.*}}
// CHECK: %[[SOME:.*]] = arith.maxui %[[BY_LAST]], %c1
// CHECK: arith.divui %c65536{{.*}}, %[[SOME]]
func.func @window(%q: !q, %k: !k, %a: !state, %r: !row, %left: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %k, %c1 : !k
  scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 4, 256) step (1, 1, 128) {
    %qt = memref.subview %q[%b, %i, %h, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to !qt
    %kt = memref.subview %k[%b, 0, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !k to !kt
    %low = arith.subi %i, %left : index
    %begin = arith.maxsi %low, %c0 : index
    %s:3 = fa.key_ranges (%key, %count) = [partial %begin to %n] step 128 iter_args(%x = %a, %y = %r, %z = %r) -> (!state, !row, !row) {
      %next:3 = fa.online_attention ins(%qt, %kt, %kt : !qt, !kt, !kt)
          outs(%x, %y, %z : !state, !row, !row)
          {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>>>}
      fa.yield %next#0, %next#1, %next#2 : !state, !row, !row
    }
  }
  return
}

// CHECK-LABEL: func.func @listed(
// CHECK: %[[PART:.*]] = arith.ceildivui %dim{{.*}}, %c8
// CHECK: %[[SOME:.*]] = arith.maxui %[[PART]], %c1
// CHECK: arith.divui %c65536{{.*}}, %[[SOME]]
func.func @listed(%q: !q, %k: !k, %a: !state, %r: !row) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %k, %c1 : !k
  %table = fagpu.workspace(%n) : memref<?xi32>
  scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 4, 256) step (1, 1, 128) {
    %qt = memref.subview %q[%b, %i, %h, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to !qt
    %kt = memref.subview %k[%b, 0, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !k to !kt
    %word = memref.load %table[%i] : memref<?xi32>
    %end = arith.index_cast %word : i32 to index
    %s:3 = fa.key_ranges (%key, %count) = [partial %c0 to %end] step 128 iter_args(%x = %a, %y = %r, %z = %r) -> (!state, !row, !row) {
      %next:3 = fa.online_attention ins(%qt, %kt, %kt : !qt, !kt, !kt)
          outs(%x, %y, %z : !state, !row, !row)
          {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>>>}
      fa.yield %next#0, %next#1, %next#2 : !state, !row, !row
    }
  }
  return
}

// A list whose first word bounds the loop is that of the kernel: of shares, where its memory is said to have these.
// CHECK-LABEL: func.func @by_list_kernel(
// CHECK-SAME: memref<?xi32> {fa.tile_list}
// CHECK-LABEL: func.func @by_list_kernel_{{[0-9]+}}(
// CHECK-SAME: memref<?xi32> {fagpu.work_list}
// CHECK-LABEL: func.func @by_list(
func.func @by_list(%q: !q, %k: !k, %a: !state, %r: !row, %most: index, %b: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 512 : index
  %tiles = fagpu.workspace(%most) : memref<?xi32>
  %shares = fagpu.workspace(%most) {fagpu.work_list} : memref<?xi32>
  %word = memref.load %tiles[%c0] : memref<?xi32>
  %listed = arith.index_cast %word : i32 to index
  %count = arith.minsi %listed, %most : index
  scf.forall (%t) in (%count) {
    %first = memref.load %tiles[%t] : memref<?xi32>
    %i = arith.index_cast %first : i32 to index
    %qt = memref.subview %q[0, %i, 0, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to !qt
    %kt = memref.subview %k[%b, 0, %c0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !k to !kt
    %s:3 = fa.key_ranges (%key, %size) = [partial %c0 to %n] step 128 iter_args(%x = %a, %y = %r, %z = %r) -> (!state, !row, !row) {
      %next:3 = fa.online_attention ins(%qt, %kt, %kt : !qt, !kt, !kt) outs(%x, %y, %z : !state, !row, !row)
          {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, tile_order = in_order>>>}
      fa.yield %next#0, %next#1, %next#2 : !state, !row, !row
    }
  }
  %other = memref.load %shares[%c0] : memref<?xi32>
  %also = arith.index_cast %other : i32 to index
  %counted = arith.minsi %also, %most : index
  scf.forall (%t) in (%counted) {
    %first = memref.load %shares[%t] : memref<?xi32>
    %i = arith.index_cast %first : i32 to index
    %qt = memref.subview %q[0, %i, 0, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to !qt
    %kt = memref.subview %k[%b, 0, %c0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !k to !kt
    %s:3 = fa.key_ranges (%key, %size) = [partial %c0 to %n] step 128 iter_args(%x = %a, %y = %r, %z = %r) -> (!state, !row, !row) {
      %next:3 = fa.online_attention ins(%qt, %kt, %kt : !qt, !kt, !kt) outs(%x, %y, %z : !state, !row, !row)
          {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, tile_order = in_order>>>}
      fa.yield %next#0, %next#1, %next#2 : !state, !row, !row
    }
  }
  return
}

// A loop that stores a block as it was read is a copy, and one that computes on
// it is not.
!block = tensor<64x64xf32, #fagpu.acc<4>>
!index = tensor<64x64xi32, #fagpu.acc<4>>
// CHECK-LABEL: func.func @stores_copy(
// CHECK: fagpu.gather
// CHECK: fagpu.store
// CHECK-LABEL: func.func @stores_kernel(
// CHECK: math.absf
// CHECK: fagpu.store
// CHECK-LABEL: func.func @stores(
// CHECK: fagpu.launch @stores_copy
// CHECK: fagpu.launch @stores_kernel
func.func @stores(%from: memref<256x64xf32>, %to: memref<256x64xf32>) {
  scf.forall (%i) = (0) to (256) step (64) {
    %row = fagpu.iota 0 : !index
    %column = fagpu.iota 1 : !index
    %c0 = arith.constant 0 : i32
    %x = fagpu.gather %from[%row, %column] : memref<256x64xf32>[!index, !index] -> !block
    fagpu.store %x, %to[%c0, %c0] : !block into memref<256x64xf32>
  }
  scf.forall (%i) = (0) to (256) step (64) {
    %row = fagpu.iota 0 : !index
    %column = fagpu.iota 1 : !index
    %c0 = arith.constant 0 : i32
    %x = fagpu.gather %from[%row, %column] : memref<256x64xf32>[!index, !index] -> !block
    %y = math.absf %x : !block
    fagpu.store %y, %to[%c0, %c0] : !block into memref<256x64xf32>
  }
  return
}

// A minimum with a constant may be any number too; where the begin of ranges is no
// arithmetic that a launcher does for all numbers, all keys count.
// CHECK-LABEL: func.func @divided_kernel(
// CHECK-SAME: %{{[^:]*}}: i32, %{{[^:]*}}: i64, %{{[^:]*}}: i32) attributes
// CHECK-LABEL: func.func @divided(
// CHECK-NOT: arith.divui %{{.*}}, %c3
// CHECK: %[[SOME:.*]] = arith.maxui %dim{{.*}}, %c1
// CHECK: arith.divui %c65536{{.*}}, %[[SOME]]
func.func @divided(%q: !q, %k: !k, %a: !state, %r: !row, %given: index) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %large = arith.constant 5000000000 : index
  %n = memref.dim %k, %c1 : !k
  %left = arith.minui %given, %large : index
  scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 4, 256) step (1, 1, 128) {
    %qt = memref.subview %q[%b, %i, %h, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to !qt
    %kt = memref.subview %k[%b, 0, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !k to !kt
    %part = arith.divui %left, %c3 : index
    %begin = arith.minsi %part, %n : index
    %s:3 = fa.key_ranges (%key, %count) = [partial %begin to %n] step 128 iter_args(%x = %a, %y = %r, %z = %r) -> (!state, !row, !row) {
      %next:3 = fa.online_attention ins(%qt, %kt, %kt : !qt, !kt, !kt)
          outs(%x, %y, %z : !state, !row, !row)
          {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>>>}
      fa.yield %next#0, %next#1, %next#2 : !state, !row, !row
    }
  }
  return
}

// Functions of real numbers are computed in the kernel, in their order, whichever
// of them the loop reads first.
// CHECK-LABEL: func.func @reals_kernel(
// CHECK-SAME: %[[M:[^:]*]]: memref<?xf32>, %[[X:[^:]*]]: f32)
// CHECK: fagpu.role
// CHECK: %[[A:.*]] = math.exp %[[X]] : f32
// CHECK: %[[B:.*]] = math.tanh %[[A]] : f32
// CHECK: memref.store %[[A]]
// CHECK: memref.store %[[B]]
// CHECK-LABEL: func.func @reals(
// CHECK: fagpu.launch @reals_kernel grid(%{{.*}}) (%arg0, %arg1) : memref<?xf32>, f32
func.func @reals(%m: memref<?xf32>, %x: f32) {
  %a = math.exp %x : f32
  %b = math.tanh %a : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (0) to (1) step (1) {
    memref.store %a, %m[%c0] : memref<?xf32>
    memref.store %b, %m[%c1] : memref<?xf32>
  }
  return
}

// Over no elements there is nothing to do, but to launch.

// CHECK-LABEL: func.func @nothing_kernel()
// CHECK-NEXT: fagpu.role @compute
// CHECK-LABEL: func.func @nothing(
// CHECK: fagpu.launch @nothing_kernel grid(%c0) ()
func.func @nothing(%o: memref<2x0x64xf32>) {
  return
}

// What has elements and no loop gets no kernel.

// CHECK-LABEL: func.func @no_loop(
// CHECK-NOT: fagpu.launch
// CHECK: return
func.func @no_loop(%o: memref<2x1x64xf32>) {
  return
}

// Memory that one kernel writes and another one reads is the device's, as are
// views of it.

// CHECK-LABEL: func.func @shared_memory(
// CHECK-NOT: memref.alloc
// CHECK: %[[M:.*]] = fagpu.workspace(%{{.*}}) : memref<?xf32>
// CHECK: fagpu.launch @shared_memory_kernel grid(%{{.*}}) (%{{.*}}%[[M]]
// CHECK: fagpu.launch @shared_memory_kernel_{{[0-9]+}} grid(%{{.*}}) (%{{.*}}%[[M]]
// CHECK-NOT: memref.dealloc
func.func @shared_memory(%o: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %o, %c0 : memref<?xf32>
  %m = memref.alloc(%n) : memref<?xf32>
  scf.forall (%i) in (%n) {
    memref.store %x, %m[%i] : memref<?xf32>
  }
  scf.forall (%i) in (%n) {
    %y = memref.load %m[%i] : memref<?xf32>
    memref.store %y, %o[%i] : memref<?xf32>
  }
  %view = memref.cast %m : memref<?xf32> to memref<*xf32>
  memref.dealloc %view : memref<*xf32>
  return
}
