// RUN: fa-opt %s -split-input-file -fa-batch-shared-keys --remark-format=emitRemark --remarks-filter=fa-batch-shared-keys 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// Pages and lengths of one sequence are given to all: batch and queries change places. The mask sees
// sequence i and query 0 of 1.

// CHECK-LABEL: func @pages(
// CHECK-SAME:      %[[Q:[^ :,)]*]]: memref<6x1x8x64xf16>, {{.*}}, %[[PROMPT:[^ :,)]*]]: memref<?xi32>, %[[COUNT:[^ :,)]*]]: memref<i32>,
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     linalg.broadcast
// CHECK-DAG:     %[[TABLE:.*]] = memref.expand_shape %[[PROMPT]] {{\[\[}}0, 1]] {{.*}} into memref<1x?xi32>
// CHECK-DAG:     %[[LENGTHS:.*]] = memref.expand_shape %[[COUNT]] [] {{.*}} into memref<1xi32>
// CHECK-DAG:     %[[LSE:.*]] = memref.transpose %{{.*}} (d0, d1, d2) -> (d2, d1, d0) : memref<6x8x1xf32> to memref<1x8x6xf32
// CHECK:         fa.attention ins(%[[Q]], {{.*}}) outs(%{{.*}}, %[[LSE]] : memref<6x1x8x64xf32>, memref<1x8x6xf32
// CHECK-SAME:        key_lengths(%[[LENGTHS]] : memref<1xi32>) key_pages(%[[TABLE]] : memref<1x?xi32>)
// CHECK-SAME:        mask(%{{.*}}, %{{.*}}, %[[I:[^ :,)]*]], %[[J:[^ :,)]*]]) captures(%[[ENDS:[^ :,)]*]] =
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:           %[[END:.*]] = memref.load %[[ENDS]][%[[I]]]
// CHECK:           arith.addi %[[END]], %[[ZERO]]
// CHECK:         {fa.shared_keys, key_dims = #fa.dims<p, s, h, d>, output_dims = #fa.dims<s, b, h, d>, query_dims = #fa.dims<s, b, h, d>, value_dims = #fa.dims<p, s, h, d>}
func.func @pages(%q: memref<6x1x8x64xf16>, %k: memref<?x16x2x64xf16>, %prompt: memref<?xi32>, %count: memref<i32>,
                 %pages: index, %ends: memref<6xindex>, %o: memref<6x1x8x64xf32>, %lse: memref<6x8x1xf32>) {
  %table = memref.alloc(%pages) : memref<6x?xi32>
  %lengths = memref.alloc() : memref<6xi32>
  linalg.broadcast ins(%prompt : memref<?xi32>) outs(%table : memref<6x?xi32>) dimensions = [0]
  linalg.broadcast ins(%count : memref<i32>) outs(%lengths : memref<6xi32>) dimensions = [0]
  fa.attention ins(%q, %k, %k : memref<6x1x8x64xf16>, memref<?x16x2x64xf16>, memref<?x16x2x64xf16>)
      outs(%o, %lse : memref<6x1x8x64xf32>, memref<6x8x1xf32>)
      key_lengths(%lengths : memref<6xi32>) key_pages(%table : memref<6x?xi32>)
      mask(%b, %h, %i, %j) captures(%t = %ends : memref<6xindex>) {
        %end = memref.load %t[%b] : memref<6xindex>
        %last = arith.addi %end, %i : index
        %x = arith.cmpi slt, %j, %last : index
        fa.yield %x : i1
      }
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  memref.dealloc %table : memref<6x?xi32>
  memref.dealloc %lengths : memref<6xi32>
  return
}

// -----

// Rows of four queries are copied, and row r is query r mod 4 of sequence r div 4. The sink sees them too.

