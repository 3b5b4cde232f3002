//===- BlockPasses.td - From key ranges to blocks -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What happens inside one query block after tiling.

#ifndef FA_DIALECT_FA_TRANSFORMS_BLOCKPASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_BLOCKPASSES_TD

include "mlir/Pass/PassBase.td"

def FAExpandKeyRanges : Pass<"fa-expand-key-ranges"> {
  let summary = "Turn key ranges into loops over key blocks";
  let description = [{
    Each range of a `fa.key_ranges` becomes an `scf.for` that carries the
    values; the ranges follow each other. In a full range the number of keys
    is the step and the mask regions of the steps inside are dropped, as they
    are known to be true. In a partial range the number of keys is the
    smaller of the step and what is left. `fa.is_partial` becomes a constant,
    and `fa.is_first` false.

    Before:

    ```mlir
    %r = fa.key_ranges (%key, %count) = [full %c0 to %mid, partial %mid to %end] step 128
        iter_args(%x = %x0) -> (tensor<64xf32>) {
      ...
      fa.yield %x1 : tensor<64xf32>
    }
    ```

    After:

    ```mlir
    %r0 = scf.for %key = %c0 to %mid step %c128 iter_args(%x = %x0) -> (tensor<64xf32>) {
      ... // %c128 keys, no mask
    }
    %r = scf.for %key = %mid to %end step %c128 iter_args(%x = %r0) -> (tensor<64xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (128, s0 - d0)>(%key)[%end]
      ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def FADecomposeStep : Pass<"fa-decompose-step"> {
  let summary = "Write steps of attention as operations on blocks";
  let description = [{
    Replaces `fa.online_attention`, `fa.finalize` and `fa.combine` by the formulas
    of their descriptions: `arith` and `math` on tensors, `linalg.contract`,
    `reduce` and `broadcast`, and `fa.apply` for the regions. Rows of a block are
    those of the state. The text is the same for every target, and `fa-run`
    evaluates it.

    Before:

    ```mlir
    %r:3 = fa.online_attention ins(%q, %k, %v : ...) outs(%acc, %max, %sum : ...)
        offsets(...) extents(...) mask(%b, %h, %i, %j) { ... }
    ```

    After (the mask, in key ranges):

    ```mlir
    %partial = fa.is_partial : i1
    %hidden = scf.if %partial -> (tensor<64x?xf32>) {
      %visible = fa.apply sizes(%keys) offsets(...) extents(...) pairs(%b, %h, %i, %j) { ... } -> tensor<64x?xi1>
      %x = arith.select %visible, %scores, %none : tensor<64x?xi1>, tensor<64x?xf32>
      scf.yield %x : tensor<64x?xf32>
    } else {
      scf.yield %scores : tensor<64x?xf32>
    }
    %max1 = linalg.reduce { arith.maxnumf } ins(%hidden : ...) outs(%max : tensor<64xf32>) dimensions = [1]
    ```

    Operands in memory are read by `bufferization.to_tensor`, results in memory
    are written by `bufferization.materialize_in_destination`. Fails where a merge
    is of more than one batch and head.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAApplyToLinalg : Pass<"fa-apply-to-linalg"> {
  let summary = "Write regions on pairs as linalg operations";
  let description = [{
    Replaces `fa.apply` by a `linalg.generic` that has the region in its body, for
    targets that compute pair by pair. A load from a capture at an index that is
    not known to be inside is moved inside, and its result is 0 then. Rows behind
    the last query stand in for it. Captures have to be in memory.

    Before:

    ```mlir
    %y = fa.apply ins(%x : tensor<64x?xf32>) offsets(%b, %h, %i0, %j0) extents(%queries, %keys)
        pairs(%s, %batch, %head, %i, %j) captures(%t = %table : memref<?xf32>) {
      %e = memref.load %t[%j] : memref<?xf32>
      ...
    } -> tensor<64x?xf32>
    ```

    After:

    ```mlir
    %y = linalg.generic ... ins(%x : tensor<64x?xf32>) outs(%empty : tensor<64x?xf32>) {
    ^bb0(%s: f32, %out: f32):
      %column = linalg.index 1 : index
      %j = arith.addi %j0, %column : index
      %below = arith.cmpi ult, %j, %size : index
      %inside = arith.select %below, %j, %c0 : index
      %l = memref.load %table[%inside] : memref<?xf32>
      %e = arith.select %below, %l, %zero : f32
      ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // FA_DIALECT_FA_TRANSFORMS_BLOCKPASSES_TD
