//===- Passes.td - Passes from other dialects to fa ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TOFA_PASSES_TD
#define FA_CONVERSION_TOFA_PASSES_TD

include "mlir/Pass/PassBase.td"

def FARaiseAttention : Pass<"fa-raise-attention"> {
  let summary = "Turn softmax(Q K) V on tensors into fa.attention";
  let description = [{
    Reads tensors of linalg, tensor and arith as functions of their indices,
    through transposes, reshapes, broadcasts and slices. Where two matrix
    multiplications have a softmax over the keys between them, they become one
    `fa.attention`. All else stays. A remark names the operation that kept a
    near miss from it.

    What is done to a score becomes the score region. What sets it to -inf
    becomes the mask, as does a finite number of at most -1e30 if each row
    provably sees a key. A row that sees no key gives what the source gives.

    A logarithm of the softmax's sums becomes the logsumexp times a number. Its
    constants must say so to 2^-50: ln(2) in f32 is another number, so a source
    that multiplies the maximum by it stays.

    | option | effect |
    |---|---|
    | `excess-precision` | drops roundings of scores and of the softmax to f16 or bf16; else only those of scores may be there, and stay. Positions and biases keep theirs |
    | `masks=assume-visible` | promises that each row sees a key, and that numbers from -1e4 down hide one |

    Before (`...` for types and maps):

    ```mlir
    %s = linalg.batch_matmul ins(%q, %kt : ...) outs(%zero : ...) -> ...
    %x = linalg.generic ... ins(%s : ...) outs(%e : ...) { arith.mulf %in, %c }
    %y = linalg.softmax dimension(2) ins(%x : ...) outs(%e : ...) -> ...
    %o = linalg.batch_matmul ins(%y, %v : ...) outs(%zero : ...) -> ...
    ```

    After:

    ```mlir
    %q4 = tensor.expand_shape %q [[0], [1], [2, 3]] ...
    %o4 = fa.attention ins(%q4, %k4, %v4 : ...) outs(%init : ...) scale(%c)
        query_dims = #fa.dims<h, s, b, d> ...
    %o = tensor.collapse_shape %o4 ...
    ```
  }];
  let options = [
    Option<"excessPrecision", "excess-precision", "bool", /*default=*/"true",
           "Drop roundings of scores and of their softmax to f16 or bf16">,
    Option<"masks", "masks", "::mlir::fa::RaisedMasks",
           /*default=*/"::mlir::fa::RaisedMasks::Exact",
           "What is known of rows that see no key", [{::llvm::cl::values(
             clEnumValN(::mlir::fa::RaisedMasks::Exact, "exact",
                        "nothing: they give what the source gives"),
             clEnumValN(::mlir::fa::RaisedMasks::AssumeVisible,
                        "assume-visible",
                        "there are none, and -1e4 or less hides a key"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // FA_CONVERSION_TOFA_PASSES_TD
