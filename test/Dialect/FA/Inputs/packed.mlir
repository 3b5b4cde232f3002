func.func @packed(%q: memref<30x2x16xf32>, %s: memref<3xi32>, %o: memref<30x2x16xf32>) {
  fa.attention ins(%q, %q, %q : memref<30x2x16xf32>, memref<30x2x16xf32>, memref<30x2x16xf32>) outs(%o : memref<30x2x16xf32>)
      query_starts(%s : memref<3xi32>) key_starts(%s : memref<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>,
       config = #fa.config<query_block = 16, key_block = 32, key_splits = 2>}
  return
}
