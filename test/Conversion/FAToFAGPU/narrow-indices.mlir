// RUN: fa-opt %s -fa-narrow-indices | FileCheck %s

// Before fa-decompose-to-blocks regions of attention keep their indices.
// RUN: fa-opt %fa_src_root/test/Integration/CPU/memory-and-tables.mlir -fa-to-level2=chip=sm_80 -lower-affine -canonicalize -cse -fa-outline-kernels=chip=sm_80 \
// RUN:   -fa-narrow-indices | FileCheck %s --check-prefix=REGIONS
// REGIONS: fa.key_ranges
// REGIONS: mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[KEY:.*]]) captures
// REGIONS: arith.remsi %[[KEY]], %{{.*}} : index

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[N:.*]]: i32, %[[M:.*]]: memref<?xi32>, %[[W:.*]]: i64)
func.func @kernel(%n: i32, %m: memref<?xi32>, %w: i64) attributes {fagpu.kernel = "sm_80"} {
  // CHECK: %[[C:.*]] = arith.constant 64 : i32
  %c64 = arith.constant 64 : index
  // CHECK: %[[BLOCK:.*]] = gpu.block_id x
  // CHECK: %[[B:.*]] = arith.index_cast %[[BLOCK]] : index to i32
  %b = gpu.block_id x
  fagpu.role @compute groups(1) {
    %size = arith.index_cast %n : i32 to index
    // CHECK: %[[ROW:.*]] = arith.muli %[[B]], %[[C]] overflow<nsw> : i32
    %row = arith.muli %b, %c64 overflow<nsw> : index
    // CHECK: arith.minsi %[[ROW]], %[[N]] : i32
    %last = arith.minsi %row, %size : index
    // CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : i32 to index
    // CHECK: memref.load %[[M]][%[[AT]]]
    %x = memref.load %m[%last] : memref<?xi32>
    // A number of 64 bits stays one.
    // CHECK: %[[WIDE:.*]] = arith.index_cast %[[W]] : i64 to index
    %wide = arith.index_cast %w : i64 to index
    // CHECK: arith.extsi %{{.*}} : i32 to i64
    %back = arith.index_cast %row : index to i64
    // CHECK: arith.cmpi slt, %{{.*}}, %[[WIDE]] : index
    // CHECK: scf.if %{{.*}} -> (i32) {
    %c = arith.cmpi slt, %row, %wide : index
    %y = scf.if %c -> (index) {
      scf.yield %row : index
    } else {
      scf.yield %size : index
    }
    %z = arith.addi %y, %row : index
  }
  return
}

// What is loaded fits 32 bits, a sum with it need not; what is bounded fits
// again. So does a constant that is too large, in a branch.
// CHECK-LABEL: func.func @long_sums
// CHECK-SAME: (%[[N:.*]]: i32, %[[M:.*]]: memref<i32>)
func.func @long_sums(%n: i32, %m: memref<i32>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    %size = arith.index_cast %n : i32 to index
    %c0 = arith.constant 0 : index
    %large = arith.constant 1099511627776 : index
    // CHECK: %[[LOADED:.*]] = memref.load
    %loaded = memref.load %m[] : memref<i32>
    // CHECK: %[[LIMITED:.*]] = arith.minsi %[[LOADED]], %[[N]] : i32
    // CHECK: %[[X:.*]] = arith.index_cast %[[LOADED]] : i32 to index
    %x = arith.index_cast %loaded : i32 to index
    %limited = arith.minsi %x, %size : index
    // CHECK: %[[SUM:.*]] = arith.addi %[[X]], %{{.*}} : index
    %sum = arith.addi %x, %size : index
    // CHECK: %[[LOW:.*]] = arith.maxsi %[[SUM]], %{{.*}} : index
    // CHECK: %[[BOUNDED:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
    // CHECK: %[[SHORT:.*]] = arith.index_cast %[[BOUNDED]] : index to i32
    %low = arith.maxsi %sum, %c0 : index
    %bounded = arith.minsi %low, %size : index
    // CHECK: arith.addi %[[SHORT]], %[[N]] : i32
    %next = arith.addi %bounded, %size : index
    // CHECK: scf.if %{{.*}} -> (index) {
    %is_none = arith.cmpi slt, %size, %c0 : index
    %window = scf.if %is_none -> (index) {
      scf.yield %large : index
    } else {
      scf.yield %size : index
    }
    // CHECK: arith.addi %{{.*}}, %{{.*}} : index
    %end = arith.addi %next, %window : index
    %use = arith.addi %end, %limited : index
  }
  return
}

