// Gradients of attention on sm_90a: head dim 128, causal (aligned at the last query
// and key), 80 queries a step. The better text from about 4k queries on;
// sm_90a_backward_causal_short.mlir below. What the kernels do is told in
// sm_90a_backward_full.mlir; here the blocks of queries start at the diagonal, and
// only those on it are masked.
//
// Measured on an H200 on 23 November 2026, bf16, 16,384 tokens, hidden 2048, with
// @prepare and @finish in Triton: 469, 641 and 686 TFLOP/s at 2k, 8k and 16k
// tokens. FlashAttention-4 made 480, 625 and 684 in the same run.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_backward_causal.mlir --target=interpret \
//     --entry=backward_causal --against=test/Interpreter/Inputs/backward.mlir \
//     --input=1x100x2x128xbf16 --input=1x130x2x128xbf16 \
//     --input=1x130x2x128xbf16 --input=1x100x2x128xbf16 --input=1x2x100xf32 \
//     --input=1x100x2x128xbf16 --input=1x100x2x128xbf16 \
//     --input=1x130x2x128xbf16 --input=1x130x2x128xbf16 --input=f32=0.0884

#sw = #fagpu.smem<128>
#pl = #fagpu.smem<0>
#acc = #fagpu.acc<4>
#acc5 = #fagpu.acc<5>
!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
!vec = memref<?x80xf32>            // a row for each query block of each head
!flat = memref<?x2x5120xf32>       // and dQ of both groups, as threads hold it

// Keys and queries of a step, and vectors of the queries.
!k = !fagpu.channel<128x128xbf16, #sw, 1>
!v = !fagpu.channel<64x128xbf16, #sw, 1>
!q = !fagpu.channel<80x128xbf16, #sw, 2>
!l = !fagpu.channel<80xf32, #pl, 2>
!kv = !fagpu.view<128x128xbf16, #sw>
!kr = !fagpu.view<64x128xbf16, #sw>   // the rows of a group
!kc = !fagpu.view<128x64xbf16, #sw>   // the columns of dQ of a group
!qv = !fagpu.view<80x128xbf16, #sw>
!lv = !fagpu.view<80xf32, #pl>

// Keys by queries, in f32, bf16 and as first operand; dK and dV; dQ transposed.
!s = tensor<64x80xf32, #acc>
!hs = tensor<64x80xbf16, #acc>
!is = tensor<64x80xi32, #acc>
!bs = tensor<64x80xi1, #acc>
!p = tensor<64x80xbf16, #fagpu.opa<4>>
!col = tensor<80xf32, #fagpu.col<4>>
!g = tensor<64x128xf32, #acc>
!hg = tensor<64x128xbf16, #acc>
!sf = !fagpu.inflight<!s>
!gf = !fagpu.inflight<!g keeps !p>
!ds = !fagpu.channel<80x128xbf16, #sw, 2>
!dq = !fagpu.channel<5120xf32, #pl, 1>
!dqv = !fagpu.view<5120xf32, #pl>
!dqt = !fagpu.channel<80x64xbf16, #sw, 1>

