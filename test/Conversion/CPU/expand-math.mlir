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
