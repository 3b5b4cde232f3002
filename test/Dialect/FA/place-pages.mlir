// RUN: fa-opt %s -fa-place-pages -allow-unregistered-dialect | FileCheck %s

// A block within a page is a slice of it. Another one is copied, page by page, to scratch memory in front of the loop.

!rows = memref<1x?x1x24xf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func @blocks(
// CHECK-SAME:      %[[POOL:.*]]: memref<?x16x2x24xf16>, %[[T:.*]]: memref<?x?xi32>, %[[B:.*]]: index, %[[H:.*]]: index, %[[N:.*]]: index
// CHECK:         %[[SCRATCH:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x32x1x24xf16>
// CHECK:         scf.for %[[J:[^ ]*]] =
// CHECK:           %[[ROW:.*]] = arith.remui %[[J]], %[[SIZE:.*]] : index
// CHECK:           %[[END:.*]] = arith.addi %[[ROW]], %[[COUNT:.*]] : index
// CHECK:           arith.cmpi ule, %[[END]], %[[SIZE]]
// CHECK:           %[[MEMORY:.*]] = scf.if %{{.*}} -> (memref<1x?x1x24xf16, strided<[?, ?, ?, 1], offset: ?>>) {
// CHECK:             %[[NUMBER:.*]] = arith.divui %[[J]], %[[SIZE]]
// CHECK:             %[[ID:.*]] = memref.load %[[T]][%[[B]], %[[NUMBER]]]
// CHECK:             %[[PAGE:.*]] = arith.index_cast %[[ID]]
// CHECK:             memref.subview %[[POOL]][%[[PAGE]], %[[ROW]], %[[H]], 0] [1, %[[COUNT]], 1, 24]
// CHECK:           } else {
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK-COUNT-2:         vector.store %{{.*}}, %[[SCRATCH]]
// CHECK:           memref.subview %[[MEMORY]][0, 0, 0, 0] [1, %[[COUNT]], 1, 24]
func.func @blocks(%pool: memref<?x16x2x24xf16>, %table: memref<?x?xi32>, %b: index, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %k = fa.paged_rows %pool[%h] pages(%table[%b]) count(%n) {dims = #fa.dims<p, s, h, d>} : memref<?x16x2x24xf16>, memref<?x?xi32> -> !rows
  scf.for %j = %c0 to %n step %c32 {
    %rows = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 32)>(%j)[%n]
    %block = memref.subview %k[0, %j, 0, 0] [1, %rows, 1, 24] [1, 1, 1, 1] : !rows to !rows
    "test.use"(%block) : (!rows) -> ()
  }
  return
}
