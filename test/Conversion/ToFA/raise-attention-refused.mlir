// What is nearly softmax(Q K) V stays as it is. A remark names the operation
// that is in the way, and says why.

// RUN: fa-opt %s --fa-raise-attention --split-input-file --verify-diagnostics | FileCheck %s
// CHECK-NOT: fa.attention

// The softmax is over the queries.
func.func @other_dim(%q: tensor<8x16x32xf32>, %k: tensor<8x32x16xf32>, %v: tensor<8x16x32xf32>) -> tensor<8x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x16x32xf32>, tensor<8x32x16xf32>) outs(%i : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the denominator is not a sum over the keys that multiply values}}
  %p = linalg.softmax dimension(1) ins(%s : tensor<8x16x16xf32>) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %oe = tensor.empty() : tensor<8x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o : tensor<8x16x32xf32>
}

// -----

// The softmax is a result.
func.func @returned(%q: tensor<8x16x32xf32>, %k: tensor<8x32x16xf32>, %v: tensor<8x16x32xf32>) -> (tensor<8x16x32xf32>, tensor<8x16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x16x32xf32>, tensor<8x32x16xf32>) outs(%i : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf32>) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %oe = tensor.empty() : tensor<8x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: scores or their softmax are used here, too}}
  return %o, %p : tensor<8x16x32xf32>, tensor<8x16x16xf32>
}

// -----

// Elements of the softmax are multiplied by a mask.
func.func @gated(%q: tensor<8x16x32xf32>, %k: tensor<8x32x16xf32>, %v: tensor<8x16x32xf32>, %gate: tensor<8x16x16xf32>) -> tensor<8x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x16x32xf32>, tensor<8x32x16xf32>) outs(%i : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf32>) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %g = arith.mulf %p, %gate : tensor<8x16x16xf32>
  %oe = tensor.empty() : tensor<8x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the softmax is changed before it multiplies values}}
  %o = linalg.batch_matmul ins(%g, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o : tensor<8x16x32xf32>
}

// -----

// The output starts from a tensor.
func.func @accumulates(%q: tensor<8x16x32xf32>, %k: tensor<8x32x16xf32>, %v: tensor<8x16x32xf32>, %init: tensor<8x16x32xf32>) -> tensor<8x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x16x32xf32>, tensor<8x32x16xf32>) outs(%i : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf32>) outs(%e : tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the product with the values starts from something other than 0}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x16xf32>, tensor<8x16x32xf32>) outs(%init : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o : tensor<8x16x32xf32>
}

// -----

// Numbers of 64 bits.
func.func @double(%q: tensor<8x16x32xf64>, %k: tensor<8x32x16xf64>, %v: tensor<8x16x32xf64>) -> tensor<8x16x32xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x16x16xf64>
  %i = linalg.fill ins(%zero : f64) outs(%e : tensor<8x16x16xf64>) -> tensor<8x16x16xf64>
  %s = linalg.batch_matmul ins(%q, %k : tensor<8x16x32xf64>, tensor<8x32x16xf64>) outs(%i : tensor<8x16x16xf64>) -> tensor<8x16x16xf64>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the softmax is not computed in f32}}
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x16xf64>) outs(%e : tensor<8x16x16xf64>) -> tensor<8x16x16xf64>
  %oe = tensor.empty() : tensor<8x16x32xf64>
  %oi = linalg.fill ins(%zero : f64) outs(%oe : tensor<8x16x32xf64>) -> tensor<8x16x32xf64>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x16xf64>, tensor<8x16x32xf64>) outs(%oi : tensor<8x16x32xf64>) -> tensor<8x16x32xf64>
  return %o : tensor<8x16x32xf64>
}
