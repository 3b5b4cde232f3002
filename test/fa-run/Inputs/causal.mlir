func.func @attention(%q: tensor<1x6x2x4xf32>, %k: tensor<1x9x1x4xf32>, %v: tensor<1x9x1x4xf32>)
    -> (tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) {
  %o0 = tensor.empty() : tensor<1x6x2x4xf32>
  %l0 = tensor.empty() : tensor<1x2x6xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<1x6x2x4xf32>, tensor<1x9x1x4xf32>, tensor<1x9x1x4xf32>)
      outs(%o0, %l0 : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) mask causal
  return %o, %lse : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>
}
