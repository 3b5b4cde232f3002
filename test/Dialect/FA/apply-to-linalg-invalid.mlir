// RUN: fa-opt %s --fa-apply-to-linalg -verify-diagnostics

func.func @tensor(%x: tensor<4x8xf32>, %t: tensor<8xf32>, %i: index) -> tensor<4x8xf32> {
  // expected-error@+1 {{'fa.apply' op captures a value of type 'tensor<8xf32>', expected memory}}
  %r = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i)
      pairs(%s, %b, %h, %q, %k) captures(%c = %t : tensor<8xf32>) {
    %e = tensor.extract %c[%k] : tensor<8xf32>
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
