// RUN: fa-opt %s -fa-pack-heads | FileCheck %s
// RUN: fa-opt %s -fa-pack-heads=sinks=false | FileCheck %s --check-prefix=NOSINK

// The 8 query heads of a key head become its queries. The mask sees head 8 * h + i and query 0 of 1.

// CHECK-LABEL: func @decode(
// CHECK-SAME:      %[[Q:[^ :,)]*]]: memref<?x1x32x128xf16>
// CHECK:         %[[SPLIT:[^ :,)]*]] = memref.expand_shape %[[Q]] {{\[\[}}0], [1], [2, 3], [4]] {{.*}} into memref<?x1x4x8x128xf16>
// CHECK:         %[[VIEW:[^ :,)]*]] = memref.subview %[[SPLIT]]{{.*}} to memref<?x4x8x128xf16, strided<[4096, 1024, 128, 1]>>
// CHECK:         %[[LSE:[^ :,)]*]] = memref.subview {{.*}} to memref<?x4x8xf32
// CHECK:         fa.attention ins(%[[VIEW]], %{{.*}}, %{{.*}} : memref<?x4x8x128xf16, {{.*}}>, memref<?x?x4x128xf16>, memref<?x?x4x128xf16>)
// CHECK-SAME:        mask(%{{.*}}, %[[H:[^ :,)]*]], %[[I:[^ :,)]*]], %[[J:[^ :,)]*]]) captures(%[[TABLE:[^ :,)]*]] = %{{.*}} : memref<32xindex>) {
// CHECK:           %[[FIRST:[^ :,)]*]] = arith.muli %[[H]], %{{.*}} : index
// CHECK:           %[[HEAD:[^ :,)]*]] = arith.addi %[[FIRST]], %[[I]] : index
// CHECK:           memref.load %[[TABLE]][%[[HEAD]]]
// CHECK-NOT:       fa.query_length
// CHECK:         {output_dims = #fa.dims<b, h, s, d>, query_dims = #fa.dims<b, h, s, d>}
func.func @decode(%q: memref<?x1x32x128xf16>, %k: memref<?x?x4x128xf16>, %ends: memref<32xindex>, %o: memref<?x1x32x128xf16>,
                  %lse: memref<?x32x1xf32>) {
  fa.attention ins(%q, %k, %k : memref<?x1x32x128xf16>, memref<?x?x4x128xf16>, memref<?x?x4x128xf16>)
      outs(%o, %lse : memref<?x1x32x128xf16>, memref<?x32x1xf32>)
      mask(%b, %h, %i, %j) captures(%table = %ends : memref<32xindex>) {
        %end = memref.load %table[%h] : memref<32xindex>
        %queries = fa.query_length : index
        %last = arith.addi %end, %queries : index
        %low = arith.subi %last, %i : index
        %x = arith.cmpi slt, %j, %low : index
        fa.yield %x : i1
      }
  return
}

// A sink depends on the row then, of which a GPU has none.

// CHECK-LABEL: func @sink(
// CHECK:         memref.expand_shape
// NOSINK-LABEL: func @sink(
// NOSINK-NOT:     memref.expand_shape
// NOSINK:         return
func.func @sink(%q: memref<2x1x8x64xf32>, %k: memref<2x100x2x64xf32>, %sinks: memref<8xf32>, %o: memref<2x1x8x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<2x1x8x64xf32>, memref<2x100x2x64xf32>, memref<2x100x2x64xf32>) outs(%o : memref<2x1x8x64xf32>)
      sink(%b, %h, %i) captures(%t = %sinks : memref<8xf32>) {
        %x = memref.load %t[%h] : memref<8xf32>
        fa.yield %x : f32
      }
  return
}

// Nothing is packed with two queries, with a head for each key head, and on tensors.

// CHECK-LABEL: func @left_alone(
// CHECK-NOT:     expand_shape
// CHECK:         return
func.func @left_alone(%two: memref<2x2x8x64xf32>, %k: memref<2x100x2x64xf32>, %one: memref<2x1x2x64xf32>, %t: tensor<2x1x8x64xf32>,
                      %tk: tensor<2x100x2x64xf32>) -> tensor<2x1x8x64xf32> {
  fa.attention ins(%two, %k, %k : memref<2x2x8x64xf32>, memref<2x100x2x64xf32>, memref<2x100x2x64xf32>) outs(%two : memref<2x2x8x64xf32>)
  fa.attention ins(%one, %k, %k : memref<2x1x2x64xf32>, memref<2x100x2x64xf32>, memref<2x100x2x64xf32>) outs(%one : memref<2x1x2x64xf32>)
  %r = fa.attention ins(%t, %tk, %tk : tensor<2x1x8x64xf32>, tensor<2x100x2x64xf32>, tensor<2x100x2x64xf32>) outs(%t : tensor<2x1x8x64xf32>)
  return %r : tensor<2x1x8x64xf32>
}
