//===- SequencePasses.td - Passes on tables of sequences ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SEQUENCEPASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_SEQUENCEPASSES_TD

include "mlir/Pass/PassBase.td"

def FAAppendToThreads : Pass<"fa-append-to-threads"> {
  let summary = "Write new keys and values into a cache by threads";
  let description = [{
    Replaces each `fa.append` on memrefs by a parallel loop over blocks of 8 new
    rows of a sequence, for a GPU; `fa-append-to-loops` is for a CPU. Packed rows
    have the slots that `fa-tile` describes. A block looks at starts, lengths and
    pages, and has no rows where these cannot be. Its threads share what is left:
    pieces of all heads and rows, of up to 16 bytes. Head dims and static strides
    are multiples of a piece; a launcher refuses other strides.

    Fails on tensors: `fa-results-to-out-parameters` makes memrefs.

    Before:

    ```mlir
    fa.append ins(%k, %v : ...) outs(%keys, %values : ...) key_lengths(%lengths : ...)
    ```

    After (`...` for strided types):

    ```mlir
    scf.forall (%b, %i) = (0, 0) to (%batches, %rows) step (1, 8) {
      ...
      scf.parallel (%n) = (%c0) to (%pieces) step (%c1) {
        ...
        %x = vector.load %k[%b, %row, %h, %dim] : ..., vector<8xf16>
        vector.store %x, %keys[%b, %position, %h, %dim] : ..., vector<8xf16>
      }
      ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def FAGatherPages : Pass<"fa-gather-pages"> {
  let summary = "Gather pages of any size into pages that warps copy";
  let description = [{
    Warp groups find the rows of a block of keys in pages of any size. Warps copy
    the block from one page of a static multiple of 16 rows. Keys and values in
    other pages, of a
    size known at run time too, are gathered by a kernel ahead of attention: into
    pages of 128 rows of the device's own memory, as many as the table has room
    for, with a table of their own. Only rows below a length are read. A page that
    is none, or a length that cannot be, makes a page that is none. It costs to
    read and to write keys and values once more. A remark
    (`--remarks-filter=fa-gather-pages`) says where.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<3x1x8x64xbf16>, memref<?x1x2x64xbf16>, memref<?x1x2x64xbf16>)
        outs(%o : ...) key_lengths(%lengths : ...) key_pages(%table : memref<3x?xi32>) {...}
    ```

    After:

    ```mlir
    %k1 = memref.alloc(%pages) : memref<?x128x2x64xbf16>
    ...
    scf.forall (%b, %i) in (%sequences, %blocks) {
      ...
      memref.store %page, %table1[%b, %i] : memref<?x?xi32>
      scf.parallel (%n) = (%c0) to (%pieces) step (%c1) {
        %x = vector.load %k[%source, %row, %h, %dim] : ..., vector<8xbf16>
        vector.store %x, %k1[%page, %row1, %h, %dim] : ..., vector<8xbf16>
      }
      ...
    }
    fa.attention ins(%q, %k1, %v1 : ...) outs(%o : ...) key_lengths(%lengths : ...) key_pages(%table1 : ...) {...}
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
                        "The GPU, as of fa-select-config">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

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
