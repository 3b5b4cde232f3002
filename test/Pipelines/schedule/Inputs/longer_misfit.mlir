!t = memref<?x?x?x64xbf16>
func.func @misfit(%query: !t, %key: !t, %value: !t, %output: !t) {
  fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%output : !t)
      {config = #fa.config<query_block = 128, key_block = 128, longer =
         #fa.config<query_block = 128, key_block = 4096, from_keys = 8192, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>>>}
  return
}
