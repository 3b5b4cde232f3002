// RUN: fa-opt %s -split-input-file -fa-tile -canonicalize -cse | FileCheck %s

// A tile of a packed sequence is a slice of its rows. There are rows / block + batch slots, of 8 heads each, and a search finds the
// sequence that a slot is of. Starts that are out of bounds, or fall, give no keys and a sink of NaN.

// CHECK-LABEL: func @packed(
// CHECK-SAME:      %[[Q:.*]]: memref<?x8x64xf32>, %[[K:.*]]: memref<?x2x64xf32>, %[[S:.*]]: memref<?xi32>, %[[O:.*]]: memref<?x8x64xf32>, %[[LSE:.*]]: memref<8x?xf32>
// CHECK-DAG:     %[[Q4:.*]] = memref.expand_shape %[[Q]] {{\[\[}}0, 1], [2], [3]] {{.*}} into memref<1x?x8x64xf32>
// CHECK-DAG:     %[[O4:.*]] = memref.expand_shape %[[O]]
// CHECK-DAG:     %[[K4:.*]] = memref.expand_shape %[[K]]
// CHECK-DAG:     %[[L3:.*]] = memref.expand_shape %[[LSE]] {{.*}} into memref<1x8x?xf32>
// CHECK:         %[[BATCH:.*]] = arith.subi %{{.*}}, %[[C1:.*]] : index
// CHECK-DAG:     %[[SOME:.*]] = arith.minui %[[BATCH]], %[[C1]]
// CHECK-DAG:     %[[BLOCKS:.*]] = arith.divui %{{.*}}, %[[C16:.*]] : index
// CHECK:         %[[WHOLE:.*]] = arith.muli %[[BLOCKS]], %[[SOME]]
// CHECK:         %[[SLOTS:.*]] = arith.addi %[[WHOLE]], %[[BATCH]]
// CHECK:         %[[TILES:.*]] = arith.muli %[[SLOTS]], %[[C8:.*]] overflow<nsw>
// CHECK:         scf.forall (%[[T:.*]]) in (%[[TILES]]) {
// CHECK:           %[[SLOT:.*]] = arith.divui %[[T]], %[[C8]]
// CHECK:           %[[B:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[BATCH]])
// CHECK:             memref.load %[[S]]
// CHECK:             arith.cmpi slt, %[[SLOT]]
// CHECK:           memref.load %[[S]][%[[B]]#0]
// CHECK:           %[[COUNT:.*]] = arith.select {{.*}} : index
// CHECK:           %[[AT:.*]] = arith.select {{.*}} : index
// CHECK:           %[[H:.*]] = arith.divui %[[AT]], %[[COUNT]]
// CHECK:           %[[NUMBER:.*]] = arith.remui %[[AT]], %[[COUNT]]
// CHECK:           %[[I:.*]] = arith.muli %[[NUMBER]], %[[C16]]
// CHECK:           %[[BEGIN:.*]] = affine.min {{.*}}%[[I]]
// CHECK:           %[[ROWS:.*]] = affine.min
// CHECK:           %[[KH:.*]] = affine.apply {{.*}}%[[H]]
// CHECK:           %[[TILE:.*]] = memref.subview %[[Q4]][0, %{{.*}}, %[[H]], 0] [1, %[[ROWS]], 1, 64]
// CHECK:           memref.subview %[[K4]][0, %{{.*}}, %[[KH]], 0] [1, %[[KEYS:.*]], 1, 64]
// CHECK:           memref.subview %[[O4]][0, %{{.*}}, %[[H]], 0] [1, %[[ROWS]], 1, 64]
// CHECK:           memref.subview %[[L3]][0, %[[H]], %{{.*}}] [1, 1, %[[ROWS]]]
// CHECK:           fa.attention ins(%[[TILE]]
// CHECK-SAME:          offsets(%[[B]]#0, %[[H]], %[[BEGIN]], %{{.*}}) extents(%{{.*}}, %[[KEYS]])
// CHECK-SAME:          sink({{.*}}) captures(%[[VALID:.*]] = %{{.*}} : i1) {
// CHECK:             arith.select %[[VALID]], %{{.*}}, %{{.*}} : f32
func.func @packed(%q: memref<?x8x64xf32>, %k: memref<?x2x64xf32>, %starts: memref<?xi32>, %o: memref<?x8x64xf32>, %lse: memref<8x?xf32>) {
  fa.attention ins(%q, %k, %k : memref<?x8x64xf32>, memref<?x2x64xf32>, memref<?x2x64xf32>) outs(%o, %lse : memref<?x8x64xf32>, memref<8x?xf32>)
      query_starts(%starts : memref<?xi32>) key_starts(%starts : memref<?xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>,
       config = #fa.config<query_block = 16, key_block = 32, target = #fa.cpu<lanes = 8>>}
  return
}

// -----

// Rows in pages are one memref until fa-place-pages. All pages of a sequence are looked at before.

// CHECK-LABEL: func @paged(
// CHECK-SAME:      %[[Q:.*]]: memref<3x4x8x64xf32>, %[[POOL:.*]]: memref<?x2x16x64xf32>, %[[N:.*]]: memref<3xi32>, %[[T:.*]]: memref<3x?xi32>
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]]) in (3, 8) {
// CHECK:           memref.load %[[N]][%[[B]]]
// CHECK:           scf.for %[[P:[^ ]*]] =
// CHECK:             memref.load %[[T]][%[[B]], %[[P]]]
// CHECK:             arith.cmpi ult
// CHECK:             scf.yield
// CHECK:           %[[KEYS:.*]] = arith.select
// CHECK:           %[[KH:.*]] = affine.apply {{.*}}%[[H]]
// CHECK:           %[[K:.*]] = fa.paged_rows %[[POOL]][%[[KH]]] pages(%[[T]][%[[B]]]) count(%[[KEYS]]) {dims = #fa.dims<p, h, s, d>}
// CHECK:           fa.attention ins(%{{.*}}, %[[K]], %{{.*}} : {{.*}}) {{.*}} offsets(
func.func @paged(%q: memref<3x4x8x64xf32>, %pool: memref<?x2x16x64xf32>, %lengths: memref<3xi32>, %table: memref<3x?xi32>) {
  fa.attention ins(%q, %pool, %pool : memref<3x4x8x64xf32>, memref<?x2x16x64xf32>, memref<?x2x16x64xf32>) outs(%q : memref<3x4x8x64xf32>)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>)
      {key_dims = #fa.dims<p, h, s, d>, value_dims = #fa.dims<p, h, s, d>,
       config = #fa.config<query_block = 16, key_block = 32, target = #fa.cpu<lanes = 8>>}
  return
}
