// RUN: fa-opt %s --fa-apply-to-linalg --canonicalize --split-input-file | FileCheck %s

// A region with an element of each input and two results. A table entry that
// may be out of bounds is 0 there, and the load stays inside the table. Pairs
// behind the last query or key are evaluated there.

// CHECK-LABEL: func @score(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x?xf32>, %[[W:[a-z0-9]+]]: tensor<8x?xi32>, %[[GIVEN:[a-z0-9]+]]: memref<?xf32>
// CHECK-SAME: %{{[a-z0-9]+}}: index, %[[I0:[a-z0-9]+]]: index, %[[J0:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
func.func @score(%x: tensor<8x?xf32>, %w: tensor<8x?xi32>, %table: memref<?xf32>, %b: index, %i0: index, %j0: index,
                 %n: index) -> (tensor<8x?xi32>, tensor<8x?xf32>) {
  // A table that may have no elements has a stand-in to be read then, of size 0.
  // CHECK: %[[ELEMENT:.+]] = memref.alloca() : memref<1xf32>
  // CHECK: %[[COUNT:.+]] = memref.dim %[[GIVEN]],
  // CHECK: %[[SOME:.+]] = arith.cmpi ne, %[[COUNT]], %
  // CHECK: memref.reinterpret_cast %[[ELEMENT]] to offset: [0], sizes: [0], strides: [1]
  // CHECK: %[[TABLE:.+]] = arith.select %[[SOME]], %[[GIVEN]], %{{.+}} : memref<?xf32>
  // CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}} ins(%[[X]], %[[W]] : {{.+}}) outs(%{{.+}}, %{{.+}} : tensor<8x?xi32>, tensor<8x?xf32>)
  // CHECK-NEXT: ^bb0(%[[S:.+]]: f32, %[[U:.+]]: i32, %{{.+}}: i32, %{{.+}}: f32):
  // CHECK: %[[ROW:.+]] = linalg.index 0
  // CHECK: %[[QUERY:.+]] = arith.addi %[[I0]], %[[ROW]]
  // CHECK: %[[LAST:.+]] = arith.subi %[[N]], %
  // CHECK: %[[LEAST:.+]] = arith.minsi %[[QUERY]], %[[LAST]]
  // CHECK: %[[I:.+]] = arith.maxsi %[[LEAST]], %
  // CHECK: %[[COLUMN:.+]] = linalg.index 1
  // CHECK: %[[KEY:.+]] = arith.addi %[[J0]], %[[COLUMN]]
  // CHECK: %[[LASTKEY:.+]] = arith.subi %[[N]], %
  // CHECK: %[[LEASTKEY:.+]] = arith.minsi %[[KEY]], %[[LASTKEY]]
  // CHECK: %[[J:.+]] = arith.maxsi %[[LEASTKEY]], %
  // CHECK: %[[D:.+]] = arith.subi %[[I]], %[[J]]
  // CHECK: %[[SIZE:.+]] = memref.dim %[[TABLE]], %
  // CHECK: %[[BELOW:.+]] = arith.cmpi ult, %[[D]], %[[SIZE]]
  // CHECK: %[[INSIDE:.+]] = arith.select %[[BELOW]], %[[D]], %
  // CHECK: %[[LOADED:.+]] = memref.load %[[TABLE]][%[[INSIDE]]]
  // CHECK: %[[ENTRY:.+]] = arith.select %[[BELOW]], %[[LOADED]], %
  // CHECK: %[[Y:.+]] = arith.addf %[[S]], %[[ENTRY]]
  // CHECK: linalg.yield %[[U]], %[[Y]] : i32, f32
  %r:2 = fa.apply ins(%x, %w : tensor<8x?xf32>, tensor<8x?xi32>) offsets(%b, %b, %i0, %j0) extents(%n, %n)
      pairs(%s, %u, %batch, %head, %i, %j) captures(%t = %table : memref<?xf32>) {
    %d = arith.subi %i, %j : index
    %e = memref.load %t[%d] : memref<?xf32>
    // It is its operand here.
    %fixed = fa.stop_gradient %e : f32
    %y = arith.addf %s, %fixed : f32
    fa.yield %u, %y : i32, f32
  } -> (tensor<8x?xi32>, tensor<8x?xf32>)
  return %r#0, %r#1 : tensor<8x?xi32>, tensor<8x?xf32>
}

// A mask has its size and no input. Rows may be keys.

