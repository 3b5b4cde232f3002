// RUN: fa-opt %s -fagpu-expand-math -split-input-file -verify-diagnostics

func.func @function(%x: f32) -> f32 {
  // expected-error @below {{'math.atan' op on 'f32' has no instructions on the device; expected exp, exp2, log, log2, tanh, erf, sin, cos, powf, sqrt or rsqrt on f32, f16 or bf16}}
  %y = math.atan %x : f32
  return %y : f32
}

// -----

func.func @type(%x: f64) -> f64 {
  // expected-error @below {{'math.exp' op on 'f64' has no instructions on the device; expected exp, exp2, log, log2, tanh, erf, sin, cos, powf, sqrt or rsqrt on f32, f16 or bf16}}
  %y = math.exp %x : f64
  return %y : f64
}
