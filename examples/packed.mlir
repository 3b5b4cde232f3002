// Packed sequences: documents of 100, 17 and 83 tokens, one behind the other.
//
// Operands have no batch dimension. Sequence b has the rows from starts[b] to
// starts[b + 1], and a query sees keys of its own sequence alone: positions,
// `causal` and lengths count within it. No key of another sequence is looked at.
//
// Run and verify:   fa-run examples/packed.mlir --verify

!packed = tensor<200x8x64xbf16>
!packed_keys = tensor<200x2x64xbf16>

func.func @packed(%query: !packed, %key: !packed_keys, %value: !packed_keys) -> (!packed, tensor<8x200xf32>) {
  %starts = arith.constant dense<[0, 100, 117, 200]> : tensor<4xi32>
  %init = tensor.empty() : !packed
  %lse_init = tensor.empty() : tensor<8x200xf32>
  %output, %lse = fa.attention
      ins(%query, %key, %value : !packed, !packed_keys, !packed_keys)
      outs(%init, %lse_init : !packed, tensor<8x200xf32>)
      query_starts(%starts : tensor<4xi32>) key_starts(%starts : tensor<4xi32>)
      mask causal
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>,
       value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return %output, %lse : !packed, tensor<8x200xf32>
}
