// RUN: fa-opt %s -fagpu-expand-math -split-input-file -verify-diagnostics

func.func @function(%x: f32) -> f32 {
  // expected-error @below {{'math.atan' op on 'f32' has no instructions on the device; expected exp, exp2, log, log2, tanh, erf, sin, cos or powf on f32}}
  %y = math.atan %x : f32
  return %y : f32
}

// -----

func.func @type(%x: f16) -> f16 {
  // expected-error @below {{'math.exp' op on 'f16' has no instructions on the device; expected exp, exp2, log, log2, tanh, erf, sin, cos or powf on f32}}
  %y = math.exp %x : f16
  return %y : f16
}
