// Each check of fa.sequence_errors says what is wrong, once.
// RUN: fa-opt %s -split-input-file -verify-diagnostics

!t = memref<2x8x2x16xf32>
func.func @nothing(%q: !t, %e: memref<2xi32>) {
  // expected-error @below {{'fa.sequence_errors' op has no lengths and no starts, expected some to look at}}
  fa.sequence_errors ins(%q, %q, %q : !t, !t, !t) outs(%e : memref<2xi32>)
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @words(%q: !t, %l: memref<2xi32>, %e: memref<3xi32>) {
  // expected-error @below {{'fa.sequence_errors' op query_lengths has 2 batches but errors has 3}}
  fa.sequence_errors ins(%q, %q, %q : !t, !t, !t) outs(%e : memref<3xi32>) query_lengths(%l : memref<2xi32>)
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @type_of_words(%q: !t, %l: memref<2xi32>, %e: memref<2xi64>) {
  // expected-error @below {{'fa.sequence_errors' op errors has element type 'i64', expected 'i32'}}
  fa.sequence_errors ins(%q, %q, %q : !t, !t, !t) outs(%e : memref<2xi64>) query_lengths(%l : memref<2xi32>)
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @mixed(%q: !t, %l: tensor<2xi32>, %e: memref<2xi32>) {
  // expected-error @below {{'fa.sequence_errors' op operand has type 'tensor<2xi32>' but query has type 'memref<2x8x2x16xf32>', expected all tensors or all memrefs}}
  fa.sequence_errors ins(%q, %q, %q : !t, !t, !t) outs(%e : memref<2xi32>) query_lengths(%l : tensor<2xi32>)
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @pages_without_lengths(%q: !t, %s: memref<3xi32>, %p: memref<2x4xi32>, %e: memref<2xi32>) {
  // expected-error @below {{'fa.sequence_errors' op has key_pages but no key_lengths, expected the number of keys of each sequence, i32 of shape batch}}
  fa.sequence_errors ins(%q, %q, %q : !t, !t, !t) outs(%e : memref<2xi32>) query_lengths(%e : memref<2xi32>) key_pages(%p : memref<2x4xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @order(%q: !t, %s: memref<3xi32>, %e: memref<2xi32>) {
  // expected-error @below {{'fa.sequence_errors' op key has the order #fa.dims<b, s, h, d> beside key_starts, expected one without b, such as #fa.dims<s, h, d>}}
  fa.sequence_errors ins(%q, %q, %q : !t, !t, !t) outs(%e : memref<2xi32>) key_starts(%s : memref<3xi32>)
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @rank(%q: memref<8x2x16xf32>, %k: !t, %l: memref<2xi32>, %e: memref<2xi32>) {
  // expected-error @below {{'fa.sequence_errors' op query has rank 3, expected 4}}
  fa.sequence_errors ins(%q, %k, %k : memref<8x2x16xf32>, !t, !t) outs(%e : memref<2xi32>) key_lengths(%l : memref<2xi32>)
  return
}

// -----

!t = memref<2x8x2x16xf32>
func.func @rows(%q: !t, %v: memref<2x9x2x16xf32>, %l: memref<2xi32>, %e: memref<2xi32>) {
  // expected-error @below {{'fa.sequence_errors' op key has 8 rows but value has 9}}
  fa.sequence_errors ins(%q, %q, %v : !t, !t, memref<2x9x2x16xf32>) outs(%e : memref<2xi32>) key_lengths(%l : memref<2xi32>)
  return
}
