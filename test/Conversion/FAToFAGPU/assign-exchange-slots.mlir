// RUN: fa-opt %s -fagpu-assign-exchange-slots | FileCheck %s

// What groups write for each other is read a step later; gradients-one-pass.mlir has the other table.

#groups = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>, gradient_form = one_pass>
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x128xbf16, #sw, 2>
!ds = !fagpu.channel<64x128xbf16, #sw, 2>
!k = !fagpu.channel<128x128xbf16, #sw, 1>
!qv = !fagpu.view<64x128xbf16, #sw>
!kv = !fagpu.view<128x128xbf16, #sw>
!kc = !fagpu.view<128x64xbf16, #sw>
!kr = !fagpu.view<64x128xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!p = tensor<64x64xbf16, #fagpu.opa<4>>
!g = tensor<64x128xf32, #acc>
!sf = !fagpu.inflight<!s>
!gf = !fagpu.inflight<!g keeps !p>
!flat = memref<?xf32>

// CHECK-LABEL: func.func @wide
// CHECK: %[[TURNS:.*]] = fagpu.turns 2
// CHECK: fagpu.for
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [0, 1]}
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 2]}
// CHECK-NOT: fagpu.schedule_barrier
// CHECK: fagpu.write {{.*}} transposed {fagpu.at = [0, 4]}
// CHECK: fagpu.take %[[TURNS]] {fagpu.at = [0, 3]}
// CHECK-NEXT: fagpu.mma_async nn
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 6]}
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [1, 5]}
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [1, 8]}
// CHECK-NEXT: fagpu.release
// CHECK: fagpu.mma_async nn {{.*}} acc({{.*}} {fagpu.at = [0, 7]}
// CHECK-NEXT: fagpu.pass %[[TURNS]]
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 9]}
// CHECK: fagpu.store {{.*}} {fagpu.at = [1, 8]}
func.func @wide(%m: !flat, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %chK = fagpu.channel tma : !k
  %chQ = fagpu.channel tma : !q
  %chS = fagpu.channel threads : !ds
  fagpu.role @math(%g) groups(2) {
    %zero = arith.constant dense<0.0> : !g
    %g64 = arith.muli %g, %c64 : i32
    %kt = fagpu.acquire %chK : !k
    %km = fagpu.slice %kt[%g64, %c0] : !kv to !kr
    %kn = fagpu.slice %kt[%c0, %g64] : !kv to !kc
    %sums:2 = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%a = %zero, %b = %zero) -> (!g, !g) {
      %qt = fagpu.acquire %chQ : !q
      %sf = fagpu.mma_async nt %km, %qt : !kr, !qv -> !sf
      %s = fagpu.wait %sf : !sf
      %h = arith.truncf %s : !s to !h
      %p = fagpu.convert %h : !h -> !p
      %af = fagpu.mma_async nn %p, %qt acc(%a : !g) : !p, !qv -> !gf
      %a1 = fagpu.wait %af : !gf
      fagpu.write %chS part(%c0, %g64), %h transposed : !h into !ds
      %all = fagpu.acquire %chS : !ds
      %df = fagpu.mma_async nn %all, %kn : !qv, !kc -> !sf
      %d = fagpu.wait %df : !sf
      fagpu.release %all : !qv
      %bf = fagpu.mma_async nn %p, %qt acc(%b : !g) : !p, !qv -> !gf
      %b1 = fagpu.wait %bf : !gf
      fagpu.release %qt : !qv
      fagpu.store %d, %m[%c0] sizes [4096] add fragments : !s into !flat
      fagpu.yield %a1, %b1 : !g, !g
    }
    fagpu.release %kt : !kv
  }
  return
}

// A loop that has a slot stays as it is, and so does one in which nothing is exchanged.
// CHECK-LABEL: func.func @written
// CHECK-NOT: fagpu.turns
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [0, 7]}
// CHECK-NOT: fagpu.at
// CHECK: return
func.func @written(%n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %chQ = fagpu.channel tma : !q
  fagpu.role @math(%g) groups(2) {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %qt = fagpu.acquire %chQ {fagpu.at = [0, 7]} : !q
      fagpu.release %qt : !qv
      fagpu.yield
    }
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %qt = fagpu.acquire %chQ : !q
      fagpu.release %qt : !qv
      fagpu.yield
    }
  }
  return
}

