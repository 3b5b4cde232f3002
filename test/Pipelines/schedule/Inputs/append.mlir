// A step of generating text in place: new rows go into a cache, then attention reads it.
!q = memref<?x8x64xbf16, strided<[?, 64, 1], offset: ?>>
!new = memref<?x2x64xbf16>
!pool = memref<?x16x2x64xbf16>
!table = memref<?xi32>
!angles = memref<?x32xf32>
#packed = #fa.dims<s, h, d>
#pages = #fa.dims<p, s, h, d>

func.func @pages(%q: !q, %k: !new, %v: !new, %keys: !pool, %values: !pool, %starts: !table, %lengths: !table, %pages: memref<?x?xi32>,
                 %cos: !angles, %sin: !angles, %o: !q) {
  fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !pool, !pool)
      key_lengths(%lengths : !table) key_starts(%starts : !table) key_pages(%pages : memref<?x?xi32>) rotary halves(%cos, %sin : !angles, !angles)
      {key_dims = #packed, value_dims = #packed, key_cache_dims = #pages, value_cache_dims = #pages}
  fa.attention ins(%q, %keys, %values : !q, !pool, !pool) outs(%o : !q)
      key_lengths(%lengths : !table) query_starts(%starts : !table) key_pages(%pages : memref<?x?xi32>) mask causal
      {query_dims = #packed, key_dims = #pages, value_dims = #pages, output_dims = #packed}
  return
}

!one = memref<3x1x8x64xbf16>
!row = memref<3x1x2x64xbf16>
!cache = memref<3x?x2x64xbf16>

func.func @contiguous(%q: !one, %k: !row, %v: !row, %keys: !cache, %values: !cache, %lengths: memref<3xi32>, %cos: !angles, %sin: !angles, %o: !one) {
  fa.append ins(%k, %v : !row, !row) outs(%keys, %values : !cache, !cache) key_lengths(%lengths : memref<3xi32>)
      rotary interleaved(%cos, %sin : !angles, !angles)
  fa.attention ins(%q, %keys, %values : !one, !cache, !cache) outs(%o : !one) key_lengths(%lengths : memref<3xi32>)
  return
}
