// Gradients of captures and of the scale in one order have host code that a launcher runs, and kernels that add parts up.
// RUN: fa-compile %s --chip=sm_90a -o %t --images=ptx | FileCheck %s
// CHECK: wrote {{.*}}.json
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/ordered-sums.ptx
// The places in the parts fit 32 bits, or the call is refused.
// RUN: FileCheck %s --check-prefix=FITS --input-file=%t/ordered-sums.json
// FITS: have more than 2147483647 elements
// PTX: .entry ordered_queries
// PTX: red.global.add.f32

!q = memref<2x?x8x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x8x?xf32>
!m = memref<8x?xf32>
func.func @ordered(%q: !q, %k: !q, %v: !q, %o: !q, %do: !q, %lse: !lse, %slopes: memref<8xf32>, %rows: !m, %scale: f32, %dq: !q, %dk: !q, %dv: !q, %to: memref<8xf32>, %tr: !m, %ts: memref<f32>) {
  fa.attention_gradient ins(%q, %k, %v : !q, !q, !q) of(%o, %lse : !q, !lse) gradients(%do : !q)
      outs(query = %dq : !q, key = %dk : !q, value = %dv : !q, capture[0] = %to : memref<8xf32>, capture[1] = %tr : !m, scale = %ts : memref<f32>)
      scale(%scale)
      score(%s, %b, %h, %i, %j) captures(%t = %slopes : memref<8xf32>, %r = %rows : !m) {
        %slope = memref.load %t[%h] : memref<8xf32>
        %row = memref.load %r[%h, %i] : !m
        %x = arith.addf %s, %slope : f32
        %y = arith.addf %x, %row : f32
        fa.yield %y : f32
      } mask causal {deterministic}
  return
}
