// Backward attention on sm_90a: 128 keys a block in two groups of 64, query blocks
// of 64; dQ leaves by bulk reduce-add.
//
// No lowering takes vectors that are copied in bulk yet, so fagpu-check refuses
// the schedule, and the interpreter runs it as written.
//
// Run and verify, without a GPU:
//   fa-run examples/schedules/sm_90a_backward.mlir --target=interpret --as-written \
//     --entry=backward --against=test/Interpreter/Inputs/backward.mlir \
//     --input=1x66x2x128xbf16 --input=1x130x2x128xbf16 \
//     --input=1x130x2x128xbf16 --input=1x66x2x128xbf16 --input=1x2x66xf32 \
//     --input=1x2x66xf32 --input=1x66x2x128xf32=0 --input=1x130x2x128xbf16 \
//     --input=1x130x2x128xbf16 --input=f32=0.0884

#sw = #fagpu.smem<128>
#pl = #fagpu.smem<0>
#acc = #fagpu.acc<4>
#col = #fagpu.col<4>
!s = tensor<64x64xf32, #acc>
!hs = tensor<64x64xbf16, #acc>
!p = tensor<64x64xbf16, #fagpu.opa<4>>
!is = tensor<64x64xi32, #acc>
!g = tensor<64x128xf32, #acc>
!hg = tensor<64x128xbf16, #acc>
!col = tensor<64xf32, #col>
!t = !fagpu.channel<64x128xbf16, #sw, 2>
!kv = !fagpu.channel<128x128xbf16, #sw, 1>
!l = !fagpu.channel<64xf32, #pl, 2>
!ds = !fagpu.channel<64x128xbf16, #sw, 1>
!dq = !fagpu.channel<64x64xf32, #sw, 1>
!st = !fagpu.channel<64x128xbf16, #sw, 1>
!tv = !fagpu.view<64x128xbf16, #sw>
!kvv = !fagpu.view<128x128xbf16, #sw>
!kh = !fagpu.view<128x64xbf16, #sw>
!dqv = !fagpu.view<64x64xf32, #sw>
!mem = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!mf = memref<?x?x?x128xf32>
!vec = memref<?x?x?xf32>
func.func @bwd(%q: !mem, %k: !mem, %v: !mem, %do: !mem, %lse2: !vec,
    %delta: !vec, %dq: !mf, %dk: !mem, %dv: !mem,
               %nq: i32, %nk: i32, %blocks: i32, %heads: i32,
                   %scale: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %chK = fagpu.channel tma : !kv
  %chV = fagpu.channel tma : !kv
  %chQ = fagpu.channel tma : !t
  %chD = fagpu.channel tma : !t
  %chL = fagpu.channel tma : !l
  %chE = fagpu.channel tma : !l
  %chS = fagpu.channel threads : !ds
  %chG = fagpu.channel threads banks(2) : !dq
  %chO = fagpu.channel tma_store banks(2) : !st
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %bh = arith.divui %t, %blocks : i32
  %kb = arith.remui %t, %blocks : i32
  %key = arith.muli %kb, %c128 : i32
  %b = arith.divui %bh, %heads : i32
  %h = arith.remui %bh, %heads : i32
  %nqb = arith.ceildivsi %nq, %c64 : i32
  fagpu.role @load groups(1) regs(24) elect {
    fagpu.put %chK, %k[%b, %key, %h, %c0] [1, 128, 1, 128] rows(%nk) : !mem
        into !kv
    fagpu.put %chV, %v[%b, %key, %h, %c0] [1, 128, 1, 128] rows(%nk) : !mem
        into !kv
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %nqb) {
      %r = arith.muli %i, %c64 : i32
      fagpu.put %chQ, %q[%b, %r, %h, %c0] [1, 64, 1, 128] rows(%nq) : !mem
          into !t
      fagpu.put %chL, %lse2[%b, %h, %r] [1, 1, 64] rows(%nq) : !vec into !l
      fagpu.put %chD, %do[%b, %r, %h, %c0] [1, 64, 1, 128] rows(%nq) : !mem
          into !t
      fagpu.put %chE, %delta[%b, %h, %r] [1, 1, 64] rows(%nq) : !vec into !l
      fagpu.yield
    }
  }
  fagpu.role @reduce groups(1) regs(24) elect {
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %nqb) {
      %r = arith.muli %i, %c64 : i32
      %g0 = fagpu.acquire %chG bank(%c0) : !dq
      fagpu.drain %g0, %dq[%b, %r, %h, %c0] sizes [1, 64, 1, 64] rows(%nq) add : !dqv into !mf
      fagpu.release %g0 : !dqv
      %g1 = fagpu.acquire %chG bank(%c1) : !dq
      fagpu.drain %g1, %dq[%b, %r, %h, %c64] sizes [1, 64, 1, 64] rows(%nq) add : !dqv into !mf
      fagpu.release %g1 : !dqv
      fagpu.yield
    }
  }
  fagpu.role @math(%g) groups(2) regs(232) {
    %zero = arith.constant dense<0.0> : !g
    %zs = arith.constant dense<0.0> : !s
    %log2e = arith.constant 1.44269502 : f32
    %scale2 = arith.mulf %scale, %log2e : f32
    %sc = tensor.splat %scale2 : !s
    %scg = tensor.splat %scale : !g
    %g64 = arith.muli %g, %c64 : i32
    %myKey = arith.addi %key, %g64 : i32
    %left = arith.subi %nk, %myKey : i32
    %kt = fagpu.acquire %chK : !kv
    %vt = fagpu.acquire %chV : !kv
    %km = fagpu.slice %kt[%g64, %c0] : !kvv to !tv
    %vm = fagpu.slice %vt[%g64, %c0] : !kvv to !tv
    %kn = fagpu.slice %kt[%c0, %g64] : !kvv to !kh
    %dks, %dvs = fagpu.for %i = %c0 step 1
        segments(%first: once, %rest: to %nqb)
        iter(%dk0 = %zero, %dv0 = %zero) -> (!g, !g) {
      %qt = fagpu.acquire %chQ {fagpu.at = [0, 0]} : !t
      // S^T = K Q^T
      %sf = fagpu.mma_async nt %km, %qt : !tv, !tv -> !fagpu.inflight<!s>
      %dot = fagpu.acquire %chD : !t
      // dP^T = V dO^T
      %df = fagpu.mma_async nt %vm, %dot : !tv, !tv -> !fagpu.inflight<!s>
      %lv = fagpu.acquire %chL : !l
      %l = fagpu.load %lv : !fagpu.view<64xf32, #pl> -> !col
      fagpu.release %lv : !fagpu.view<64xf32, #pl>
      %s = fagpu.wait %sf : !fagpu.inflight<!s>
      %nl = arith.negf %l : !col
      %nlb = fagpu.broadcast %nl : !col -> !s
      %x = math.fma %s, %sc, %nlb : !s
      %p0 = math.exp2 %x fastmath<afn> : !s
      // keys past the end
      %r = fagpu.iota 0 : !is
      %lim = tensor.splat %left : !is
      %ok = arith.cmpi slt, %r, %lim : !is
      %p = arith.select %ok, %p0, %zs : tensor<64x64xi1, #acc>, !s
      %ph = arith.truncf %p : !s to !hs
      %pa = fagpu.convert %ph : !hs -> !p
      // dV += P^T dO
      %dvf = fagpu.mma_async nn %pa, %dot acc(%dv0 : !g) : !p, !tv
          -> !fagpu.inflight<!g keeps !p>
      %dp = fagpu.wait %df : !fagpu.inflight<!s>
      %ev = fagpu.acquire %chE : !l
      %e = fagpu.load %ev : !fagpu.view<64xf32, #pl> -> !col
      fagpu.release %ev : !fagpu.view<64xf32, #pl>
      %eb = fagpu.broadcast %e : !col -> !s
      %d0 = arith.subf %dp, %eb : !s
      %ds = arith.mulf %p, %d0 : !s
      %dh = arith.truncf %ds : !s to !hs
      %da = fagpu.convert %dh : !hs -> !p
      // half of dS (queries x keys)
      fagpu.write %chS part(%c0, %g64), %dh transposed : !hs into !ds
      // dK += dS^T Q
      %dkf = fagpu.mma_async nn %da, %qt acc(%dk0 : !g) : !p, !tv
          -> !fagpu.inflight<!g keeps !p>
      %dv1 = fagpu.wait %dvf : !fagpu.inflight<!g keeps !p>
      fagpu.release %dot : !tv
      // both halves are there
      %dsv = fagpu.acquire %chS : !ds
      // my 64 columns of dQ
      %dqf = fagpu.mma_async nn %dsv, %kn : !tv, !kh -> !fagpu.inflight<!s>
      %dk1 = fagpu.wait %dkf : !fagpu.inflight<!g keeps !p>
      fagpu.release %qt : !tv
      %dqv = fagpu.wait %dqf : !fagpu.inflight<!s>
      fagpu.release %dsv : !tv
      fagpu.write %chG bank(%g), %dqv : !s into !dq
      fagpu.yield %dk1, %dv1 : !g, !g
    }
    fagpu.release %kt : !kvv
    fagpu.release %vt : !kvv
    %dkn = arith.mulf %dks, %scg : !g
    %dkh = arith.truncf %dkn : !g to !hg
    %dvh = arith.truncf %dvs : !g to !hg
    fagpu.store %dkh, %dk[%b, %myKey, %h, %c0] sizes [1, 64, 1, 128] rows(%nk) via(%chO
        : !st) bank(%g) : !hg into !mem
    fagpu.store %dvh, %dv[%b, %myKey, %h, %c0] sizes [1, 64, 1, 128] rows(%nk) via(%chO
        : !st) bank(%g) : !hg into !mem
  }
  return
}

