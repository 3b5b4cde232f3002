// A head dim that the CPU takes and no GPU.
func.func @wide(%q: tensor<1x64x1x320xf32>, %k: tensor<1x64x1x320xf32>, %v: tensor<1x64x1x320xf32>) -> tensor<1x64x1x320xf32> {
  %init = tensor.empty() : tensor<1x64x1x320xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<1x64x1x320xf32>, tensor<1x64x1x320xf32>, tensor<1x64x1x320xf32>)
      outs(%init : tensor<1x64x1x320xf32>)
  return %o : tensor<1x64x1x320xf32>
}
