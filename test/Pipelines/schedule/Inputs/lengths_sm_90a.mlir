// The configurations of the table for sm_90a at head dim 128, the second from
// fewer keys and queries on.

!lse = memref<?x?x?xf32>
!w = memref<?x?x?x128xbf16>
func.func @wide_full(%query: !w, %key: !w, %value: !w, %output: !w, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !w, !w, !w) outs(%output, %lse : !w, !lse)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, copying_registers = 40>, stages = 2>,
         longer = #fa.config<query_block = 128, key_block = 176, from_keys = 200, from_queries = 150, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, cluster = 2, copying_registers = 40>, stages = 2>>>}
  return
}
func.func @wide_causal(%query: !w, %key: !w, %value: !w, %output: !w, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !w, !w, !w) outs(%output, %lse : !w, !lse) mask causal
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>,
         longer = #fa.config<query_block = 128, key_block = 176, from_keys = 200, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, tile_order = longest_first>, stages = 2>>>}
  return
}
