//===- SequencePasses.td - Passes on tables of sequences ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SEQUENCEPASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_SEQUENCEPASSES_TD

include "mlir/Pass/PassBase.td"

def FASequenceErrorsToLoops : Pass<"fa-sequence-errors-to-loops"> {
  let summary = "Look at lengths, starts and pages of sequences by a loop";
  let description = [{
    Replaces each `fa.sequence_errors` on memrefs by a parallel loop over
    sequences, which stores their words. Pages are counted side by side.

    Fails on tensors: `fa-results-to-out-parameters` makes memrefs.

    Before:

    ```mlir
    fa.sequence_errors ins(%q, %k, %v : ...) outs(%errors : memref<?xi32>)
        key_lengths(%lengths : memref<?xi32>) key_pages(%table : memref<?x?xi32>) {...}
    ```

    After:

    ```mlir
    scf.forall (%b) in (%sequences) {
      %length = memref.load %lengths[%b] : memref<?xi32>
      ...
      %wrong = scf.parallel (%page) = (%c0) to (%used) step (%c1) init (%c0_i32) -> i32 {
        ...
      }
      ...
      memref.store %word, %errors[%b] : memref<?xi32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // FA_DIALECT_FA_TRANSFORMS_SEQUENCEPASSES_TD