// One block of 80 queries. Past the last query, and in rows without keys, the
// log-sum-exp is +inf: P is 0 there, and @gradients needs no mask of queries.
!rows = !fagpu.channel<80x128xbf16, #sw, 1>
!h5 = tensor<80x128xbf16, #acc5>
!f5 = tensor<80x128xf32, #acc5>
!half5 = tensor<80x64xf32, #acc5>
!r5 = tensor<80xf32, #fagpu.row<5>>
!i5 = tensor<80xi32, #fagpu.row<5>>
!b5 = tensor<80xi1, #fagpu.row<5>>
func.func @prepare(%o: !mem, %do: !mem, %lse: !lse, %lse2: !vec, %delta: !vec,
    %dq: !flat, %nq: i32, %blocks: i32, %heads: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c80 = arith.constant 80 : i32
  %chO = fagpu.channel tma : !rows
  %chD = fagpu.channel tma : !rows
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %bh = arith.divui %t, %blocks : i32
  %i = arith.remui %t, %blocks : i32
  %r = arith.muli %i, %c80 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  fagpu.release_dependents
  fagpu.role @load groups(1) elect {
    fagpu.put %chO, %o[%b, %r, %h, %c0] [1, 80, 1, 128] rows(%nq)
        : !mem into !rows
    fagpu.put %chD, %do[%b, %r, %h, %c0] [1, 80, 1, 128] rows(%nq)
        : !mem into !rows
  }
  fagpu.role @sum groups(1) warps(5) {
    %n = fagpu.iota 0 : !i5
    %start = tensor.splat %r : !i5
    %rows = arith.addi %n, %start : !i5
    %end = tensor.splat %nq : !i5
    %ok = arith.cmpi slt, %rows, %end : !i5
    %le = fagpu.gather %lse[%b, %h, %rows] mask(%ok : !b5)
        : !lse[i32, i32, !i5] -> !r5
    %log2e = arith.constant dense<1.44269502> : !r5
    %none = arith.constant dense<0xFF800000> : !r5
    %inf = arith.constant dense<0x7F800000> : !r5
    %l2 = arith.mulf %le, %log2e : !r5
    %some = arith.cmpf une, %le, %none : !r5
    %seen = arith.andi %some, %ok : !b5
    %ls = arith.select %seen, %l2, %inf : !b5, !r5
    fagpu.store %ls, %lse2[%t, %c0] : !r5 into !vec

    %zero = arith.constant dense<0.0> : !half5
    fagpu.store %zero, %dq[%t, %c0, %c0] sizes [1, 1, 5120] fragments
        : !half5 into !flat
    fagpu.store %zero, %dq[%t, %c1, %c0] sizes [1, 1, 5120] fragments
        : !half5 into !flat

    %ov = fagpu.acquire %chO : !rows
    %oh = fagpu.load %ov : !qv -> !h5
    fagpu.release %ov : !qv
    %dv = fagpu.acquire %chD : !rows
    %dh = fagpu.load %dv : !qv -> !h5
    fagpu.release %dv : !qv
    %of = arith.extf %oh : !h5 to !f5
    %df = arith.extf %dh : !h5 to !f5
    %od = arith.mulf %of, %df : !f5
    %sum = fagpu.reduce add %od : !f5 -> !r5
    fagpu.store %sum, %delta[%t, %c0] : !r5 into !vec
  }
  return
}

