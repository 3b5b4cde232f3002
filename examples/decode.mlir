// One step of generating text: one new query of each sequence over a cache.
//
// 32 query heads share 4 key heads. The 8 query heads of a key head become rows
// of one block (fa-pack-heads), so that a key is read once. Sequences have 700, 33
// and 512 keys; what the cache holds behind them is not read.
//
// Run and verify:   fa-run examples/decode.mlir --verify

func.func @decode(%query: tensor<3x1x32x128xbf16>, %keys: tensor<3x768x4x128xbf16>,
                  %values: tensor<3x768x4x128xbf16>) -> (tensor<3x1x32x128xbf16>, tensor<3x32x1xf32>) {
  %lengths = arith.constant dense<[700, 33, 512]> : tensor<3xi32>
  %init = tensor.empty() : tensor<3x1x32x128xbf16>
  %lse_init = tensor.empty() : tensor<3x32x1xf32>
  %output, %lse = fa.attention
      ins(%query, %keys, %values : tensor<3x1x32x128xbf16>, tensor<3x768x4x128xbf16>, tensor<3x768x4x128xbf16>)
      outs(%init, %lse_init : tensor<3x1x32x128xbf16>, tensor<3x32x1xf32>)
      key_lengths(%lengths : tensor<3xi32>)
      mask causal
  return %output, %lse : tensor<3x1x32x128xbf16>, tensor<3x32x1xf32>
}
