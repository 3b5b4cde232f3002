// Split-KV decode on sm_90a over pages of 64 keys: 8 heads by up to 8 tokens are
// packed in 64 rows, each split writes its part of the output.
//
// A page is a box of part of a stage, which is full when all of them are there.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_paged_decode.mlir --target=interpret --as-written \
//     --entry=attention --against=test/Interpreter/Inputs/decode.mlir \
//     --input=2x2x16x128xbf16 --input=9x64x2x128xbf16 --input=9x64x2x128xbf16 \
//     --input='2x6xi32=[[3,1,4,8,5,2],[6,0,7,7,7,7]]' --input='2xi32=[370,70]' \
//     --input=3x2x2x16x128xf32 --input=3x2x2x16xf32 --input=f32=0.0884

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
#row = #fagpu.row<4>
!acc = tensor<64x128xf32, #acc>
!h = tensor<64x128xbf16, #acc>
!i = tensor<64x128xi32, #acc>
!p = tensor<64x128xbf16, #fagpu.opa<4>>
!row = tensor<64xf32, #row>
!irow = tensor<64xi32, #row>
!part = tensor<64x4xf32, #fagpu.quad<4>>
!q = !fagpu.channel<64x128xbf16, #sw, 1>
!kv = !fagpu.channel<128x128xbf16, #sw, 3>
!qv = !fagpu.view<64x128xbf16, #sw>
!kvv = !fagpu.view<128x128xbf16, #sw>
!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @decode(%q: !mem, %kp: !mem, %vp: !mem, %table: memref<?x?xi32>,
    %lk: memref<?xi32>, %op: memref<?x?x?x?x128xf32>, %lp: memref<?x?x?x?xf32>,
                  %tokens: i32, %kvheads: i32, %splits: i32,
                      %scale: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %chQ = fagpu.channel tma : !q
  %chK = fagpu.channel tma : !kv
  %chV = fagpu.channel tma : !kv
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %sp = arith.remui %t, %splits : i32
  %bh = arith.divui %t, %splits : i32
  %hk = arith.remui %bh, %kvheads : i32
  %b = arith.divui %bh, %kvheads : i32
  %h0 = arith.muli %hk, %c8 : i32
  %bi = arith.index_cast %b : i32 to index
  %nk = memref.load %lk[%bi] : memref<?xi32>
  %n = arith.ceildivsi %nk, %c128 : i32
  %per0 = arith.ceildivsi %n, %splits : i32
  %per = arith.maxsi %per0, %c1 : i32
  %lo = arith.muli %sp, %per : i32
  %hi0 = arith.addi %lo, %per : i32
  %n1 = arith.maxsi %n, %c1 : i32
  %hi = arith.minsi %hi0, %n1 : i32
  // an empty split visits one block that is masked away
  %last0 = arith.subi %hi, %c1 : i32
  %last = arith.maxsi %last0, %lo : i32
  %np = arith.ceildivsi %nk, %c64 : i32
  %np1 = arith.maxsi %np, %c1 : i32
  %lastPage = arith.subi %np1, %c1 : i32
  fagpu.role @load groups(1) regs(56) elect {
    // Tokens behind the last one are zeros, where the memory ends.
    fagpu.put %chQ, %q[%b, %c0, %h0, %c0] [1, 8, 8, 128] padded
        : !mem into !q
    fagpu.for %kb = %last step -1 segments(%first: once, %rest: to %lo) {
      %pa = arith.muli %kb, %c2 : i32
      %pb = arith.addi %pa, %c1 : i32
      %pg = arith.minsi %pa, %lastPage : i32
      %pg1 = arith.minsi %pb, %lastPage : i32
      %i0 = arith.index_cast %pg : i32 to index
      %i1 = arith.index_cast %pg1 : i32 to index
      %p0 = memref.load %table[%bi, %i0] : memref<?x?xi32>
      %p1 = memref.load %table[%bi, %i1] : memref<?x?xi32>
      %k0 = arith.muli %kb, %c128 : i32
      %r0 = arith.subi %nk, %k0 : i32
      %r1 = arith.subi %r0, %c64 : i32
      fagpu.put %chK part(%c0, %c0), %kp[%p0, %c0, %hk, %c0] [1, 64, 1,
          128] rows(%r0) {fagpu.at = [0, 1]} : !mem into !kv
      fagpu.put %chK part(%c64, %c0), %kp[%p1, %c0, %hk, %c0] [1, 64, 1,
          128] rows(%r1) : !mem into !kv
      fagpu.put %chV part(%c0, %c0), %vp[%p0, %c0, %hk, %c0] [1, 64, 1,
          128] rows(%r0) {fagpu.at = [1, 2]} : !mem into !kv
      fagpu.put %chV part(%c64, %c0), %vp[%p1, %c0, %hk, %c0] [1, 64, 1,
          128] rows(%r1) : !mem into !kv
      fagpu.yield
    }
  }
  fagpu.role @math(%g) groups(1) regs(256) {
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
    %qt = fagpu.acquire %chQ : !q
    %acc, %m, %l = fagpu.for %kb = %last step -1
        segments(%first: once, %rest: to %lo)
        iter(%o0 = %zero, %m0 = %mInit, %l0 = %lInit) -> (!acc, !row, !part) {
      %kt = fagpu.acquire %chK {fagpu.at = [0, 1]} : !kv
      %sf = fagpu.mma_async nt %qt, %kt {fagpu.at = [0, 2]} : !qv, !kvv
          -> !fagpu.inflight<!acc>
      %s0 = fagpu.wait %sf {fagpu.at = [0, 4]} : !fagpu.inflight<!acc>
      fagpu.release %kt : !kvv
      %key = arith.muli %kb, %c128 : i32
      %d0 = arith.subi %nk, %tokens : i32
      %d1 = arith.subi %d0, %key : i32
      %d2 = arith.addi %d1, %c1 : i32
      %nkl = arith.subi %nk, %key : i32
      // row -> token: 8 heads share a token
      %r = fagpu.iota 0 : !irow
      %e8 = tensor.splat %c8 : !irow
      %tok = arith.divui %r, %e8 : !irow
      %dr = tensor.splat %d2 : !irow
      %lim0 = arith.addi %tok, %dr : !irow
      %nkr = tensor.splat %nkl : !irow
      %lim1 = arith.minsi %lim0, %nkr : !irow
      %lim = fagpu.broadcast %lim1 : !irow -> !i
      %col = fagpu.iota 1 : !i
      %ok = arith.cmpi slt, %col, %lim : !i
      %s = arith.select %ok, %s0, %none : tensor<64x128xi1, #acc>, !acc
      %mx = fagpu.reduce max %s : !acc -> !row
      %m1 = arith.maxnumf %m0, %mx : !row
      %e = arith.cmpf oeq, %m1, %mInit : !row
      %ref = arith.select %e, %zrow, %m1 : tensor<64xi1, #row>, !row
      %ms = arith.mulf %ref, %scr : !row
      %nms = arith.negf %ms : !row
      %nb = fagpu.broadcast %nms : !row -> !acc
      %e0 = math.fma %s, %sc, %nb : !acc
      %pp = math.exp2 %e0 fastmath<afn> : !acc
      // rounded as above, so that an unchanged maximum gives exactly 1
      %mo = arith.mulf %m0, %scr : !row
      %a0 = arith.subf %mo, %ms : !row
      %alpha = math.exp2 %a0 fastmath<afn> : !row
      %sum = fagpu.reduce add %pp : !acc -> !part
      %a4 = fagpu.broadcast %alpha : !row -> !part
      %l1 = math.fma %l0, %a4, %sum : !part
      %ph = arith.truncf %pp {fagpu.at = [0, 6]} : !acc to !h
      %pa = fagpu.convert %ph : !h -> !p
      %aO = fagpu.broadcast %alpha : !row -> !acc
      %os = arith.mulf %o0, %aO : !acc
      %vt = fagpu.acquire %chV {fagpu.at = [1, 3]} : !kv
      %of = fagpu.mma_async nn %pa, %vt acc(%os : !acc) : !p, !kvv
          -> !fagpu.inflight<!acc keeps !p>
      %o2 = fagpu.wait %of {fagpu.at = [1, 5]} : !fagpu.inflight<!acc keeps !p>
      fagpu.release %vt : !kvv
      fagpu.yield %o2, %m1, %l1 : !acc, !row, !part
    }
    fagpu.release %qt : !qv
    %sum = fagpu.reduce add %l : !part -> !row
    %dead = arith.cmpf oeq, %sum, %zrow : !row
    %rcp = arith.divf %one, %sum fastmath<arcp, afn> : !row
    %inv = arith.select %dead, %zrow, %rcp : tensor<64xi1, #row>, !row
    %lg = math.log2 %sum fastmath<afn> : !row
    %ls0 = math.fma %m, %scr, %lg : !row
    %ls = arith.mulf %ls0, %ln2 : !row
    %invO = fagpu.broadcast %inv : !row -> !acc
    %on = arith.mulf %acc, %invO : !acc
    fagpu.store %ls, %lp[%sp, %b, %c0, %h0] sizes [1, 1, 8, 8] rows(%tokens)
        : !row into memref<?x?x?x?xf32>
    fagpu.store %on, %op[%sp, %b, %c0, %h0, %c0] sizes [1, 1, 8, 8, 128]
        rows(%tokens) : !acc into memref<?x?x?x?x128xf32>
  }
  return
}

