// Gradients of a problem of any sizes. HEAD_DIM, VALUE_DIM, HEADS, KEY_HEADS, ELEMENT and CLAUSES are filled in by tests.
!q = memref<?x?xHEADSxHEAD_DIMxELEMENT, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<?x?xKEY_HEADSxHEAD_DIMxELEMENT, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?xKEY_HEADSxVALUE_DIMxELEMENT, strided<[?, ?, ?, 1], offset: ?>>
!o = memref<?x?xHEADSxVALUE_DIMxELEMENT, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?xHEADSx?xf32>
func.func @backward(%query: !q, %key: !k, %value: !v, %output: !o, %lse: !lse, %output_gradient: !o,
    %query_gradient: !q, %key_gradient: !k, %value_gradient: !v) {
  %left = arith.constant 40 : index
  %right = arith.constant 30 : index
  fa.attention_gradient ins(%query, %key, %value : !q, !k, !v) of(%output, %lse : !o, !lse)
      gradients(%output_gradient : !o)
      outs(query = %query_gradient : !q, key = %key_gradient : !k, value = %value_gradient : !v) CLAUSES
  return
}
