// RUN: fa-opt %s -fa-specialize-mask -canonicalize -cse | FileCheck %s

!tile = memref<1x64x1x64xf32>
!keys = memref<1x?x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>
#config = #fa.config<query_block = 64, key_block = 128>

// Without a mask whole blocks come first and the ragged tail last; the body
// reads one block of keys and values.

// CHECK-LABEL: func.func @no_mask(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x64x1x64xf32>, %[[K:[a-z0-9]+]]: memref<1x?x1x64xf32>, %[[V:[a-z0-9]+]]: memref<1x?x1x64xf32>, %[[A:[a-z0-9]+]]: tensor<64x64xf32>, %[[M:[a-z0-9]+]]: tensor<64xf32>, %[[S:[a-z0-9]+]]: tensor<64xf32>, %[[I:[a-z0-9]+]]: index
func.func @no_mask(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nk = memref.dim %k, %c1 : !keys
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[C128:.+]] = arith.constant 128 : index
  // CHECK: %[[KEYS:.+]] = memref.dim %[[K]], %[[C1]]
  // CHECK: %[[TAIL:.+]] = arith.remui %[[KEYS]], %[[C128]]
  // CHECK: %[[WHOLE:.+]] = arith.subi %[[KEYS]], %[[TAIL]]
  // CHECK: fa.key_ranges (%[[KEY:.+]], %[[COUNT:.+]]) = [full %[[C0]] to %[[WHOLE]], partial %[[WHOLE]] to %[[KEYS]]] step 128
  // CHECK-SAME: iter_args(%[[A1:.+]] = %[[A]], %[[M1:.+]] = %[[M]], %[[S1:.+]] = %[[S]])
  // CHECK: %[[K1:.+]] = memref.subview %[[K]][0, %[[KEY]], 0, 0] [1, %[[COUNT]], 1, 64]
  // CHECK: %[[V1:.+]] = memref.subview %[[V]][0, %[[KEY]], 0, 0] [1, %[[COUNT]], 1, 64]
  // CHECK: %[[R:.+]]:3 = fa.online_attention ins(%[[Q]], %[[K1]], %[[V1]]
  // CHECK-SAME: outs(%[[A1]], %[[M1]], %[[S1]]
  // CHECK-SAME: offsets(%[[I]], %[[I]], %[[I]], %[[KEY]])
  // CHECK: fa.yield %[[R]]#0, %[[R]]#1, %[[R]]#2
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nk, %nk) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// Keys at or past the extent are hidden whatever the mask says; a step that
// starts at a later key keeps its offset.

// CHECK-LABEL: func.func @key_offset(
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index)
func.func @key_offset(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nk: index, %j: index) -> (!acc, !row, !row) {
  // CHECK: %[[SIZE:.+]] = memref.dim
  // CHECK: %[[LEFT0:.+]] = arith.subi %[[KEYS]], %[[J]]
  // CHECK: %[[LEFT:.+]] = arith.maxsi %[[LEFT0]], %{{.+}}
  // CHECK: %[[VALID:.+]] = arith.minsi %[[SIZE]], %[[LEFT]]
  // CHECK: partial %{{.+}} to %[[VALID]]]
  // CHECK: %[[PLACE:.+]] = arith.addi %[[J]], %{{.+}} : index
  // CHECK: offsets(%{{.+}}, %{{.+}}, %{{.+}}, %[[PLACE]])
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %j) extents(%nk, %nk) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// The last query (row 63 of the block) bounds what is visited, the first one
// what is full.

