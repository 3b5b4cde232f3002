// A copy with each promotion, and a store: tensor maps of their own arguments.
!m = memref<64x64xbf16>
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>

func.func @kernel(%a: !m, %b: !m, %c: !m, %d: !m, %o: !m) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ca = fagpu.channel tma : !t
  %cb = fagpu.channel tma : !t
  %cc = fagpu.channel tma : !t
  %cd = fagpu.channel tma : !t
  %out = fagpu.channel tma_store : !t
  fagpu.role @load groups(1) elect {
    fagpu.put %ca, %a[%c0, %c0] [64, 64] l2_promotion(0) : !m into !t
    fagpu.put %cb, %b[%c0, %c0] [64, 64] l2_promotion(64) : !m into !t
    fagpu.put %cc, %c[%c0, %c0] [64, 64] : !m into !t
    fagpu.put %cd, %d[%c0, %c0] [64, 64] l2_promotion(256) : !m into !t
  }
  fagpu.role @all groups(1) {
    %va = fagpu.acquire %ca : !t
    %vb = fagpu.acquire %cb : !t
    %vc = fagpu.acquire %cc : !t
    %vd = fagpu.acquire %cd : !t
    %x = fagpu.load %va : !v -> !half
    fagpu.store %x, %o[%c0, %c0] via(%out : !t) : !half into !m
    fagpu.release %va : !v
    fagpu.release %vb : !v
    fagpu.release %vc : !v
    fagpu.release %vd : !v
  }
  return
}

func.func @host(%a: !m, %b: !m, %c: !m, %d: !m, %o: !m) {
  %c1 = arith.constant 1 : index
  fagpu.launch @kernel grid(%c1) (%a, %b, %c, %d, %o) : !m, !m, !m, !m, !m
  return
}
