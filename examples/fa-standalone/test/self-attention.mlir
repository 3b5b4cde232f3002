// Run by test/Install of fa-mlir, from the build tree and from an install tree:
//   standalone-opt --standalone-lower-to-fa self-attention.mlir | FileCheck self-attention.mlir

// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[PACKED:.*]]: tensor<2x?x1536xbf16>
// CHECK: %[[ALL:.*]] = tensor.expand_shape %[[PACKED]]
// CHECK-SAME: into tensor<2x?x3x8x64xbf16>
// CHECK: %[[QUERY:.*]] = tensor.extract_slice %[[ALL]][0, 0, 0, 0, 0]
// CHECK: %[[KEY:.*]] = tensor.extract_slice %[[ALL]][0, 0, 1, 0, 0]
// CHECK: %[[VALUE:.*]] = tensor.extract_slice %[[ALL]][0, 0, 2, 0, 0]
// CHECK: %[[RESULT:.*]] = fa.attention
// CHECK-SAME: ins(%[[QUERY]], %[[KEY]], %[[VALUE]]
// CHECK: mask(
// CHECK: tensor.collapse_shape %[[RESULT]]
// CHECK-SAME: into tensor<2x?x512xbf16>
func.func @causal(%packed: tensor<2x?x1536xbf16>) -> tensor<2x?x512xbf16> {
  %0 = standalone.self_attention %packed heads(8) causal
      : tensor<2x?x1536xbf16> -> tensor<2x?x512xbf16>
  return %0 : tensor<2x?x512xbf16>
}

// CHECK-LABEL: func.func @full
// CHECK: fa.attention
// CHECK-NOT: mask
// CHECK: return
func.func @full(%packed: tensor<1x100x192xf32>) -> tensor<1x100x64xf32> {
  %0 = standalone.self_attention %packed heads(1)
      : tensor<1x100x192xf32> -> tensor<1x100x64xf32>
  return %0 : tensor<1x100x64xf32>
}
