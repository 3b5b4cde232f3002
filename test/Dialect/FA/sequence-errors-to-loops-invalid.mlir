// RUN: fa-opt %s -fa-sequence-errors-to-loops -verify-diagnostics

func.func @on_tensors(%q: tensor<2x4x8x64xf16>, %m: tensor<2xi32>, %e: tensor<2xi32>) -> tensor<2xi32> {
  // expected-error @below {{'fa.sequence_errors' op is on tensors, expected memrefs: fa-results-to-out-parameters makes them}}
  %0 = fa.sequence_errors ins(%q, %q, %q : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>) outs(%e : tensor<2xi32>)
      key_lengths(%m : tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