// CHECK-LABEL: func.func @causal(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index, %[[NQ:[a-z0-9]+]]: index, %[[NK:[a-z0-9]+]]: index)
func.func @causal(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[C64:.+]] = arith.constant 64 : index
  // CHECK-DAG: %[[C128:.+]] = arith.constant 128 : index
  // CHECK: %[[VALID:.+]] = arith.minsi %{{.+}}, %[[NK]]
  // CHECK: %[[FIRST:.+]] = arith.addi %[[I]], %[[NK]]
  // CHECK: %[[FIRST_KEY:.+]] = arith.subi %[[FIRST]], %[[NQ]]
  // CHECK: %[[FIRST_END:.+]] = arith.addi %[[FIRST_KEY]], %[[C1]]
  // CHECK: %[[LAST:.+]] = arith.addi %[[I]], %[[C64]]
  // CHECK: %[[LAST_KEY:.+]] = arith.addi %[[LAST]], %[[NK]]
  // CHECK: %[[LAST_END:.+]] = arith.subi %[[LAST_KEY]], %[[NQ]]
  // CHECK: %[[HULL0:.+]] = arith.maxsi %[[LAST_END]], %[[C0]]
  // CHECK: %[[HULL:.+]] = arith.minsi %[[HULL0]], %[[VALID]]
  // CHECK: %[[FULL0:.+]] = arith.maxsi %[[FIRST_END]], %[[C0]]
  // CHECK: %[[FULL:.+]] = arith.minsi %[[FULL0]], %[[HULL]]
  // CHECK: %[[REST:.+]] = arith.remui %[[FULL]], %[[C128]]
  // CHECK: %[[WHOLE:.+]] = arith.subi %[[FULL]], %[[REST]]
  // CHECK: fa.key_ranges {{.*}} = [full %[[C0]] to %[[WHOLE]], partial %[[WHOLE]] to %[[HULL]]] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk) mask causal {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// A block that may hold no queries visits nothing then.

// CHECK-LABEL: func.func @no_queries(
func.func @no_queries(%q: !keys, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nk: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[ROWS:.+]] = memref.dim %arg0
  // CHECK: %[[SOME:.+]] = arith.cmpi sgt, %[[ROWS]], %c0
  // CHECK: arith.select %[[SOME]], %{{.+}}, %c0
  %r:3 = fa.online_attention ins(%q, %k, %v : !keys, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nk, %nk) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// CHECK-LABEL: func.func @causal_top_left(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index, %[[NQ:[a-z0-9]+]]: index, %[[NK:[a-z0-9]+]]: index)
