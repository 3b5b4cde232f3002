// A sink: a learned score of each head that counts as one more key, of value
// zero, so that a query may attend to nothing. The log-sum-exp includes it.
//
// Run and verify:   fa-run examples/sinks.mlir --verify

func.func @sinks(%query: tensor<2x192x8x64xbf16>, %key: tensor<2x192x2x64xbf16>, %value: tensor<2x192x2x64xbf16>,
                 %sinks: tensor<8xf32>) -> (tensor<2x192x8x64xbf16>, tensor<2x8x192xf32>) {
  %left = arith.constant 127 : index
  %right = arith.constant 0 : index
  %init = tensor.empty() : tensor<2x192x8x64xbf16>
  %lse_init = tensor.empty() : tensor<2x8x192xf32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : tensor<2x192x8x64xbf16>, tensor<2x192x2x64xbf16>, tensor<2x192x2x64xbf16>)
      outs(%init, %lse_init : tensor<2x192x8x64xbf16>, tensor<2x8x192xf32>)
      mask window(%left, %right)
      sink(%b, %h, %i) captures(%table = %sinks : tensor<8xf32>) {
        %x = tensor.extract %table[%h] : tensor<8xf32>
        fa.yield %x : f32
      }
  return %output, %lse : tensor<2x192x8x64xbf16>, tensor<2x8x192xf32>
}
