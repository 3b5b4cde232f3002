// Forward attention with an ALiBi score on sm_90a: bf16, head dim 128, grouped
// heads, lengths per batch; one tile a block, 176 keys a step.
//
// Deleting the score lines gives the kernel without a score function.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_plain_alibi.mlir --target=interpret \
//     --verify --input=2x130x4x128xbf16 --input=2x200x2x128xbf16 \
//     --input=2x200x2x128xbf16 --input=2x130x4x128xbf16 --input=2x4x130xf32 \
//     --input='2xi32=[130,70]' --input='2xi32=[200,40]' \
//     --input='4xf32=[0.5,0.25,0.1,0]' --input=f32=0.0884

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
#row = #fagpu.row<4>
!s = tensor<64x176xf32, #acc>
!is = tensor<64x176xi32, #acc>
!hs = tensor<64x176xbf16, #acc>
!p = tensor<64x176xbf16, #fagpu.opa<4>>
!o = tensor<64x128xf32, #acc>
!ho = tensor<64x128xbf16, #acc>
!row = tensor<64xf32, #row>
!irow = tensor<64xi32, #row>
!part = tensor<64x4xf32, #fagpu.quad<4>>
!q = !fagpu.channel<64x128xbf16, #sw, 1>
!kv = !fagpu.channel<176x128xbf16, #sw, 2>
!qv = !fagpu.view<64x128xbf16, #sw>
!kvv = !fagpu.view<176x128xbf16, #sw>
!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!len = memref<?xi32>
func.func @fwd(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %lse: memref<?x?x?xf32>,
    %lq: !len, %lk: !len, %slopes: memref<?xf32>, %blocks: i32, %heads: i32,
               %group: i32, %scale: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c176 = arith.constant 176 : i32
  %chQ = fagpu.channel tma banks(2) : !q
  %chK = fagpu.channel tma : !kv
  %chV = fagpu.channel tma : !kv
  // O leaves through Q's memory
  %chO = fagpu.channel tma_store banks(2) over(%chQ : !q) : !q
  %turns = fagpu.turns 2 : !fagpu.turns
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %bh = arith.divui %t, %blocks : i32
  %mb = arith.remui %t, %blocks : i32
  %row = arith.muli %mb, %c128 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  %hk = arith.divui %h, %group : i32
  %bi = arith.index_cast %b : i32 to index
  %hi = arith.index_cast %h : i32 to index
  %nq = memref.load %lq[%bi] : !len
  %nk = memref.load %lk[%bi] : !len
  %n0 = arith.ceildivsi %nk, %c176 : i32
  %n1 = arith.maxsi %n0, %c1 : i32
  %last = arith.subi %n1, %c1 : i32
  fagpu.role @load groups(1) regs(24) elect {
    %row1 = arith.addi %row, %c64 : i32
    fagpu.put %chQ bank(%c0), %q[%b, %row, %h, %c0] [1, 64, 1, 128] rows(%nq)
        : !mem into !q
    fagpu.put %chQ bank(%c1), %q[%b, %row1, %h, %c0] [1, 64, 1, 128] rows(%nq)
        : !mem into !q
    fagpu.for %kb = %last step -1 segments(%first: once, %rest: to %c0) {
      %key = arith.muli %kb, %c176 : i32
      fagpu.put %chK, %k[%b, %key, %hk, %c0] [1, 176, 1, 128]
          rows(%nk) {fagpu.at = [0, 1]} : !mem into !kv
      fagpu.put %chV, %v[%b, %key, %hk, %c0] [1, 176, 1, 128]
          rows(%nk) {fagpu.at = [1, 2]} : !mem into !kv
      fagpu.yield
    }
  }
  fagpu.role @math(%g) groups(2) regs(240) {
    %zero = arith.constant dense<0.0> : !o
    %none = arith.constant dense<0xFF800000> : !s
    %mInit = arith.constant dense<0xFF800000> : !row
    %zrow = arith.constant dense<0.0> : !row
    %one = arith.constant dense<1.0> : !row
    %ln2 = arith.constant dense<0.693147182> : !row
    %lInit = arith.constant dense<0.0> : !part
    %log2e = arith.constant 1.44269502 : f32
    %l2 = tensor.splat %log2e : !s
    %l2r = tensor.splat %log2e : !row
    %sc = tensor.splat %scale : !s
    %slope = memref.load %slopes[%hi] : memref<?xf32>
    %slo = tensor.splat %slope : !s
    %slor = tensor.splat %slope : !row
    %g64 = arith.muli %g, %c64 : i32
    %myRow = arith.addi %row, %g64 : i32
    %qt = fagpu.acquire %chQ bank(%g) : !q
    %acc, %m, %l = fagpu.for %kb = %last step -1
        segments(%first: once, %rest: to %c0)
        iter(%o0 = %zero, %m0 = %mInit, %l0 = %lInit) -> (!o, !row, !part) {
      %kt = fagpu.acquire %chK {fagpu.at = [0, 1]} : !kv
      %sf = fagpu.mma_async nt %qt, %kt {fagpu.at = [0, 3]} : !qv, !kvv
          -> !fagpu.inflight<!s>
      %s0 = fagpu.wait %sf {fagpu.at = [0, 5]} : !fagpu.inflight<!s>
      fagpu.release %kt : !kvv
      // the score: s * scale + slope * (key - query - (nk - nq)), natural log
      %key = arith.muli %kb, %c176 : i32
      %nkl = arith.subi %nk, %key : i32
      %q0 = arith.subi %nq, %nkl : i32
      %q1 = arith.subi %q0, %myRow : i32
      %r = fagpu.iota 0 : !irow
      %qr = tensor.splat %q1 : !irow
      %dr = arith.subi %qr, %r : !irow
      %df = arith.sitofp %dr : !irow to !row
      %db = arith.mulf %df, %slor : !row
      %dbb = fagpu.broadcast %db : !row -> !s
      %col = fagpu.iota 1 : !is
      %cf = arith.sitofp %col : !is to !s
      %bias = math.fma %cf, %slo, %dbb : !s
      %s1 = math.fma %s0, %sc, %bias : !s
      // the mask: only the last block of keys is ragged
      %s = scf.if %first -> (!s) {
        %lim = tensor.splat %nkl : !is
        %ok = arith.cmpi slt, %col, %lim : !is
        %x = arith.select %ok, %s1, %none : tensor<64x176xi1, #acc>, !s
        scf.yield %x : !s
      } else { scf.yield %s1 : !s }
      %mx = fagpu.reduce max %s : !s -> !row
      %m1 = arith.maxnumf %m0, %mx : !row
      %dead = arith.cmpf oeq, %m1, %mInit : !row
      %ref = arith.select %dead, %zrow, %m1 : tensor<64xi1, #row>, !row
      %ms = arith.mulf %ref, %l2r : !row
      %nms = arith.negf %ms : !row
      %nb = fagpu.broadcast %nms : !row -> !s
      %e0 = math.fma %s, %l2, %nb : !s
      %p = math.exp2 %e0 fastmath<afn> : !s
      // rounded as above, so that an unchanged maximum gives exactly 1
      %mo = arith.mulf %m0, %l2r : !row
      %a0 = arith.subf %mo, %ms : !row
      %alpha = math.exp2 %a0 fastmath<afn> : !row
      %sum = fagpu.reduce add %p : !s -> !part
      %a4 = fagpu.broadcast %alpha : !row -> !part
      %l1 = math.fma %l0, %a4, %sum : !part
      %ls = arith.select %first, %sum, %l1 : !part
      %ph = arith.truncf %p {fagpu.at = [0, 7]} : !s to !hs
      %pa = fagpu.convert %ph : !hs -> !p
      %aO = fagpu.broadcast %alpha : !row -> !o
      %os = arith.mulf %o0, %aO : !o
      %o1 = arith.select %first, %o0, %os : !o
      fagpu.take %turns {fagpu.at = [1, 2]} : !fagpu.turns
      %vt = fagpu.acquire %chV {fagpu.at = [1, 4]} : !kv
      %of = fagpu.mma_async nn %pa, %vt acc(%o1 : !o) : !p, !kvv
          -> !fagpu.inflight<!o keeps !p>
      fagpu.pass %turns : !fagpu.turns
      %o2 = fagpu.wait %of {fagpu.at = [1, 6]} : !fagpu.inflight<!o keeps !p>
      fagpu.release %vt : !kvv
      fagpu.yield %o2, %m1, %ls : !o, !row, !part
    }
    fagpu.release %qt : !qv
    %sum = fagpu.reduce add %l : !part -> !row
    %dead = arith.cmpf oeq, %sum, %zrow : !row
    %rcp = arith.divf %one, %sum fastmath<arcp, afn> : !row
    %inv = arith.select %dead, %zrow, %rcp : tensor<64xi1, #row>, !row
    %lg = math.log2 %sum fastmath<afn> : !row
    %lgn = arith.mulf %lg, %ln2 : !row
    %ls = arith.addf %m, %lgn : !row
    %invO = fagpu.broadcast %inv : !row -> !o
    %on = arith.mulf %acc, %invO : !o
    %oh = arith.truncf %on : !o to !ho
    fagpu.store %ls, %lse[%b, %h, %myRow] rows(%nq) : !row
        into memref<?x?x?xf32>
    fagpu.store %oh, %o[%b, %myRow, %h, %c0] sizes [1, 64, 1, 128] rows(%nq) via(%chO : !q) bank(%g)
        : !ho into !mem
  }
  return
}

