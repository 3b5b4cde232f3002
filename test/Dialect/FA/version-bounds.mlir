// RUN: fa-opt %s -fa-version-bounds -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-version-bounds -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fa-version-bounds 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

!m = memref<1x?x8x64xbf16>
#gpu = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>

// The number that is captured chooses; it is held to the range in the version
// that knows of it.
// CHECK-LABEL: func.func @softcap
// CHECK-SAME: %[[CAP:[^:]*]]: f32)
// CHECK-DAG: %[[MOST:.*]] = arith.constant 5.000000e+01 : f32
// CHECK-DAG: %[[BELOW:.*]] = arith.cmpf ole, %[[CAP]], %[[MOST]] : f32
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -5.000000e+01 : f32
// CHECK-DAG: %[[ABOVE:.*]] = arith.cmpf oge, %[[CAP]], %[[LEAST]] : f32
// CHECK: %[[SMALL:.*]] = arith.andi %[[BELOW]], %[[ABOVE]] : i1
// CHECK: scf.if %[[SMALL]] {
// CHECK:   fa.attention {{.*}} score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[C:.*]] = %[[CAP]] : f32) {
// CHECK:     %[[LIMITED:.*]] = arith.maximumf %[[C]], %
// CHECK:     %[[HELD:.*]] = arith.minimumf %[[LIMITED]], %
// CHECK:     %[[X:.*]] = arith.divf %[[S]], %[[HELD]]
// CHECK:     %[[T:.*]] = math.tanh %[[X]]
// CHECK:     arith.mulf %[[HELD]], %[[T]]
// CHECK: } else {
// CHECK:   fa.attention
// CHECK-NOT: arith.minimumf
// CHECK: }
func.func @softcap(%q: !m, %k: !m, %o: !m, %cap: f32) {
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m) score softcap(%cap) {config = #gpu}
  return
}

// -----

!m = memref<1x?x8x128xbf16>
#gpu = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>>

// The other version runs seldom, and is assembled with the first: its key blocks
// are half as long, and so is its code. A remark says so.
// REMARK: remark: [Passed] {{.*}}"key_block = 64 where the number that bounds scores is not from -50 to 50, and 128 elsewhere: few calls take this version, and its machine code is half as long"
// CHECK-LABEL: func.func @seldom
// CHECK: } {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>>}
// CHECK: } else {
// CHECK: } {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>>}
func.func @seldom(%q: !m, %k: !m, %o: !m, %cap: f32) {
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m) score softcap(%cap) {config = #gpu}
  return
}

// -----

!t = tensor<1x8x8x64xf16>
#gpu = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>

// Of tensors: the branches yield what the attention gave. The size of the number
// is bounded where the number is.
// CHECK-LABEL: func.func @tensors
// CHECK: %[[R:.*]] = scf.if %{{.*}} -> (tensor<1x8x8x64xf16>) {
// CHECK:   %[[A:.*]] = fa.attention
// CHECK:   arith.minimumf
// CHECK:   scf.yield %[[A]]
// CHECK: } else {
// CHECK:   %[[B:.*]] = fa.attention
// CHECK:   scf.yield %[[B]]
// CHECK: return %[[R]]
func.func @tensors(%q: !t, %k: !t, %o: !t, %cap: f32) -> !t {
  %r = fa.attention ins(%q, %k, %k : !t, !t, !t) outs(%o : !t) score approx_softcap(%cap) {config = #gpu}
  return %r : !t
}

// -----

!m = memref<1x?x8x64xbf16>
!f = memref<1x?x8x64xf32>
#gpu = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>
#cpu = #fa.config<query_block = 64, key_block = 64>

// A known number, weights of f32, a CPU, and other scores need no versions.
// CHECK-LABEL: func.func @one
// CHECK-NOT: scf.if
// CHECK: return
func.func @one(%q: !m, %k: !m, %o: !m, %f: !f, %g: !f, %slopes: memref<8xf32>, %cap: f32) {
  %thirty = arith.constant 30.0 : f32
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m) score softcap(%thirty) {config = #gpu}
  fa.attention ins(%f, %f, %f : !f, !f, !f) outs(%g : !f) score softcap(%cap) {config = #gpu}
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m) score softcap(%cap) {config = #cpu}
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m) score alibi(%slopes : memref<8xf32>) {config = #gpu}
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m) {config = #gpu}
  return
}