// Only kernels change.
// CHECK-LABEL: func.func @host
// CHECK: arith.addi %{{.*}}, %{{.*}} : index
func.func @host(%a: index) -> index {
  %b = arith.addi %a, %a : index
  return %b : index
}

// An i32 that is read as unsigned need not fit, one of 16 bits does; an index
// keeps its sign.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME: (%[[N:.*]]: i32, %[[M:.*]]: memref<i32>, %[[S:.*]]: memref<i16>)
func.func @unsigned(%n: i32, %m: memref<i32>, %s: memref<i16>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    %size = arith.index_cast %n : i32 to index
    // CHECK: %[[LOADED:.*]] = memref.load %[[M]]
    %loaded = memref.load %m[] : memref<i32>
    // CHECK: %[[X:.*]] = arith.index_castui %[[LOADED]] : i32 to index
    %x = arith.index_castui %loaded : i32 to index
    // CHECK: arith.maxsi %[[X]], %{{.*}} : index
    %most = arith.maxsi %x, %size : index
    // CHECK: %[[SMALL:.*]] = memref.load %[[S]]
    %small = memref.load %s[] : memref<i16>
    // CHECK: %[[Y:.*]] = arith.extui %[[SMALL]] : i16 to i32
    %y = arith.index_castui %small : i16 to index
    // CHECK: %[[D:.*]] = arith.subi %[[Y]], %[[N]] : i32
    %difference = arith.subi %y, %size : index
    // CHECK: arith.extsi %[[D]] : i32 to i64
    %back = arith.index_castui %difference : index to i64
  }
  return
}

// A product may be any number, unless it is known not to wrap; what is shifted or
// computed in i64 as well.
// CHECK-LABEL: func.func @products
// CHECK-SAME: (%[[N:.*]]: i32, %[[M:.*]]: i32)
func.func @products(%n: i32, %m: i32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    %rows = arith.index_cast %n : i32 to index
    %columns = arith.index_cast %m : i32 to index
    // CHECK: %[[TILES:.*]] = arith.muli %[[N]], %[[M]] overflow<nsw> : i32
    %tiles = arith.muli %rows, %columns overflow<nsw> : index
    // CHECK: arith.subi %[[TILES]], %[[N]] : i32
    %rest = arith.subi %tiles, %rows : index
    // CHECK: %[[SQUARE:.*]] = arith.muli %{{.*}}, %{{.*}} : index
    %square = arith.muli %rows, %rows : index
    // CHECK: arith.subi %[[SQUARE]], %{{.*}} : index
    %less = arith.subi %square, %columns : index
    // CHECK: arith.muli %{{.*}}, %{{.*}} : index
    %c64 = arith.constant 64 : index
    %multiple = arith.muli %rows, %c64 : index
    // CHECK: arith.shli %{{.*}}, %{{.*}} : index
    %shifted = arith.shli %rows, %c64 : index
    // CHECK: %[[WIDE:.*]] = arith.extsi %[[N]] : i32 to i64
    %wide = arith.index_cast %rows : index to i64
    // CHECK: %[[SUM:.*]] = arith.addi %[[WIDE]], %[[WIDE]] : i64
    %sum = arith.addi %wide, %wide : i64
    // CHECK: %[[BACK:.*]] = arith.index_cast %[[SUM]] : i64 to index
    %back = arith.index_cast %sum : i64 to index
    // CHECK: arith.addi %[[BACK]], %{{.*}} : index
    %more = arith.addi %back, %rows : index
  }
  return
}
