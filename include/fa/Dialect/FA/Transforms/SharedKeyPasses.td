//===- SharedKeyPasses.td - Passes on keys that sequences share ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SHAREDKEYPASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_SHAREDKEYPASSES_TD

include "mlir/Pass/PassBase.td"

def FABatchSharedKeys : Pass<"fa-batch-shared-keys", "::mlir::ModuleOp"> {
  let summary = "Take queries of all sequences that share keys for those of one";
  let description = [{
    An attention whose keys are the same for all sequences, such as those of a
    prompt that they begin with (cascade attention; Juravsky et al. 2024,
    "Hydragen"), reads them once for each sequence. This pass makes of it one
    sequence, with the queries of all: keys are read once, and a block has rows of
    several sequences. Regions compute sequence and query from the row. What each
    sequence has alone is another attention, and `fa.combine` merges both.

    Keys are the same where the memory of `key` and `value`, or that of `key_pages`
    and `key_lengths`, is a `linalg.broadcast` over the batch, has stride 0 there or
    is a constant with equal rows. With one query each, batch and queries change
    places; the rows of several queries are copied.

    Left alone, with a remark, are packed queries, `query_lengths`,
    `batch_invariant`, and pieces of a problem.

    Before:

    ```mlir
    linalg.broadcast ins(%prompt : memref<?xi32>) outs(%table : memref<64x?xi32>) dimensions = [0]
    linalg.broadcast ins(%count : memref<i32>) outs(%lengths : memref<64xi32>) dimensions = [0]
    fa.attention ins(%q, %k, %v : memref<64x1x64x128xbf16>, memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>)
        outs(%o, %lse : memref<64x1x64x128xf32>, memref<64x64x1xf32>)
        key_lengths(%lengths : memref<64xi32>) key_pages(%table : memref<64x?xi32>)
    ```

    After (`...` for strided types):

    ```mlir
    %lse1 = memref.transpose %lse (b, h, s) -> (s, h, b) : ... to memref<1x64x64xf32, ...>
    %table1 = memref.expand_shape %prompt [[0, 1]] ... : memref<?xi32> into memref<1x?xi32>
    %lengths1 = memref.expand_shape %count [] ... : memref<i32> into memref<1xi32>
    fa.attention ins(%q, %k, %v : ...) outs(%o, %lse1 : ...)
        key_lengths(%lengths1 : memref<1xi32>) key_pages(%table1 : memref<1x?xi32>)
        {fa.shared_keys, query_dims = #fa.dims<s, b, h, d>, output_dims = #fa.dims<s, b, h, d>}
    ```

    `fa.shared_keys` lets `fa-pack-heads` pack these rows, however many they are,
    and `fa-select-config` split the keys on a GPU.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FACombineToState : Pass<"fa-combine-to-state"> {
  let summary = "Merge two results by steps on a state";
  let description = [{
    Replaces each `fa.combine` of a tile, on memrefs, by `fa.add_partial` of both
    results and `fa.finalize`: the form that merges of any number of parts have
    (`fa-split-keys`), which a GPU has blocks for. The state has as many rows as
    the tile, a multiple of 16, and at most 64. What a tile merges of a result that
    it has just stored, and of nothing else, is finalized from its state instead. Where `fa.sole_reader` marks that `fa.finalize`,
    the tile stores one of both.

    Fails where a partial result is no f32, a tile has more than 64 rows, or
    `query_lengths` keep rows as they were.

    Before (`...` for strided types):

    ```mlir
    fa.combine a(%o_a, %lse_a : memref<1x64x1x128xf32, ...>, memref<1x1x64xf32, ...>)
        b(%o_b, %lse_b : memref<1x64x1x128xf32, ...>, memref<1x1x64xf32, ...>)
        outs(%o : memref<1x64x1x128xbf16, ...>)
    ```

    After:

    ```mlir
    %a:3 = fa.add_partial ins(%o_a, %lse_a : ...) outs(%zeros, %none, %nothing : ...)
    %b:3 = fa.add_partial ins(%o_b, %lse_b : ...) outs(%a#0, %a#1, %a#2 : ...)
    fa.finalize ins(%b#0, %b#1, %b#2 : tensor<64x128xf32>, tensor<64xf32>, tensor<64xf32>)
        outs(%o : ...)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // FA_DIALECT_FA_TRANSFORMS_SHAREDKEYPASSES_TD
