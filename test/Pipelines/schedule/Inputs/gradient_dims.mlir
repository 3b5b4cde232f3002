// Gradients whose head dims HEADDIM and VALUEDIM, MASK and ATTRIBUTES tests fill in.
!q = memref<1x?x2xHEADDIMxf16>
!v = memref<1x?x2xVALUEDIMxf16>
!lse = memref<1x2x?xf32>
func.func @backward(%query: !q, %key: !q, %value: !v, %output: !v, %lse: !lse, %output_gradient: !v,
    %query_gradient: !q, %key_gradient: !q, %value_gradient: !v) {
  fa.attention_gradient ins(%query, %key, %value : !q, !q, !v) of(%output, %lse : !v, !lse) gradients(%output_gradient : !v)
      outs(query = %query_gradient : !q, key = %key_gradient : !q, value = %value_gradient : !v) MASK {ATTRIBUTES}
  return
}
