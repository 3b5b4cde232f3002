// RUN: fa-opt %s -fa-tile -canonicalize -cse | FileCheck %s
// RUN: fa-opt %s -fa-tile -canonicalize -cse -o %t.once
// RUN: fa-opt %t.once -fa-tile -canonicalize -cse | FileCheck %s

// Dynamic sizes, grouped heads, orders of dimensions, lse, lengths and captures.
// CHECK-DAG: #[[$ROWS:.+]] = affine_map<(d0)[s0] -> (-d0 + s0, 64)>
// CHECK-DAG: #[[$GROUP:.+]] = affine_map<()[s0] -> (s0 floordiv 4)>
// CHECK-DAG: #[[$SUM:.+]] = affine_map<()[s0, s1] -> (s0 + s1)>

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x8x?x64xbf16>, %[[K:[a-z0-9]+]]: memref<?x?x2x64xbf16>,
// CHECK-SAME:    %[[V:[a-z0-9]+]]: memref<?x2x?x32xbf16>, %[[O:[a-z0-9]+]]: memref<?x?x8x32xbf16>,
// CHECK-SAME:    %[[LSE:[a-z0-9]+]]: memref<?x8x?xf32>, %[[LENGTHS:[a-z0-9]+]]: memref<?xi32>, %[[SLOPES:[a-z0-9]+]]: memref<8xf32>
func.func @dynamic(%q: memref<?x8x?x64xbf16>, %k: memref<?x?x2x64xbf16>, %v: memref<?x2x?x32xbf16>,
                   %o: memref<?x?x8x32xbf16>, %lse: memref<?x8x?xf32>, %lengths: memref<?xi32>, %slopes: memref<8xf32>) {
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[C2:.+]] = arith.constant 2 : index
  // CHECK-DAG: %[[BATCH:.+]] = memref.dim %[[Q]], %[[C0]]
  // CHECK-DAG: %[[N:.+]] = memref.dim %[[Q]], %[[C2]]
  // CHECK-DAG: %[[KEYS:.+]] = memref.dim %[[K]], %[[C1]]
  // CHECK: scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]]) = (0, 0, 0) to (%[[BATCH]], 8, %[[N]]) step (1, 1, 64) {
  // CHECK-DAG: %[[R:.+]] = affine.min #[[$ROWS]](%[[I]])[%[[N]]]
  // CHECK-DAG: %[[KH:.+]] = affine.apply #[[$GROUP]]()[%[[H]]]
  // CHECK-DAG: %[[Q1:.+]] = memref.subview %[[Q]][%[[B]], %[[H]], %[[I]], 0] [1, 1, %[[R]], 64] [1, 1, 1, 1]
  // CHECK-DAG: %[[K1:.+]] = memref.subview %[[K]][%[[B]], 0, %[[KH]], 0] [1, %[[KEYS]], 1, 64] [1, 1, 1, 1]
  // CHECK-DAG: %[[V1:.+]] = memref.subview %[[V]][%[[B]], %[[KH]], 0, 0] [1, 1, %[[KEYS]], 32] [1, 1, 1, 1]
  // CHECK-DAG: %[[O1:.+]] = memref.subview %[[O]][%[[B]], %[[I]], %[[H]], 0] [1, %[[R]], 1, 32] [1, 1, 1, 1]
  // CHECK-DAG: %[[LSE1:.+]] = memref.subview %[[LSE]][%[[B]], %[[H]], %[[I]]] [1, 1, %[[R]]] [1, 1, 1]
  // CHECK: fa.attention ins(%[[Q1]], %[[K1]], %[[V1]] : memref<1x1x?x64xbf16, {{[^>]*}}>>, memref<1x?x1x64xbf16, {{[^>]*}}>>, memref<1x1x?x32xbf16, {{[^>]*}}>>)
  // CHECK-SAME: outs(%[[O1]], %[[LSE1]] : memref<1x?x1x32xbf16, {{[^>]*}}>>, memref<1x1x?xf32, {{[^>]*}}>>)
  // CHECK-SAME: key_lengths(%[[LENGTHS]] : memref<?xi32>)
  // CHECK-SAME: offsets(%[[B]], %[[H]], %[[I]], %[[C0]]) extents(%[[N]], %[[KEYS]])
  // CHECK-SAME: captures(%{{.+}} = %[[SLOPES]] : memref<8xf32>)
  // CHECK-NOT: memref.copy
  fa.attention ins(%q, %k, %v : memref<?x8x?x64xbf16>, memref<?x?x2x64xbf16>, memref<?x2x?x32xbf16>)
      outs(%o, %lse : memref<?x?x8x32xbf16>, memref<?x8x?xf32>)
      key_lengths(%lengths : memref<?xi32>) score alibi(%slopes : memref<8xf32>) mask causal
      {query_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>,
       config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// Where queries are a multiple of the block, types stay static.
// CHECK-LABEL: func.func @static
func.func @static(%q: memref<2x128x4x64xf32>, %k: memref<2x100x4x64xf32>, %o: memref<2x128x4x64xf32>) {
  // CHECK: scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]]) = (0, 0, 0) to (2, 4, 128) step (1, 1, 64) {
  // CHECK-NOT: affine
  // CHECK: memref.subview %{{.+}}[%[[B]], 0, %[[H]], 0] [1, 100, 1, 64]
  // CHECK: fa.attention ins({{.*}} : memref<1x64x1x64xf32, {{[^>]*}}>>, memref<1x100x1x64xf32, {{[^>]*}}>>, memref<1x100x1x64xf32, {{[^>]*}}>>)
  // CHECK-SAME: offsets(%[[B]], %[[H]], %[[I]], %{{.+}}) extents(%{{.+}}, %{{.+}})
  fa.attention ins(%q, %k, %k : memref<2x128x4x64xf32>, memref<2x100x4x64xf32>, memref<2x100x4x64xf32>)
      outs(%o : memref<2x128x4x64xf32>) {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// Fewer queries than a block are one block of that size.
// CHECK-LABEL: func.func @few_queries
func.func @few_queries(%q: memref<2x1x4x64xf32>, %k: memref<2x100x4x64xf32>) {
  // CHECK: scf.forall
  // CHECK: fa.attention ins({{.*}} : memref<1x1x1x64xf32, {{.*}}>, memref<1x100x1x64xf32,
  fa.attention ins(%q, %k, %k : memref<2x1x4x64xf32>, memref<2x100x4x64xf32>, memref<2x100x4x64xf32>)
      outs(%q : memref<2x1x4x64xf32>) {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// The number of heads that share a key head may be known at run time only.
// CHECK-LABEL: func.func @dynamic_heads
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x64x?x8xf16>, %[[K:[a-z0-9]+]]: memref<2x64x?x8xf16>
func.func @dynamic_heads(%q: memref<2x64x?x8xf16>, %k: memref<2x64x?x8xf16>, %o: memref<2x64x?x8xf16>) {
  // CHECK: %[[HEADS:.+]] = memref.dim %[[Q]], %[[C2:.+]] :
  // CHECK: scf.forall (%{{.+}}, %[[H:.+]], %{{.+}}) =
  // CHECK: %[[KEY_HEADS:.+]] = memref.dim %[[K]], %[[C2]]
  // CHECK: %[[GROUP:.+]] = arith.divui %[[HEADS]], %[[KEY_HEADS]]
  // CHECK: %[[KH:.+]] = arith.divui %[[H]], %[[GROUP]]
  // CHECK: memref.subview %[[K]][%{{.+}}, 0, %[[KH]], 0] [1, 64, 1, 8]
  fa.attention ins(%q, %k, %k : memref<2x64x?x8xf16>, memref<2x64x?x8xf16>, memref<2x64x?x8xf16>)
      outs(%o : memref<2x64x?x8xf16>) {config = #fa.config<query_block = 32, key_block = 128>}
  return
}

// A piece of a larger problem: offsets add up, extents stay.
// CHECK-LABEL: func.func @piece
// CHECK-SAME: index, %[[AT:.+]]: index, %[[TOTAL:.+]]: index)
func.func @piece(%q: memref<2x128x2x64xf32>, %k: memref<2x128x2x64xf32>, %o: memref<2x128x2x64xf32>,
                 %b: index, %at: index, %total: index) {
  // CHECK: scf.forall (%{{.+}}, %{{.+}}, %[[I:.+]]) =
  // CHECK: %[[QUERY:.+]] = affine.apply #[[$SUM]]()[%[[AT]], %[[I]]]
  // CHECK: fa.attention
  // CHECK-SAME: offsets(%{{.+}}, %{{.+}}, %[[QUERY]], %[[AT]]) extents(%[[TOTAL]], %[[TOTAL]])
  fa.attention ins(%q, %k, %k : memref<2x128x2x64xf32>, memref<2x128x2x64xf32>, memref<2x128x2x64xf32>)
      outs(%o : memref<2x128x2x64xf32>) offsets(%b, %b, %at, %at) extents(%total, %total)
      {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// On tensors the loop carries the destinations.
// CHECK-LABEL: func.func @tensors
// CHECK-SAME: %[[O:[a-z0-9]+]]: tensor<1x?x2x64xf32>, %[[LSE:[a-z0-9]+]]: tensor<1x2x?xf32>)
func.func @tensors(%q: tensor<1x?x2x64xf32>, %k: tensor<1x?x2x64xf32>, %o: tensor<1x?x2x64xf32>, %lse: tensor<1x2x?xf32>)
    -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>) {
  // CHECK: scf.forall {{.*}} shared_outs(%[[O1:.+]] = %[[O]], %[[LSE1:.+]] = %[[LSE]])
  // CHECK: fa.attention
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[O1]]
  // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[LSE1]]
  %r:2 = fa.attention ins(%q, %k, %k : tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      outs(%o, %lse : tensor<1x?x2x64xf32>, tensor<1x2x?xf32>) {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1 : tensor<1x?x2x64xf32>, tensor<1x2x?xf32>
}

// A merge becomes a loop like that of attention. It has no lengths to place, and
// in place it reads and writes one slice.
// CHECK-LABEL: func.func @combine
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x8x?x64xf32>, %[[LSE_A:[a-z0-9]+]]: memref<?x8x?xf32>, %[[B:[a-z0-9]+]]: memref<?x8x?x64xbf16>
func.func @combine(%a: memref<?x8x?x64xf32>, %lse_a: memref<?x8x?xf32>, %b: memref<?x8x?x64xbf16>, %lse_b: memref<?x8x?xf32>) {
  // CHECK-DAG: %[[BATCH:.+]] = memref.dim %[[LSE_A]], %{{.+}}
  // CHECK-DAG: %[[N:.+]] = memref.dim %[[LSE_A]], %{{.+}}
  // CHECK: scf.forall (%[[I0:.+]], %[[H:.+]], %[[I:.+]]) = (0, 0, 0) to (%[[BATCH]], 8, %[[N]]) step (1, 1, 64) {
  // CHECK: %[[R:.+]] = affine.min #[[$ROWS]](%[[I]])[%[[N]]]
  // CHECK: %[[A1:.+]] = memref.subview %[[A]][%[[I0]], %[[H]], %[[I]], 0] [1, 1, %[[R]], 64]
  // CHECK: %[[B1:.+]] = memref.subview %[[B]][%[[I0]], %[[H]], %[[I]], 0] [1, 1, %[[R]], 64]
  // CHECK: %[[LSE_A1:.+]] = memref.subview %[[LSE_A]][%[[I0]], %[[H]], %[[I]]] [1, 1, %[[R]]]
  // CHECK: fa.combine a(%[[A1]], %[[LSE_A1]] : memref<1x1x?x64xf32, {{[^>]*}}>>, memref<1x1x?xf32, {{[^>]*}}>>)
  // CHECK-SAME: b(%[[B1]], %
  // CHECK-SAME: outs(%[[A1]], %[[LSE_A1]] :
  // CHECK-NOT: offset(
  fa.combine a(%a, %lse_a : memref<?x8x?x64xf32>, memref<?x8x?xf32>) b(%b, %lse_b : memref<?x8x?x64xbf16>, memref<?x8x?xf32>)
      outs(%a, %lse_a : memref<?x8x?x64xf32>, memref<?x8x?xf32>) {dims = #fa.dims<b, h, s, d>}
  return
}

// Lengths are indexed absolutely: the offsets place the block.
// CHECK-LABEL: func.func @combine_lengths
// CHECK-SAME: %[[LENGTHS:[a-z0-9]+]]: memref<?xi32>, %[[AT:[a-z0-9]+]]: index)
func.func @combine_lengths(%a: memref<2x128x8x64xf32>, %lse: memref<2x8x128xf32>, %o: memref<2x128x8x64xf16>,
                           %lengths: memref<?xi32>, %at: index) {
  // CHECK: scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]]) = (0, 0, 0) to (2, 8, 128) step (1, 1, 64) {
  // CHECK: %[[QUERY:.+]] = affine.apply #[[$SUM]]()[%[[AT]], %[[I]]]
  // CHECK: fa.combine
  // CHECK-SAME: outs(%{{.+}} : memref<1x64x1x64xf16, {{[^>]*}}>>) query_lengths(%[[LENGTHS]] : memref<?xi32>)
  // CHECK-SAME: batch_offset(%[[B]]) query_offset(%[[QUERY]])
  fa.combine a(%a, %lse : memref<2x128x8x64xf32>, memref<2x8x128xf32>) b(%a, %lse : memref<2x128x8x64xf32>, memref<2x8x128xf32>)
      outs(%o : memref<2x128x8x64xf16>) query_lengths(%lengths : memref<?xi32>) query_offset(%at)
  return
}

// On tensors a merge in place reads the loop's own value, so that bufferization
// copies nothing.
// CHECK-LABEL: func.func @combine_tensors
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x128x8x64xf32>, %[[LSE:[a-z0-9]+]]: tensor<2x8x128xf32>, %[[B:[a-z0-9]+]]: tensor<2x128x8x64xf32>
func.func @combine_tensors(%a: tensor<2x128x8x64xf32>, %lse: tensor<2x8x128xf32>, %b: tensor<2x128x8x64xf32>, %lse_b: tensor<2x8x128xf32>)
    -> (tensor<2x128x8x64xf32>, tensor<2x8x128xf32>) {
  // CHECK: scf.forall {{.*}} shared_outs(%[[A1:.+]] = %[[A]], %[[LSE1:.+]] = %[[LSE]])
  // CHECK: %[[SLICE:.+]] = tensor.extract_slice %[[A1]]
  // CHECK: tensor.extract_slice %[[B]]
  // CHECK: %[[LSE_SLICE:.+]] = tensor.extract_slice %[[LSE1]]
  // CHECK: fa.combine a(%[[SLICE]], %[[LSE_SLICE]] : {{.*}} outs(%[[SLICE]], %[[LSE_SLICE]] :
  // CHECK: tensor.parallel_insert_slice %{{.+}}#0 into %[[A1]]
  // CHECK: tensor.parallel_insert_slice %{{.+}}#1 into %[[LSE1]]
  %r:2 = fa.combine a(%a, %lse : tensor<2x128x8x64xf32>, tensor<2x8x128xf32>) b(%b, %lse_b : tensor<2x128x8x64xf32>, tensor<2x8x128xf32>)
      outs(%a, %lse : tensor<2x128x8x64xf32>, tensor<2x8x128xf32>) -> tensor<2x128x8x64xf32>, tensor<2x8x128xf32>
  return %r#0, %r#1 : tensor<2x128x8x64xf32>, tensor<2x8x128xf32>
}

// Memory without an element has no slices: what attends to no key is filled.
// CHECK-LABEL: func.func @no_keys
// CHECK-NOT: scf.forall
// CHECK: linalg.fill
// CHECK-NOT: scf.forall
func.func @no_keys(%q: memref<2x8x4x64xf32>, %k: memref<2x0x4x64xf32>, %o: memref<2x8x4x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<2x8x4x64xf32>, memref<2x0x4x64xf32>, memref<2x0x4x64xf32>)
      outs(%o : memref<2x8x4x64xf32>) {config = #fa.config<query_block = 8, key_block = 8>}
  return
}


// The keys of a cast of a cast are all of them.
// CHECK-LABEL: func.func @cast_of_cast(
// CHECK: scf.forall
// CHECK: fa.attention
func.func @cast_of_cast(%q: memref<1x?x2x8xf32>, %k: memref<1x?x2x8xf32>, %o: memref<1x?x2x8xf32>) {
  %a = memref.cast %k : memref<1x?x2x8xf32> to memref<?x?x2x8xf32>
  %b = memref.cast %a : memref<?x?x2x8xf32> to memref<1x?x2x8xf32>
  fa.attention ins(%q, %b, %b : memref<1x?x2x8xf32>, memref<1x?x2x8xf32>, memref<1x?x2x8xf32>) outs(%o : memref<1x?x2x8xf32>)
      {config = #fa.config<query_block = 64, key_block = 32>}
  return
}
