// Factors of a score become one where both products leave their order free; the
// scale, which is the lowering's own, does.
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 -mlir-disable-threading -mlir-print-ir-before=fagpu-merge-bounds -o /dev/null 2>&1 | FileCheck %s

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @kept_kernel
// CHECK: fagpu.product nt
// CHECK-COUNT-3: arith.mulf %{{.*}} : tensor<{{[0-9]+x[0-9]+}}xf32>
// CHECK-NOT: arith.mulf {{.*}} tensor<{{[0-9]+}}x{{[0-9]+}}xf32>
// CHECK: math.tanh
func.func @kept(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %c: f32, %d: f32) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
    score(%s, %b, %h, %i, %j) captures(%x = %c : f32, %y = %d : f32) {
      %large = arith.mulf %s, %x : f32
      %small = arith.divf %large, %y fastmath<reassoc,arcp> : f32
      %r = math.tanh %small : f32
      fa.yield %r : f32
    }
  return
}

// CHECK-LABEL: func.func @folded_kernel
// CHECK: fagpu.product nt
// CHECK-COUNT-2: arith.mulf %{{.*}} : tensor<{{[0-9]+x[0-9]+}}xf32>
// CHECK-NOT: arith.mulf {{.*}} tensor<{{[0-9]+}}x{{[0-9]+}}xf32>
// CHECK: math.tanh
func.func @folded(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %c: f32, %d: f32) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
    score(%s, %b, %h, %i, %j) captures(%x = %c : f32, %y = %d : f32) {
      %large = arith.mulf %s, %x fastmath<reassoc> : f32
      %small = arith.divf %large, %y fastmath<reassoc,arcp> : f32
      %r = math.tanh %small : f32
      fa.yield %r : f32
    }
  return
}

// CHECK-LABEL: func.func @scale_kernel
// CHECK: fagpu.product nt
// CHECK-COUNT-1: arith.mulf %{{.*}} : tensor<{{[0-9]+x[0-9]+}}xf32>
// CHECK-NOT: arith.mulf {{.*}} tensor<{{[0-9]+}}x{{[0-9]+}}xf32>
// CHECK: math.tanh
func.func @scale(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %d: f32) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
    score(%s, %b, %h, %i, %j) captures(%y = %d : f32) {
      %small = arith.divf %s, %y fastmath<reassoc,arcp> : f32
      %r = math.tanh %small : f32
      fa.yield %r : f32
    }
  return
}
