// New rows into pages and into a batch, of 16 bits and of f32, with both rotaries.
!new = memref<?x2x64xbf16>
!pool = memref<?x16x2x64xbf16>
!table = memref<?xi32>
!angles = memref<?x32xf32>
#packed = #fa.dims<s, h, d>
#pages = #fa.dims<p, s, h, d>

func.func @pages(%k: !new, %v: !new, %keys: !pool, %values: !pool, %starts: !table, %lengths: !table, %pages: memref<?x?xi32>,
                 %cos: !angles, %sin: !angles) {
  fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !pool, !pool)
      key_lengths(%lengths : !table) key_starts(%starts : !table) key_pages(%pages : memref<?x?xi32>) rotary halves(%cos, %sin : !angles, !angles)
      {key_dims = #packed, value_dims = #packed, key_cache_dims = #pages, value_cache_dims = #pages}
  return
}

func.func @interleaved(%k: memref<?x1x8x128xf16>, %v: memref<?x1x8x128xf16>, %keys: memref<?x?x8x128xf16>, %values: memref<?x?x8x128xf16>, %lengths: !table,
                       %cos: memref<?x64xf16>, %sin: memref<?x64xf16>) {
  fa.append ins(%k, %v : memref<?x1x8x128xf16>, memref<?x1x8x128xf16>) outs(%keys, %values : memref<?x?x8x128xf16>, memref<?x?x8x128xf16>)
      key_lengths(%lengths : !table) rotary interleaved(%cos, %sin : memref<?x64xf16>, memref<?x64xf16>)
  return
}

func.func @single(%k: memref<?x1x8x80xf32>, %v: memref<?x1x8x80xf32>, %keys: memref<?x?x8x80xf32>, %values: memref<?x?x8x80xf32>, %lengths: !table) {
  fa.append ins(%k, %v : memref<?x1x8x80xf32>, memref<?x1x8x80xf32>) outs(%keys, %values : memref<?x?x8x80xf32>, memref<?x?x8x80xf32>)
      key_lengths(%lengths : !table)
  return
}
