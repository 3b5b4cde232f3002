// Sliding window: each query sees itself and the 64 keys before it.
//
// `window(%left, %right)` keeps keys from `left` before to `right` after the
// query's own position; a negative size is unlimited. The sizes are operands,
// so another window needs no other code. The work grows with the window, not
// with the length: key blocks outside of it are not visited.
//
// Run and verify:   fa-run examples/window.mlir --verify

func.func @window(%query: tensor<1x768x4x64xf32>, %key: tensor<1x768x4x64xf32>,
                  %value: tensor<1x768x4x64xf32>) -> tensor<1x768x4x64xf32> {
  %left = arith.constant 64 : index
  %right = arith.constant 0 : index
  %init = tensor.empty() : tensor<1x768x4x64xf32>
  %output = fa.attention
      ins(%query, %key, %value : tensor<1x768x4x64xf32>, tensor<1x768x4x64xf32>, tensor<1x768x4x64xf32>)
      outs(%init : tensor<1x768x4x64xf32>)
      mask window(%left, %right)
  return %output : tensor<1x768x4x64xf32>
}
