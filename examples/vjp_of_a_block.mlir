// Gradients of a block of a transformer: projections, attention, a projection
// back, and the residual.
//
// `fa-differentiate` makes @block_vjp beside @block. It takes the arguments of
// @block and the gradient of its result, and returns the gradients of the arguments:
//
//   fa-opt examples/vjp_of_a_block.mlir --fa-differentiate > vjp.mlir
//   fa-run vjp.mlir --entry=block_vjp --verify
//
// Run and verify the forward:   fa-run examples/vjp_of_a_block.mlir --verify

!x = tensor<96x128xf32>
!w = tensor<128x128xf32>
!heads = tensor<1x96x2x64xf32>

func.func @block(%x: !x, %query_weights: !w, %key_weights: !w, %value_weights: !w, %output_weights: !w) -> !x {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !x
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : !x) -> !x
  %q = linalg.matmul ins(%x, %query_weights : !x, !w) outs(%zeros : !x) -> !x
  %k = linalg.matmul ins(%x, %key_weights : !x, !w) outs(%zeros : !x) -> !x
  %v = linalg.matmul ins(%x, %value_weights : !x, !w) outs(%zeros : !x) -> !x
  %query = tensor.expand_shape %q [[0, 1], [2, 3]] output_shape [1, 96, 2, 64] : !x into !heads
  %key = tensor.expand_shape %k [[0, 1], [2, 3]] output_shape [1, 96, 2, 64] : !x into !heads
  %value = tensor.expand_shape %v [[0, 1], [2, 3]] output_shape [1, 96, 2, 64] : !x into !heads
  %init = tensor.empty() : !heads
  %scale = arith.constant 0.001 : f32
  %output = fa.attention ins(%query, %key, %value : !heads, !heads, !heads) outs(%init : !heads)
      scale(%scale) mask causal
  %flat = tensor.collapse_shape %output [[0, 1], [2, 3]] : !heads into !x
  %back = linalg.matmul ins(%flat, %output_weights : !x, !w) outs(%zeros : !x) -> !x
  %sum = arith.addf %back, %x : !x
  return %sum : !x
}
