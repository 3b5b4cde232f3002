// Three terms of f32 at this head dim fit the shared memory of no GPU.
func.func @wide(%q: tensor<1x64x1x256xf32>, %k: tensor<1x64x1x256xf32>, %v: tensor<1x64x1x256xf32>) -> tensor<1x64x1x256xf32> {
  %init = tensor.empty() : tensor<1x64x1x256xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<1x64x1x256xf32>, tensor<1x64x1x256xf32>, tensor<1x64x1x256xf32>)
      outs(%init : tensor<1x64x1x256xf32>)
  return %o : tensor<1x64x1x256xf32>
}
