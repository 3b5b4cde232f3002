!q = memref<?x4x64xbf16>
!k = memref<?x2x64xbf16>
!keys = memref<?x?x2x64xbf16>
!table = memref<?xi32>
#dims = #fa.dims<s, h, d>

// Query heads share keys; all numbers are results.
func.func @full(%q: !q, %k: !k, %v: !k, %queries: !table, %keys: !table, %o: !q, %lse: memref<4x?xf32>) {
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o, %lse : !q, memref<4x?xf32>)
      query_starts(%queries : !table) key_starts(%keys : !table)
      {query_dims = #dims, key_dims = #dims, value_dims = #dims, output_dims = #dims}
  return
}

// Room is left behind each sequence, and its keys lie in a batch.
func.func @lengths(%q: !q, %k: !keys, %v: !keys, %queries: !table, %n: !table, %m: !table, %o: !q) {
  fa.attention ins(%q, %k, %v : !q, !keys, !keys) outs(%o : !q)
      query_lengths(%n : !table) key_lengths(%m : !table) query_starts(%queries : !table)
      mask causal {query_dims = #dims, output_dims = #dims}
  return
}

// In full precision.
func.func @f32(%q: memref<?x4x64xf32>, %k: memref<?x2x64xf32>, %v: memref<?x2x64xf32>, %queries: !table, %keys: !table,
               %o: memref<?x4x64xf32>, %lse: memref<4x?xf32>) {
  fa.attention ins(%q, %k, %v : memref<?x4x64xf32>, memref<?x2x64xf32>, memref<?x2x64xf32>)
      outs(%o, %lse : memref<?x4x64xf32>, memref<4x?xf32>)
      query_starts(%queries : !table) key_starts(%keys : !table)
      mask causal {query_dims = #dims, key_dims = #dims, value_dims = #dims, output_dims = #dims}
  return
}

// What the host knows to be one sequence.
func.func @one(%q: !q, %k: !k, %v: !k, %starts: memref<2xi32>, %o: !q) {
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
      query_starts(%starts : memref<2xi32>) key_starts(%starts : memref<2xi32>)
      mask causal {query_dims = #dims, key_dims = #dims, value_dims = #dims, output_dims = #dims}
  return
}
