// Gradients under masks of which nothing is known ahead of time, all sizes dynamic. HEAD_DIM and CLAUSES are filled in.

!mem = memref<?x?x?xHEAD_DIMxbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>

func.func @documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %ids: memref<?x?xi32>) {
  fa.attention_gradient ins(%query, %key, %value : !mem, !mem, !mem) of(%output, %lse : !mem, !lse) gradients(%output_gradient : !mem)
      outs(query = %query_gradient : !mem, key = %key_gradient : !mem, value = %value_gradient : !mem)
      mask documents(%ids : memref<?x?xi32>) CLAUSES
  return
}

// Ranges that begin anywhere: blocks are counted from there.
func.func @window_documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %ids: memref<?x?xi32>, %left: index) {
  %none = arith.constant 0 : index
  fa.attention_gradient ins(%query, %key, %value : !mem, !mem, !mem) of(%output, %lse : !mem, !lse) gradients(%output_gradient : !mem)
      outs(query = %query_gradient : !mem, key = %key_gradient : !mem, value = %value_gradient : !mem)
      mask window(%left, %none) documents(%ids : memref<?x?xi32>) CLAUSES
  return
}

func.func @lengths_documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %ids: memref<?x?xi32>, %queries: memref<?xi32>, %keys: memref<?xi32>) {
  fa.attention_gradient ins(%query, %key, %value : !mem, !mem, !mem) of(%output, %lse : !mem, !lse) gradients(%output_gradient : !mem)
      outs(query = %query_gradient : !mem, key = %key_gradient : !mem, value = %value_gradient : !mem)
      query_lengths(%queries : memref<?xi32>) key_lengths(%keys : memref<?xi32>)
      mask causal documents(%ids : memref<?x?xi32>) CLAUSES
  return
}

// A table of blocks of 64 by 64 for each head of each batch item: query heads of a key head differ.
func.func @sparse_heads(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %blocks: memref<?x?x?x?xi8>) {
  fa.attention_gradient ins(%query, %key, %value : !mem, !mem, !mem) of(%output, %lse : !mem, !lse) gradients(%output_gradient : !mem)
      outs(query = %query_gradient : !mem, key = %key_gradient : !mem, value = %value_gradient : !mem)
      mask(%b, %h, %i, %j) captures(%table = %blocks : memref<?x?x?x?xi8>) {
        %size = arith.constant 64 : index
        %zero = arith.constant 0 : i8
        %row = arith.divui %i, %size : index
        %column = arith.divui %j, %size : index
        %entry = memref.load %table[%b, %h, %row, %column] : memref<?x?x?x?xi8>
        %visible = arith.cmpi ne, %entry, %zero : i8
        fa.yield %visible : i1
      } CLAUSES
  return
}

// Keys that are padding: every block of keys has the same queries, all or none.
func.func @padding(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %valid: memref<?xi32>) {
  fa.attention_gradient ins(%query, %key, %value : !mem, !mem, !mem) of(%output, %lse : !mem, !lse) gradients(%output_gradient : !mem)
      outs(query = %query_gradient : !mem, key = %key_gradient : !mem, value = %value_gradient : !mem)
      mask(%b, %h, %i, %j) captures(%table = %valid : memref<?xi32>) {
        %zero = arith.constant 0 : i32
        %entry = memref.load %table[%j] : memref<?xi32>
        %visible = arith.cmpi ne, %entry, %zero : i32
        fa.yield %visible : i1
      } CLAUSES
  return
}
