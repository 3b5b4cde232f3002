// RUN: fa-opt %s -fa-split-kv -canonicalize -cse | FileCheck %s

// CHECK-DAG: #[[$PART:.+]] = affine_map<()[s0] -> (((s0 ceildiv 4) ceildiv 128) * 128)>
// CHECK-DAG: #[[$BEGIN:.+]] = affine_map<()[s0, s1] -> (s1, s0)>
// CHECK-DAG: #[[$SIZE:.+]] = affine_map<()[s0, s1] -> (((s0 ceildiv 4) ceildiv 128) * 128, s0 - s1)>

// CHECK-LABEL: func.func @memrefs(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x3x8x64xf16>, %[[K:[a-z0-9]+]]: memref<2x?x4x64xf16>, %[[V:[a-z0-9]+]]: memref<2x?x4x32xf16>,
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<2x8x3x32xf16>, %[[LSE:[a-z0-9]+]]: memref<2x8x3xf32>, %[[QL:[a-z0-9]+]]: memref<2xi32>, %[[KL:[a-z0-9]+]]: memref<2xi32>)
func.func @memrefs(%q: memref<2x3x8x64xf16>, %k: memref<2x?x4x64xf16>, %v: memref<2x?x4x32xf16>,
                   %o: memref<2x8x3x32xf16>, %lse: memref<2x8x3xf32>, %ql: memref<2xi32>, %kl: memref<2xi32>) {
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[C3:.+]] = arith.constant 3 : index
  // CHECK-DAG: %[[KEYS:.+]] = memref.dim %[[K]], %[[C1]]
  // CHECK-DAG: %[[PART:.+]] = affine.apply #[[$PART]]()[%[[KEYS]]]
  // CHECK-DAG: %[[OS:.+]] = memref.alloc() {{.*}} : memref<4x2x8x3x32xf32>
  // CHECK-DAG: %[[LSES:.+]] = memref.alloc() {{.*}} : memref<4x2x8x3xf32>
  // CHECK: scf.forall (%[[S:.+]]) in (4) {
  // CHECK-DAG: %[[B0:.+]] = arith.muli %[[S]], %[[PART]]
  // CHECK-DAG: %[[BEGIN:.+]] = affine.min #[[$BEGIN]]()[%[[B0]], %[[KEYS]]]
  // CHECK-DAG: %[[SIZE:.+]] = affine.min #[[$SIZE]]()[%[[KEYS]], %[[BEGIN]]]
  // CHECK-DAG: %[[O1:.+]] = memref.subview %[[OS]][%[[S]], 0, 0, 0, 0] [1, 2, 8, 3, 32]
  // CHECK-DAG: %[[LSE1:.+]] = memref.subview %[[LSES]][%[[S]], 0, 0, 0] [1, 2, 8, 3]
  // CHECK-DAG: %[[K1:.+]] = memref.subview %[[K]][0, %[[BEGIN]], 0, 0] [2, %[[SIZE]], 4, 64]
  // CHECK-DAG: %[[V1:.+]] = memref.subview %[[V]][0, %[[BEGIN]], 0, 0] [2, %[[SIZE]], 4, 32]
  // CHECK: fa.attention ins(%[[Q]], %[[K1]], %[[V1]] : {{.*}}) outs(%[[O1]], %[[LSE1]] : memref<2x8x3x32xf32, {{[^>]*}}>>, memref<2x8x3xf32, {{[^>]*}}>>)
  // CHECK-SAME: query_lengths(%[[QL]] : memref<2xi32>) key_lengths(%[[KL]] : memref<2xi32>)
  // CHECK-SAME: offsets(%[[C0]], %[[C0]], %[[C0]], %[[BEGIN]]) extents(%[[C3]], %[[KEYS]]) mask(
  // CHECK: config = #fa.config<query_block = 16, key_block = 128>
  // CHECK: }
  // CHECK-DAG: %[[FIRST:.+]] = memref.subview %[[OS]][0, 0, 0, 0, 0] [1, 2, 8, 3, 32]
  // CHECK-DAG: %[[FIRST_LSE:.+]] = memref.subview %[[LSES]][0, 0, 0, 0] [1, 2, 8, 3]
  // CHECK: scf.for %[[T:.+]] = %[[C1]] to %[[C3]] step %[[C1]] {
  // CHECK: fa.combine a(%[[FIRST]], %[[FIRST_LSE]] : {{.*}}) b({{.*}}) outs(%[[FIRST]], %[[FIRST_LSE]] : {{.*}}) query_lengths(%[[QL]] : memref<2xi32>) batch_offset(%[[C0]]) query_offset(%[[C0]])
  // CHECK: }
  // CHECK: %[[LAST:.+]] = memref.subview %[[OS]][3, 0, 0, 0, 0]
  // CHECK: fa.combine a(%[[FIRST]], %[[FIRST_LSE]] : {{.*}}) b(%[[LAST]], %{{.+}} : {{.*}}) outs(%[[O]], %[[LSE]] : memref<2x8x3x32xf16>, memref<2x8x3xf32>)
  // CHECK-DAG: memref.dealloc %[[OS]]
  // CHECK-DAG: memref.dealloc %[[LSES]]
  // CHECK-NOT: copy
  fa.attention ins(%q, %k, %v : memref<2x3x8x64xf16>, memref<2x?x4x64xf16>, memref<2x?x4x32xf16>)
      outs(%o, %lse : memref<2x8x3x32xf16>, memref<2x8x3xf32>)
      query_lengths(%ql : memref<2xi32>) key_lengths(%kl : memref<2xi32>) mask causal
      {output_dims = #fa.dims<b, h, s, d>, config = #fa.config<query_block = 16, key_block = 128, key_splits = 4>}
  return
}