// CHECK-LABEL: func @mask(
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: index, %[[I0:[a-z0-9]+]]: index, %[[J0:[a-z0-9]+]]: index
// CHECK: %[[EMPTY:.+]] = tensor.empty(%[[COUNT]]) : tensor<8x?xi1>
// CHECK: linalg.generic {{.*}} outs(%[[EMPTY]] : tensor<8x?xi1>)
// CHECK: %[[COLUMN:.+]] = linalg.index 1
// CHECK: arith.addi %[[I0]], %[[COLUMN]]
// CHECK: %[[ROW:.+]] = linalg.index 0
// CHECK: %[[KEY:.+]] = arith.addi %[[J0]], %[[ROW]]
// CHECK: %[[LEAST:.+]] = arith.minsi %[[KEY]],
// CHECK: %[[J:.+]] = arith.maxsi %[[LEAST]],
// CHECK: arith.cmpi sle, %[[J]],
func.func @mask(%count: index, %i0: index, %j0: index, %n: index) -> tensor<8x?xi1> {
  %r = fa.apply sizes(%count) offsets(%n, %n, %i0, %j0) extents(%n, %n) rows(keys) pairs(%b, %h, %i, %j) {
    %y = arith.cmpi sle, %j, %i : index
    fa.yield %y : i1
  } -> tensor<8x?xi1>
  return %r : tensor<8x?xi1>
}

// -----

// In a table that may have no elements, an index known to stay inside is held to
// 0 too; a table that has some, by its type, is read as before. The stand-in
// starts where the type says, and once for all iterations.

// CHECK-LABEL: func @tables(
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: memref<4x?xi32, strided<[?, 1], offset: 3>>, %[[SLOPES:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[C2:.+]] = arith.constant 2 : index
// CHECK: scf.forall
// CHECK-NEXT: %[[ELEMENT:.+]] = memref.alloca() : memref<4xi32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca() : memref<4xi32>
// CHECK-NOT: memref.dim %[[SLOPES]]
// CHECK: memref.load %[[SLOPES]][%[[C2]]]
// CHECK: memref.reinterpret_cast %[[ELEMENT]] to offset: [3], sizes: [4, 0], strides: [0, 1]
// CHECK: %[[TABLE:.+]] = arith.select %{{.+}}, %[[IDS]], %{{.+}} : memref<4x?xi32, strided<[?, 1], offset: 3>>
// CHECK: %[[KEYS:.+]] = memref.dim %[[TABLE]],
// CHECK: %[[EMPTY:.+]] = arith.cmpi eq, %[[KEYS]], %
// CHECK: %[[LIMIT:.+]] = arith.select %[[EMPTY]], %{{.+}}, %{{.+}} : index
// CHECK: %[[BELOW:.+]] = arith.cmpi ugt, %[[LIMIT]], %[[C2]]
// CHECK: arith.select %[[BELOW]], %[[C2]], %
// CHECK: memref.load %[[TABLE]]
func.func @tables(%ids: memref<4x?xi32, strided<[?, 1], offset: 3>>, %slopes: memref<4xf32>, %n: index, %x: tensor<8x8xf32>,
                  %o: memref<8x8xf32>, %m: memref<8x8xi1>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.forall (%b) in (4) {
    scf.for %j0 = %c0 to %n step %c8 {
      %y = fa.apply ins(%x : tensor<8x8xf32>) offsets(%c2, %c2, %c0, %j0) extents(%n, %n)
          pairs(%s, %batch, %h, %i, %j) captures(%t = %slopes : memref<4xf32>) {
        %e = memref.load %t[%h] : memref<4xf32>
        %z = arith.addf %s, %e : f32
        fa.yield %z : f32
      } -> tensor<8x8xf32>
      %v = fa.apply offsets(%c2, %c2, %c0, %j0) extents(%n, %n)
          pairs(%batch, %h, %i, %j) captures(%t = %ids : memref<4x?xi32, strided<[?, 1], offset: 3>>) {
        %e = memref.load %t[%batch, %j] : memref<4x?xi32, strided<[?, 1], offset: 3>>
        %zero = arith.constant 0 : i32
        %z = arith.cmpi eq, %e, %zero : i32
        fa.yield %z : i1
      } -> tensor<8x8xi1>
      bufferization.materialize_in_destination %y in restrict writable %o : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
      bufferization.materialize_in_destination %v in restrict writable %m : (tensor<8x8xi1>, memref<8x8xi1>) -> ()
    }
  }
  return
}
