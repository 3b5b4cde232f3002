// RUN: fa-opt %s --fa-decompose --cse | FileCheck %s

// The operations of one step, in their order.

// CHECK-LABEL: func @step(
// CHECK-SAME: %[[ACC:[a-z0-9]+]]: memref<8x16xf32>, %[[MAX:[a-z0-9]+]]: memref<8xf32>, %[[SUM:[a-z0-9]+]]: memref<8xf32>
func.func @step(%q: memref<1x8x1x16xf32>, %k: memref<1x4x1x16xf32>, %v: memref<1x4x1x16xf32>,
                %acc: memref<8x16xf32>, %max: memref<8xf32>, %sum: memref<8xf32>,
                %row: index, %key: index, %n: index, %table: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  // A table that may have no elements has a stand-in to be read then, of size 0.
  // CHECK: %[[ELEMENT:.+]] = memref.alloca() : memref<1xf32>
  // CHECK: %[[COUNT:.+]] = memref.dim %[[GIVEN:[a-z0-9]+]],
  // CHECK: %[[SOME:.+]] = arith.cmpi ne, %[[COUNT]], %
  // CHECK: memref.reinterpret_cast %[[ELEMENT]] to offset: [0], sizes: [0], strides: [1]
  // CHECK: %[[TABLE:.+]] = arith.select %[[SOME]], %[[GIVEN]], %{{.+}} : memref<?xf32>
  // CHECK: %[[S:.+]] = memref.alloca() {{.*}} : memref<4x8xf32>
  // CHECK: linalg.fill {{.*}} outs(%[[S]] :
  // CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}} outs(%[[S]] :
  // CHECK: math.fma
  // Score and mask, with the new maximum. A table entry that may be out of
  // bounds is 0 there, and the load stays inside the table.
  // CHECK: linalg.generic {{.*}}["reduction", "parallel"]{{.*}} outs(%[[S]], %[[SHIFT:.+]] : memref<4x8xf32>, memref<8xf32>)
  // CHECK: %[[I:.+]] = linalg.index 1
  // CHECK: %[[J:.+]] = linalg.index 0
  // CHECK: %[[SIZE:.+]] = memref.dim %[[TABLE]], %
  // CHECK: %[[BELOW:.+]] = arith.cmpi ult, %[[INDEX:.+]], %[[SIZE]]
  // CHECK: %[[INSIDE:.+]] = arith.select %[[BELOW]], %[[INDEX]], %
  // CHECK: %[[ENTRY:.+]] = memref.load %[[TABLE]][%[[INSIDE]]]
  // CHECK: arith.select %[[BELOW]], %[[ENTRY]], %
  // CHECK: %[[X:.+]] = arith.select %{{.+}}, %{{.+}}, %{{.+}} : f32
  // CHECK: %[[LARGER:.+]] = arith.cmpf ogt, %[[X]],
  // CHECK: arith.select %[[LARGER]], %[[X]],
  // What is subtracted is 0 and not -infinity for a row without a visible key.
  // CHECK: linalg.generic {{.*}}["parallel"]{{.*}} outs(%[[SHIFT]], %[[CORRECTION:.+]], %[[MAX]] :
  // CHECK: arith.cmpf oeq
  // CHECK: math.exp
  // CHECK: linalg.fill {{.*}} outs(%[[BLOCKSUM:.+]] : memref<8xf32>)
  // CHECK: linalg.generic {{.*}}["reduction", "parallel"]{{.*}} ins(%[[SHIFT]] : memref<8xf32>) outs(%[[S]], %[[BLOCKSUM]] :
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} ins(%[[CORRECTION]], %[[BLOCKSUM]] : {{.*}}) outs(%[[SUM]] :
  // CHECK: linalg.fill {{.*}} outs(%[[PRODUCT:.+]] : memref<16x8xf32>)
  // CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}} outs(%[[PRODUCT]] :
  // CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %[[CORRECTION]] : {{.*}}) outs(%[[ACC]] :
  // CHECK-NOT: fa.
  // CHECK: return
  fa.online_attention ins(%q, %k, %v : memref<1x8x1x16xf32>, memref<1x4x1x16xf32>, memref<1x4x1x16xf32>)
      outs(%acc, %max, %sum : memref<8x16xf32>, memref<8xf32>, memref<8xf32>) scale(%one)
      offsets(%c0, %c0, %row, %key) extents(%n, %n)
      score(%s, %b, %h, %i, %j) captures(%t = %table : memref<?xf32>) {
        %d = arith.subi %i, %j : index
        %e = memref.load %t[%d] : memref<?xf32>
        %x = arith.addf %s, %e : f32
        fa.yield %x : f32
      }
      mask causal
  return
}

// Without regions and with scale 1 the scores are only read for the maximum.

// CHECK-LABEL: func @plain(
func.func @plain(%q: memref<1x8x1x16xf32>, %acc: memref<8x16xf32>, %row: memref<8xf32>) {
  %one = arith.constant 1.0 : f32
  // CHECK: linalg.generic {{.*}}["reduction", "parallel"]{{.*}} ins(%{{.+}} : memref<8x8xf32>) outs(%{{.+}} : memref<8xf32>)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.cmpf ogt
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: linalg.yield
  fa.online_attention ins(%q, %q, %q : memref<1x8x1x16xf32>, memref<1x8x1x16xf32>, memref<1x8x1x16xf32>)
      outs(%acc, %row, %row : memref<8x16xf32>, memref<8xf32>, memref<8xf32>) scale(%one)
  return
}

