// Forward attention without a mask on sm_90a: bf16, head dim 128, grouped
// heads, lengths per batch, log-sum-exp; persistent and flattened over tiles,
// as sm_90a_causal.mlir.
//
// Only the last block of keys is ragged, and it comes first, so the loop over
// the others has no mask. Tiles come head by head, so that those at work share
// keys and values; the next one is taken a step before the last keys of this
// one, so that nothing waits for it between tiles.
//
// Slots of the compute role: 0 tile boundary, 1 acquire Q and K, 2 take the
// turn, 3 issue Q K^T, 4 acquire V, issue P V, pass the turn, 5 statistics of
// the finished tile, 6 wait for the scores, release K, mask, softmax, 7 wait
// for the output, release V, 8 P to bf16, rescale the output, 9 normalise and
// store. Stage 0 belongs to the next key block, stage 1 to the one before.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_full.mlir --target=interpret --verify \
//     --input=2x130x4x128xbf16 --input=2x200x2x128xbf16 \
//     --input=2x200x2x128xbf16 --input=2x130x4x128xbf16 --input=2x4x130xf32 \
//     --input='2xi32=[130,70]' --input='2xi32=[200,40]' --input=f32=0.0884

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
#row = #fagpu.row<4>
!s = tensor<64x128xf32, #acc>
!is = tensor<64x128xi32, #acc>
!hs = tensor<64x128xbf16, #acc>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!o = tensor<64x128xf32, #acc>
!ho = tensor<64x128xbf16, #acc>
!row = tensor<64xf32, #row>
!irow = tensor<64xi32, #row>
!part = tensor<64x4xf32, #fagpu.quad<4>>
!q = !fagpu.channel<64x128xbf16, #sw, 2>
!kv = !fagpu.channel<128x128xbf16, #sw, 2>
!st = !fagpu.channel<64x128xbf16, #sw, 1>
!qv = !fagpu.view<64x128xbf16, #sw>
!kvv = !fagpu.view<128x128xbf16, #sw>
!work = !fagpu.mail<2, i32, i32, i32, i32, i32>
!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!len = memref<?xi32>
!ctr = memref<2xi32>

// Tile number -> first query row (-1: no such tile), batch, head, lengths.
// Head-major: the tiles at work share keys and values.
func.func private @tile(%t: i32, %tiles: i32, %blocks: i32, %heads: i32,
    %lq: !len, %lk: !len) -> (i32, i32, i32, i32, i32) {
  %c1 = arith.constant 1 : i32
  %rows = arith.constant 128 : i32
  %none = arith.constant -1 : i32
  %end = arith.subi %tiles, %c1 : i32
  %live = arith.cmpi sle, %t, %end : i32
  %tc = arith.minsi %t, %end : i32
  %bh = arith.divui %tc, %blocks : i32
  %mi = arith.remui %tc, %blocks : i32
  %r = arith.muli %mi, %rows : i32
  %row = arith.select %live, %r, %none : i32
  %b = arith.divui %bh, %heads : i32
  %hb = arith.muli %b, %heads : i32
  %h = arith.subi %bh, %hb : i32
  %bi = arith.index_cast %b : i32 to index
  %nq = memref.load %lq[%bi] : !len
  %nk = memref.load %lk[%bi] : !len
  return %row, %b, %h, %nq, %nk : i32, i32, i32, i32, i32
}

// Last key block to visit; at least block 0, so that every tile has one.
func.func private @keys(%nk: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %keys = arith.constant 128 : i32
  %n = arith.ceildivsi %nk, %keys : i32
  %n1 = arith.maxsi %n, %c1 : i32
  %last = arith.subi %n1, %c1 : i32
  return %last : i32
}