// The gradients of query, key and value; that of the query starts at zero.
// %lse_base2 is the log-sum-exp in base 2, %delta the row sums of the output times
// its gradient.
func.func @backward(%query: !mem, %key: !mem, %value: !mem,
    %output_gradient: !mem, %lse_base2: !vec, %delta: !vec,
    %query_gradient: !mf, %key_gradient: !mem, %value_gradient: !mem,
    %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = arith.constant 128 : index
  %batch = memref.dim %query, %c0 : !mem
  %queries = memref.dim %query, %c1 : !mem
  %heads = memref.dim %query, %c2 : !mem
  %keys = memref.dim %key, %c1 : !mem
  %blocks = arith.ceildivui %keys, %rows : index
  %sequences = arith.muli %batch, %heads : index
  %tiles = arith.muli %blocks, %sequences : index
  %queriesI = arith.index_cast %queries : index to i32
  %keysI = arith.index_cast %keys : index to i32
  %blocksI = arith.index_cast %blocks : index to i32
  %headsI = arith.index_cast %heads : index to i32
  fagpu.launch @bwd grid(%tiles)
      (%query, %key, %value, %output_gradient, %lse_base2, %delta,
       %query_gradient, %key_gradient, %value_gradient, %queriesI, %keysI,
       %blocksI, %headsI, %scale)
      : !mem, !mem, !mem, !mem, !vec, !vec, !mf, !mem, !mem, i32, i32, i32, i32,
        f32
  return
}
