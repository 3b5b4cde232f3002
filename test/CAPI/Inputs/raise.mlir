#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>

// One attention, and one whose softmax is over the other dim.
func.func @two(%q: tensor<8x16x32xf32>, %k: tensor<8x16x32xf32>, %v: tensor<8x16x32xf32>) -> (tensor<8x16x32xf32>, tensor<8x16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<8x16x32xf32>, tensor<8x16x32xf32>) outs(%i : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf32>) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %oe = tensor.empty() : tensor<8x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %s2 = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<8x16x32xf32>, tensor<8x16x32xf32>) outs(%i : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %p2 = linalg.softmax dimension(1) ins(%s2 : tensor<8x16x16xf32>) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %o2 = linalg.batch_matmul ins(%p2, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o, %o2 : tensor<8x16x32xf32>, tensor<8x16x32xf32>
}
