// Causal forward attention on sm_90a: bf16, head dim 128, grouped heads, lengths
// per batch, log-sum-exp; persistent and flattened over tiles.
//
// A tile is 128 queries of one head. Two groups of warps compute 64 rows each and
// take turns at the tensor cores; one thread copies. Tiles come from an atomic
// counter.
//
// Slots of the compute role: 0 tile boundary, 1 acquire Q and K, 2 take the turn,
// 3 issue Q K^T, 4 acquire V, issue P V, pass the turn, 5 statistics of the
// finished tile, 6 wait for the scores, release K, mask, softmax, 7 wait for the
// output, release V, 8 P to bf16, rescale the output, 9 normalise and store.
// Stage 0 belongs to the next key block, stage 1 to the one before.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_causal.mlir --target=interpret --verify \
//     --input=2x130x4x128xbf16 --input=2x200x2x128xbf16 \
//     --input=2x200x2x128xbf16 --input=2x130x4x128xbf16 --input=2x4x130xf32 \
//     --input='2xi32=[130,70]' --input='2xi32=[200,40]' --input=f32=0.0884

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
#row = #fagpu.row<4>
!acc = tensor<64x128xf32, #acc>
!iacc = tensor<64x128xi32, #acc>
!hacc = tensor<64x128xbf16, #acc>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
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
// Heads in groups of %together, whose keys and values stay in the L2 cache;
// within a group the longest rows of all heads first, so that what is left at
// the end is short.
func.func private @tile(%t: i32, %tiles: i32, %blocks: i32, %heads: i32,
    %lq: !len, %lk: !len, %together: i32) -> (i32, i32, i32, i32, i32) {
  %c1 = arith.constant 1 : i32
  %rows = arith.constant 128 : i32
  %none = arith.constant -1 : i32
  %end = arith.subi %tiles, %c1 : i32
  %live = arith.cmpi sle, %t, %end : i32
  %tc = arith.minsi %t, %end : i32
  %sequences = arith.divui %tiles, %blocks : i32
  %groupTiles = arith.muli %together, %blocks : i32
  %group = arith.divui %tc, %groupTiles : i32
  %ofGroup = arith.remui %tc, %groupTiles : i32
  %firstHead = arith.muli %group, %together : i32
  %left = arith.subi %sequences, %firstHead : i32
  %here = arith.minsi %together, %left : i32
  %mi = arith.divui %ofGroup, %here : i32
  %hj = arith.remui %ofGroup, %here : i32
  %bh = arith.addi %firstHead, %hj : i32
  %rb = arith.subi %blocks, %mi : i32
  %mb = arith.subi %rb, %c1 : i32
  %r = arith.muli %mb, %rows : i32
  %row = arith.select %live, %r, %none : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  %bi = arith.index_cast %b : i32 to index
  %nq = memref.load %lq[%bi] : !len
  %nk = memref.load %lk[%bi] : !len
  return %row, %b, %h, %nq, %nk : i32, i32, i32, i32, i32
}
// Last key block to visit (at least block 0, so that every tile has one) and
// the first block below which nothing is masked.
func.func private @keys(%row: i32, %nq: i32, %nk: i32) -> (i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %d = arith.subi %nk, %nq : i32
  %lo = arith.addi %row, %d : i32
  %hi = arith.addi %lo, %c128 : i32
  %end = arith.minsi %hi, %nk : i32
  %n = arith.ceildivsi %end, %c128 : i32
  %n1 = arith.maxsi %n, %c1 : i32
  %last = arith.subi %n1, %c1 : i32
  %f0 = arith.addi %lo, %c1 : i32
  %f1 = arith.maxsi %f0, %c0 : i32
  %f2 = arith.divsi %f1, %c128 : i32
  %full = arith.minsi %f2, %last : i32
  return %last, %full : i32, i32
}
func.func @fwd(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %lse: memref<?x?x?xf32>,
    %lq: !len, %lk: !len, %tiles: i32, %blocks: i32, %heads: i32, %group: i32,
    %together: i32, %scale: f32, %counter: !ctr)
                   attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %chQ = fagpu.channel tma banks(2) : !q
  %chK = fagpu.channel tma : !kv
  %chV = fagpu.channel tma : !kv
  %chO = fagpu.channel tma_store banks(2) : !st
  %mail = fagpu.mail : !work
  %turns = fagpu.turns 2 : !fagpu.turns
  fagpu.role @load groups(1) regs(40) elect {
    %cta = gpu.block_id x
    %t0 = arith.index_cast %cta : index to i32
    %w:5 = func.call @tile(%t0, %tiles, %blocks, %heads, %lq, %lk, %together)
        : (i32, i32, i32, i32, !len, !len, i32) -> (i32, i32, i32, i32, i32)
    fagpu.send %mail, %w#0, %w#1, %w#2, %w#3, %w#4 : !work
    fagpu.repeat iter(%row = %w#0, %b = %w#1, %h = %w#2, %nq = %w#3,
        %nk = %w#4) : i32, i32, i32, i32, i32 {
      %hk = arith.divui %h, %group : i32
      %row1 = arith.addi %row, %c64 : i32
      %last, %full = func.call @keys(%row, %nq, %nk) : (i32, i32, i32)
          -> (i32, i32)
      fagpu.put %chQ bank(%c0), %q[%b, %row, %h, %c0] [1, 64, 1, 128]
          rows(%nq) {fagpu.at = [0, 1]} : !mem into !q
      fagpu.put %chQ bank(%c1), %q[%b, %row1, %h, %c0] [1, 64, 1, 128]
          rows(%nq) : !mem into !q
      %t = fagpu.for %kb = %last step -1
          segments(%first: once, %rest: to %c0) iter(%seen = %c0) -> (i32) {
        %key = arith.muli %kb, %c128 : i32
        %end = arith.cmpi eq, %kb, %c0 : i32
        // take the next tile just before this tile's last K
        %tn = scf.if %end -> (i32) {
          %n = fagpu.ticket %counter : !ctr
          scf.yield %n : i32
        } else { scf.yield %seen : i32 } {fagpu.at = [0, 2]}
        fagpu.put %chK, %k[%b, %key, %hk, %c0] [1, 128, 1, 128] rows(%nk)
            : !mem into !kv
        fagpu.put %chV, %v[%b, %key, %hk, %c0] [1, 128, 1, 128]
            rows(%nk) {fagpu.at = [1, 3]} : !mem into !kv
        fagpu.yield %tn : i32
      } {fagpu.at = [1, 0]}
      %n:5 = func.call @tile(%t, %tiles, %blocks, %heads, %lq, %lk, %together)
          : (i32, i32, i32, i32, !len, !len, i32) -> (i32, i32, i32, i32, i32)
      fagpu.send %mail, %n#0, %n#1, %n#2, %n#3, %n#4 {fagpu.at = [1, 0]} : !work
      %again = arith.cmpi sge, %n#0, %c0 : i32
      fagpu.yield %again, %n#0, %n#1, %n#2, %n#3, %n#4
          : i1, i32, i32, i32, i32, i32
    }
    // the last block to leave resets the counter
    fagpu.retire %counter : !ctr
  }
  fagpu.role @math(%g) groups(2) regs(232) {
    %zero = arith.constant dense<0.0> : !acc
    %none = arith.constant dense<0xFF800000> : !acc
    %mInit = arith.constant dense<0xFF800000> : !row
    %zrow = arith.constant dense<0.0> : !row
    %one = arith.constant dense<1.0> : !row
    %ln2 = arith.constant dense<0.693147182> : !row
    %lInit = arith.constant dense<0.0> : !part
    %log2e = arith.constant 1.44269502 : f32
    %scale2 = arith.mulf %scale, %log2e : f32
    %sc = tensor.splat %scale2 : !acc
    %scr = tensor.splat %scale2 : !row
    %g64 = arith.muli %g, %c64 : i32
    %w:5 = fagpu.recv %mail : !work
    fagpu.repeat iter(%row = %w#0, %b = %w#1, %h = %w#2, %nq = %w#3,
        %nk = %w#4) : i32, i32, i32, i32, i32 {
      %last, %full = func.call @keys(%row, %nq, %nk) : (i32, i32, i32)
          -> (i32, i32)
      %myRow = arith.addi %row, %g64 : i32
      %qt = fagpu.acquire %chQ bank(%g) {fagpu.at = [0, 1]} : !q
      %acc, %m, %l = fagpu.for %kb = %last step -1
          segments(%first: once, %diag: to %full, %rest: to %c0)
          iter(%o0 = %zero, %m0 = %mInit, %l0 = %lInit) -> (!acc, !row, !part) {
        %kt = fagpu.acquire %chK {fagpu.at = [0, 1]} : !kv
        %sf = fagpu.mma_async nt %qt, %kt {fagpu.at = [0, 3]} : !qv, !kvv
            -> !fagpu.inflight<!acc>
        %s0 = fagpu.wait %sf {fagpu.at = [0, 6]} : !fagpu.inflight<!acc>
        fagpu.release %kt : !kvv
        %edge = arith.ori %first, %diag : i1
        // the mask: key <= query + (nk - nq) and key < nk
        %s = scf.if %edge -> (!acc) {
          %key = arith.muli %kb, %c128 : i32
          %nkl = arith.subi %nk, %key : i32
          %d0 = arith.subi %nkl, %nq : i32
          %d1 = arith.addi %d0, %myRow : i32
          %d2 = arith.addi %d1, %c1 : i32
          %r = fagpu.iota 0 : !irow
          %dr = tensor.splat %d2 : !irow
          %lim0 = arith.addi %r, %dr : !irow
          %nkr = tensor.splat %nkl : !irow
          %lim1 = arith.minsi %lim0, %nkr : !irow
          %lim = fagpu.broadcast %lim1 : !irow -> !iacc
          %col = fagpu.iota 1 : !iacc
          %ok = arith.cmpi slt, %col, %lim : !iacc
          %x = arith.select %ok, %s0, %none : tensor<64x128xi1, #acc>, !acc
          scf.yield %x : !acc
        } else { scf.yield %s0 : !acc }
        %mx = fagpu.reduce max %s : !acc -> !row
        %m1 = arith.maxnumf %m0, %mx : !row
        // a row that has seen no key yet: avoid inf - inf
        %ref = scf.if %edge -> (!row) {
          %e = arith.cmpf oeq, %m1, %mInit : !row
          %x = arith.select %e, %zrow, %m1 : tensor<64xi1, #row>, !row
          scf.yield %x : !row
        } else { scf.yield %m1 : !row }
        %ms = arith.mulf %ref, %scr : !row
        %nms = arith.negf %ms : !row
        %nb = fagpu.broadcast %nms : !row -> !acc
        %e0 = math.fma %s, %sc, %nb : !acc
        %p = math.exp2 %e0 fastmath<afn> : !acc
        // rounded as above, so that an unchanged maximum gives exactly 1
        %mo = arith.mulf %m0, %scr : !row
        %a0 = arith.subf %mo, %ms : !row
        %alpha = math.exp2 %a0 fastmath<afn> : !row
        %sum = fagpu.reduce add %p : !acc -> !part
        %a4 = fagpu.broadcast %alpha : !row -> !part
        %l1 = math.fma %l0, %a4, %sum : !part
        %l2 = arith.select %first, %sum, %l1 : !part
        // slot 8: after the wait that frees the old P
        %ph = arith.truncf %p {fagpu.at = [0, 8]} : !acc to !hacc
        %pa = fagpu.convert %ph : !hacc -> !p
        %aO = fagpu.broadcast %alpha : !row -> !acc
        %os = arith.mulf %o0, %aO : !acc
        %o1 = arith.select %first, %o0, %os : !acc
        fagpu.take %turns {fagpu.at = [1, 2]} : !fagpu.turns
        %vt = fagpu.acquire %chV {fagpu.at = [1, 4]} : !kv
        %of = fagpu.mma_async nn %pa, %vt acc(%o1 : !acc) : !p, !kvv
            -> !fagpu.inflight<!acc keeps !p>
        fagpu.pass %turns : !fagpu.turns
        %o2 = fagpu.wait %of {fagpu.at = [1, 7]}
            : !fagpu.inflight<!acc keeps !p>
        fagpu.release %vt : !kvv
        fagpu.yield %o2, %m1, %l2 : !acc, !row, !part
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
      %invO = fagpu.broadcast %inv {fagpu.at = [1, 9]} : !row -> !acc
      %on = arith.mulf %acc, %invO : !acc
      %oh = arith.truncf %on : !acc to !hacc
      fagpu.store %ls, %lse[%b, %h, %myRow] rows(%nq) : !row
          into memref<?x?x?xf32>
      fagpu.store %oh, %o[%b, %myRow, %h, %c0] sizes [1, 64, 1, 128] rows(%nq) via(%chO
          : !st) bank(%g) : !hacc into !mem
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
      mask causal
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
  %keys = memref.dim %key, %c1 : !mem
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
  // heads whose keys and values take at most 8 MiB, which stay in the L2 cache
  %budget = arith.constant 16384 : index
  %some = arith.maxui %keys, %c1 : index
  %fit = arith.divui %budget, %some : index
  %fit1 = arith.maxui %fit, %c1 : index
  %together = arith.minui %fit1, %sequences : index
  %togetherI = arith.index_cast %together : index to i32
  %counter = fagpu.counter : !ctr
  fagpu.launch @fwd grid(%grid)
      (%query, %key, %value, %output, %lse, %query_lengths, %key_lengths,
       %tilesI, %blocksI, %headsI, %groupI, %togetherI, %scale, %counter)
      : !mem, !mem, !mem, !mem, memref<?x?x?xf32>, !len, !len, i32, i32, i32,
        i32, i32, f32, !ctr
  return
}
