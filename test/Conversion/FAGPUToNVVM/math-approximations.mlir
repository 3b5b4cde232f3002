// RUN: fa-opt %s -convert-math-to-nvvm-approximations | FileCheck %s

// CHECK-LABEL: func.func @approximate
// CHECK-SAME: (%[[X:.*]]: f32, %[[Y:.*]]: f32)
func.func @approximate(%x: f32, %y: f32) -> (f32, f32, f32, f32, f32) {
  // CHECK: %[[E:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]])
  %e = math.exp2 %x fastmath<afn> : f32
  // CHECK: %[[L:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"(%[[X]])
  %l = math.log2 %x fastmath<afn> : f32
  // CHECK: %[[R:.*]] = nvvm.rcp.approx.ftz.f %[[Y]] : f32
  // CHECK: %[[D:.*]] = arith.mulf %[[X]], %[[R]] : f32
  %d = arith.divf %x, %y fastmath<arcp, afn> : f32
  // CHECK: %[[T:.*]] = llvm.call_intrinsic "llvm.tanh"(%[[X]]) {fastmathFlags = #llvm.fastmath<afn>}
  %t = math.tanh %x fastmath<afn> : f32
  // CHECK: %[[Q:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[X]])
  %q = math.rsqrt %x fastmath<afn> : f32
  // CHECK: return %[[E]], %[[L]], %[[D]], %[[T]], %[[Q]]
  return %e, %l, %d, %t, %q : f32, f32, f32, f32, f32
}

// By a reciprocal: a polynomial near zero, else 1 - 2 / (2^(x 2 log2 e) + 1).
// CHECK-LABEL: func.func @tanh
// CHECK-SAME: (%[[X:.*]]: f32)
func.func @tanh(%x: f32) -> f32 {
  // CHECK: %[[SIZE:.*]] = math.absf %[[X]]
  // CHECK: %[[ARGUMENT:.*]] = arith.mulf %[[SIZE]], %{{.*}}
  // CHECK: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[ARGUMENT]])
  // CHECK: %[[SUM:.*]] = arith.addf %[[POWER]], %{{.*}}
  // CHECK: %[[RECIPROCAL:.*]] = nvvm.rcp.approx.ftz.f %[[SUM]]
  // CHECK: %[[FAR:.*]] = math.fma %[[RECIPROCAL]], %{{.*}}, %{{.*}}
  // CHECK: %[[NEAR:.*]] = math.fma
  // CHECK: %[[IS_NEAR:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}}
  // CHECK: %[[EITHER:.*]] = arith.select %[[IS_NEAR]], %{{.*}}, %[[FAR]]
  // CHECK: math.copysign %[[EITHER]], %[[X]]
  // CHECK-NOT: arith.divf
  %t = math.tanh %x fastmath<arcp> : f32
  return %t : f32
}

// What does not ask for it, or is no f32, stays.
// CHECK-LABEL: func.func @exact
func.func @exact(%x: f32, %y: f64) -> (f32, f32, f64) {
  // CHECK: math.exp2 %{{.*}} : f32
  %e = math.exp2 %x : f32
  // CHECK: arith.divf %{{.*}} fastmath<arcp> : f32
  %d = arith.divf %x, %e fastmath<arcp> : f32
  // CHECK: math.log2 %{{.*}} fastmath<afn> : f64
  %l = math.log2 %y fastmath<afn> : f64
  return %e, %d, %l : f32, f32, f64
}
