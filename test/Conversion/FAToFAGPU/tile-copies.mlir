// RUN: fa-opt %s -fa-tile-copies -canonicalize -cse -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-tile-copies -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fa-tile-copies 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: a kernel of its own copies memref<?x?x?x64xbf16>

// Rows are those of the second of four dimensions where no size is known.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[A:[^:]*]]: memref<?x?x?x64xbf16>, %[[B:[^:]*]]: memref<?x?x?x64xbf16>)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: scf.forall (%[[I:.*]], %[[R:.*]], %[[H:.*]]) = (0, 0, 0) to (%{{.*}}, %{{.*}}, %{{.*}}) step (1, 64, 1) {
// CHECK-DAG:   %[[I0:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-DAG:   %[[R0:.*]] = arith.index_cast %[[R]] : index to i32
// CHECK-DAG:   %[[H0:.*]] = arith.index_cast %[[H]] : index to i32
// CHECK:   %[[FIRST:.*]] = tensor.splat %[[R0]]
// CHECK:   %[[ROW:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK:   %[[END:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:   %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW]], %{{.*}}
// CHECK:   %[[TILE:.*]] = fagpu.gather %[[A]][%[[I0]], %[[ROW]], %[[H0]], %{{.*}}] mask(%[[INSIDE]] : {{.*}} -> tensor<64x64xbf16, #fagpu.acc<4>>
// CHECK:   fagpu.store %[[TILE]], %[[B]][%[[I0]], %[[R0]], %[[H0]], %[[C0]]] sizes [1, 64, 1, 64] rows(%[[END]]) align(2)
// CHECK-NOT: linalg.copy
func.func @rows(%a: memref<?x?x?x64xbf16>, %b: memref<?x?x?x64xbf16>) {
  linalg.copy ins(%a : memref<?x?x?x64xbf16>) outs(%b : memref<?x?x?x64xbf16>)
  return
}

// -----

// The longest dimension has the rows; columns end inside a tile.
// CHECK-LABEL: func.func @columns
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (100, 3) step (64, 1)
// CHECK: fagpu.store {{.*}} sizes [64, 1, 48] rows(%{{.*}}) columns(%{{.*}}) align(4)
func.func @columns(%a: memref<100x3x40xf32>, %b: memref<100x3x40xf32>) {
  linalg.copy ins(%a : memref<100x3x40xf32>) outs(%b : memref<100x3x40xf32>)
  return
}

// -----

// Columns are where elements lie beside each other.
// CHECK-LABEL: func.func @transposed
// CHECK: memref.transpose %{{.*}} (d0, d1, d2) -> (d0, d2, d1)
// CHECK: memref.transpose %{{.*}} (d0, d1, d2) -> (d0, d2, d1)
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (2, 200) step (1, 64)
!t = memref<2x64x200xf16, strided<[?, 1, ?]>>
func.func @transposed(%a: !t, %b: !t) {
  linalg.copy ins(%a : !t) outs(%b : !t)
  return
}

// -----

// A vector is a matrix of one row.
// CHECK-LABEL: func.func @vector
// CHECK: memref.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [1, %{{.*}}] : memref<?xf32> into memref<1x?xf32>
// CHECK: scf.forall
// CHECK: fagpu.store
func.func @vector(%a: memref<?xf32>, %b: memref<?xf32>) {
  linalg.copy ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
  return
}

// What is filled with one number is read from nowhere.
// CHECK-LABEL: func.func @fill(
// CHECK: %[[TILE:.+]] = arith.constant dense<0xFF800000> : tensor<64x64xf32, #fagpu.acc<4>>
// CHECK: scf.forall
// CHECK-NOT: fagpu.gather
// CHECK: fagpu.store %[[TILE]], %{{.+}} sizes [1, 64, 64]
func.func @fill(%b: memref<2x3x200xf32>) {
  %none = arith.constant 0xFF800000 : f32
  linalg.fill ins(%none : f32) outs(%b : memref<2x3x200xf32>)
  return
}

// -----

