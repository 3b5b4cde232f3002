// RUN: fa-opt %s --split-input-file --verify-diagnostics

!t = tensor<1x8x2x16xf32>

func.func @always(%q: !t, %seed: i64) {
  %p = arith.constant 1.0 : f32
  // expected-error @below {{'fa.dropout' op drops with probability 1.000000e+00, expected at least 0 and below 1}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) dropout(%p, %seed, %seed)
  return
}

// -----

!t = tensor<1x8x2x16xf32>

func.func @negative(%q: !t, %seed: i64) {
  %p = arith.constant -0.25 : f32
  // expected-error @below {{drops with probability -2.500000e-01, expected at least 0 and below 1}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) dropout(%p, %seed, %seed)
  return
}

// -----

!t = tensor<1x8x2x16xf32>

func.func @operands(%q: !t, %p: f32, %seed: i64) {
  // expected-error @below {{dropout has 2 operands, expected 3 (probability, seed, offset)}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) dropout(%p, %seed)
  return
}

// -----

!t = tensor<1x8x2x16xf32>

func.func @types(%q: !t, %p: f32, %seed: i32) {
  // expected-error @below {{dropout has types 'f32', 'i32', 'i32', expected f32 (probability), then i64 or a table of rank 0 of i64 (seed, offset)}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) dropout(%p, %seed, %seed : f32, i32, i32)
  return
}

// -----

!t = tensor<1x8x2x16xf32>

func.func @count(%q: !t, %p: f32, %seed: i64) {
  // expected-error @below {{dropout has 3 operands but 2 types}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) dropout(%p, %seed, %seed : f32, i64)
  return
}

// -----

!t = tensor<1x8x2x16xf32>

func.func @twice(%q: !t, %p: f32, %seed: i64) {
  // expected-error @+3 {{dropout stands behind a score region that does not yield one value, expected fa.yield of the score alone}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score(%s, %b, %h, %i, %j) {
    fa.yield %s, %s : f32, f32
  } dropout(%p, %seed, %seed)
  return
}

// -----

!t = tensor<1x8x2x16xf32>

func.func @dependent(%q: !t) {
  // expected-error @below {{score region yields a factor of the weight that depends on the score, expected one of the indices and captures alone}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score(%s, %b, %h, %i, %j) {
    %f = arith.addf %s, %s : f32
    fa.yield %s, %f : f32, f32
  }
  return
}
