// A head dim that is no power of two.
//
// Head dims are static, from 1 to 512, and need not be a multiple of anything.
//
// Run and verify:   fa-run examples/head_dim_80.mlir --verify

func.func @head_dim_80(%query: tensor<2x256x8x80xbf16>, %key: tensor<2x256x8x80xbf16>,
                       %value: tensor<2x256x8x80xbf16>) -> tensor<2x256x8x80xbf16> {
  %init = tensor.empty() : tensor<2x256x8x80xbf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x256x8x80xbf16>, tensor<2x256x8x80xbf16>, tensor<2x256x8x80xbf16>)
      outs(%init : tensor<2x256x8x80xbf16>)
      mask causal
  return %output : tensor<2x256x8x80xbf16>
}