// Where elements lie beside each other in no dimension, a tile is rows alone, of
// the last dimension unless another one is longer.
// CHECK-LABEL: func.func @fill_apart(
// CHECK-SAME: %[[B:[^:]*]]: memref<2x3x?xf32, strided<[?, ?, ?], offset: ?>>
// CHECK: %[[TILE:.+]] = arith.constant dense<0xFF800000> : tensor<64xf32, #fagpu.row<4>>
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]], %[[R:.*]]) = (0, 0, 0) to (2, 3, %{{.*}}) step (1, 1, 64) {
// CHECK:   fagpu.store %[[TILE]], %[[B]][%{{.+}}, %{{.+}}, %{{.+}}] rows(%{{.+}}) :
func.func @fill_apart(%b: memref<2x3x?xf32, strided<[?, ?, ?], offset: ?>>) {
  %none = arith.constant 0xFF800000 : f32
  linalg.fill ins(%none : f32) outs(%b : memref<2x3x?xf32, strided<[?, ?, ?], offset: ?>>)
  return
}

// CHECK-LABEL: func.func @copy_apart(
// CHECK-SAME: %[[A:[^:]*]]: memref<100x3xf32, strided<[200, 2]>>, %[[B:[^:]*]]: memref
// CHECK: %[[TA:.+]] = memref.transpose %[[A]] (d0, d1) -> (d1, d0)
// CHECK: %[[TB:.+]] = memref.transpose %[[B]] (d0, d1) -> (d1, d0)
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (3, 100) step (1, 64) {
// CHECK:   %[[TILE:.+]] = fagpu.gather %[[TA]][%{{.+}}, %{{.+}}] mask(%{{.+}} : tensor<64xi1, #fagpu.row<4>>)
// CHECK:   fagpu.store %[[TILE]], %[[TB]][%{{.+}}, %{{.+}}] rows(%{{.+}}) :
!apart = memref<100x3xf32, strided<[200, 2]>>
func.func @copy_apart(%a: !apart, %b: !apart) {
  linalg.copy ins(%a : !apart) outs(%b : !apart)
  return
}

// -----

// f32 is stored as less.
// CHECK-LABEL: func.func @narrowed
// CHECK: %[[TILE:.*]] = fagpu.gather %{{.*}} -> tensor<64x64xf32, #fagpu.acc<4>>
// CHECK: %[[LESS:.*]] = arith.truncf %[[TILE]] : {{.*}} to tensor<64x64xf16, #fagpu.acc<4>>
// CHECK: fagpu.store %[[LESS]]
func.func @narrowed(%a: memref<128x64xf32>, %b: memref<128x64xf16>) {
  linalg.copy ins(%a : memref<128x64xf32>) outs(%b : memref<128x64xf16>)
  return
}

// -----

// One number is a row of one column.
// CHECK-LABEL: func.func @number
// CHECK: %[[ROW:.*]] = memref.expand_shape %{{.*}} [] {{.*}} : memref<f32> into memref<1x1xf32>
// CHECK: fagpu.store %{{.*}}, %[[ROW]]{{.*}} rows(%{{.*}}) columns(
func.func @number(%zero: f32, %b: memref<f32>) {
  linalg.fill ins(%zero : f32) outs(%b : memref<f32>)
  return
}

// -----

// Sums of parts, one dimension after the other: eight parts are read at once, and added in their order. The fill goes.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[N:.*]]: index
// CHECK: %[[PARTS:.*]] = fagpu.workspace(%[[N]]) : memref<8x?x100xf32>
// CHECK: %[[SUMS:.*]] = fagpu.workspace() : memref<100xf32>
// CHECK-NOT: linalg.fill
// CHECK: %[[ALL:.*]] = memref.collapse_shape %[[PARTS]] {{\[\[}}0, 1, 2]] : memref<8x?x100xf32> into memref<?xf32>
// CHECK: %[[COUNT:.*]] = arith.muli %[[N]], %c100 : index
// CHECK: %[[BETWEEN:.*]] = fagpu.workspace(%[[COUNT]]) : memref<?xf32>
// CHECK: scf.forall (%{{.*}}) = (0) to (%[[COUNT]]) step (64)
// CHECK:   fagpu.gather %[[ALL]]
// CHECK:   fagpu.store %{{.*}}, %[[BETWEEN]][%{{.*}}] rows(%{{.*}}) : tensor<64xf32, #fagpu.row<4>>
// CHECK: scf.forall (%{{.*}}) = (0) to (100) step (64)
// CHECK:   %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %[[N]] step %c8 iter_args(%[[OLD:.*]] = %{{.*}}) -> (tensor<64xf32, #fagpu.row<4>>)
// CHECK-COUNT-8: fagpu.gather %[[BETWEEN]]
// CHECK:     %[[FIRST:.*]] = arith.addf %[[OLD]], %{{.*}}
// CHECK:     arith.addf %[[FIRST]]
// CHECK:   fagpu.store %[[SUM]], %[[SUMS]]
// CHECK-NOT: linalg.generic
func.func @parts(%n: index, %to: memref<100xf32>) {
  %zero = arith.constant 0.0 : f32
  %parts = fagpu.workspace(%n) : memref<8x?x100xf32>
  %sums = fagpu.workspace() : memref<100xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<100xf32>)
  linalg.generic {indexing_maps = [affine_map<(k, l, e) -> (k, l, e)>, affine_map<(k, l, e) -> (e)>], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%parts : memref<8x?x100xf32>) outs(%sums : memref<100xf32>) {
  ^bb0(%part: f32, %sum: f32):
    %next = arith.addf %sum, %part : f32
    linalg.yield %next : f32
  }
  linalg.copy ins(%sums : memref<100xf32>) outs(%to : memref<100xf32>)
  return
}
