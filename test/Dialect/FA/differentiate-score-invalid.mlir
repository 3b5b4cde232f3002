// What has no gradient is named, once, where it stands.
// RUN: fa-opt %s --fa-differentiate-score --split-input-file --verify-diagnostics

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @bits(%q: !q, %r: !row) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) {
        // expected-error @below {{'arith.bitcast' has no gradient, but what it yields reaches the result}}
        %n = arith.bitcast %s : f32 to i32
        %x = arith.bitcast %n : i32 to f32
        fa.yield %x : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @no_rule(%q: !q, %r: !row) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) {
        // expected-error @below {{'arith.bitcast' has no gradient, but what it yields depends on a value that needs one}}
        %x = arith.bitcast %s : f32 to f32
        fa.yield %x : f32
      }
  return
}
