// standalone-opt --split-input-file --verify-diagnostics invalid.mlir

func.func @width(%packed: tensor<2x4x100xf32>) {
  // expected-error @below {{packed has type 'tensor<2x4x100xf32>', expected a static last size that is a positive multiple of 3 * heads = 24}}
  %0 = standalone.self_attention %packed heads(8)
      : tensor<2x4x100xf32> -> tensor<2x4x32xf32>
  return
}

// -----

func.func @output(%packed: tensor<2x4x96xf32>) {
  // expected-error @below {{output has type 'tensor<2x4x96xf32>', expected 'tensor<2x4x32xf32>'}}
  %0 = standalone.self_attention %packed heads(8)
      : tensor<2x4x96xf32> -> tensor<2x4x96xf32>
  return
}

// -----

func.func @cap(%q: tensor<2x?x8x64xbf16>) {
  // expected-error @below {{cap is 0.000000e+00 : f32, expected a positive number}}
  %0 = standalone.capped_attention %q, %q, %q cap(0.0)
      : tensor<2x?x8x64xbf16>, tensor<2x?x8x64xbf16>
  return
}
