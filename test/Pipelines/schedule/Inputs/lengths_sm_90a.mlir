// The configurations of the table for sm_90a at head dim 128, the second from
// fewer keys and queries on.

!lse = memref<?x?x?xf32>
!w = memref<?x?x?x128xbf16>
func.func @wide_full(%query: !w, %key: !w, %value: !w, %output: !w, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !w, !w, !w) outs(%output, %lse : !w, !lse)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<form = warp_groups, groups = 2, stages = 2, overlap = tiles, turns = true, copying_registers = 40>,
         longer = #fa.config<query_block = 128, key_block = 176, from_keys = 200, from_queries = 150, target = #fa.gpu<form = warp_groups, groups = 2, stages = 2, overlap = keys, copying_registers = 40, cluster = 2>>>}
  return
}
func.func @wide_causal(%query: !w, %key: !w, %value: !w, %output: !w, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !w, !w, !w) outs(%output, %lse : !w, !lse) mask causal
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<form = warp_groups, groups = 2, stages = 2, overlap = tiles, turns = true, tile_order = longest_first>,
         longer = #fa.config<query_block = 128, key_block = 176, from_keys = 200, target = #fa.gpu<form = warp_groups, groups = 2, stages = 2, overlap = keys, tile_order = longest_first>>>}
  return
}
