// RUN: fa-opt %s -fa-form-segments -split-input-file -allow-unregistered-dialect | FileCheck %s

// Contiguous ranges lie on one grid: the key follows from the block's number.
// CHECK-LABEL: func.func @contiguous
// CHECK-SAME: (%[[D:.*]]: index, %[[END:.*]]: index)
func.func @contiguous(%d: index, %end: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  fagpu.role @compute groups(1) {
    // CHECK: %[[N0:.*]] = arith.ceildivsi %[[D]], %{{.*}} : index
    // CHECK: fagpu.for %[[I:.*]] = %{{.*}} step -1 segments(%[[FIRST:.*]]: once, %[[PARTIAL:.*]]: to %{{.*}}, %{{.*}}: to %{{.*}}) iter(%[[X:.*]] = %{{.*}}) -> f32 {
    %r = fa.key_ranges (%key, %count) = [full %c0 to %d, partial %d to %end] step 64
        iter_args(%a = %x) -> (f32) {
      // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : i32 to index
      // CHECK: %[[KEY:.*]] = arith.muli %[[NUMBER]], %{{.*}} : index
      // CHECK: %[[IS:.*]] = arith.ori %[[FIRST]], %[[PARTIAL]] : i1
      // CHECK: %[[COUNT:.*]] = arith.subi %[[END]], %[[KEY]] : index
      %p = fa.is_partial : i1
      // CHECK: "keep"(%[[KEY]], %[[COUNT]])
      "keep"(%key, %count) : (index, index) -> ()
      // CHECK: arith.select %[[IS]], %[[X]], %{{.*}} : f32
      %y = arith.select %p, %a, %x : f32
      fa.yield %y : f32
    }
  }
  return
}

// -----

// A range that ends within a block: the next one starts a grid of its own. Which
// range a block is of follows from its number, so that it is known ahead.
// CHECK-LABEL: func.func @gaps
func.func @gaps(%a: index, %b: index, %c: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.for %{{.*}} = %{{.*}} step -1 segments(%[[FIRST:.*]]: once, %[[SECOND:.*]]: to %{{.*}}, %[[SINK:.*]]: to %{{.*}}) {
    fa.key_ranges (%key, %count) = [partial %c0 to %a, full %b to %c] step 64 {
      // CHECK: arith.cmpi sge
      // CHECK: %[[LATE:.*]] = arith.cmpi sge
      // CHECK: arith.select %[[LATE]]
      // CHECK: arith.ori %[[FIRST]], %[[SINK]] : i1
      %p = fa.is_partial : i1
      "keep"(%key, %count, %p) : (index, index, i1) -> ()
    }
  }
  return
}

// -----

// The rest of the end by the step is one block, which is the first one: no
// segment of its own.
// CHECK-LABEL: func.func @rest
func.func @rest(%end: index, %x: f32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  fagpu.role @compute groups(1) {
    %left = arith.remui %end, %c64 : index
    %begin = arith.subi %end, %left : index
    // CHECK: fagpu.for %{{.*}} = %{{.*}} step -1 segments(%[[FIRST:[^:]*]]: once, %{{[^:]*}}: to %{{[^:]*}}) {
    fa.key_ranges (%key, %count) = [full %c0 to %begin, partial %begin to %end] step 64 {
      %p = fa.is_partial : i1
      %f = fa.is_first : i1
      // CHECK: "keep"(%[[FIRST]], %[[FIRST]])
      "keep"(%p, %f) : (i1, i1) -> ()
    }
  }
  return
}

// -----

// The configuration asks for one copy of the body.
// CHECK-LABEL: func.func @rolled
func.func @rolled(%end: index) attributes {
    fagpu.kernel = "sm_80",
    fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>>} {
  %c0 = arith.constant 0 : index
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.for %{{.*}} = %{{.*}} step -1 rolled segments(%{{.*}}: once, %{{.*}}: to %{{.*}}) {
    fa.key_ranges (%key, %count) = [full %c0 to %end] step 64 {
      "keep"(%key, %count) : (index, index) -> ()
    }
  }
  return
}

// -----

// Blocks of keys that add to the same queries go up through them, each from its
// own first one on.
// CHECK-LABEL: func.func @rising
// CHECK-SAME: (%[[A:.*]]: index, %[[B:.*]]: index, %[[END:.*]]: index, %{{.*}}: f32)
func.func @rising(%a: index, %b: index, %end: index, %x: f32) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass>} {
  fagpu.role @math groups(2) {
    // CHECK: %[[LENGTH:.*]] = arith.subi %[[B]], %[[A]] : index
    // CHECK: fagpu.for %[[I:.*]] = %{{.*}} step 1 segments(%[[FIRST:[^:]*]]: once, %[[PARTIAL:[^:]*]]: to %{{[^,]*}}, %{{[^:]*}}: to %{{[^,)]*}}) iter(
    %r = fa.query_ranges (%query, %count) = [partial %a to %b, full %b to %end] step 64
        iter_args(%s = %x) -> (f32) {
      // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[I]] : i32 to index
      // CHECK: %[[BEFORE:.*]] = arith.muli %[[NUMBER]], %{{.*}} : index
      // CHECK: %[[QUERY:.*]] = arith.addi %[[BEFORE]], %[[A]] : index
      // CHECK: %[[IS:.*]] = arith.ori %[[FIRST]], %[[PARTIAL]] : i1
      %p = fa.is_partial : i1
      // CHECK: "keep"(%[[QUERY]], %{{.*}}, %[[IS]])
      "keep"(%query, %count, %p) : (index, index, i1) -> ()
      fa.yield %s : f32
    }
  }
  return
}

