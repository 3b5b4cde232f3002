// RUN: fa-opt %s -fagpu-expand-math -split-input-file -verify-diagnostics

func.func @type(%x: f64) -> f64 {
  // expected-error @below {{'math.exp' op on 'f64' has no instructions on the device; expected f32, f16 or bf16}}
  %y = math.exp %x : f64
  return %y : f64
}

// -----

func.func @power(%x: f64, %n: i32) -> f64 {
  // expected-error @below {{'math.fpowi' op on 'f64' has no instructions on the device; expected f32, f16 or bf16}}
  %y = math.fpowi %x, %n : f64, i32
  return %y : f64
}

// -----

func.func @bit(%x: i1) -> i1 {
  // expected-error @below {{'math.ipowi' op on 'i1' has no instructions on the device; expected i8, i16, i32 or i64}}
  %y = math.ipowi %x, %x : i1
  return %y : i1
}