func.func @causal_top_left(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: arith.addi %[[I]], %c1 : index
  // CHECK: arith.addi %[[I]], %c64 : index
  // CHECK: = [full %{{.+}} to %[[WHOLE:.+]], partial %[[WHOLE]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk) mask causal_top_left {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// Blocks count from the begin of the window, so that the first partial range
// and the full one hold whole blocks.

// CHECK-LABEL: func.func @window(
func.func @window(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %w: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: fa.key_ranges {{.*}} = [partial %[[BEGIN:.+]] to %[[FULL:.+]], full %[[FULL]] to %[[FULL_END:.+]], partial %[[FULL_END]] to %[[END:[a-z0-9]+]]] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk) mask window(%w, %w) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// CHECK-LABEL: func.func @causal_window(
func.func @causal_window(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %w: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: = [partial %[[BEGIN:.+]] to %[[FULL:.+]], full %[[FULL]] to %[[FULL_END:.+]], partial %[[FULL_END]] to %[[END:[a-z0-9]+]]] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk) mask causal window(%w, %c0) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// CHECK-LABEL: func.func @prefix(
// CHECK-SAME: %[[P:[a-z0-9]+]]: index)
func.func @prefix(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %p: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: arith.maxsi %[[P]], %{{.+}}
  // CHECK: arith.maxsi %[[P]], %{{.+}}
  // CHECK: = [full %c0 to %[[WHOLE:.+]], partial %[[WHOLE]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk) mask prefix(%p : index) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// A table entry of the batch is read once a block; out of bounds it is 0.

// CHECK-LABEL: func.func @prefix_table(
// CHECK-SAME: %[[B:[a-z0-9]+]]: index, %[[P:[a-z0-9]+]]: memref<?xi32>)
func.func @prefix_table(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %b: index, %p: memref<?xi32>) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[SIZE:.+]] = memref.dim %[[P]], %c0
  // CHECK: %[[IN_BOUNDS:.+]] = arith.cmpi ult, %[[B]], %[[SIZE]]
  // CHECK: %[[ENTRY:.+]] = scf.if %[[IN_BOUNDS]] -> (i32) {
  // CHECK:   memref.load %[[P]][%[[B]]]
  // CHECK: } else {
  // CHECK:   scf.yield %c0_i32
  // CHECK: %[[PREFIX:.+]] = arith.index_cast %[[ENTRY]] : i32 to index
  // CHECK: arith.maxsi %[[PREFIX]], %{{.+}}
  // CHECK: = [full %c0 to %[[WHOLE:.+]], partial %[[WHOLE]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%b, %i, %i, %c0) extents(%nq, %nk) mask prefix(%p : memref<?xi32>) {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// The first keys and a window: two pieces, the first of them whole.

// CHECK-LABEL: func.func @sinks(
// CHECK-SAME: %[[SINKS:[a-z0-9]+]]: index)
func.func @sinks(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %w: index, %sinks: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: = [partial %c0 to %{{.+}}, partial %{{.+}} to %[[FULL:.+]], full %[[FULL]] to %[[FULL_END:.+]], partial %[[FULL_END]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk)
      mask(%mb, %mh, %mi, %mj) captures(%n = %sinks : index, %left = %w : index) {
        %is_sink = arith.cmpi slt, %mj, %n : index
        %first = arith.subi %mi, %left : index
        %after = arith.cmpi sge, %mj, %first : index
        %near = arith.ori %is_sink, %after : i1
        %causal = arith.cmpi sle, %mj, %mi : index
        %visible = arith.andi %near, %causal : i1
        fa.yield %visible : i1
      } {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// Chunks of 256 positions: a quotient of the query is monotonic, one of the
// key can be undone.

// CHECK-LABEL: func.func @chunks(
func.func @chunks(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: arith.floordivsi
  // CHECK: = [partial %[[BEGIN:.+]] to %[[FULL:.+]], full %[[FULL]] to %[[FULL_END:.+]], partial %[[FULL_END]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk)
      mask(%mb, %mh, %mi, %mj) {
        %size = arith.constant 256 : index
        %query_chunk = arith.floordivsi %mi, %size : index
        %key_chunk = arith.floordivsi %mj, %size : index
        %same = arith.cmpi eq, %query_chunk, %key_chunk : index
        fa.yield %same : i1
      } {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// The size of a window of blocks is a number of the caller's, 2^61 for none: its
// product with the divisor stays within 2^61.

// CHECK-LABEL: func.func @block_window(
// CHECK-SAME: %[[SIZE:[a-z0-9]+]]: index)
func.func @block_window(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %w: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK-DAG: %[[LEAST:.+]] = arith.constant -144115188075855872 : index
  // CHECK-DAG: %[[MOST:.+]] = arith.constant 144115188075855872 : index
  // CHECK-DAG: %[[C16:.+]] = arith.constant 16 : index
  // CHECK: %[[ABOVE:.+]] = arith.maxsi %[[SIZE]], %[[LEAST]]
  // CHECK: %[[HELD:.+]] = arith.minsi %[[ABOVE]], %[[MOST]]
  // CHECK: arith.muli %[[HELD]], %[[C16]]
  // CHECK: = [full %c0 to %[[FULL:.+]], partial %[[FULL]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nq, %nk)
      mask(%mb, %mh, %mi, %mj) captures(%blocks = %w : index) {
        %size = arith.constant 16 : index
        %query_block = arith.floordivsi %mi, %size : index
        %key_block = arith.floordivsi %mj, %size : index
        %last = arith.addi %query_block, %blocks : index
        %visible = arith.cmpi sle, %key_block, %last : index
        fa.yield %visible : i1
      } {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// What depends on batch and head alone switches ranges on and off.

// CHECK-LABEL: func.func @per_head(
// CHECK-SAME: %[[H:[a-z0-9]+]]: index, %[[LOCAL:[a-z0-9]+]]: index)
func.func @per_head(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nq: index, %nk: index, %h: index, %local: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: arith.cmpi sge, %[[H]], %[[LOCAL]]
  // CHECK: = [full %c0 to %[[WHOLE:.+]], partial %[[WHOLE]] to %{{.+}}] step 128
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %h, %i, %c0) extents(%nq, %nk)
      mask(%mb, %mh, %mi, %mj) captures(%first_global = %local : index) {
        %global = arith.cmpi sge, %mh, %first_global : index
        %causal = arith.cmpi sle, %mj, %mi : index
        %visible = arith.ori %global, %causal : i1
        fa.yield %visible : i1
      } {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// Nothing is visible: nothing is visited.

// CHECK-LABEL: func.func @never(
func.func @never(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %nk: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK-NOT: full
  // CHECK-NOT: partial
  // CHECK: return
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nk, %nk)
      mask(%mb, %mh, %mi, %mj) {
        %false = arith.constant false
        fa.yield %false : i1
      } {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// Tensors are sliced instead; other orders of dimensions are followed.

// CHECK-LABEL: func.func @tensors(
func.func @tensors(%q: tensor<1x1x64x32xf32>, %k: tensor<1x1x?x32xf32>, %v: tensor<1x?x1x64xf32>, %a: !acc, %m: !row, %s: !row, %i: index, %nk: index) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  // CHECK: fa.key_ranges (%[[KEY:.+]], %[[COUNT:.+]]) =
  // CHECK: tensor.extract_slice %{{.+}}[0, 0, %[[KEY]], 0] [1, 1, %[[COUNT]], 32]
  // CHECK: tensor.extract_slice %{{.+}}[0, %[[KEY]], 0, 0] [1, %[[COUNT]], 1, 64]
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x1x64x32xf32>, tensor<1x1x?x32xf32>, tensor<1x?x1x64xf32>) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%i, %i, %i, %c0) extents(%nk, %nk)
      {config = #config, query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// A captured number of 32 bits: the ranges hold where the sum of 32 bits does not
// wrap at either end of the block, else every key is looked at.

// CHECK-LABEL: func.func @offset(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: i32)
// CHECK-DAG: %[[LEAST:.+]] = arith.constant -2147483647 : index
// CHECK-DAG: %[[MOST:.+]] = arith.constant 2147483647 : index
// CHECK-DAG: %[[INDEX:.+]] = arith.index_cast %[[X]] : i32 to index
// CHECK-DAG: %[[FIRST:.+]] = arith.addi %[[I]], %[[INDEX]] : index
// CHECK-DAG: %[[ABOVE:.+]] = arith.cmpi sge, %[[FIRST]], %[[LEAST]] : index
// CHECK-DAG: %[[BELOW:.+]] = arith.cmpi sle, %{{.+}}, %[[MOST]] : index
// CHECK-DAG: %[[FITS:.+]] = arith.andi %[[ABOVE]], %[[BELOW]] : i1
// CHECK: arith.select %[[FITS]], %{{.+}}, %{{.+}} : index
// CHECK: arith.select %[[FITS]], %{{.+}}, %c0 : index
// CHECK: = [full %c0 to %[[MIDDLE:.+]], partial %[[MIDDLE]] to %{{.+}}] step 128
func.func @offset(%q: !tile, %k: !keys, %v: !keys, %a: !acc, %m: !row, %s: !row, %i: index, %n: index, %x: i32) -> (!acc, !row, !row) {
  %c0 = arith.constant 0 : index
  %r:3 = fa.online_attention ins(%q, %k, %v : !tile, !keys, !keys) outs(%a, %m, %s : !acc, !row, !row)
      offsets(%c0, %c0, %i, %c0) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) captures(%offset = %x : i32) {
        %i32 = arith.index_cast %mi : index to i32
        %j32 = arith.index_cast %mj : index to i32
        %end = arith.addi %i32, %offset : i32
        %visible = arith.cmpi sle, %j32, %end : i32
        fa.yield %visible : i1
      } {config = #config}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}
