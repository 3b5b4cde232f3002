// Gradients of grouped-query attention in a sliding window, in bf16.
//
// Eight query heads share two key heads: the gradients of a key head are sums over its
// four query heads. Blocks of queries that do not see a block of keys are skipped.
//
// Run and verify:   fa-run examples/backward_gqa_window.mlir --verify

!q = tensor<1x320x8x64xbf16>
!k = tensor<1x320x2x64xbf16>
!row = tensor<1x8x320xf32>

func.func @backward_gqa_window(%query: !q, %key: !k, %value: !k, %output_gradient: !q)
    -> (!q, !k, !k) {
  %left = arith.constant 64 : index
  %right = arith.constant 0 : index
  %init = tensor.empty() : !q
  %init_lse = tensor.empty() : !row
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      mask window(%left, %right)
  %init_query = tensor.empty() : !q
  %init_key = tensor.empty() : !k
  %gradients:3 = fa.attention_gradient ins(%query, %key, %value : !q, !k, !k) of(%output, %lse : !q, !row)
      gradients(%output_gradient : !q)
      outs(query = %init_query : !q, key = %init_key : !k, value = %init_key : !k)
      mask window(%left, %right)
  return %gradients#0, %gradients#1, %gradients#2 : !q, !k, !k
}
