// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-expand-slots -split-input-file -verify-diagnostics

func.func @no_slot_above(%n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    // expected-error @below {{'a' op has no 'fagpu.at', and no operation above it in its block to take one from}}
    "a"() : () -> ()
    "b"() {fagpu.at = [0, 1]} : () -> ()
    fagpu.yield
  }
  return
}

// -----

func.func @stage_2(%n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    // expected-error @below {{'a' op is in stage 2, expected at most 1}}
    "a"() {fagpu.at = [2, 1]} : () -> ()
    fagpu.yield
  }
  return
}

// -----

func.func @ahead(%n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    // expected-error @below {{'a' op is in stage -1, where only 'fagpu.put' can be}}
    "a"() {fagpu.at = [-1, 1]} : () -> ()
    fagpu.yield
  }
  return
}

// -----

func.func @no_once(%n: i32) {
  // expected-error @below {{'fagpu.for' op is to be pipelined, but has no first segment 'once', so its prologue might not run}}
  fagpu.for %i = %n step -1 segments(%rest: to %n) {
    "a"() {fagpu.at = [0, 1]} : () -> ()
    fagpu.yield
  }
  return
}

// -----

func.func @later_slot(%n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    // expected-note @below {{made here}}
    %x = "a"() {fagpu.at = [0, 5]} : () -> f32
    // Through a scalar operation, which has no slot of its own.
    %y = arith.negf %x : f32
    // expected-error @below {{'b' op in slot [0, 4] uses a value that is made later, in slot [0, 5]}}
    "b"(%y) {fagpu.at = [0, 4]} : (f32) -> ()
    fagpu.yield
  }
  return
}

// -----

func.func @later_stage(%n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    // expected-note @below {{made here}}
    %x = "a"() {fagpu.at = [1, 1]} : () -> f32
    // expected-error @below {{'b' op in slot [0, 4] uses a value that is made later, in slot [1, 1]}}
    "b"(%x) {fagpu.at = [0, 4]} : (f32) -> ()
    fagpu.yield
  }
  return
}

// -----

// The value of the iteration before is not there yet.
func.func @carried(%n: i32, %x: f32) {
  %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) iter(%y = %x) -> (f32) {
    // expected-error @below {{'a' op in slot [0, 4] uses a value that is made later, in slot [1, 5]}}
    "a"(%y) {fagpu.at = [0, 4]} : (f32) -> ()
    // expected-note @below {{made here}}
    %z = "b"() {fagpu.at = [1, 5]} : () -> f32
    fagpu.yield %z : f32
  }
  return
}

// -----

func.func @flag(%n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    // expected-error @below {{'a' op uses the flag of segment 1 in stage 1; segments are told apart in stage 0 only}}
    "a"(%rest) {fagpu.at = [1, 4]} : (i1) -> ()
    fagpu.yield
  }
  return
}

// -----

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!kv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
func.func @in_flight(%q: !qv, %k: !kv, %n: i32) {
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %n) {
    %f = fagpu.mma_async nt %q, %k {fagpu.at = [0, 1]} : !qv, !kv -> !fagpu.inflight<!acc>
    // expected-error @below {{'fagpu.wait' op is in stage 1, but what it waits for is issued in stage 0; a result in flight cannot cross iterations}}
    %x = fagpu.wait %f {fagpu.at = [1, 1]} : !fagpu.inflight<!acc>
    fagpu.yield
  }
  return
}