// What @attention computes: a bias of the signed distance from the last key that
// a causal mask would show.
func.func private @reference(%query: !mem, %key: !mem, %value: !mem,
    %output: !mem, %lse: memref<?x?x?xf32>, %query_lengths: !len,
    %key_lengths: !len, %slopes: memref<?xf32>, %scale: f32) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem)
      outs(%output, %lse : !mem, memref<?x?x?xf32>) scale(%scale)
      query_lengths(%query_lengths : !len) key_lengths(%key_lengths : !len)
      score(%score, %batch, %head, %i, %j)
      captures(%table = %slopes : memref<?xf32>) {
    %slope = memref.load %table[%head] : memref<?xf32>
    %nk = fa.key_length : index
    %nq = fa.query_length : index
    %excess = arith.subi %nk, %nq : index
    %last = arith.addi %i, %excess : index
    %distance = arith.subi %j, %last : index
    %wide = arith.index_cast %distance : index to i32
    %float = arith.sitofp %wide : i32 to f32
    %bias = arith.mulf %slope, %float : f32
    %biased = arith.addf %score, %bias : f32
    fa.yield %biased : f32
  }
  return
}

func.func @attention(%query: !mem, %key: !mem, %value: !mem,
    %output: !mem, %lse: memref<?x?x?xf32>, %query_lengths: !len,
    %key_lengths: !len, %slopes: memref<?xf32>, %scale: f32)
    attributes {fa.implements = @reference} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = arith.constant 128 : index
  %batch = memref.dim %query, %c0 : !mem
  %queries = memref.dim %query, %c1 : !mem
  %heads = memref.dim %query, %c2 : !mem
  %kvHeads = memref.dim %key, %c2 : !mem
  %group = arith.divui %heads, %kvHeads : index
  %blocks = arith.ceildivui %queries, %rows : index
  %sequences = arith.muli %batch, %heads : index
  %tiles = arith.muli %blocks, %sequences : index
  %blocksI = arith.index_cast %blocks : index to i32
  %headsI = arith.index_cast %heads : index to i32
  %groupI = arith.index_cast %group : index to i32
  fagpu.launch @fwd grid(%tiles)
      (%query, %key, %value, %output, %lse, %query_lengths, %key_lengths,
       %slopes, %blocksI, %headsI, %groupI, %scale)
      : !mem, !mem, !mem, !mem, memref<?x?x?xf32>, !len, !len, memref<?xf32>,
        i32, i32, i32, f32
  return
}
