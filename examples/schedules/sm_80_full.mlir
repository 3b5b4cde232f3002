// Full forward attention for sm_80: mma.sync and cp.async, bf16, head dim 128,
// 128 queries by 64 keys, four warps, two blocks a multiprocessor.
//
// Stage -1 is ahead: the copy of the next block of keys starts when this one has
// been read. Lengths are per batch, query heads share key heads by groups.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_80_full.mlir --target=interpret --verify \
//     --input=2x130x4x128xbf16 --input=2x200x2x128xbf16 \
//     --input=2x200x2x128xbf16 --input=2x130x4x128xbf16 --input=2x4x130xf32 \
//     --input='2xi32=[130,70]' --input='2xi32=[200,40]' --input=f32=0.0884

#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
#row = #fagpu.row<4>
!s = tensor<128x64xf32, #acc>
!is = tensor<128x64xi32, #acc>
!hs = tensor<128x64xbf16, #acc>
!p = tensor<128x64xbf16, #fagpu.opa<4>>
!o = tensor<128x128xf32, #acc>
!ho = tensor<128x128xbf16, #acc>
!row = tensor<128xf32, #row>
!irow = tensor<128xi32, #row>
!part = tensor<128x4xf32, #fagpu.quad<4>>
!q = !fagpu.channel<128x128xbf16, #sw, 1>
!kv = !fagpu.channel<64x128xbf16, #sw, 1>
!qv = !fagpu.view<128x128xbf16, #sw>
!kvv = !fagpu.view<64x128xbf16, #sw>
!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!len = memref<?xi32>
func.func @fwd(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %lse: memref<?x?x?xf32>,
    %lq: !len, %lk: !len, %blocks: i32, %heads: i32, %group: i32, %scale: f32)
    attributes {fagpu.kernel = "sm_80", fagpu.blocks_per_sm = 2} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %chQ = fagpu.channel cp_async : !q
  %chK = fagpu.channel cp_async : !kv
  %chV = fagpu.channel cp_async : !kv
  %chO = fagpu.channel threads over(%chQ : !q) : !q
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %bh = arith.divui %t, %blocks : i32
  %mi = arith.remui %t, %blocks : i32
  %row = arith.muli %mi, %c128 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  %hk = arith.divui %h, %group : i32
  %bi = arith.index_cast %b : i32 to index
  %nq = memref.load %lq[%bi] : !len
  %nk = memref.load %lk[%bi] : !len
  %n0 = arith.ceildivsi %nk, %c64 : i32
  %n1 = arith.maxsi %n0, %c1 : i32
  %last = arith.subi %n1, %c1 : i32
  fagpu.role @all groups(1) {
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
    fagpu.put %chQ, %q[%b, %row, %h, %c0] [1, 128, 1, 128] rows(%nq) : !mem
        into !q
    %qt = fagpu.acquire %chQ : !q
    %acc, %m, %l = fagpu.for %kb = %last step -1
        segments(%first: once, %rest: to %c0)
        iter(%o0 = %zero, %m0 = %mInit, %l0 = %lInit) -> (!o, !row, !part) {
      %key = arith.muli %kb, %c64 : i32
      // one block ahead, after Q K^T has read K
      fagpu.put %chK, %k[%b, %key, %hk, %c0] [1, 64, 1, 128]
          rows(%nk) {fagpu.at = [-1, 4]} : !mem into !kv
      %kt = fagpu.acquire %chK {fagpu.at = [0, 0]} : !kv
      // flies during Q K^T
      fagpu.put %chV, %v[%b, %key, %hk, %c0] [1, 64, 1, 128]
          rows(%nk) {fagpu.at = [0, 1]} : !mem into !kv
      %s0 = fagpu.mma nt %qt, %kt {fagpu.at = [0, 2]} : !qv, !kvv -> !s
      fagpu.release %kt : !kvv
      %s = scf.if %first -> (!s) {
        %nkl = arith.subi %nk, %key : i32
        %lim = tensor.splat %nkl : !is
        %col = fagpu.iota 1 : !is
        %ok = arith.cmpi slt, %col, %lim : !is
        %x = arith.select %ok, %s0, %none : tensor<128x64xi1, #acc>, !s
        scf.yield %x : !s
      } else { scf.yield %s0 : !s }
      %vt = fagpu.acquire %chV {fagpu.at = [0, 3]} : !kv
      %mx = fagpu.reduce max %s {fagpu.at = [0, 5]} : !s -> !row
      %m1 = arith.maxnumf %m0, %mx : !row
      // a row that has seen no key yet: avoid inf - inf
      %ref = scf.if %first -> (!row) {
        %unseen = arith.cmpf oeq, %m1, %mInit : !row
        %x = arith.select %unseen, %zrow, %m1 : tensor<128xi1, #row>, !row
        scf.yield %x : !row
      } else { scf.yield %m1 : !row }
      %ms = arith.mulf %ref, %scr : !row
      %nms = arith.negf %ms : !row
      %nb = fagpu.broadcast %nms : !row -> !s
      %e0 = math.fma %s, %sc, %nb : !s
      %p = math.exp2 %e0 fastmath<afn> : !s
      // rounded as above, so that an unchanged maximum gives exactly 1
      %mo = arith.mulf %m0, %scr : !row
      %a0 = arith.subf %mo, %ms : !row
      %alpha = math.exp2 %a0 fastmath<afn> : !row
      %sum = fagpu.reduce add %p chains(1) : !s -> !part
      %a4 = fagpu.broadcast %alpha : !row -> !part
      %l1 = math.fma %l0, %a4, %sum : !part
      %aO = fagpu.broadcast %alpha : !row -> !o
      %os = arith.mulf %o0, %aO : !o
      %ph = arith.truncf %p : !s to !hs
      %pa = fagpu.convert %ph : !hs -> !p
      %o2 = fagpu.mma nn %pa, %vt acc(%os : !o) : !p, !kvv -> !o
      fagpu.release %vt : !kvv
      fagpu.yield %o2, %m1, %l1 : !o, !row, !part
    }
    fagpu.release %qt : !qv
    %sum = fagpu.reduce add %l : !part -> !row
    %dead = arith.cmpf oeq, %sum, %zrow : !row
    %rcp = arith.divf %one, %sum fastmath<arcp, afn> : !row
    %inv = arith.select %dead, %zrow, %rcp : tensor<128xi1, #row>, !row
    %lg = math.log2 %sum fastmath<afn> : !row
    %ls0 = math.fma %m, %scr, %lg : !row
    %ls = arith.mulf %ls0, %ln2 : !row
    %invO = fagpu.broadcast %inv : !row -> !o
    %on = arith.mulf %acc, %invO : !o
    %oh = arith.truncf %on : !o to !ho
    fagpu.store %ls, %lse[%b, %h, %row] rows(%nq) : !row into memref<?x?x?xf32>
    fagpu.store %oh, %o[%b, %row, %h, %c0] sizes [1, 128, 1, 128] rows(%nq) via(%chO : !q) : !ho
        into !mem
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
  %blocksI = arith.index_cast %blocks : index to i32
  %headsI = arith.index_cast %heads : index to i32
  %groupI = arith.index_cast %group : index to i32
  fagpu.launch @fwd grid(%tiles)
      (%query, %key, %value, %output, %lse, %query_lengths, %key_lengths,
       %blocksI, %headsI, %groupI, %scale)
      : !mem, !mem, !mem, !mem, memref<?x?x?xf32>, !len, !len, i32, i32, i32,
        f32
  return
}
