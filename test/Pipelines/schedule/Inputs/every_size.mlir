!qkv = tensor<?x?x?x64xbf16>
!lse = tensor<?x?x?xf32>
!len = tensor<?xi32>

func.func @causal(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: !lse) -> (!qkv, !lse) {
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, !lse) mask causal
  return %r, %l : !qkv, !lse
}

func.func @full(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: !lse) -> (!qkv, !lse) {
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, !lse)
  return %r, %l : !qkv, !lse
}

func.func @lengths(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: !lse, %nq: !len, %nk: !len) -> (!qkv, !lse) {
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, !lse)
      query_lengths(%nq : !len) key_lengths(%nk : !len) mask causal
  return %r, %l : !qkv, !lse
}

// A window of 41 keys, and the first four.
func.func @sinks(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: !lse) -> (!qkv, !lse) {
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, !lse)
      mask(%b, %h, %i, %j) {
        %sink = arith.constant 4 : index
        %left = arith.constant 40 : index
        %is_sink = arith.cmpi slt, %j, %sink : index
        %first = arith.subi %i, %left : index
        %is_near = arith.cmpi sge, %j, %first : index
        %seen = arith.ori %is_sink, %is_near : i1
        %past = arith.cmpi sle, %j, %i : index
        %ok = arith.andi %seen, %past : i1
        fa.yield %ok : i1
      }
  return %r, %l : !qkv, !lse
}

func.func @bias(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %table: tensor<?x?x?x?xf32>) -> !qkv {
  %r = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o : !qkv) score bias(%table : tensor<?x?x?x?xf32>)
  return %r : !qkv
}

func.func @alibi(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %slopes: tensor<?xf32>, %scale: f32) -> !qkv {
  %r = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o : !qkv) scale(%scale)
      score alibi(%slopes : tensor<?xf32>) mask causal
  return %r : !qkv
}

// A table says which blocks of 32 queries and 32 keys are seen.
func.func @block_sparse(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: !lse, %blocks: tensor<?x?xi32>) -> (!qkv, !lse) {
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, !lse)
      mask(%b, %h, %i, %j) captures(%table = %blocks : tensor<?x?xi32>) {
        %size = arith.constant 32 : index
        %row = arith.divui %i, %size : index
        %column = arith.divui %j, %size : index
        %x = tensor.extract %table[%row, %column] : tensor<?x?xi32>
        %zero = arith.constant 0 : i32
        %ok = arith.cmpi ne, %x, %zero : i32
        fa.yield %ok : i1
      }
  return %r, %l : !qkv, !lse
}

func.func @window(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: !lse, %left: index, %right: index) -> (!qkv, !lse) {
  %r, %l = fa.attention ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, !lse) mask window(%left, %right)
  return %r, %l : !qkv, !lse
}