// CHECK-LABEL: func.func @tensors(
// CHECK-SAME: %{{.+}}: tensor<1x1x2x8xf32>, %{{.+}}: tensor<1x1000x2x8xf32>, %[[O:.+]]: tensor<1x1x2x8xf32>
func.func @tensors(%q: tensor<1x1x2x8xf32>, %k: tensor<1x1000x2x8xf32>, %o: tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32> {
  // CHECK: %[[R:.+]]:2 = scf.forall (%[[S:.+]]) in (2) shared_outs(%[[OS:.+]] = %{{.+}}, %[[LSES:.+]] = %{{.+}}) -> (tensor<2x1x1x2x8xf32>, tensor<2x1x2x1xf32>)
  // CHECK: %[[PART:.+]]:2 = fa.attention
  // CHECK: tensor.parallel_insert_slice %[[PART]]#0 into %[[OS]][%[[S]], 0, 0, 0, 0]
  // CHECK: tensor.parallel_insert_slice %[[PART]]#1 into %[[LSES]][%[[S]], 0, 0, 0]
  // CHECK-DAG: %[[A:.+]] = tensor.extract_slice %[[R]]#0[0, 0, 0, 0, 0]
  // CHECK-DAG: %[[B:.+]] = tensor.extract_slice %[[R]]#0[1, 0, 0, 0, 0]
  // CHECK: %[[C:.+]] = fa.combine a(%[[A]], %{{.+}} : {{.*}}) b(%[[B]], %{{.+}} : {{.*}}) outs(%[[O]] :
  // CHECK: return %[[C]]
  %r = fa.attention ins(%q, %k, %k : tensor<1x1x2x8xf32>, tensor<1x1000x2x8xf32>, tensor<1x1000x2x8xf32>)
      outs(%o : tensor<1x1x2x8xf32>) {config = #fa.config<query_block = 16, key_block = 128, key_splits = 2>}
  return %r : tensor<1x1x2x8xf32>
}

// One part is the whole.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.forall
// CHECK: fa.attention
// CHECK-NOT: fa.combine
func.func @whole(%q: memref<1x1x2x8xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x1x2x8xf32>, memref<1x1x2x8xf32>, memref<1x1x2x8xf32>)
      outs(%q : memref<1x1x2x8xf32>) {config = #fa.config<query_block = 16, key_block = 128>}
  return
}
