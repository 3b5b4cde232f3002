// RUN: fa-opt %s -fagpu-fuse-products | FileCheck %s

!scores = tensor<64x128xf32>

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[S:.*]]: tensor<64x128xf32>, %[[SCALE:.*]]: tensor<64x128xf32>, %[[BIAS:.*]]: tensor<64x128xf32>)
func.func @sum(%s: !scores, %scale: !scores, %bias: !scores) -> !scores attributes {fagpu.kernel = "sm_90a"} {
  // CHECK-NEXT: %[[X:.*]] = math.fma %[[S]], %[[SCALE]], %[[BIAS]] : tensor<64x128xf32>
  // CHECK-NEXT: return %[[X]]
  %scaled = arith.mulf %s, %scale fastmath<contract> : !scores
  %x = arith.addf %bias, %scaled : !scores
  return %x : !scores
}

// The sign of what is subtracted changes.
// CHECK-LABEL: func.func @difference
// CHECK-SAME: (%[[S:.*]]: tensor<64x128xf32>, %[[SCALE:.*]]: tensor<64x128xf32>, %[[BIAS:.*]]: tensor<64x128xf32>)
func.func @difference(%s: !scores, %scale: !scores, %bias: !scores) -> !scores attributes {fagpu.kernel = "sm_90a"} {
  // CHECK-NEXT: %[[LESS:.*]] = arith.negf %[[BIAS]]
  // CHECK-NEXT: %[[X:.*]] = math.fma %[[S]], %[[SCALE]], %[[LESS]] : tensor<64x128xf32>
  // CHECK-NEXT: return %[[X]]
  %scaled = arith.mulf %s, %scale fastmath<contract> : !scores
  %x = arith.subf %scaled, %bias : !scores
  return %x : !scores
}

// A product that has to be rounded, one that is read twice, one that is
// subtracted, and scalars stay.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: math.fma
// CHECK: return
func.func @kept(%s: !scores, %scale: !scores, %bias: !scores, %a: f32, %b: f32) -> (!scores, !scores, !scores, !scores, f32)
    attributes {fagpu.kernel = "sm_90a"} {
  %rounded = arith.mulf %s, %scale : !scores
  %x = arith.addf %rounded, %bias : !scores
  %twice = arith.mulf %s, %bias fastmath<contract> : !scores
  %y = arith.addf %twice, %bias : !scores
  %less = arith.mulf %scale, %bias fastmath<contract> : !scores
  %z = arith.subf %s, %less : !scores
  %scalar = arith.mulf %a, %b fastmath<contract> : f32
  %w = arith.addf %scalar, %a : f32
  return %x, %y, %twice, %z, %w : !scores, !scores, !scores, !scores, f32
}

// Functions that are no kernels stay.
// CHECK-LABEL: func.func @host
// CHECK-NOT: math.fma
// CHECK: return
func.func @host(%s: !scores, %scale: !scores, %bias: !scores) -> !scores {
  %scaled = arith.mulf %s, %scale fastmath<contract> : !scores
  %x = arith.addf %scaled, %bias : !scores
  return %x : !scores
}
