// Masks of which nothing is known ahead of time, all sizes dynamic.

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>

func.func @documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask documents(%ids : memref<?x?xi32>)
  return
}

func.func @causal_documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask causal documents(%ids : memref<?x?xi32>)
  return
}

// Ranges that begin anywhere: blocks are counted from there.
func.func @window_documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>,
                            %left: index) {
  %none = arith.constant 0 : index
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask window(%left, %none) documents(%ids : memref<?x?xi32>)
  return
}

func.func @lengths_documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>,
                             %queries: memref<?xi32>, %keys: memref<?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      query_lengths(%queries : memref<?xi32>) key_lengths(%keys : memref<?xi32>)
      mask causal documents(%ids : memref<?x?xi32>)
  return
}

// What all groups are sent is not all that the copying thread needs.
func.func @prefix_documents(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>,
                            %prefix: memref<?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask documents(%ids : memref<?x?xi32>) prefix(%prefix : memref<?xi32>)
  return
}

// A table of blocks of 32 by 48, one for all heads and batches.
func.func @block_sparse(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %blocks: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %blocks : memref<?x?xi32>) {
        %rows = arith.constant 32 : index
        %columns = arith.constant 48 : index
        %zero = arith.constant 0 : i32
        %row = arith.divui %i, %rows : index
        %column = arith.divui %j, %columns : index
        %entry = memref.load %table[%row, %column] : memref<?x?xi32>
        %visible = arith.cmpi ne, %entry, %zero : i32
        fa.yield %visible : i1
      }
  return
}

// The same with a table for each head of each batch.
func.func @sparse_heads(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse,
                        %blocks: memref<?x?x?x?xi8>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %blocks : memref<?x?x?x?xi8>) {
        %size = arith.constant 64 : index
        %zero = arith.constant 0 : i8
        %row = arith.divui %i, %size : index
        %column = arith.divui %j, %size : index
        %entry = memref.load %table[%b, %h, %row, %column] : memref<?x?x?x?xi8>
        %visible = arith.cmpi ne, %entry, %zero : i8
        fa.yield %visible : i1
      }
  return
}

// Keys that are padding: no row for a query block.
func.func @padding(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %valid: memref<?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %valid : memref<?xi32>) {
        %zero = arith.constant 0 : i32
        %entry = memref.load %table[%j] : memref<?xi32>
        %visible = arith.cmpi ne, %entry, %zero : i32
        fa.yield %visible : i1
      }
  return
}

!half = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

func.func @padding_f16(%query: !half, %key: !half, %value: !half, %output: !half, %lse: !lse, %valid: memref<?xi32>) {
  fa.attention ins(%query, %key, %value : !half, !half, !half) outs(%output, %lse : !half, !lse)
      mask(%b, %h, %i, %j) captures(%table = %valid : memref<?xi32>) {
        %zero = arith.constant 0 : i32
        %entry = memref.load %table[%j] : memref<?xi32>
        %visible = arith.cmpi ne, %entry, %zero : i32
        fa.yield %visible : i1
      }
  return
}

// Every other group of 100 keys, but for the first 150 queries, which see all.
func.func @custom(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) {
        %size = arith.constant 100 : index
        %two = arith.constant 2 : index
        %one = arith.constant 1 : index
        %first = arith.constant 150 : index
        %group = arith.divui %j, %size : index
        %parity = arith.remui %group, %two : index
        %odd = arith.cmpi eq, %parity, %one : index
        %sees = arith.cmpi ult, %i, %first : index
        %visible = arith.ori %odd, %sees : i1
        fa.yield %visible : i1
      }
  return
}

// Masks whose least and greatest numbers decide most blocks: by an order, by a
// difference, by one of two reasons, by an opposite, by one of two comparisons.
func.func @ordered(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %ids : memref<?x?xi32>) {
        %mine = memref.load %table[%b, %i] : memref<?x?xi32>
        %its = memref.load %table[%b, %j] : memref<?x?xi32>
        %visible = arith.cmpi slt, %mine, %its : i32
        fa.yield %visible : i1
      }
  return
}

func.func @near(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %ids : memref<?x?xi32>) {
        %mine = memref.load %table[%b, %i] : memref<?x?xi32>
        %its = memref.load %table[%b, %j] : memref<?x?xi32>
        %most = arith.constant 40 : index
        %a = arith.index_cast %mine : i32 to index
        %c = arith.index_cast %its : i32 to index
        %difference = arith.subi %a, %c : index
        %moved = arith.addi %difference, %j : index
        %limit = arith.addi %i, %most : index
        %visible = arith.cmpi sle, %moved, %limit : index
        fa.yield %visible : i1
      }
  return
}

func.func @either(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %ids : memref<?x?xi32>) {
        %mine = memref.load %table[%b, %i] : memref<?x?xi32>
        %its = memref.load %table[%b, %j] : memref<?x?xi32>
        %zero = arith.constant 0 : i32
        %same = arith.cmpi eq, %mine, %its : i32
        %negative = arith.cmpi slt, %its, %zero : i32
        %visible = arith.ori %same, %negative : i1
        fa.yield %visible : i1
      }
  return
}

func.func @opposite(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %ids : memref<?x?xi32>) {
        %mine = memref.load %table[%b, %i] : memref<?x?xi32>
        %its = memref.load %table[%b, %j] : memref<?x?xi32>
        %true = arith.constant true
        %zero = arith.constant 0 : i32
        %same = arith.cmpi eq, %mine, %its : i32
        %negative = arith.cmpi slt, %its, %zero : i32
        %hidden = arith.ori %same, %negative : i1
        %visible = arith.xori %hidden, %true : i1
        fa.yield %visible : i1
      }
  return
}

func.func @one_of_two(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %ids: memref<?x?xi32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output, %lse : !mem, !lse)
      mask(%b, %h, %i, %j) captures(%table = %ids : memref<?x?xi32>) {
        %mine = memref.load %table[%b, %i] : memref<?x?xi32>
        %its = memref.load %table[%b, %j] : memref<?x?xi32>
        %least = arith.constant -5 : i32
        %isLarge = arith.cmpi sgt, %its, %least : i32
        %isBelow = arith.cmpi sge, %mine, %its : i32
        %differs = arith.cmpi ne, %mine, %its : i32
        %visible = arith.select %isLarge, %isBelow, %differs : i1
        fa.yield %visible : i1
      }
  return
}
