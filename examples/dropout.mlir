// Attention with dropout, its gradients, and the factors of its weights.
//
// What is dropped depends on the seed, the offset and the absolute (batch, head, query,
// key) alone, so that backward draws what forward drew, whatever the blocks and the
// target. Seed and offset lie in memory: a program that runs again may draw anew.
// `fa.apply` shows the factors of one head: 0, or 1 / (1 - p).
//
// Run and verify:   fa-run examples/dropout.mlir --verify

!q = tensor<2x192x4x64xf32>
!row = tensor<2x4x192xf32>

func.func @dropout(%query: !q, %key: !q, %value: !q, %output_gradient: !q)
    -> (!q, !q, !q, !q, tensor<192x192xf32>) {
  %p = arith.constant 0.1 : f32
  %seed = arith.constant dense<1234> : tensor<i64>
  %offset = arith.constant dense<7> : tensor<i64>
  %init = tensor.empty() : !q
  %init_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !q, !q) outs(%init, %init_lse : !q, !row)
      mask causal dropout(%p, %seed, %offset : f32, tensor<i64>, tensor<i64>)
  %gradients:3 = fa.attention_gradient ins(%query, %key, %value : !q, !q, !q) of(%output, %lse : !q, !row)
      gradients(%output_gradient : !q) outs(query = %init : !q, key = %init : !q, value = %init : !q)
      mask causal dropout(%p, %seed, %offset : f32, tensor<i64>, tensor<i64>)

  // Batch 1, head 2, from query 0 and key 0 on.
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = arith.constant 192 : index
  %s0 = tensor.extract %seed[] : tensor<i64>
  %o0 = tensor.extract %offset[] : tensor<i64>
  %factors = fa.apply sizes() offsets(%c1, %c2, %c0, %c0) extents(%n, %n)
      pairs(%b, %h, %i, %j) captures(%ps = %p : f32, %s = %s0 : i64, %o = %o0 : i64) {
        %factor = fa.dropout %ps, %s, %o at(%b, %h, %i, %j)
        fa.yield %factor : f32
      } -> tensor<192x192xf32>
  return %output, %gradients#0, %gradients#1, %gradients#2, %factors : !q, !q, !q, !q, tensor<192x192xf32>
}