// CHECK-LABEL: func @several(
// CHECK-SAME:      %[[Q:[^ :,)]*]]: memref<?x8x4x64xf16>, %[[K:[^ :,)]*]]: memref<?x2x64xf16>
// CHECK:         %[[ONE:.*]] = memref.expand_shape %[[K]] {{\[\[}}0, 1], [2], [3]] {{.*}} into memref<1x?x2x64xf16>
// CHECK:         %[[WHOLE:.*]] = memref.transpose %[[Q]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK:         %[[COPY:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<?x4x8x64xf16>
// CHECK:         memref.collapse_shape %[[COPY]] {{\[\[}}0, 1], [2], [3]] {{.*}} into memref<?x8x64xf16>
// CHECK:         linalg.copy ins(%[[WHOLE]] : {{.*}}) outs(%[[COPY]] :
// CHECK:         fa.attention ins(%{{.*}}, %[[ONE]], %[[ONE]] : memref<1x?x8x64xf16>, memref<1x?x2x64xf16>, memref<1x?x2x64xf16>)
// CHECK-SAME:        sink(%{{.*}}, %{{.*}}, %[[ROW:[^ :,)]*]]) captures
// CHECK:           %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:           %[[B:.*]] = arith.floordivsi %[[ROW]], %[[FOUR]]
// CHECK:           %[[I:.*]] = arith.remui %[[ROW]], %[[FOUR]]
// CHECK:           memref.load %{{.*}}[%[[B]], %[[I]]]
// CHECK:         linalg.copy
// CHECK:         memref.dealloc
func.func @several(%q: memref<?x8x4x64xf16>, %k: memref<?x2x64xf16>, %batch: index, %keys: index, %sinks: memref<?x4xf32>,
                   %o: memref<?x4x8x64xf32>) {
  %all = memref.alloc(%batch, %keys) : memref<?x?x2x64xf16>
  linalg.broadcast ins(%k : memref<?x2x64xf16>) outs(%all : memref<?x?x2x64xf16>) dimensions = [0]
  fa.attention ins(%q, %all, %all : memref<?x8x4x64xf16>, memref<?x?x2x64xf16>, memref<?x?x2x64xf16>) outs(%o : memref<?x4x8x64xf32>)
      sink(%b, %h, %i) captures(%t = %sinks : memref<?x4xf32>) {
        %x = memref.load %t[%b, %i] : memref<?x4xf32>
        fa.yield %x : f32
      }
      {query_dims = #fa.dims<b, h, s, d>}
  memref.dealloc %all : memref<?x?x2x64xf16>
  return
}

// -----

// A number of queries that is dynamic is captured: at least 1, as rows are divided by it.

// CHECK-LABEL: func @dynamic(
// CHECK:         %[[SIZE:.*]] = memref.dim %{{.*}}, %{{.*}} : memref<2x?x4x16xf32>
// CHECK:         %[[COUNT:.*]] = arith.maxsi %[[SIZE]], %{{.*}}
// CHECK:         fa.attention {{.*}} mask(%{{.*}}) captures(%[[IN:[^ :,)]*]] = %[[COUNT]] : index)
// CHECK:           arith.remui %{{.*}}, %[[IN]]
// CHECK-NOT:       fa.query_length
// CHECK:           fa.key_length
func.func @dynamic(%q: memref<2x?x4x16xf32>, %k: memref<2x?x4x16xf32, strided<[0, 64, 16, 1]>>, %o: memref<2x?x4x16xf32>) {
  fa.attention ins(%q, %k, %k : memref<2x?x4x16xf32>, memref<2x?x4x16xf32, strided<[0, 64, 16, 1]>>,
                   memref<2x?x4x16xf32, strided<[0, 64, 16, 1]>>)
      outs(%o : memref<2x?x4x16xf32>) mask causal
  return
}

// -----

// Constants with equal rows. Views of them would be none: there is a new one.

// CHECK:         memref.global "private" constant @[[LENGTHS:.*]] : memref<1xi32> = dense<30>
// CHECK:         memref.global "private" constant @[[TABLE:.*]] : memref<1x2xi32> = dense<{{\[\[}}3, 1]]>
// CHECK-LABEL: func @constants(
// CHECK-DAG:     memref.get_global @[[TABLE]] : memref<1x2xi32>
// CHECK-DAG:     memref.get_global @[[LENGTHS]] : memref<1xi32>
// CHECK:         fa.shared_keys
memref.global "private" constant @table : memref<3x2xi32> = dense<[[3, 1], [3, 1], [3, 1]]>
memref.global "private" constant @lengths : memref<3xi32> = dense<30>
func.func @constants(%q: memref<3x1x4x16xf32>, %k: memref<9x16x4x16xf32>, %o: memref<3x1x4x16xf32>) {
  %table = memref.get_global @table : memref<3x2xi32>
  %lengths = memref.get_global @lengths : memref<3xi32>
  fa.attention ins(%q, %k, %k : memref<3x1x4x16xf32>, memref<9x16x4x16xf32>, memref<9x16x4x16xf32>) outs(%o : memref<3x1x4x16xf32>)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x2xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

// The same pages, but lengths of their own; rows that differ; a source that changes before it is read.

// CHECK-LABEL: func @own(
// CHECK-NOT:     fa.shared_keys
// CHECK:         return
memref.global "private" constant @other : memref<3x2xi32> = dense<[[3, 1], [3, 1], [3, 2]]>
memref.global "private" constant @same : memref<3xi32> = dense<30>
func.func @own(%q: memref<3x1x4x16xf32>, %k: memref<9x16x4x16xf32>, %prompt: memref<2xi32>, %lengths: memref<3xi32>,
               %o: memref<3x1x4x16xf32>) {
  %table = memref.alloc() : memref<3x2xi32>
  linalg.broadcast ins(%prompt : memref<2xi32>) outs(%table : memref<3x2xi32>) dimensions = [0]
  fa.attention ins(%q, %k, %k : memref<3x1x4x16xf32>, memref<9x16x4x16xf32>, memref<9x16x4x16xf32>) outs(%o : memref<3x1x4x16xf32>)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x2xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  %other = memref.get_global @other : memref<3x2xi32>
  %same = memref.get_global @same : memref<3xi32>
  fa.attention ins(%q, %k, %k : memref<3x1x4x16xf32>, memref<9x16x4x16xf32>, memref<9x16x4x16xf32>) outs(%o : memref<3x1x4x16xf32>)
      key_lengths(%same : memref<3xi32>) key_pages(%other : memref<3x2xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  %zero = arith.constant 0 : index
  %page = arith.constant 5 : i32
  memref.store %page, %prompt[%zero] : memref<2xi32>
  fa.attention ins(%q, %k, %k : memref<3x1x4x16xf32>, memref<9x16x4x16xf32>, memref<9x16x4x16xf32>) outs(%o : memref<3x1x4x16xf32>)
      key_lengths(%same : memref<3xi32>) key_pages(%table : memref<3x2xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  memref.dealloc %table : memref<3x2xi32>
  return
}

// -----

!same = memref<3x?x4x16xf32, strided<[0, 64, 16, 1]>>

// REMARK: Remark="keys of all sequences are the same, and are read for each: it has query_lengths"
// REMARK: Remark="keys of all sequences are the same, and are read for each: it is batch_invariant"
// CHECK-LABEL: func @refused(
// CHECK-NOT:     fa.shared_keys
// CHECK:         return
func.func @refused(%q: memref<3x2x4x16xf32>, %k: !same, %lengths: memref<3xi32>, %o: memref<3x2x4x16xf32>) {
  fa.attention ins(%q, %k, %k : memref<3x2x4x16xf32>, !same, !same) outs(%o : memref<3x2x4x16xf32>) query_lengths(%lengths : memref<3xi32>)
  fa.attention ins(%q, %k, %k : memref<3x2x4x16xf32>, !same, !same) outs(%o : memref<3x2x4x16xf32>) {batch_invariant}
  return
}

// -----

// REMARK: Remark="keys of all sequences are the same, and are read for each: queries are packed"
// CHECK-LABEL: func @packed(
// CHECK-NOT:     fa.shared_keys
// CHECK:         return
func.func @packed(%q: memref<?x4x16xf32>, %k: memref<3x?x4x16xf32, strided<[0, 64, 16, 1]>>, %starts: memref<4xi32>, %o: memref<?x4x16xf32>) {
  fa.attention ins(%q, %k, %k : memref<?x4x16xf32>, memref<3x?x4x16xf32, strided<[0, 64, 16, 1]>>,
                   memref<3x?x4x16xf32, strided<[0, 64, 16, 1]>>)
      outs(%o : memref<?x4x16xf32>) query_starts(%starts : memref<4xi32>)
      {query_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}