// Only the valid rows are written; a row whose sum is 0 gives 0 and -infinity.

// CHECK-LABEL: func @finalize(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<1x?x1x16xbf16>, %[[LSE:[a-z0-9]+]]: memref<1x1x?xf32>, %[[ROWS:[a-z0-9]+]]: index
func.func @finalize(%acc: memref<8x16xf32>, %max: memref<8xf32>, %sum: memref<8xf32>,
                    %o: memref<1x?x1x16xbf16>, %lse: memref<1x1x?xf32>, %rows: index) {
  // CHECK: %[[WRITTEN:.+]] = arith.minsi %{{.+}}, %[[ROWS]]
  // CHECK: %[[TARGET:.+]] = memref.subview %[[O]][0, 0, 0, 0] [1, %[[WRITTEN]], 1, 16]
  // CHECK: linalg.generic {{.*}} outs(%[[TARGET]] :
  // CHECK: arith.truncf
  // CHECK: linalg.generic
  // CHECK: math.log
  // CHECK: memref.subview %[[LSE]][0, 0, 0] [1, 1, %[[WRITTEN]]]
  fa.finalize ins(%acc, %max, %sum : memref<8x16xf32>, memref<8xf32>, memref<8xf32>)
      outs(%o, %lse : memref<1x?x1x16xbf16>, memref<1x1x?xf32>) rows(%rows)
  return
}

// A part whose weight is 0 is not read into the sum.

// CHECK-LABEL: func @combine(
func.func @combine(%a: memref<2x3x4x16xf32>, %l: memref<2x4x3xf32>, %b: memref<2x3x4x16xf32>, %m: memref<2x4x3xf32>,
                   %o: memref<2x3x4x16xf16>) {
  // CHECK: linalg.generic
  // CHECK-SAME: ["parallel", "parallel", "parallel", "parallel"]
  // CHECK-COUNT-2: math.exp
  // CHECK-COUNT-2: arith.cmpf oeq, %{{.+}}, %cst
  // CHECK: arith.divf
  // CHECK: arith.truncf
  fa.combine a(%a, %l : memref<2x3x4x16xf32>, memref<2x4x3xf32>) b(%b, %m : memref<2x3x4x16xf32>, memref<2x4x3xf32>)
      outs(%o : memref<2x3x4x16xf16>)
  return
}

// In a table that may have no elements, an index known to stay inside is held to
// 0 too; a table that has some, by its type, is read as before. The stand-in
// starts where the type says, and once for all iterations.

// CHECK-LABEL: func @tables(
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: memref<4x?xi32, strided<[?, 1], offset: 3>>, %[[SLOPES:[a-z0-9]+]]: memref<4xf32>
func.func @tables(%q: memref<1x8x1x16xf32>, %acc: memref<8x16xf32>, %row: memref<8xf32>,
                  %ids: memref<4x?xi32, strided<[?, 1], offset: 3>>, %slopes: memref<4xf32>, %n: index) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  // CHECK: scf.forall
  // CHECK-NEXT: %[[ELEMENT:.+]] = memref.alloca() : memref<4xi32>
  // CHECK: scf.for
  // CHECK-NOT: memref.alloca() : memref<4xi32>
  // CHECK: memref.reinterpret_cast %[[ELEMENT]] to offset: [3], sizes: [4, 0], strides: [0, 1]
  // CHECK: %[[TABLE:.+]] = arith.select %{{.+}}, %[[IDS]], %{{.+}} : memref<4x?xi32, strided<[?, 1], offset: 3>>
  // CHECK-NOT: %[[SLOPES]],
  // CHECK: memref.load %[[SLOPES]][%[[C2:.+]]]
  // CHECK: %[[BATCHES:.+]] = memref.dim %[[TABLE]],
  // CHECK: %[[KEYS:.+]] = memref.dim %[[TABLE]],
  // CHECK: %[[EMPTY:.+]] = arith.cmpi eq, %[[KEYS]], %
  // CHECK: %[[LIMIT:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[BATCHES]] : index
  // CHECK: %[[BELOW:.+]] = arith.cmpi ult, %[[C2]], %[[LIMIT]]
  // CHECK: arith.select %[[BELOW]], %[[C2]], %
  // CHECK: memref.load %[[TABLE]]
  scf.forall (%b) in (4) {
    scf.for %j0 = %c0 to %n step %c8 {
      fa.online_attention ins(%q, %q, %q : memref<1x8x1x16xf32>, memref<1x8x1x16xf32>, memref<1x8x1x16xf32>)
          outs(%acc, %row, %row : memref<8x16xf32>, memref<8xf32>, memref<8xf32>) scale(%one)
          offsets(%c2, %c2, %c0, %j0) extents(%n, %n)
          score(%s, %x, %h, %i, %j) captures(%t = %slopes : memref<4xf32>) {
            %e = memref.load %t[%h] : memref<4xf32>
            %y = arith.addf %s, %e : f32
            fa.yield %y : f32
          }
          mask(%x, %h, %i, %j) captures(%t = %ids : memref<4x?xi32, strided<[?, 1], offset: 3>>) {
            %e = memref.load %t[%x, %j] : memref<4x?xi32, strided<[?, 1], offset: 3>>
            %zero = arith.constant 0 : i32
            %y = arith.cmpi eq, %e, %zero : i32
            fa.yield %y : i1
          }
    }
  }
  return
}