func.func @fwd(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %lse: memref<?x?x?xf32>,
    %lq: !len, %lk: !len, %tiles: i32, %blocks: i32, %heads: i32, %group: i32,
    %scale: f32, %counter: !ctr) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %keys = arith.constant 128 : i32
  // one bank for each math group
  %chQ = fagpu.channel tma banks(2) : !q
  %chK = fagpu.channel tma : !kv
  %chV = fagpu.channel tma : !kv
  %chO = fagpu.channel tma_store banks(2) : !st
  %mail = fagpu.mail : !work
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @load groups(1) regs(40) elect {
    %cta = gpu.block_id x
    %t0 = arith.index_cast %cta : index to i32
    %w:5 = func.call @tile(%t0, %tiles, %blocks, %heads, %lq, %lk)
        : (i32, i32, i32, i32, !len, !len) -> (i32, i32, i32, i32, i32)
    fagpu.send %mail, %w#0, %w#1, %w#2, %w#3, %w#4 : !work
    fagpu.repeat iter(%row = %w#0, %b = %w#1, %h = %w#2, %nq = %w#3, %nk = %w#4)
        : i32, i32, i32, i32, i32 {
      %hk = arith.divui %h, %group : i32
      %last = func.call @keys(%nk) : (i32) -> i32
      %row1 = arith.addi %row, %c64 : i32
      fagpu.put %chQ bank(%c0), %q[%b, %row, %h, %c0] [1, 64, 1, 128] rows(%nq)
          {fagpu.at = [0, 1]} : !mem into !q
      fagpu.put %chQ bank(%c1), %q[%b, %row1, %h, %c0] [1, 64, 1, 128] rows(%nq)
          : !mem into !q
      %takeAt = arith.minsi %last, %c1 : i32
      %n:5 = fagpu.for %kb = %last step -1 segments(%first: once, %rest: to %c0)
          iter(%seen0 = %c0, %seen1 = %c0, %seen2 = %c0, %seen3 = %c0,
          %seen4 = %c0) -> (i32, i32, i32, i32, i32) {
        %key = arith.muli %kb, %keys : i32
        fagpu.put %chK, %k[%b, %key, %hk, %c0] [1, 128, 1, 128] rows(%nk)
            {fagpu.at = [0, 2]} : !mem into !kv
        fagpu.put %chV, %v[%b, %key, %hk, %c0] [1, 128, 1, 128] rows(%nk)
            {fagpu.at = [1, 3]} : !mem into !kv
        // the next tile, a step before this one's last keys, or with them
        %end = arith.cmpi eq, %kb, %takeAt : i32
        %tn:5 = scf.if %end -> (i32, i32, i32, i32, i32) {
          %t = fagpu.ticket %counter : !ctr
          %new:5 = func.call @tile(%t, %tiles, %blocks, %heads, %lq, %lk)
              : (i32, i32, i32, i32, !len, !len) -> (i32, i32, i32, i32, i32)
          scf.yield %new#0, %new#1, %new#2, %new#3, %new#4
              : i32, i32, i32, i32, i32
        } else {
          scf.yield %seen0, %seen1, %seen2, %seen3, %seen4
              : i32, i32, i32, i32, i32
        } {fagpu.at = [0, 5]}
        fagpu.yield %tn#0, %tn#1, %tn#2, %tn#3, %tn#4 : i32, i32, i32, i32, i32
      } {fagpu.at = [1, 0]}
      fagpu.send %mail, %n#0, %n#1, %n#2, %n#3, %n#4 {fagpu.at = [1, 0]} : !work
      %again = arith.cmpi sge, %n#0, %c0 : i32
      fagpu.yield %again, %n#0, %n#1, %n#2, %n#3, %n#4
          : i1, i32, i32, i32, i32, i32
    }
    // the last block to leave resets the counter
    fagpu.retire %counter : !ctr
  }
  fagpu.role @math(%g) groups(2) regs(232) {
    %zero = arith.constant dense<0.0> : !o
    %none = arith.constant dense<0xFF800000> : !s
    %mInit = arith.constant dense<0xFF800000> : !row
    %zrow = arith.constant dense<0.0> : !row
    %one = arith.constant dense<1.0> : !row
    %ln2 = arith.constant dense<0.693147182> : !row
    %lInit = arith.constant dense<0.0> : !part
    %log2e = arith.constant 1.44269502 : f32
    %scale2 = arith.mulf %scale, %log2e : f32
    %sc = tensor.splat %scale2 : !s
    %scr = tensor.splat %scale2 : !row
    %g64 = arith.muli %g, %c64 : i32
    %w:5 = fagpu.recv %mail : !work
    fagpu.repeat iter(%row = %w#0, %b = %w#1, %h = %w#2, %nq = %w#3, %nk = %w#4)
        : i32, i32, i32, i32, i32 {
      %last = func.call @keys(%nk) : (i32) -> i32
      %myRow = arith.addi %row, %g64 : i32
      %qt = fagpu.acquire %chQ bank(%g) {fagpu.at = [0, 1]} : !q
      %acc, %m, %l = fagpu.for %kb = %last step -1
          segments(%first: once, %rest: to %c0)
          iter(%o0 = %zero, %m0 = %mInit, %l0 = %lInit) -> (!o, !row, !part) {
        %kt = fagpu.acquire %chK {fagpu.at = [0, 1]} : !kv
        %sf = fagpu.mma_async nt %qt, %kt {fagpu.at = [0, 3]} : !qv, !kvv
            -> !fagpu.inflight<!s>
        %s0 = fagpu.wait %sf {fagpu.at = [0, 6]} : !fagpu.inflight<!s>
        fagpu.release %kt : !kvv
        %key = arith.muli %kb, %keys : i32
        %nkl = arith.subi %nk, %key : i32
        // the mask: only the last block of keys is ragged
        %s = scf.if %first -> (!s) {
          %lim = tensor.splat %nkl : !is
          %col = fagpu.iota 1 : !is
          %ok = arith.cmpi slt, %col, %lim : !is
          %x = arith.select %ok, %s0, %none : tensor<64x128xi1, #acc>, !s
          scf.yield %x : !s
        } else {
          scf.yield %s0 : !s
        }
        %mx = fagpu.reduce max %s : !s -> !row
        %m1 = arith.maxnumf %m0, %mx : !row
        // a row that has seen no key yet: avoid inf - inf
        %ref = scf.if %first -> (!row) {
          %e = arith.cmpf oeq, %m1, %mInit : !row
          %x = arith.select %e, %zrow, %m1 : tensor<64xi1, #row>, !row
          scf.yield %x : !row
        } else {
          scf.yield %m1 : !row
        }
        %ms = arith.mulf %ref, %scr : !row
        %nms = arith.negf %ms : !row
        %nb = fagpu.broadcast %nms : !row -> !s
        %e0 = math.fma %s, %sc, %nb : !s
        %p = math.exp2 %e0 fastmath<afn> : !s
        // rounded as above, so that an unchanged maximum gives exactly 1
        %mo = arith.mulf %m0, %scr : !row
        %a0 = arith.subf %mo, %ms : !row
        %alpha = math.exp2 %a0 fastmath<afn> : !row
        %sum = fagpu.reduce add %p : !s -> !part
        %a4 = fagpu.broadcast %alpha : !row -> !part
        %l1 = math.fma %l0, %a4, %sum : !part
        %l2 = arith.select %first, %sum, %l1 : !part
        // only after the wait that frees the old P
        %ph = arith.truncf %p {fagpu.at = [0, 8]} : !s to !hs
        %pa = fagpu.convert %ph : !hs -> !p
        %aO = fagpu.broadcast %alpha : !row -> !o
        %os = arith.mulf %o0, %aO : !o
        %o1 = arith.select %first, %o0, %os : !o
        fagpu.take %turns {fagpu.at = [1, 2]} : !fagpu.turns
        %vt = fagpu.acquire %chV {fagpu.at = [1, 4]} : !kv
        %of = fagpu.mma_async nn %pa, %vt acc(%o1 : !o) : !p, !kvv
            -> !fagpu.inflight<!o keeps !p>
        fagpu.pass %turns : !fagpu.turns
        %o2 = fagpu.wait %of {fagpu.at = [1, 7]} : !fagpu.inflight<!o keeps !p>
        fagpu.release %vt : !kvv
        fagpu.yield %o2, %m1, %l2 : !o, !row, !part
      } {fagpu.at = [1, 0]}
      fagpu.release %qt {fagpu.at = [1, 0]} : !qv
      %n:5 = fagpu.recv %mail : !work
      %sum = fagpu.reduce add %l {fagpu.at = [1, 5]} : !part -> !row
      %dead = arith.cmpf oeq, %sum, %zrow : !row
      %rcp = arith.divf %one, %sum fastmath<arcp, afn> : !row
      %inv = arith.select %dead, %zrow, %rcp : tensor<64xi1, #row>, !row
      %lg = math.log2 %sum fastmath<afn> : !row
      %ls0 = math.fma %m, %scr, %lg : !row
      %ls = arith.mulf %ls0, %ln2 : !row
      %invO = fagpu.broadcast %inv {fagpu.at = [1, 9]} : !row -> !o
      %on = arith.mulf %acc, %invO : !o
      %oh = arith.truncf %on : !o to !ho
      fagpu.store %ls, %lse[%b, %h, %myRow] rows(%nq) : !row
          into memref<?x?x?xf32>
      fagpu.store %oh, %o[%b, %myRow, %h, %c0] sizes [1, 64, 1, 128] rows(%nq)
          via(%chO : !st) bank(%g) : !ho into !mem
      %again = arith.cmpi sge, %n#0, %c0 : i32
      fagpu.yield %again, %n#0, %n#1, %n#2, %n#3, %n#4
          : i1, i32, i32, i32, i32, i32
    }
  }
  return
}

// What @attention computes.
func.func private @reference(%query: !mem, %key: !mem, %value: !mem,
    %output: !mem, %lse: memref<?x?x?xf32>, %query_lengths: !len,
    %key_lengths: !len, %scale: f32) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem)
      outs(%output, %lse : !mem, memref<?x?x?xf32>) scale(%scale)
      query_lengths(%query_lengths : !len) key_lengths(%key_lengths : !len)
  return
}

func.func @attention(%query: !mem, %key: !mem, %value: !mem,
    %output: !mem, %lse: memref<?x?x?xf32>, %query_lengths: !len,
    %key_lengths: !len, %scale: f32) attributes {fa.implements = @reference} {
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
  %multiprocessors = fagpu.multiprocessors : index
  %grid = arith.minui %tiles, %multiprocessors : index
  %tilesI = arith.index_cast %tiles : index to i32
  %blocksI = arith.index_cast %blocks : index to i32
  %headsI = arith.index_cast %heads : index to i32
  %groupI = arith.index_cast %group : index to i32
  %counter = fagpu.counter : !ctr
  fagpu.launch @fwd grid(%grid)
      (%query, %key, %value, %output, %lse, %query_lengths, %key_lengths,
       %tilesI, %blocksI, %headsI, %groupI, %scale, %counter)
      : !mem, !mem, !mem, !mem, memref<?x?x?xf32>, !len, !len, i32, i32, i32,
        i32, f32, !ctr
  return
}
