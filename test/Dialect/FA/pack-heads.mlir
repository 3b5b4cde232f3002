// RUN: fa-opt %s -fa-pack-heads | FileCheck %s
// RUN: fa-opt %s -fa-pack-heads=sinks=false | FileCheck %s --check-prefix=NOSINK
// RUN: fa-opt %s -fa-pack-heads=queries=1 | FileCheck %s --check-prefix=ONE

// The 8 query heads of a key head become its queries. The mask sees head 8 * h + i and query 0 of 1.

// CHECK-LABEL: func @decode(
// CHECK-SAME:      %[[Q:[^ :,)]*]]: memref<?x1x32x128xf16>
// CHECK:         %[[ROWS:[^ :,)]*]] = memref.subview %[[Q]]{{.*}} to memref<?x32x128xf16, strided<[4096, 128, 1]>>
// CHECK:         %[[VIEW:[^ :,)]*]] = memref.expand_shape %[[ROWS]] {{\[\[}}0], [1, 2], [3]] {{.*}} into memref<?x4x8x128xf16, strided<[4096, 1024, 128, 1]>>
// CHECK:         %[[LSE:[^ :,)]*]] = memref.expand_shape {{.*}} into memref<?x4x8xf32
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

// One key head is no dimension to drop.

// CHECK-LABEL: func @one_key_head(
// CHECK:         fa.attention ins(%{{.*}} : memref<?x1x6x16xf32, strided<[96, 96, 16, 1]>>, memref<?x1x?x16xf32>, memref<?x1x?x16xf32>)
func.func @one_key_head(%q: memref<?x6x1x16xf32>, %k: memref<?x1x?x16xf32>, %o: memref<?x6x1x16xf32>, %lse: memref<?x6x1xf32>) {
  fa.attention ins(%q, %k, %k : memref<?x6x1x16xf32>, memref<?x1x?x16xf32>, memref<?x1x?x16xf32>)
      outs(%o, %lse : memref<?x6x1x16xf32>, memref<?x6x1xf32>)
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
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

// Rows of several queries, 3 for each of 4 heads, are copied. A row sees head 4 * h + row mod 4 and query row / 4 of 3.

// CHECK-LABEL: func @tokens(
// CHECK-SAME:      %[[Q:[^ :,)]*]]: memref<?x3x8x64xf32>, %[[K:[^ :,)]*]]: memref<?x?x2x64xf32>, %[[O:[^ :,)]*]]: memref<?x8x3x64xf32>, %[[LSE:[^ :,)]*]]: memref<?x8x3xf32>
// CHECK:         %[[SPLIT:.+]] = memref.expand_shape %[[Q]] {{.*}} into memref<?x3x2x4x64xf32>
// CHECK:         %[[ROWS:.+]] = memref.transpose %[[SPLIT]] (d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)
// CHECK:         %[[QCOPY:.+]] = memref.alloc(%{{.+}}) {{.*}} : memref<?x2x3x4x64xf32>
// CHECK:         %[[QPACK:.+]] = memref.collapse_shape %[[QCOPY]] {{\[\[}}0], [1], [2, 3], [4]] : {{.*}} into memref<?x2x12x64xf32>
// CHECK:         linalg.copy ins(%[[ROWS]] : {{.*}}) outs(%[[QCOPY]] : memref<?x2x3x4x64xf32>)
// CHECK:         %[[OROWS:.+]] = memref.transpose %{{.+}} (d0, d1, d2, d3, d4) -> (d0, d1, d3, d2, d4)
// CHECK:         %[[OCOPY:.+]] = memref.alloc(%{{.+}}) {{.*}} : memref<?x2x3x4x64xf32>
// CHECK:         %[[LROWS:.+]] = memref.transpose %{{.+}} (d0, d1, d2, d3) -> (d0, d1, d3, d2)
// CHECK:         %[[LCOPY:.+]] = memref.alloc(%{{.+}}) {{.*}} : memref<?x2x3x4xf32>
// CHECK:         fa.attention ins(%[[QPACK]], %[[K]], %[[K]] : memref<?x2x12x64xf32>, {{.*}}) outs(%{{.+}}, %{{.+}} : memref<?x2x12x64xf32>, memref<?x2x12xf32>)
// CHECK-SAME:        mask(%{{.*}}, %[[H:[^ :,)]*]], %[[I:[^ :,)]*]], %[[J:[^ :,)]*]])
// CHECK:           %[[FOUR:.+]] = arith.constant 4 : index
// CHECK:           %[[QUERY:.+]] = arith.divui %[[I]], %[[FOUR]]
// CHECK:           %[[N:.+]] = arith.constant 3 : index
// CHECK:           arith.subi %{{.+}}, %[[N]]
// CHECK:           arith.addi %[[QUERY]]
// CHECK:         {output_dims = #fa.dims<b, h, s, d>, query_dims = #fa.dims<b, h, s, d>}
// CHECK-DAG:     linalg.copy ins(%[[OCOPY]] : {{.*}}) outs(%[[OROWS]] :
// CHECK-DAG:     linalg.copy ins(%[[LCOPY]] : {{.*}}) outs(%[[LROWS]] :
// CHECK:         memref.dealloc %[[QCOPY]]
// ONE-LABEL:   func @tokens(
// ONE-NOT:       linalg.copy
// ONE:           return
func.func @tokens(%q: memref<?x3x8x64xf32>, %k: memref<?x?x2x64xf32>, %o: memref<?x8x3x64xf32>, %lse: memref<?x8x3xf32>) {
  fa.attention ins(%q, %k, %k : memref<?x3x8x64xf32>, memref<?x?x2x64xf32>, memref<?x?x2x64xf32>)
      outs(%o, %lse : memref<?x8x3x64xf32>, memref<?x8x3xf32>) mask causal {output_dims = #fa.dims<b, h, s, d>}
  return
}

// Nothing is packed with many queries, with a head for each key head, and on tensors.

// CHECK-LABEL: func @left_alone(
// CHECK-NOT:     expand_shape
// CHECK:         return
func.func @left_alone(%two: memref<2x17x8x64xf32>, %k: memref<2x100x2x64xf32>, %one: memref<2x1x2x64xf32>, %t: tensor<2x1x8x64xf32>,
                      %tk: tensor<2x100x2x64xf32>) -> tensor<2x1x8x64xf32> {
  fa.attention ins(%two, %k, %k : memref<2x17x8x64xf32>, memref<2x100x2x64xf32>, memref<2x100x2x64xf32>) outs(%two : memref<2x17x8x64xf32>)
  fa.attention ins(%one, %k, %k : memref<2x1x2x64xf32>, memref<2x100x2x64xf32>, memref<2x100x2x64xf32>) outs(%one : memref<2x1x2x64xf32>)
  %r = fa.attention ins(%t, %tk, %tk : tensor<2x1x8x64xf32>, tensor<2x100x2x64xf32>, tensor<2x100x2x64xf32>) outs(%t : tensor<2x1x8x64xf32>)
  return %r : tensor<2x1x8x64xf32>
}

// A merge of one query each has heads for rows, and in place one view for both sides.

// CHECK-LABEL: func @merge(
// CHECK-SAME:      %[[A:[^ :,)]*]]: memref<4x1x8x16xf32>, %[[L:[^ :,)]*]]: memref<4x8x1xf32>
// CHECK:         %[[VIEW:.*]] = memref.transpose %[[A]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK:         %[[LSE:.*]] = memref.transpose %[[L]] (d0, d1, d2) -> (d0, d2, d1)
// CHECK:         fa.combine a(%[[VIEW]], %[[LSE]] : {{.*}}) b({{.*}}) outs(%[[VIEW]], %[[LSE]] :
func.func @merge(%a: memref<4x1x8x16xf32>, %l: memref<4x8x1xf32>, %b: memref<4x1x8x16xf32>, %m: memref<4x8x1xf32>) {
  fa.combine a(%a, %l : memref<4x1x8x16xf32>, memref<4x8x1xf32>) b(%b, %m : memref<4x1x8x16xf32>, memref<4x8x1xf32>)
      outs(%a, %l : memref<4x1x8x16xf32>, memref<4x8x1xf32>)
  return
}

// Rows of sequences that share keys are packed, however many they are.

// CHECK-LABEL: func @shared(
// CHECK:         fa.attention ins(%{{.*}} : memref<1x2x256x64xf16>
func.func @shared(%q: memref<1x64x8x64xf16>, %k: memref<1x?x2x64xf16>, %o: memref<1x64x8x64xf16>) {
  fa.attention ins(%q, %k, %k : memref<1x64x8x64xf16>, memref<1x?x2x64xf16>, memref<1x?x2x64xf16>) outs(%o : memref<1x64x8x64xf16>)
      {fa.shared_keys}
  return
}

// Their number may come at run time: a region divides the rows that there are then.

// CHECK-LABEL: func @shared_by_some(
// CHECK:         fa.attention ins(%{{.*}} : memref<1x2x?x64xf16>
// CHECK-SAME:        mask(%{{.*}}, %{{.*}}, %[[ROW:[^ :,)]*]], %[[J:[^ :,)]*]])
// CHECK-DAG:       %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG:       %[[QUERY:.*]] = arith.divui %[[ROW]], %[[FOUR]]
// CHECK:           %[[ROWS:.*]] = fa.query_length
// CHECK:           %[[QUERIES:.*]] = arith.divui %[[ROWS]], %{{.*}}
// CHECK:           arith.subi %[[QUERIES]], %[[QUERY]]
func.func @shared_by_some(%q: memref<1x?x8x64xf16>, %k: memref<1x?x2x64xf16>, %o: memref<1x?x8x64xf16>) {
  fa.attention ins(%q, %k, %k : memref<1x?x8x64xf16>, memref<1x?x2x64xf16>, memref<1x?x2x64xf16>) outs(%o : memref<1x?x8x64xf16>)
      mask(%b, %h, %i, %j) {
        %queries = fa.query_length : index
        %left = arith.subi %queries, %i : index
        %x = arith.cmpi slt, %j, %left : index
        fa.yield %x : i1
      }
      {fa.shared_keys}
  return
}
