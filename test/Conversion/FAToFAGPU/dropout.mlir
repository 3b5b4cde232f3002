// Dropout of a block of pairs: words that a head shares, then one operation. Ranges of blocks begin at multiples of the block, so
// that 16 pairs share a draw.
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-decompose-to-blocks 2>&1 | FileCheck %s
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=WARPS

!t = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
!number = memref<i64>

// What a caller gives as offsets may begin anywhere.
// CHECK: remark: {{.*}}draws for each pair alone: queries or keys of a block are not known to begin at multiples of 16

// CHECK-LABEL: func.func @window_kernel
// CHECK: %[[KEPT:.*]] = fagpu.dropout %{{.*}} words(%{{.*}}, %{{.*}}) counter(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) whole : tensor<64x128xi1, #fagpu.acc<4>>
// The weights are powers of 2, as without dropout, and rounded before some become zero.
// CHECK: %[[WEIGHTS:.*]] = math.exp2 %{{.*}} fastmath<afn> : tensor<64x128xf32, #fagpu.acc<4>>
// CHECK-NOT: arith.mulf %[[WEIGHTS]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[WEIGHTS]]
// CHECK: arith.select %[[KEPT]], %[[ROUNDED]], %{{.*}} : tensor<64x128xi1, #fagpu.acc<4>>, tensor<64x128xbf16, #fagpu.acc<4>>
// The factor comes with the division by the sum.
// CHECK: %[[SUM:.*]] = fagpu.reduce add %{{.*}} -> tensor<64xf32, #fagpu.row<4>>
// CHECK: arith.divf %{{splat.*}}, %[[SUM]]
// WARPS-LABEL: func.func @window_kernel
// WARPS: fagpu.dropout {{.*}} whole {{.*}}: tensor<128x96xi1, #fagpu.acc<4>>
func.func @window(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !lse, %left: index, %right: index, %p: f32, %seed: !number, %offset: !number) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !lse) mask window(%left, %right)
      dropout(%p, %seed, %offset : f32, !number, !number)
  return
}

// Rows are keys in one pass.
// CHECK-LABEL: func.func @gradient_all
// CHECK: fagpu.dropout {{.*}} whole keys_are_rows
// WARPS-LABEL: func.func @gradient_all
// WARPS: fagpu.dropout {{.*}} whole keys_are_rows
func.func @gradient(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !lse, %do: !t, %dq: !t, %dk: !t, %dv: !t, %p: f32, %seed: !number, %offset: !number) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !lse) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t) mask causal dropout(%p, %seed, %offset : f32, !number, !number)
  return
}

// And queries in the kernel of their gradient alone.
// CHECK-LABEL: func.func @deterministic_keys_and_values
// CHECK: fagpu.dropout {{.*}} whole keys_are_rows
// CHECK-LABEL: func.func @deterministic_queries
// CHECK: fagpu.dropout {{.*}} whole {{.*}}: tensor
func.func @deterministic(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !lse, %do: !t, %dq: !t, %dk: !t, %dv: !t, %left: index, %p: f32, %seed: !number, %offset: !number) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !lse) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t) mask window(%left, %left) dropout(%p, %seed, %offset : f32, !number, !number)
      {deterministic}
  return
}

// CHECK-LABEL: func.func @piece_kernel
// CHECK: fagpu.dropout %{{.*}} words(%{{.*}}, %{{.*}}) counter(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) : tensor<64x
func.func @piece(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !lse, %at: index, %n: index, %p: f32, %seed: !number, %offset: !number) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %lse : !t, !lse) offsets(%at, %at, %at, %at) extents(%n, %n)
      dropout(%p, %seed, %offset : f32, !number, !number)
  return
}
