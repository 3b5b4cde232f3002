// RUN: fa-opt %s -one-shot-bufferize -split-input-file -verify-diagnostics

func.func @another_buffer(%c: index, %x: f32) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{'fa.key_ranges' op yields as value 0 another buffer than it carries, expected an update in place of the carried one}}
  %r = fa.key_ranges (%key, %count) = [full %c to %c] step 16 iter_args(%s = %a) -> (tensor<8xf32>) {
    fa.yield %e : tensor<8xf32>
  }
  %y = tensor.extract %r[%c] : tensor<8xf32>
  vector.print %y : f32
  return
}
