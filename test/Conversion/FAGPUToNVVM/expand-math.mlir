// RUN: fa-opt %s -fagpu-expand-math | FileCheck %s

// The errors are measured by the unit tests.

// CHECK-LABEL: func.func @exponential
// CHECK-SAME: (%[[X:.*]]: f32)
func.func @exponential(%x: f32) -> f32 {
  // 2^x = 2^n 2^r, n the integer that is nearest to x.
  // CHECK: %[[SHIFTED:.*]] = arith.addf %[[CLAMPED:.*]], %[[SHIFT:.*]] : f32
  // CHECK: %[[N:.*]] = arith.subf %[[SHIFTED]], %{{.*}} : f32
  // CHECK: arith.subf %[[CLAMPED]], %[[N]] : f32
  // CHECK-COUNT-6: math.fma
  // Twice a half of n, so that the result may be subnormal.
  // CHECK-COUNT-2: arith.mulf
  %y = math.exp2 %x : f32
  // CHECK: return
  return %y : f32
}

// A remainder is exact, which that of a quotient rounded to f32 is not.
// CHECK-LABEL: func.func @remainder
// CHECK-SAME: (%[[X:.*]]: f32, %{{.*}}: f32)
func.func @remainder(%x: f32, %y: f32) -> f32 {
  // CHECK: %[[DIVIDEND:.*]] = math.absf %{{.*}} : f64
  // CHECK: arith.divf %[[DIVIDEND]], %[[DIVISOR:.*]] : f64
  // CHECK: math.fma %{{.*}}, %[[DIVISOR]], %[[DIVIDEND]] : f64
  // CHECK-NOT: arith.remf
  // CHECK: math.copysign %{{.*}}, %[[X]] : f32
  %r = arith.remf %x, %y : f32
  return %r : f32
}

// CHECK-LABEL: func.func @halved_remainder
// CHECK-NOT: arith.remf
// CHECK: return
func.func @halved_remainder(%x: f16, %y: f16) -> f16 {
  %r = arith.remf %x, %y : f16
  return %r : f16
}

// CHECK-LABEL: func.func @expanded
// CHECK-NOT: math.{{exp|log|tanh|erf|sin|cos|powf}}
// CHECK: return
func.func @expanded(%x: f32, %v: vector<4xf32>)
    -> (f32, f32, f32, f32, f32, f32, f32, f32, vector<4xf32>) {
  %a = math.exp %x : f32
  %b = math.log %x : f32
  %c = math.log2 %x : f32
  %d = math.tanh %x : f32
  %e = math.erf %x : f32
  %f = math.sin %x : f32
  %g = math.cos %x : f32
  %h = math.powf %x, %x : f32
  %i = math.powf %v, %v : vector<4xf32>
  return %a, %b, %c, %d, %e, %f, %g, %h, %i
      : f32, f32, f32, f32, f32, f32, f32, f32, vector<4xf32>
}

// What is not in the list above becomes arithmetic too, and a few of what stays.

// CHECK-LABEL: func.func @others
// CHECK-NOT: math.{{exp|log|sin|cos|tan|asin|acos|atan|erf|cbrt|pow|fpow|ipow|clamp|is}}
// CHECK: return
func.func @others(%x: f32, %n: i32) -> f32 {
  %low = arith.constant -1.0 : f32
  %high = arith.constant 1.0 : f32
  %a1 = math.expm1 %x : f32
  %a2 = math.log10 %a1 : f32
  %a3 = math.log1p %a2 : f32
  %a4 = math.sinh %a3 : f32
  %a5 = math.cosh %a4 : f32
  %a6 = math.asinh %a5 : f32
  %a7 = math.acosh %a6 : f32
  %a8 = math.atanh %a7 : f32
  %a9 = math.erfc %a8 : f32
  %b1 = math.tan %a9 : f32
  %b2 = math.asin %b1 : f32
  %b3 = math.acos %b2 : f32
  %b4 = math.atan %b3 : f32
  %b5 = math.atan2 %b4, %x : f32
  %b6 = math.cbrt %b5 : f32
  %b7 = math.fpowi %b6, %n : f32, i32
  %b8 = math.clampf %b7 to [%low, %high] : f32
  %c1 = math.isnan %b8 : f32
  %c2 = math.isinf %b8 : f32
  %c3 = math.isfinite %b8 : f32
  %c4 = math.isnormal %b8 : f32
  %d1 = arith.ori %c1, %c2 : i1
  %d2 = arith.ori %c3, %c4 : i1
  %d3 = arith.ori %d1, %d2 : i1
  %m = math.ipowi %n, %n : i32
  %e = arith.sitofp %m : i32 to f32
  %s, %c = math.sincos %e : f32
  %f = arith.addf %s, %c : f32
  %y = arith.select %d3, %f, %b8 : f32
  return %y : f32
}

// 16-bit floats go by way of f32.

// CHECK-LABEL: func.func @widened
func.func @widened(%x: f16, %v: vector<2xbf16>) -> (f16, vector<2xbf16>) {
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
  // CHECK: %[[ROOT:.*]] = math.sqrt %[[X]] : f32
  // CHECK: arith.truncf %[[ROOT]] : f32 to f16
  %a = math.sqrt %x : f16
  // CHECK: arith.extf %{{.*}} : vector<2xbf16> to vector<2xf32>
  // CHECK: math.rsqrt %{{.*}} : vector<2xf32>
  // CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
  %b = math.rsqrt %v : vector<2xbf16>
  return %a, %b : f16, vector<2xbf16>
}

// What the device has instructions for stays.

// CHECK-LABEL: func.func @kept
func.func @kept(%x: f32, %y: f64) -> (f32, f32, f64) {
  // CHECK: math.sqrt %{{.*}} : f32
  %a = math.sqrt %x : f32
  // CHECK: math.floor %{{.*}} : f32
  %b = math.floor %x : f32
  // CHECK: math.fma %{{.*}} : f64
  %c = math.fma %y, %y, %y : f64
  return %a, %b, %c : f32, f32, f64
}