func.func @gradients(%q: !mem, %k: !mem, %v: !mem, %do: !mem, %lse2: !vec,
    %delta: !vec, %dq: !flat, %dk: !mem, %dv: !mem, %nq: i32, %nk: i32,
    %keyBlocks: i32, %heads: i32, %sequences: i32, %together: i32, %scale: f32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c80 = arith.constant 80 : i32
  %c128 = arith.constant 128 : i32
  %chK = fagpu.channel tma : !k
  %chV = fagpu.channel tma banks(2) : !v
  %chQ = fagpu.channel tma : !q
  %chD = fagpu.channel tma : !q
  %chL = fagpu.channel tma : !l
  %chE = fagpu.channel tma : !l
  %chS = fagpu.channel threads : !ds
  %chG = fagpu.channel tma_store banks(2) : !dq
  %chO = fagpu.channel tma_store banks(2) over(%chV : !v) : !v
  %turns = fagpu.turns 2 : !fagpu.turns
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  // heads together whose queries fit the L2 cache, key block 0 of all of them
  // first: it has the most queries
  %tilesTogether = arith.muli %together, %keyBlocks : i32
  %set = arith.divui %t, %tilesTogether : i32
  %ofSet = arith.remui %t, %tilesTogether : i32
  %firstHead = arith.muli %set, %together : i32
  %leftHeads = arith.subi %sequences, %firstHead : i32
  %here = arith.minsi %together, %leftHeads : i32
  %kb = arith.divui %ofSet, %here : i32
  %ofHere = arith.remui %ofSet, %here : i32
  %bh = arith.addi %firstHead, %ofHere : i32
  %key = arith.muli %kb, %c128 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  // The query that sees the first key, and so the first block that sees any of
  // the keys; from block %iClear on all queries see all of them. One block is
  // visited in any case.
  %some = arith.maxsi %nq, %c1 : i32
  %blocks = arith.ceildivsi %some, %c80 : i32
  %shift = arith.subi %nq, %nk : i32
  %q0 = arith.addi %key, %shift : i32
  %q1 = arith.maxsi %q0, %c0 : i32
  %i0 = arith.divsi %q1, %c80 : i32
  %last = arith.subi %blocks, %c1 : i32
  %iFirst = arith.minsi %i0, %last : i32
  %e0 = arith.addi %q0, %c128 : i32
  %e1 = arith.maxsi %e0, %c0 : i32
  %e2 = arith.ceildivsi %e1, %c80 : i32
  %iClear = arith.minsi %e2, %blocks : i32
  // blocks of queries by their numbers among those of all heads
  %zeroth = arith.muli %bh, %blocks : i32
  %start = arith.addi %zeroth, %iFirst : i32
  %clear = arith.addi %zeroth, %iClear : i32
  %end = arith.addi %zeroth, %blocks : i32
  fagpu.await_previous
  fagpu.role @load groups(1) regs(24) elect {
    %key1 = arith.addi %key, %c64 : i32
    fagpu.put %chK, %k[%b, %key, %h, %c0] [1, 128, 1, 128] rows(%nk)
        : !mem into !k
    fagpu.for %n = %start step 1 segments(%first: once, %rest: to %end) {
      %i = arith.subi %n, %zeroth : i32
      %r = arith.muli %i, %c80 : i32
      fagpu.put %chQ, %q[%b, %r, %h, %c0] [1, 80, 1, 128] rows(%nq)
          : !mem into !q
      // the values are needed later than the first queries
      fagpu.put %chV bank(%c0), %v[%b, %key, %h, %c0] [1, 64, 1, 128] rows(%nk)
          if(%first) : !mem into !v
      fagpu.put %chV bank(%c1), %v[%b, %key1, %h, %c0] [1, 64, 1, 128] rows(%nk)
          if(%first) : !mem into !v
      fagpu.put %chL, %lse2[%n, %c0] [1, 80] : !vec into !l
      fagpu.put %chD, %do[%b, %r, %h, %c0] [1, 80, 1, 128] rows(%nq)
          : !mem into !q
      fagpu.put %chE, %delta[%n, %c0] [1, 80] : !vec into !l
      fagpu.yield
    }
  }
  fagpu.role @math(%g) groups(2) regs(240) {
    %zero = arith.constant dense<0.0> : !g
    %zs = arith.constant dense<0.0> : !s
    %log2e = arith.constant 1.44269502 : f32
    %scale2 = arith.mulf %scale, %log2e : f32
    %sc = tensor.splat %scale2 : !s
    %g64 = arith.muli %g, %c64 : i32
    %myKey = arith.addi %key, %g64 : i32
    %myQuery = arith.addi %q0, %g64 : i32
    %kt = fagpu.acquire %chK : !k
    %vm = fagpu.acquire %chV bank(%g) : !v
    %km = fagpu.slice %kt[%g64, %c0] : !kv to !kr
    %kn = fagpu.slice %kt[%c0, %g64] : !kv to !kc
    %dks, %dvs = fagpu.for %n = %start step 1
        segments(%first: once, %diagonal: to %clear, %rest: to %end)
        iter(%dk0 = %zero, %dv0 = %zero) -> (!g, !g) {
      // S' = K Q', dP' = V dO'
      %qt = fagpu.acquire %chQ {fagpu.at = [0, 1]} : !q
      %sf = fagpu.mma_async nt %km, %qt : !kr, !qv -> !sf
      %dot = fagpu.acquire %chD : !q
      %df = fagpu.mma_async nt %vm, %dot : !kr, !qv -> !sf

      // P'. A vector is loaded late and its stage released behind its use: it
      // takes registers for a moment only.
      %lv = fagpu.acquire %chL : !l
      %s = fagpu.wait %sf {fagpu.at = [0, 2]} : !sf
      %l = fagpu.load %lv : !lv -> !col
      %nl = arith.negf %l : !col
      %nlb = fagpu.broadcast %nl : !col -> !s
      %x = math.fma %s, %sc, %nlb : !s
      %p0 = math.exp2 %x fastmath<afn> : !s
      fagpu.release %lv : !lv
      // visible: key <= query + (keys - queries), which no key past the end is
      %edge = arith.ori %first, %diagonal : i1
      %p = scf.if %edge -> (!s) {
        %i = arith.subi %n, %zeroth : i32
        %r = arith.muli %i, %c80 : i32
        %ahead = arith.subi %r, %myQuery : i32
        %row = fagpu.iota 0 : !is
        %query = fagpu.iota 1 : !is
        %before = tensor.splat %ahead : !is
        %lim = arith.addi %query, %before : !is
        %ok = arith.cmpi sle, %row, %lim : !is
        %pm = arith.select %ok, %p0, %zs : !bs, !s
        scf.yield %pm : !s
      } else {
        scf.yield %p0 : !s
      }

      // dS'
      %ev = fagpu.acquire %chE : !l
      %dp = fagpu.wait %df : !sf
      %e = fagpu.load %ev : !lv -> !col
      %eb = fagpu.broadcast %e : !col -> !s
      %d = arith.subf %dp, %eb : !s
      %dsf = arith.mulf %p, %d : !s
      fagpu.release %ev : !lv
      %ph = arith.truncf %p : !s to !hs
      %dh = arith.truncf %dsf : !s to !hs
      %pa = fagpu.convert %ph : !hs -> !p
      %da = fagpu.convert %dh : !hs -> !p

      // dS, queries by keys: this group's half. It is written behind the issue of
      // dV, as its slot says; in the text it stands before the turn, so that no
      // group has the turn and waits for what the other one has to write.
      fagpu.write %chS part(%c0, %g64), %dh transposed {fagpu.at = [0, 4]}
          : !hs into !ds
      // dV += P' dO. It needs no dS in shared memory, so it comes first.
      fagpu.take %turns {fagpu.at = [0, 3]} : !fagpu.turns
      %dvf = fagpu.mma_async nn %pa, %dot acc(%dv0 : !g) : !p, !qv -> !gf
      // dQ' = K' dS' of the step before
      %dsv = fagpu.acquire %chS {fagpu.at = [1, 5]} : !ds
      %dqf = fagpu.mma_async tt %kn, %dsv : !kc, !qv -> !sf
      %dv1 = fagpu.wait %dvf {fagpu.at = [0, 6]} : !gf
      fagpu.release %dot : !qv
      // dK += dS' Q
      %dkf = fagpu.mma_async nn %da, %qt acc(%dk0 : !g) {fagpu.at = [0, 7]}
          : !p, !qv -> !gf
      fagpu.pass %turns : !fagpu.turns
      %dqr = fagpu.wait %dqf {fagpu.at = [1, 8]} : !sf
      fagpu.release %dsv : !qv
      fagpu.store %dqr, %dq[%n, %g, %c0] sizes [1, 1, 5120] add fragments
          via(%chG : !dq) bank(%g) : !s into !flat
      %dk1 = fagpu.wait %dkf {fagpu.at = [0, 9]} : !gf
      fagpu.release %qt : !qv
      fagpu.yield %dk1, %dv1 : !g, !g
    }
    fagpu.release_dependents
    fagpu.release %kt : !kv
    fagpu.release %vm : !kr
    %dvh = arith.truncf %dvs : !g to !hg
    fagpu.store %dvh, %dv[%b, %myKey, %h, %c0] sizes [1, 64, 1, 128] rows(%nk)
        via(%chO : !v) bank(%g) : !hg into !mem
    %scg = tensor.splat %scale : !g
    %dkn = arith.mulf %dks, %scg : !g
    %dkh = arith.truncf %dkn : !g to !hg
    fagpu.store %dkh, %dk[%b, %myKey, %h, %c0] sizes [1, 64, 1, 128] rows(%nk)
        via(%chO : !v) bank(%g) : !hg into !mem
  }
  return
}