// Keys have a stage for the next tile, values have one: the next tile's first product runs while sums are stored, the
// one that reads values comes behind, and the exchanged product of the last step behind the next tile's.
#tiles = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>>, stages = 2>, gradient_form = one_pass>
!k2 = !fagpu.channel<128x128xbf16, #sw, 2>
!v = !fagpu.channel<64x128xbf16, #sw, 1>
!mail = !fagpu.mail<2, i32>
// CHECK-LABEL: func.func @tiles
// CHECK: fagpu.role @math
// CHECK: fagpu.repeat
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [0, 1]} : <128x128xbf16
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [0, 3]} : <64x128xbf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.for
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [0, 1]}
// CHECK-NEXT: fagpu.mma_async nt
// CHECK-NEXT: fagpu.wait %{{.*}} {fagpu.at = [0, 5]}
// CHECK: fagpu.mma_async nt {{.*}} {fagpu.at = [0, 3]}
// CHECK: fagpu.write {{.*}} transposed {fagpu.at = [0, 7]}
// CHECK: fagpu.take %{{.*}} {fagpu.at = [0, 6]}
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 9]}
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [1, 8]}
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [1, 11]}
// CHECK: fagpu.mma_async nn {{.*}} acc({{.*}} {fagpu.at = [0, 10]}
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 12]}
// CHECK: fagpu.yield
// CHECK-NEXT: } {fagpu.at = [1, 0]}
// CHECK-NEXT: fagpu.release %{{.*}} : <64x128xbf16
// CHECK-NEXT: fagpu.release %{{.*}} {fagpu.at = [1, 11]} : <128x128xbf16
// CHECK-NEXT: fagpu.store {{.*}} {fagpu.at = [1, 2]}
// CHECK: fagpu.recv %{{.*}} {fagpu.at = [1, 0]}
func.func @tiles(%m: !flat, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #tiles} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %chK = fagpu.channel tma : !k2
  %chV = fagpu.channel tma banks(2) : !v
  %chQ = fagpu.channel tma : !q
  %chS = fagpu.channel threads : !ds
  %mail = fagpu.mail : !mail
  fagpu.role @math(%g) groups(2) {
    %zero = arith.constant dense<0.0> : !g
    %first = fagpu.recv %mail : !mail
    %g64 = arith.muli %g, %c64 : i32
    fagpu.repeat iter(%t = %first) : i32 {
      %kt = fagpu.acquire %chK : !k2
      %km = fagpu.slice %kt[%g64, %c0] : !kv to !kr
      %kn = fagpu.slice %kt[%c0, %g64] : !kv to !kc
      %vt = fagpu.acquire %chV bank(%g) : !v
      %sums:2 = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%a = %zero, %b = %zero) -> (!g, !g) {
        %qt = fagpu.acquire %chQ : !q
        %sf = fagpu.mma_async nt %km, %qt : !kr, !qv -> !sf
        %s = fagpu.wait %sf : !sf
        %ef = fagpu.mma_async nt %vt, %qt : !qv, !qv -> !sf
        %e = fagpu.wait %ef : !sf
        %x = arith.mulf %s, %e : !s
        %h = arith.truncf %x : !s to !h
        %p = fagpu.convert %h : !h -> !p
        %af = fagpu.mma_async nn %p, %qt acc(%a : !g) : !p, !qv -> !gf
        %a1 = fagpu.wait %af : !gf
        fagpu.write %chS part(%c0, %g64), %h transposed : !h into !ds
        %all = fagpu.acquire %chS : !ds
        %df = fagpu.mma_async nn %all, %kn : !qv, !kc -> !sf
        %d = fagpu.wait %df : !sf
        fagpu.release %all : !qv
        %bf = fagpu.mma_async nn %p, %qt acc(%b : !g) : !p, !qv -> !gf
        %b1 = fagpu.wait %bf : !gf
        fagpu.release %qt : !qv
        fagpu.store %d, %m[%c0] sizes [4096] add fragments : !s into !flat
        fagpu.yield %a1, %b1 : !g, !g
      }
      fagpu.release %vt : !qv
      fagpu.release %kt : !kv
      fagpu.store %sums#0, %m[%c0] sizes [8192] fragments : !g into !flat
      %next = fagpu.recv %mail : !mail
      %again = arith.cmpi slt, %next, %n : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}
