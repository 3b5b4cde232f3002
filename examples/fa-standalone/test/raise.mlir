// This compiler's own linalg is raised before its own operations are lowered:
//   standalone-opt --standalone-to-gpu="stop-at=attention" raise.mlir | FileCheck raise.mlir

// CHECK-LABEL: func.func @both
// CHECK-COUNT-2: fa.attention
// CHECK-NOT: {{linalg.softmax|standalone}}
func.func @both(%q: tensor<2x16x4x32xf32>, %k: tensor<2x24x4x32xf32>, %v: tensor<2x24x4x32xf32>)
    -> (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>) {
  %own = standalone.capped_attention %q, %k, %v cap(30.0)
      : tensor<2x16x4x32xf32>, tensor<2x24x4x32xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x16x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x16x24xf32>) -> tensor<2x4x16x24xf32>
  %s = linalg.contract
      indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>, affine_map<(b, h, i, j, d) -> (b, j, h, d)>,
                       affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%q, %k : tensor<2x16x4x32xf32>, tensor<2x24x4x32xf32>)
      outs(%i : tensor<2x4x16x24xf32>) -> tensor<2x4x16x24xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x4x16x24xf32>) outs(%e : tensor<2x4x16x24xf32>)
      -> tensor<2x4x16x24xf32>
  %oe = tensor.empty() : tensor<2x16x4x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x16x4x32xf32>) -> tensor<2x16x4x32xf32>
  %o = linalg.contract
      indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, j, h, d)>,
                       affine_map<(b, h, i, d, j) -> (b, i, h, d)>]
      ins(%p, %v : tensor<2x4x16x24xf32>, tensor<2x24x4x32xf32>)
      outs(%oi : tensor<2x16x4x32xf32>) -> tensor<2x16x4x32xf32>
  return %own, %o : tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>
}
