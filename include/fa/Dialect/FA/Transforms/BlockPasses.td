//===- BlockPasses.td - From key ranges to linalg -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What happens inside one query block after tiling, on the way to the CPU.

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
    smaller of the step and what is left.

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

def FAPackOperands : Pass<"fa-pack-operands"> {
  let summary = "Bring the operands of a step into f32 scratch for the CPU";
  let description = [{
    Prepares each `fa.online_attention` on memrefs for code whose queries lie
    along the lanes of vectors:

    - the query block is copied once, before the loops over keys, into scratch
      where queries follow each other in memory, multiplied by the scale (which
      becomes 1), with zeros for padding rows;
    - an accumulator that is an allocation of this function gets the same
      order of its elements;
    - key and value blocks are copied once for each block, as f32, so that
      their rows follow each other: the rows of one head among others lie on
      few sets of a cache.

    Rows of scratch lie an odd number of cache lines apart, for the same reason.

    Before:

    ```mlir
    scf.for %j = ... {
      %k = memref.subview ... : memref<1x128x1x64xbf16, ...>
      fa.online_attention ins(%q, %k, %v : memref<1x?x1x64xbf16, ...>, ...)
          outs(%acc, %max, %sum : memref<64x64xf32>, memref<64xf32>, memref<64xf32>)
    }
    ```

    After:

    ```mlir
    %memory = memref.alloca() : memref<64x80xf32>
    %packed = memref.subview %memory[0, 0] [64, 64] [1, 1] : ...
    ... // a linalg.generic that transposes, extends and scales
    %q1 = memref.reinterpret_cast %packed ... : memref<1x64x1x64xf32, strided<[5120, 1, 5120, 80]>>
    scf.for %j = ... {
      ... // a linalg.generic that copies the keys, and one for the values
      fa.online_attention ins(%q1, %k1, %v1 : ...) scale(%one)
          outs(%acc1, %max, %sum : memref<64x64xf32, strided<[1, 80]>>, ...)
    }
    ```

    Fails where operands are tensors, where the state has a dynamic number of
    rows, and where the number of keys of a step has no constant bound.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def FADecompose : Pass<"fa-decompose"> {
  let summary = "Write steps of attention in linalg operations";
  let description = [{
    Replaces `fa.online_attention`, `fa.finalize` and `fa.combine` on memrefs by
    `linalg.generic` operations with the score and mask regions inlined in them.
    Scores and probabilities stand as keys x queries in scratch of one block.
    One step becomes, in this order:

    | operation | loops | writes |
    |---|---|---|
    | fill, contraction | key, query, head dim | scores |
    | score, mask, maximum | key, query | scores, new maximum |
    | statistics | query | what to subtract, factor of the old state, maximum |
    | fill, exponential and sum | key, query | probabilities, their sums |
    | sum | query | sum of the state |
    | fill, contraction | head dim, query, key | product of this block |
    | accumulation | head dim, query | accumulator |

    What is subtracted from the scores is 0 for a row that has seen no visible
    key, so that its exponentials are 0 and not NaN. Padding rows of the state
    see the indices of the last query. A load from a capture at a computed
    index is moved inside the memory: a masked pair may compute any index.

    Before:

    ```mlir
    fa.online_attention ins(%q, %k, %v : ...) scale(%one)
        outs(%acc, %max, %sum : ...) offsets(%b, %h, %i, %j) extents(%queries, %keys)
        mask(%b1, %h1, %i1, %j1) { ... }
    ```

    After (the masking of the table above):

    ```mlir
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
                    iterator_types = ["reduction", "parallel"]}
        outs(%scores, %shift : memref<128x64xf32>, memref<64xf32>) {
      ^bb0(%s: f32, %m: f32):
        %j1 = linalg.index 0 : index
        ...
        %x = arith.select %visible, %s, %hidden : f32
        %above = arith.cmpf ogt, %x, %m : f32
        %m1 = arith.select %above, %x, %m : f32
        linalg.yield %x, %m1 : f32, f32
    }
    ```

    Fails where operands are tensors, where the state has a dynamic number of
    rows, and where the number of keys of a step has no constant bound.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect"
  ];
}

#endif // FA_DIALECT_FA_TRANSFORMS_BLOCKPASSES_TD
