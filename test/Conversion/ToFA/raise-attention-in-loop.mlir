// Queries, keys and values are slices of one product, in a loop; softmax as the
// distribution decomposes it, with a maximum that starts from NaN and the
// scores as destination.

// RUN: fa-opt %s --transform-interpreter --fa-raise-attention | FileCheck %s
// RUN: fa-opt %s --transform-interpreter -o %t.source.mlir
// RUN: fa-opt %t.source.mlir --fa-raise-attention -o %t.raised.mlir
// RUN: fa-run %t.raised.mlir --entry=main --against=%t.source.mlir --target=reference --bound=1e-10

// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK:           %[[QKV:.*]] = linalg.batch_matmul
// CHECK:           %[[Q:.*]] = tensor.extract_slice %[[QKV]][0, 0, 0] [2, 16, 64]
// CHECK:           %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[\[}}0], [1], [2, 3]]
// CHECK:           %[[K:.*]] = tensor.extract_slice %[[QKV]][0, 0, 64] [2, 16, 64]
// CHECK:           %[[K4:.*]] = tensor.expand_shape %[[K]] {{\[\[}}0], [1], [2, 3]]
// CHECK:           %[[V:.*]] = tensor.extract_slice %[[QKV]][0, 0, 128] [2, 16, 64]
// CHECK:           %[[V4:.*]] = tensor.expand_shape %[[V]] {{\[\[}}0], [1], [2, 3]]
// CHECK:           %[[O:.*]] = fa.attention ins(%[[Q4]], %[[K4]], %[[V4]] :
// CHECK:           %[[R:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1], [2, 3]]
// CHECK:           scf.yield %[[R]]
module attributes {transform.with_named_sequence} {
  func.func @main(%x0: tensor<2x16x64xf32>, %w: tensor<2x64x192xf32>) -> tensor<2x16x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %r = scf.for %l = %c0 to %c2 step %c1 iter_args(%x = %x0) -> (tensor<2x16x64xf32>) {
      %e3 = tensor.empty() : tensor<2x16x192xf32>
      %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x16x192xf32>) -> tensor<2x16x192xf32>
      %qkv = linalg.batch_matmul ins(%x, %w : tensor<2x16x64xf32>, tensor<2x64x192xf32>) outs(%i3 : tensor<2x16x192xf32>) -> tensor<2x16x192xf32>
      %qs = tensor.extract_slice %qkv[0, 0, 0] [2, 16, 64] [1, 1, 1] : tensor<2x16x192xf32> to tensor<2x16x64xf32>
      %ks = tensor.extract_slice %qkv[0, 0, 64] [2, 16, 64] [1, 1, 1] : tensor<2x16x192xf32> to tensor<2x16x64xf32>
      %vs = tensor.extract_slice %qkv[0, 0, 128] [2, 16, 64] [1, 1, 1] : tensor<2x16x192xf32> to tensor<2x16x64xf32>
      %q = tensor.expand_shape %qs [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32>
      %k = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32>
      %v = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32>
      %et = tensor.empty() : tensor<2x4x16x16xf32>
      %qt = linalg.transpose ins(%q : tensor<2x16x4x16xf32>) outs(%et : tensor<2x4x16x16xf32>) permutation = [0, 2, 1, 3]
      %vt = linalg.transpose ins(%v : tensor<2x16x4x16xf32>) outs(%et : tensor<2x4x16x16xf32>) permutation = [0, 2, 1, 3]
      %kt = linalg.transpose ins(%k : tensor<2x16x4x16xf32>) outs(%et : tensor<2x4x16x16xf32>) permutation = [0, 2, 3, 1]
      %qf = tensor.collapse_shape %qt [[0, 1], [2], [3]] : tensor<2x4x16x16xf32> into tensor<8x16x16xf32>
      %kf = tensor.collapse_shape %kt [[0, 1], [2], [3]] : tensor<2x4x16x16xf32> into tensor<8x16x16xf32>
      %vf = tensor.collapse_shape %vt [[0, 1], [2], [3]] : tensor<2x4x16x16xf32> into tensor<8x16x16xf32>
      %es = tensor.empty() : tensor<8x16x16xf32>
      %is = linalg.fill ins(%zero : f32) outs(%es : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
      %s = linalg.batch_matmul ins(%qf, %kf : tensor<8x16x16xf32>, tensor<8x16x16xf32>) outs(%is : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
      %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf32>) outs(%s : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
      %o = linalg.batch_matmul ins(%p, %vf : tensor<8x16x16xf32>, tensor<8x16x16xf32>) outs(%is : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
      %o4 = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 4, 16, 16] : tensor<8x16x16xf32> into tensor<2x4x16x16xf32>
      %eb = tensor.empty() : tensor<2x16x4x16xf32>
      %ob = linalg.transpose ins(%o4 : tensor<2x4x16x16xf32>) outs(%eb : tensor<2x16x4x16xf32>) permutation = [0, 2, 1, 3]
      %of = tensor.collapse_shape %ob [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32>
      scf.yield %of : tensor<2x16x64xf32>
    }
    return %r : tensor<2x16x64xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %steps = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