// -----

// Tiles that end with the same query go through the heads of a block before its next one, and those of every other wave of
// blocks of threads the other way.
// CHECK-LABEL: func.func @waves
// CHECK-SAME: (%{{.*}}: index, %[[HEADS:.*]]: index, %{{.*}}: f32)
func.func @waves(%end: index, %heads: index, %x: f32) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>, gradient_form = one_pass>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  // CHECK: %[[TILE:.*]] = gpu.block_id x
  // CHECK: %[[GRID:.*]] = gpu.grid_dim x
  // CHECK: %[[T:.*]] = arith.index_cast %[[TILE]] : index to i32
  // CHECK: %[[G:.*]] = arith.index_cast %[[GRID]] : index to i32
  // CHECK: %[[WAVE:.*]] = arith.divui %[[T]], %[[G]] : i32
  // CHECK: %[[PARITY:.*]] = arith.andi %[[WAVE]], %[[ONE:.*]] : i32
  // CHECK: %[[ODD:.*]] = arith.cmpi eq, %[[PARITY]], %[[ONE]] : i32
  %tile = gpu.block_id x
  %key = arith.muli %tile, %c128 : index
  %has = arith.cmpi slt, %key, %end : index
  %last = arith.select %has, %end, %c0 : index
  fagpu.role @math groups(2) {
    // CHECK: fagpu.for %[[I:.*]] = %{{.*}} step -1 segments(%{{[^:]*}}: once, %{{[^:]*}}: to %{{[^,)]*}}) iter(
    %r = scf.for %head = %c0 to %heads step %c1 iter_args(%a = %x) -> (f32) {
      // CHECK: %[[PLACE:.*]] = arith.index_cast %[[I]] : i32 to index
      // CHECK: %[[BLOCK:.*]] = arith.divui %[[PLACE]], %[[HEADS]] : index
      // CHECK: %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %[[HEADS]]
      // CHECK: %[[HEAD:.*]] = arith.subi %[[PLACE]], %[[BEFORE]] : index
      // CHECK: %[[RISEN:.*]] = arith.subi %{{.*}}, %[[BLOCK]] : index
      // CHECK: %[[NUMBER:.*]] = arith.select %[[ODD]], %[[RISEN]], %[[BLOCK]] : index
      // CHECK: arith.muli %[[NUMBER]], %{{.*}} : index
      %b = fa.query_ranges (%query, %count) = [partial %key to %last] step 64 iter_args(%s = %a) -> (f32) {
        // CHECK: "keep"(%{{.*}}, %{{.*}})
        "keep"(%head, %query) : (index, index) -> ()
        fa.yield %s : f32
      }
      scf.yield %b : f32
    }
  }
  return
}

// -----

// Those of a window end with queries of their own.
// CHECK-LABEL: func.func @own_ends
// CHECK-NOT: gpu.grid_dim
func.func @own_ends(%end: index, %heads: index, %x: f32) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>, gradient_form = one_pass>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %tile = gpu.block_id x
  %key = arith.muli %tile, %c128 : index
  %behind = arith.addi %key, %c128 : index
  %last = arith.minsi %behind, %end : index
  fagpu.role @math groups(2) {
    // CHECK: arith.maxsi
    // CHECK: %[[BLOCKS:.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
    %r = scf.for %head = %c0 to %heads step %c1 iter_args(%a = %x) -> (f32) {
      // CHECK: arith.divui %{{.*}}, %[[BLOCKS]] : index
      %b = fa.query_ranges (%query, %count) = [partial %key to %last] step 64 iter_args(%s = %a) -> (f32) {
        "keep"(%head, %query) : (index, index) -> ()
        fa.yield %s : f32
      }
      scf.yield %b : f32
    }
  }
  return
}

// -----

// So may those of sequences that a search finds.
// CHECK-LABEL: func.func @found_ends
// CHECK-NOT: gpu.grid_dim
func.func @found_ends(%end: index, %heads: index, %x: f32) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>, gradient_form = one_pass>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = gpu.block_id x
  fagpu.role @math groups(2) {
    // CHECK: scf.while
    %last = scf.while (%a = %c0) : (index) -> index {
      %more = arith.cmpi slt, %a, %tile : index
      scf.condition(%more) %a : index
    } do {
    ^bb0(%a: index):
      %b = arith.addi %a, %c1 : index
      scf.yield %b : index
    }
    // CHECK: arith.maxsi
    // CHECK: %[[BLOCKS:.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
    %r = scf.for %head = %c0 to %heads step %c1 iter_args(%a = %x) -> (f32) {
      // CHECK: arith.divui %{{.*}}, %[[BLOCKS]] : index
      %b = fa.query_ranges (%query, %count) = [partial %c0 to %last] step 64 iter_args(%s = %a) -> (f32) {
        "keep"(%head, %query) : (index, index) -> ()
        fa.yield %s : f32
      }
      scf.yield %b : f32
    }
  }
  return
}

// -----

// Where nothing asks for partial blocks all of them have one segment.
// CHECK-LABEL: func.func @alike
func.func @alike(%a: index, %b: index, %end: index) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.for %{{.*}} = %{{.*}} step -1 segments(%{{[^:]*}}: once, %{{[^:]*}}: to %{{[^,:]*}}) {
    fa.key_ranges (%key, %count) = [partial %a to %b, full %b to %end] step 64 {
      "keep"(%key, %count) : (index, index) -> ()
    }
  }
  return
}
