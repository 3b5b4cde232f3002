//===- Passes.td - Passes of the standalone compiler -------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STANDALONE_PASSES_TD
#define STANDALONE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToFA : Pass<"standalone-lower-to-fa"> {
  let summary = "Turn this compiler's attention into fa.attention";
  let description = [{
    The cap of `standalone.capped_attention` becomes the score region, and the
    causal mask the mask region. Of `standalone.self_attention`, query, key and value become slices of the packed tensor. They are strided
    views where the tensor is a buffer, which `fa.attention` reads as they are,
    so nothing is copied.

    ```mlir
    %o = standalone.self_attention %packed heads(8)
        : tensor<2x16x1536xf32> -> tensor<2x16x512xf32>
    // becomes
    %all = tensor.expand_shape %packed [[0], [1], [2, 3, 4]] ...
        : tensor<2x16x1536xf32> into tensor<2x16x3x8x64xf32>
    %q = tensor.extract_slice %all[0, 0, 0, 0, 0] ... to tensor<2x16x8x64xf32>
    ...
    %0 = fa.attention ins(%q, %k, %v : ...) outs(%init : ...)
    %o = tensor.collapse_shape %0 [[0], [1], [2, 3]] ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // STANDALONE_PASSES_TD