// One part of the output and of its log-sum-exp for each split; the first dim of
// the parts is the number of splits. %query is (batch, tokens, heads, head dim),
// the pages (page, key, key head, head dim), %page_table a page for each batch and
// block of keys.
func.func @attention(%query: !mem, %key_pages: !mem, %value_pages: !mem,
    %page_table: memref<?x?xi32>, %key_lengths: memref<?xi32>,
    %partial_output: memref<?x?x?x?x128xf32>,
    %partial_lse: memref<?x?x?x?xf32>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = memref.dim %query, %c0 : !mem
  %tokens = memref.dim %query, %c1 : !mem
  %kvHeads = memref.dim %key_pages, %c2 : !mem
  %splits = memref.dim %partial_output, %c0 : memref<?x?x?x?x128xf32>
  %sequences = arith.muli %batch, %kvHeads : index
  %blocks = arith.muli %sequences, %splits : index
  %tokensI = arith.index_cast %tokens : index to i32
  %kvHeadsI = arith.index_cast %kvHeads : index to i32
  %splitsI = arith.index_cast %splits : index to i32
  fagpu.launch @decode grid(%blocks)
      (%query, %key_pages, %value_pages, %page_table, %key_lengths,
       %partial_output, %partial_lse, %tokensI, %kvHeadsI, %splitsI, %scale)
      : !mem, !mem, !mem, memref<?x?xi32>, memref<?xi32>,
        memref<?x?x?x?x128xf32>, memref<?x?x?x?xf32>, i32, i32, i32, f32
  return
}