// dQ of one block of 80 queries, scaled, in bf16; group g has columns from 64 g on.
func.func @finish(%dq: !flat, %out: !mem, %nq: i32, %blocks: i32, %heads: i32,
    %scale: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c80 = arith.constant 80 : i32
  %chG = fagpu.channel tma banks(2) : !dq
  %chO = fagpu.channel tma_store banks(2) : !dqt
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %bh = arith.divui %t, %blocks : i32
  %i = arith.remui %t, %blocks : i32
  %r = arith.muli %i, %c80 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  fagpu.await_previous
  fagpu.role @load groups(1) elect {
    fagpu.put %chG bank(%c0), %dq[%t, %c0, %c0] [1, 1, 5120] : !flat into !dq
    fagpu.put %chG bank(%c1), %dq[%t, %c1, %c0] [1, 1, 5120] : !flat into !dq
  }
  fagpu.role @convert(%g) groups(2) {
    %g64 = arith.muli %g, %c64 : i32
    %gv = fagpu.acquire %chG bank(%g) : !dq
    %x = fagpu.load %gv fragments : !dqv -> !s
    fagpu.release %gv : !dqv
    %sc = tensor.splat %scale : !s
    %y = arith.mulf %x, %sc : !s
    %yh = arith.truncf %y : !s to !hs
    fagpu.store %yh, %out[%b, %r, %h, %g64] sizes [1, 80, 1, 64] rows(%nq)
        transposed via(%chO : !dqt) bank(%g) : !hs into !mem
  }
  return
}

