// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-expand-slots -fagpu-pipeline -split-input-file -verify-diagnostics

func.func @overlapping(%n: i32) {
  %c0 = arith.constant 0 : i32
  fagpu.for %i = %n step -1 rolled segments(%first: once, %rest: to %c0) {
    %x = "a"(%i) {fagpu.at = [0, 2]} : (i32) -> f32
    // expected-error @below {{'b' op is of stage 1 of a rolled loop, expected stage 0 or a loop without 'rolled'}}
    "b"(%x) {fagpu.at = [1, 1]} : (f32) -> ()
    fagpu.yield
  }
  return
}
