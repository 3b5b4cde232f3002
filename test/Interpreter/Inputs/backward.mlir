// Gradients of attention, straight from the formulas, in the precision of the
// evaluator, for any head dim. A row whose log-sum-exp is -inf sees no key.
//   p = exp(scale q.k - lse)       ds = p (do.v - do.o)
//   dv = p' do      dk = scale ds' q      dq = scale ds k

!mem = memref<?x?x?x?xbf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x?xf32>
!lse = memref<?x?x?xf32>
!pairs = memref<?x?x?x?xf32>
#row = affine_map<(b, h, i, j, d) -> (b, i, h, d)>
#column = affine_map<(b, h, i, j, d) -> (b, j, h, d)>
#pair = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#rowOfRow = affine_map<(b, h, i, d) -> (b, i, h, d)>
#ofRow = affine_map<(b, h, i, d) -> (b, h, i)>
#entry = affine_map<(b, h, i, j) -> (b, h, i, j)>
#entryOfRow = affine_map<(b, h, i, j) -> (b, h, i)>

// pairs = a b'
func.func private @products(%a: !mem, %b: !mem, %pairs: !pairs) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%pairs : !pairs)
  linalg.generic {indexing_maps = [#row, #column, #pair],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : !mem, !mem) outs(%pairs : !pairs) {
  ^bb0(%x0: bf16, %y0: bf16, %sum: f32):
    %x = arith.extf %x0 : bf16 to f32
    %y = arith.extf %y0 : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %new = arith.addf %sum, %xy : f32
    linalg.yield %new : f32
  }
  return
}

// to = factor sums, in bf16
func.func private @truncate(%sums: !sums, %factor: f32, %to: !mem) {
  linalg.generic {indexing_maps = [#entry, #entry],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%sums : !sums) outs(%to : !mem) {
  ^bb0(%x: f32, %old: bf16):
    %y = arith.mulf %x, %factor : f32
    %z = arith.truncf %y : f32 to bf16
    linalg.yield %z : bf16
  }
  return
}

func.func private @gradients(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %scale: f32, %causal: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %batch = memref.dim %query, %c0 : !mem
  %queries = memref.dim %query, %c1 : !mem
  %heads = memref.dim %query, %c2 : !mem
  %keys = memref.dim %key, %c1 : !mem
  %columns = memref.dim %key, %c3 : !mem
  %shift = arith.subi %keys, %queries : index
  %p = memref.alloc(%batch, %heads, %queries, %keys) : !pairs
  %ds = memref.alloc(%batch, %heads, %queries, %keys) : !pairs
  %delta = memref.alloc(%batch, %heads, %queries) : !lse
  %dqs = memref.alloc(%batch, %queries, %heads, %columns) : !sums
  %dks = memref.alloc(%batch, %keys, %heads, %columns) : !sums
  %dvs = memref.alloc(%batch, %keys, %heads, %columns) : !sums
  func.call @products(%query, %key, %p) : (!mem, !mem, !pairs) -> ()
  func.call @products(%output_gradient, %value, %ds) : (!mem, !mem, !pairs) -> ()
  linalg.fill ins(%zero : f32) outs(%delta : !lse)
  linalg.generic {indexing_maps = [#rowOfRow, #rowOfRow, #ofRow],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%output_gradient, %output : !mem, !mem) outs(%delta : !lse) {
  ^bb0(%x0: bf16, %y0: bf16, %sum: f32):
    %x = arith.extf %x0 : bf16 to f32
    %y = arith.extf %y0 : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %new = arith.addf %sum, %xy : f32
    linalg.yield %new : f32
  }
  linalg.generic {indexing_maps = [#entryOfRow, #entryOfRow, #entry, #entry],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%lse, %delta : !lse, !lse) outs(%p, %ds : !pairs, !pairs) {
  ^bb0(%l: f32, %e: f32, %s: f32, %dp: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %last = arith.addi %i, %shift : index
    %past = arith.cmpi sgt, %j, %last : index
    %hidden = arith.andi %past, %causal : i1
    %empty = arith.cmpf oeq, %l, %none : f32
    %unseen = arith.ori %hidden, %empty : i1
    %scaled = arith.mulf %s, %scale : f32
    %x = arith.subf %scaled, %l : f32
    %y = math.exp %x : f32
    %prob = arith.select %unseen, %zero, %y : f32
    %d = arith.subf %dp, %e : f32
    %dsij = arith.mulf %prob, %d : f32
    linalg.yield %prob, %dsij : f32, f32
  }
  linalg.fill ins(%zero : f32) outs(%dqs : !sums)
  linalg.fill ins(%zero : f32) outs(%dks : !sums)
  linalg.fill ins(%zero : f32) outs(%dvs : !sums)
  linalg.generic {indexing_maps = [#pair, #pair, #row, #row, #column, #row, #column, #column],
      iterator_types = ["reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%p, %ds, %query, %output_gradient, %key : !pairs, !pairs, !mem, !mem, !mem)
      outs(%dqs, %dks, %dvs : !sums, !sums, !sums) {
  ^bb0(%prob: f32, %dsij: f32, %q0: bf16, %do0: bf16, %k0: bf16, %dq: f32, %dk: f32, %dv: f32):
    %q = arith.extf %q0 : bf16 to f32
    %do = arith.extf %do0 : bf16 to f32
    %k = arith.extf %k0 : bf16 to f32
    %a = arith.mulf %dsij, %k : f32
    %b = arith.mulf %dsij, %q : f32
    %c = arith.mulf %prob, %do : f32
    %dq1 = arith.addf %dq, %a : f32
    %dk1 = arith.addf %dk, %b : f32
    %dv1 = arith.addf %dv, %c : f32
    linalg.yield %dq1, %dk1, %dv1 : f32, f32, f32
  }
  func.call @truncate(%dqs, %scale, %query_gradient) : (!sums, f32, !mem) -> ()
  func.call @truncate(%dks, %scale, %key_gradient) : (!sums, f32, !mem) -> ()
  func.call @truncate(%dvs, %one, %value_gradient) : (!sums, f32, !mem) -> ()
  return
}

func.func @backward(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %scale: f32) {
  %causal = arith.constant false
  func.call @gradients(%query, %key, %value, %output, %lse, %output_gradient, %query_gradient, %key_gradient,
      %value_gradient, %scale, %causal) : (!mem, !mem, !mem, !mem, !lse, !mem, !mem, !mem, !mem, f32, i1) -> ()
  return
}

func.func @backward_causal(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %lse: !lse, %output_gradient: !mem,
    %query_gradient: !mem, %key_gradient: !mem, %value_gradient: !mem, %scale: f32) {
  %causal = arith.constant true
  func.call @gradients(%query, %key, %value, %output, %lse, %output_gradient, %query_gradient, %key_gradient,
      %value_gradient, %scale, %causal) : (!mem, !mem, !mem, !mem, !lse, !mem, !mem, !mem, !mem, f32, i1) -> ()
  return
}