// The log-sum-exp is that of the forward pass, in natural logarithms.
func.func @backward_causal(%query: !mem, %key: !mem, %value: !mem, %output: !mem,
    %lse: !lse, %output_gradient: !mem, %query_gradient: !mem,
    %key_gradient: !mem, %value_gradient: !mem, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c80 = arith.constant 80 : index
  %c128 = arith.constant 128 : index
  %batch = memref.dim %query, %c0 : !mem
  %queries = memref.dim %query, %c1 : !mem
  %heads = memref.dim %query, %c2 : !mem
  %keys = memref.dim %key, %c1 : !mem
  %keyHeads = memref.dim %key, %c2 : !mem
  %same = arith.cmpi eq, %heads, %keyHeads : index
  cf.assert %same, "the keys have other heads than the queries"
  %sequences = arith.muli %batch, %heads : index
  // without queries there is one block of none, so that dK and dV are 0
  %some = arith.maxui %queries, %c1 : index
  %blocks = arith.ceildivui %some, %c80 : index
  %tiles = arith.muli %blocks, %sequences : index
  %keyBlocks = arith.ceildivui %keys, %c128 : index
  %keyTiles = arith.muli %keyBlocks, %sequences : index
  %nq = arith.index_cast %queries : index to i32
  %nk = arith.index_cast %keys : index to i32
  %qb = arith.index_cast %blocks : index to i32
  %kb = arith.index_cast %keyBlocks : index to i32
  %nh = arith.index_cast %heads : index to i32
  // Q and dO in bf16 and dQ in f32 take 1024 bytes a query: heads of 32 MiB
  %budget = arith.constant 32768 : index
  %fit = arith.divui %budget, %some : index
  %fitting = arith.maxui %fit, %c1 : index
  %most = arith.minui %fitting, %sequences : index
  %together = arith.index_cast %most : index to i32
  %ns = arith.index_cast %sequences : index to i32
  %lse2 = fagpu.workspace(%tiles) : !vec
  %delta = fagpu.workspace(%tiles) : !vec
  %dq = fagpu.workspace(%tiles) : !flat
  fagpu.launch @prepare grid(%tiles)
      (%output, %output_gradient, %lse, %lse2, %delta, %dq, %nq, %qb, %nh)
      : !mem, !mem, !lse, !vec, !vec, !flat, i32, i32, i32
  fagpu.launch @gradients grid(%keyTiles) dependent
      (%query, %key, %value, %output_gradient, %lse2, %delta, %dq,
       %key_gradient, %value_gradient, %nq, %nk, %kb, %nh, %ns, %together,
       %scale)
      : !mem, !mem, !mem, !mem, !vec, !vec, !flat, !mem, !mem, i32, i32, i32,
        i32, i32, i32, f32
  fagpu.launch @finish grid(%tiles) dependent
      (%dq, %query_gradient, %nq, %qb, %nh, %scale)
      : !flat, !mem, i32, i32, i32, f32
  return
}
