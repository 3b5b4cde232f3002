// RUN: fa-opt %s -fa-tile-elementwise -canonicalize -cse -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-tile-elementwise -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fa-tile-elementwise 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: a kernel of its own computes memref<200x96xf32>

// An operand that is repeated is read at the column; columns end inside a tile.
// CHECK-LABEL: func.func @bias
// CHECK-SAME: (%[[X:[^:]*]]: memref<200x96xf32>, %[[BIAS:[^:]*]]: memref<96xf32>, %[[Y:[^:]*]]: memref<200x96xf32>)
// CHECK: scf.forall (%[[R:.*]], %[[C:.*]]) = (0, 0) to (200, 96) step (64, 64) {
// CHECK:   %[[TILE:.*]] = fa.apply offsets(%c0, %c0, %[[R]], %[[C]]) extents(%c200, %c96)
// CHECK-SAME: pairs(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) captures(%[[X0:.*]] = %[[X]] : memref<200x96xf32>, %[[BIAS0:.*]] = %[[BIAS]] : memref<96xf32>)
// CHECK:     %[[A:.*]] = memref.load %[[X0]][%[[I]], %[[J]]]
// CHECK:     %[[B:.*]] = memref.load %[[BIAS0]][%[[J]]]
// CHECK:     %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK:     fa.yield %[[SUM]] : f32
// CHECK:   } -> tensor<64x64xf32>
// CHECK:   fagpu.store %[[TILE]], %[[Y]][%{{.*}}, %{{.*}}] sizes [64, 64] rows(%{{.*}}) columns(%{{.*}}) align(4)
// CHECK-NOT: linalg.generic
func.func @bias(%x: memref<200x96xf32>, %bias: memref<96xf32>, %y: memref<200x96xf32>) {
  scf.forall (%tile) in (2) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias : memref<200x96xf32>, memref<96xf32>) outs(%y : memref<200x96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  }
  return
}

// -----

// Rows are of the longest dimension; the others are a place's batch and head.
// Halves are computed with as floats of 32 bits, and rounded where they were.
// CHECK-LABEL: func.func @halves
// CHECK: scf.forall (%[[A:.*]], %[[R:.*]], %[[H:.*]]) = (0, 0, 0) to (2, %{{.*}}, 3) step (1, 64, 1) {
// CHECK:   %[[TILE:.*]] = fa.apply offsets(%[[A]], %[[H]], %[[R]], %c0)
// CHECK-SAME: pairs(%[[B0:.*]], %[[H0:.*]], %[[I0:.*]], %[[J0:.*]]) captures(%[[N:.*]] = %{{.*}} : index, %[[X0:.*]] = %{{.*}} : memref<2x?x3x40xbf16>)
// CHECK:     %[[X:.*]] = memref.load %[[X0]][%[[B0]], %[[I0]], %[[H0]], %[[J0]]]
// CHECK:     %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK:     %[[LOW:.*]] = arith.cmpi ult, %[[I0]], %[[N]] : index
// CHECK:     arith.select %[[LOW]], %[[WIDE]], %{{.*}} : f32
// CHECK:   } -> tensor<64x48xf32>
// CHECK:   arith.truncf %[[TILE]] : tensor<64x48xf32> to tensor<64x48xbf16>
func.func @halves(%x: memref<2x?x3x40xbf16>, %y: memref<2x?x3x40xbf16>, %n: index) {
  scf.forall (%tile) in (2) {
  }
  %zero = arith.constant 0.0 : bf16
  linalg.generic {indexing_maps = [affine_map<(b, r, h, c) -> (b, r, h, c)>, affine_map<(b, r, h, c) -> (b, r, h, c)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<2x?x3x40xbf16>) outs(%y : memref<2x?x3x40xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %i = linalg.index 1 : index
    %low = arith.cmpi ult, %i, %n : index
    %z = arith.select %low, %a, %zero : bf16
    linalg.yield %z : bf16
  }
  return
}

// -----

// Elements of one dimension are the one row of a tile. Two results are computed
// before one is stored, as one may lie where the other is read.
// CHECK-LABEL: func.func @vectors
// CHECK: %[[ROW:.*]] = memref.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [1, 96]
// CHECK: scf.forall (%{{.*}}) = (0) to (96) step (64) {
// CHECK: fa.apply
// CHECK: fa.apply
// CHECK: fagpu.store %{{.*}}, %[[ROW]][%{{.*}}, %{{.*}}] sizes [16, 64] rows(%{{.*}}) columns(%{{.*}}) align(4)
// CHECK: fagpu.store
func.func @vectors(%x: memref<96xf32>, %y: memref<96xf32>) {
  scf.forall (%tile) in (2) {
  }
  linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
      outs(%x, %y : memref<96xf32>, memref<96xf32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    %product = arith.mulf %a, %b : f32
    linalg.yield %sum, %product : f32, f32
  }
  return
}

// -----

// Named operations too, in branches, and operands in another order.
// CHECK-LABEL: func.func @named
// CHECK: scf.if
// CHECK: scf.forall
// CHECK: memref.load %{{.*}}[%[[J:.*]], %[[I:.*]]] : memref<96x200xf32>
func.func @named(%x: memref<96x200xf32>, %y: memref<200x96xf32>, %is: i1) {
  scf.forall (%tile) in (2) {
  }
  scf.if %is {
    linalg.transpose ins(%x : memref<96x200xf32>) outs(%y : memref<200x96xf32>) permutation = [1, 0]
  }
  return
}

// -----

// Sums, and what is in loops of the host, stay.
// CHECK-LABEL: func.func @others
// CHECK: linalg.reduce
// CHECK: scf.for
// CHECK: linalg.exp
func.func @others(%x: memref<8x96xf32>, %y: memref<8xf32>, %n: index) {
  scf.forall (%tile) in (2) {
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  linalg.reduce { arith.addf } ins(%x : memref<8x96xf32>) outs(%y : memref<8xf32>) dimensions = [1]
  scf.for %i = %c0 to %n step %c1 {
    linalg.exp ins(%y : memref<8xf32>) outs(%y : memref<8xf32>)
  }
  return
}

// -----

// Without a loop over tiles there is no kernel that it would be computed beside.
// CHECK-LABEL: func.func @host
// CHECK: linalg.add
func.func @host(%x: memref<8xi32>) {
  linalg.add ins(%x, %x : memref<8xi32>, memref<8xi32>) outs(%x : memref<8xi32>)
  return
}

// -----

// A table at an index that the body computes; unknown lengths have a bound.
// CHECK-LABEL: func.func @table
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %{{.*}}, %c1073741824 : index
// CHECK: cf.assert %[[FITS]], "a dimension of what is computed for each element has more than 1073741824 elements"
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<5xbf16>
// CHECK: arith.extf %[[X]] : bf16 to f32
func.func @table(%x: memref<5xbf16>, %y: memref<?x64xbf16>) {
  scf.forall (%tile) in (2) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} outs(%y : memref<?x64xbf16>) {
  ^bb0(%a: bf16):
    %c5 = arith.constant 5 : index
    %i = linalg.index 0 : index
    %at = arith.remui %i, %c5 : index
    %z = memref.load %x[%at] : memref<5xbf16>
    linalg.yield %z : bf16
  }
  return
}
