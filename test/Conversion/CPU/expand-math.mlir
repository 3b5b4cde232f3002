// Block values of GPU schedules stay.
// RUN: fa-opt %fa_src_root/examples/schedules/sm_90a_causal.mlir -fa-expand-math | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: math.exp2 %{{.*}} : tensor<

// RUN: fa-opt %s --fa-expand-math | FileCheck %s

// Their errors are measured by the unit tests of the CPU compiler.

// CHECK-LABEL: func @expanded(
// CHECK-NOT: math.{{exp|log|tanh}}
// CHECK: return
func.func @expanded(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, vector<8xf32>, f32, f32) {
  %a = math.exp %x : vector<8xf32>
  %b = math.exp2 %x : vector<8xf32>
  %c = math.log %y : f32
  %d = math.tanh %y : f32
  return %a, %b, %c, %d : vector<8xf32>, vector<8xf32>, f32, f32
}

// Other types and functions are not touched.

// CHECK-LABEL: func @kept(
// CHECK: math.exp %{{.+}} : f64
// CHECK: math.sin %{{.+}} : f32
func.func @kept(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.exp %x : f64
  %b = math.sin %y : f32
  return %a, %b : f64, f32
}

// Operations that a few others express.

// CHECK-LABEL: func @identities(
// CHECK-SAME: %[[X:[^:]*]]: vector<8xf32>, %[[N:[^:]*]]: vector<8xi32>)
func.func @identities(%x: vector<8xf32>, %n: vector<8xi32>)
    -> (vector<8xf32>, vector<8xi1>, vector<8xi32>, vector<8xf32>) {
  %low = arith.constant dense<-1.0> : vector<8xf32>
  %high = arith.constant dense<1.0> : vector<8xf32>
  // CHECK: %[[RAISED:.*]] = arith.maximumf %[[X]],
  // CHECK: %[[CLAMPED:.*]] = arith.minimumf %[[RAISED]],
  %a = math.clampf %x to [%low, %high] : vector<8xf32>
  // CHECK: %[[SIZE:.*]] = math.absf %[[X]]
  // CHECK: %[[INFINITE:.*]] = arith.cmpf oeq, %[[SIZE]],
  %b = math.isinf %x : vector<8xf32>
  %three = arith.constant dense<3> : vector<8xi32>
  // CHECK: %[[SQUARE:.*]] = arith.muli %[[N]], %[[N]]
  // CHECK: %[[CUBE:.*]] = arith.muli %[[N]], %[[SQUARE]]
  %c = math.ipowi %n, %three : vector<8xi32>
  // By way of f64.
  // CHECK: %[[EXPONENT:.*]] = arith.sitofp %[[N]] : vector<8xi32> to vector<8xf64>
  // CHECK: %[[BASE:.*]] = arith.extf %[[X]]
  // CHECK: %[[WIDE:.*]] = math.powf %[[BASE]], %[[EXPONENT]] : vector<8xf64>
  // CHECK: %[[POWER:.*]] = arith.truncf %[[WIDE]]
  %d = math.fpowi %x, %n : vector<8xf32>, vector<8xi32>
  // CHECK: return %[[CLAMPED]], %[[INFINITE]], %[[CUBE]], %[[POWER]]
  return %a, %b, %c, %d : vector<8xf32>, vector<8xi1>, vector<8xi32>, vector<8xf32>
}

// f64 rounds an exponent of 64 bits: whether it is odd is asked of the integer.

// CHECK-LABEL: func @long_exponent(
// CHECK-SAME: %[[X:[^:]*]]: f32, %[[N:[^:]*]]: i64)
func.func @long_exponent(%x: f32, %n: i64) -> f32 {
  // CHECK: %[[BASE:.*]] = arith.extf %[[X]]
  // CHECK: %[[SIZE:.*]] = math.absf %[[BASE]]
  // CHECK: %[[POWER:.*]] = math.powf %[[SIZE]],
  // CHECK: %[[ODD:.*]] = arith.trunci %[[N]] : i64 to i1
  // CHECK: %[[SIGNED:.*]] = math.copysign %[[POWER]], %[[BASE]]
  // CHECK: arith.select %[[ODD]], %[[SIGNED]], %[[POWER]]
  %y = math.fpowi %x, %n : f32, i64
  return %y : f32
}

// One product and one choice for each bit of an exponent that is no constant.

// CHECK-LABEL: func @power_of_i8(
// CHECK-COUNT-13: arith.muli
// CHECK-NOT: arith.muli
// CHECK: return
func.func @power_of_i8(%x: i8, %n: i8) -> i8 {
  %y = math.ipowi %x, %n : i8
  return %y : i8
}
