// Attention of which the number of keys chooses the configuration.

!t = memref<?x?x?x64xbf16>
!lse = memref<?x?x?xf32>

func.func @full(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%output, %lse : !t, !lse)
      {config = #fa.config<query_block = 128, key_block = 64, longer = #fa.config<query_block = 128, key_block = 96, from_keys = 300>>}
  return
}

// Three of them, with blocks of other numbers of queries.
func.func @causal(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse, %lengths: memref<?xi32>) {
  fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%output, %lse : !t, !lse)
      key_lengths(%lengths : memref<?xi32>) mask causal
      {config = #fa.config<query_block = 64, key_block = 64, longer =
         #fa.config<query_block = 128, key_block = 32, from_keys = 100, longer =
           #fa.config<query_block = 128, key_block = 128, from_keys = 400>>>}
  return
}

// The number of queries has a say too.
func.func @by_queries(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%output, %lse : !t, !lse)
      {config = #fa.config<query_block = 128, key_block = 64, longer =
         #fa.config<query_block = 128, key_block = 96, from_keys = 200, from_queries = 50, longer =
           #fa.config<query_block = 128, key_block = 32, from_keys = 300, from_queries = 130>>>}
  return
}

// Each version has a table of its own of the key blocks that its blocks see.
func.func @documents(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%output, %lse : !t, !lse)
      mask documents(%ids : memref<?x?xi32>)
      {config = #fa.config<query_block = 128, key_block = 64, longer = #fa.config<query_block = 128, key_block = 32, from_keys = 300>>}
  return
}

// One query block of one head needs no loop.
!q1 = memref<1x128x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!k1 = memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse1 = memref<1x1x128xf32, strided<[?, ?, 1], offset: ?>>
func.func @one_tile(%query: !q1, %key: !k1, %value: !k1, %output: !q1, %lse: !lse1) {
  fa.attention ins(%query, %key, %value : !q1, !k1, !k1) outs(%output, %lse : !q1, !lse1)
      {config = #fa.config<query_block = 128, key_block = 64, longer = #fa.config<query_block = 128, key_block = 32, from_keys = 300>>}
  return
}

// Known sizes need one kernel.
func.func @known(%query: memref<1x128x2x64xbf16>, %key: memref<1x300x2x64xbf16>, %value: memref<1x300x2x64xbf16>,
                 %output: memref<1x128x2x64xbf16>) {
  fa.attention ins(%query, %key, %value : memref<1x128x2x64xbf16>, memref<1x300x2x64xbf16>, memref<1x300x2x64xbf16>)
      outs(%output : memref<1x128x2x64xbf16>)
      {config = #fa.config<query_block = 128, key_block = 64, longer = #fa.config<query_block = 128, key_block = 32, from_keys = 300>>}
  return
}
