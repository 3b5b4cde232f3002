// Attention whose blocks are to share copies.

!mem = memref<?x?x?x128xbf16>
#tiles = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, cluster = 2>, stages = 2>>
#keys = #fa.config<query_block = 128, key_block = 176, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, cluster = 2, copying_registers = 40>, stages = 2>>

func.func @full(%query: !mem, %key: !mem, %value: !mem, %output: !mem) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) {config = #tiles}
  return
}

func.func @long(%query: !mem, %key: !mem, %value: !mem, %output: !mem) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) {config = #keys}
  return
}

func.func @causal(%query: !mem, %key: !mem, %value: !mem, %output: !mem) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) mask causal {config = #tiles}
  return
}
