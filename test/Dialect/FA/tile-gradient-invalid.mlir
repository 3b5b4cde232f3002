// RUN: fa-opt %s --fa-tile-gradient --split-input-file --verify-diagnostics

!t = memref<1x8x2x16xf32>
!row = memref<1x2x8xf32>

func.func @no_config(%q: !t, %r: !row) {
  // expected-error @below {{has no config, expected one that gives the query block and the key block; fa-select-config sets it}}
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %r : !t, !row) gradients(%q : !t) outs(query = %q : !t)
  return
}

// -----

!t = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @tensors(%q: !t, %r: !row) -> !t {
  // expected-error @below {{is on tensors, expected memrefs: fa-results-to-out-parameters makes them}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %r : !t, !row) gradients(%q : !t) outs(query = %q : !t)
      {config = #fa.config<query_block = 64, key_block = 128>}
  return %0 : !t
}

// -----

!t = memref<1x8x2x16xf32>
!row = memref<1x2x8xf32>

func.func @underived(%q: !t, %r: !row, %c: f32) {
  // expected-error @below {{has a score region but no score_gradient region; fa-differentiate-score derives it}}
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %r : !t, !row) gradients(%q : !t) outs(query = %q : !t)
      score softcap(%c) {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<1x8x2x16xf32>
!row = memref<1x2x8xf32>

func.func @underived_sink(%q: !t, %r: !row, %s: memref<2xf32>) {
  // expected-error @below {{has a sink region but no sink_gradient region; fa-differentiate-score derives it}}
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %r : !t, !row) gradients(%q : !t) outs(sink_capture[0] = %s : memref<2xf32>)
      sink(%b, %h, %i) captures(%t = %s : memref<2xf32>) {
        %x = memref.load %t[%h] : memref<2xf32>
        fa.yield %x : f32
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<1x?x2x16xf32>
!row = memref<1x2x?xf32>

func.func @longer(%q: !t, %r: !row) {
  // expected-error @below {{'fa.attention_gradient' op config has a longer one from 4096 keys on, expected one for all lengths: choose by the keys first, with fa-version-lengths}}
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %r : !t, !row) gradients(%q : !t) outs(query = %q : !t)
      {config = #fa.config<query_block = 64, key_block = 128, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 4096>>}
  return
}
