// Gradients with a bias of each pair, and of the bias, whose rows are aligned. HEAD_DIM, OF_BATCH, OF_HEADS and CLAUSES are filled in by tests.
!q = memref<?x?x?xHEAD_DIMxbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
!bias = memref<OF_BATCHxOF_HEADSx?x?xbf16>
func.func @backward(%query: !q, %key: !q, %value: !q, %output: !q, %lse: !lse, %output_gradient: !q, %bias: !bias {fa.align = 16 : i64},
    %query_gradient: !q, %key_gradient: !q, %value_gradient: !q, %bias_gradient: !bias {fa.align = 16 : i64}) {
  fa.attention_gradient ins(%query, %key, %value : !q, !q, !q) of(%output, %lse : !q, !lse) gradients(%output_gradient : !q)
      outs(query = %query_gradient : !q, key = %key_gradient : !q, value = %value_gradient : !q, capture[0] = %bias_gradient : !bias)
      score bias(%bias : !bias) CLAUSES
  return
}

// Of the bias alone.
func.func @of_bias(%query: !q, %key: !q, %value: !q, %output: !q, %lse: !lse, %output_gradient: !q, %bias: !bias {fa.align = 16 : i64},
    %bias_gradient: !bias {fa.align = 16 : i64}) {
  fa.attention_gradient ins(%query, %key, %value : !q, !q, !q) of(%output, %lse : !q, !lse) gradients(%output_gradient : !q)
      outs(capture[0] = %bias_gradient : !bias) score bias(%bias : !bias) CLAUSES
  return
}
