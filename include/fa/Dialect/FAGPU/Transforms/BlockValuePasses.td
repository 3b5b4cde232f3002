//===- BlockValuePasses.td - Block values -----------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Arithmetic on block values: fewer operations on each element.

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_BLOCKVALUEPASSES_TD
#define FA_DIALECT_FAGPU_TRANSFORMS_BLOCKVALUEPASSES_TD

include "mlir/Pass/PassBase.td"

def FAGPUMergeBoundsPass
    : Pass<"fagpu-merge-bounds", "::mlir::func::FuncOp"> {
  let summary = "Compare an index once where a mask bounds it several times";
  let description = [{
    Comparisons of one index of a block that have the same predicate and are
    joined by `arith.andi` or `arith.ori` become one comparison with the lesser or
    the greater bound. The bounds are joined as scalars or as vectors of rows where
    they are that, so one comparison of each element is left. A bound of all
    columns is compared as one of the matrix for that.

    Before:
    ```mlir
    %a = arith.cmpi slt, %column, %end : !iacc
    %b = arith.cmpi slt, %column, %diagonal : !iacc
    %visible = arith.andi %a, %b : tensor<128x64xi1>
    ```
    After:
    ```mlir
    %bound = arith.minsi %end_row, %diagonal_row : !irow
    %wide = fagpu.broadcast %bound : !irow -> !iacc
    %visible = arith.cmpi slt, %column, %wide : !iacc
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUNarrowConversionsPass
    : Pass<"fagpu-narrow-conversions", "::mlir::func::FuncOp"> {
  let summary = "Convert indices to floating point as scalars and vectors";
  let description = [{
    Where a matrix of sums of scalars, row numbers and column numbers is converted
    to f32, the parts are converted and added instead: one conversion for each
    row and column in place of one for each element. Numbers of rows and columns
    of a block are exact in f32, so the result is the same up to 2^24 and rounded
    once more beyond.

    Before:
    ```mlir
    %distance = arith.subi %query, %key : tensor<128x64xi32>
    %real = arith.sitofp %distance : tensor<128x64xi32> to tensor<128x64xf32>
    ```
    After, for `%query` of the rows from `%a` on, and `%key` of the columns from `%b` on:
    ```mlir
    %scalar = arith.subi %a, %b : i32
    %first = arith.sitofp %scalar : i32 to f32
    %rows = arith.addf %all_first, %row_numbers : tensor<128xf32, #fagpu.row<4>>
    %wide = fagpu.broadcast %rows : ... -> tensor<128x64xf32>
    %real = arith.subf %wide, %column_numbers : tensor<128x64xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUFuseProductsPass
    : Pass<"fagpu-fuse-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply and add at once where a product need not be rounded";
  let description = [{
    A product of blocks with `fastmath<contract>` that only a sum or a difference
    reads becomes a part of it, which is then rounded once: the scale of scores to
    which a bias is added takes no instruction of its own.

    Before:
    ```mlir
    %scaled = arith.mulf %s, %scale fastmath<contract> : !scores
    %x = arith.addf %scaled, %bias : !scores
    ```
    After:
    ```mlir
    %x = math.fma %s, %scale, %bias : !scores
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

def FAGPUJoinLimitsPass : Pass<"fagpu-join-limits"> {
  let summary = "Compare column indices with both of their limits at once";
  let description = [{
    A conjunction of two comparisons of the column with numbers of the row, one
    that it reaches and one that it stays below, becomes a `fagpu.between`, where
    the columns of a thread are bits of two words at most. One comparison alone
    stays: it takes no more instructions than a bit.

    Before:
    ```mlir
    %column = fagpu.iota 1 : !iacc
    %from = fagpu.broadcast %first : !irow -> !iacc
    %to = fagpu.broadcast %end : !irow -> !iacc
    %reached = arith.cmpi sge, %column, %from : !iacc
    %below = arith.cmpi slt, %column, %to : !iacc
    %seen = arith.andi %below, %reached : !bacc
    ```
    After:
    ```mlir
    %seen = fagpu.between %first, %end : !irow -> !bacc
    ```
  }];
}

def FAGPUSplitIotaPass : Pass<"fagpu-split-iota"> {
  let summary = "Compare, scale and add indices by their constant part";
  let description = [{
    An index is the thread's part plus the element's, which is a constant in each
    element. Where an index is compared, scaled or added, the thread's part moves to the
    other operand, so that elements of a row share it and the rest is an
    immediate; otherwise every column index takes a register in the loop.

    Assumes that a difference of an index and what it is compared with fits 32
    bits. An index that is scaled or added as a real number is rounded once more.

    Before:
    ```mlir
    %column = fagpu.iota 1 : !iacc
    %ok = arith.cmpi slt, %column, %limit : !iacc
    ```
    After:
    ```mlir
    %element = fagpu.iota 1 part(element) : !iacc
    %thread = fagpu.iota 1 part(thread) : !iacc
    %rest = arith.subi %limit, %thread : !iacc
    %ok = arith.cmpi slt, %element, %rest : !iacc
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // FA_DIALECT_FAGPU_TRANSFORMS_BLOCKVALUEPASSES_TD
