//===- ScalarPasses.td - Scalars of kernels and launches ---*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic on scalars, in the order of the passes: index and affine as arith,
// operations of one result, indices that may be below 0, and the width of
// indices in kernels. FAGPUComputeOnHostPass, the last one, moves what all
// blocks compute alike to the host.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_SCALARPASSES_TD
#define FA_CONVERSION_FATOFAGPU_SCALARPASSES_TD

include "mlir/Pass/PassBase.td"

def FAIndexToArithPass : Pass<"fa-index-to-arith"> {
  let summary = "Operations of the index and affine dialects as those of arith";
  let description = [{
    Score and mask regions may compute on indices by any of these dialects; what
    follows knows arith, whose operations take index values too. Where an index is
    marked not to wrap the mark goes, except in kernels: it speaks of 64 bits, and
    `fa-narrow-indices` takes it for 32.

    Before:
    ```mlir
    %distance = index.sub %i, %j
    %visible = index.cmp slt(%distance, %window)
    ```
    After:
    ```mlir
    %distance = arith.subi %i, %j : index
    %visible = arith.cmpi slt, %distance, %window : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FASeparateResultsPass : Pass<"fa-separate-results"> {
  let summary = "Operations of several results as operations of one";
  let description = [{
    A value of a score or mask region on blocks is the one result of an operation.
    `math.sincos` becomes two functions, `arith.addui_extended` a sum and a
    comparison, and `arith.mulsi_extended` and `arith.mului_extended` of up to 32
    bits products of their type and of 64 bits, which hold them whole. Of more
    bits they are refused in regions.

    Before:
    ```mlir
    %low, %high = arith.mulsi_extended %a, %b : i32
    ```
    After:
    ```mlir
    %low = arith.muli %a, %b : i32
    %0 = arith.extsi %a : i32 to i64
    %1 = arith.extsi %b : i32 to i64
    %2 = arith.muli %0, %1 : i64
    %3 = arith.shrsi %2, %c32_i64 : i64
    %high = arith.trunci %3 : i64 to i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FAWidenUnsignedIndicesPass : Pass<"fa-widen-unsigned-indices"> {
  let summary = "Read indices that may be below 0 as unsigned in 64 bits";
  let description = [{
    Kernels compute with indices of 32 bits where numbers fit them. What an
    unsigned division, rest or shift makes of a number below 0 depends on its
    bits: in score and mask regions these become operations on 64-bit integers
    where they are the same for all queries and keys. Those that are not get 64
    bits when the region is computed on blocks.

    Before:
    ```mlir
    %distance = arith.subi %head, %number : index
    %group = arith.divui %distance, %c8 : index
    ```
    After:
    ```mlir
    %distance = arith.subi %head, %number : index
    %0 = arith.index_cast %distance : index to i64
    %1 = arith.divui %0, %c8_i64 : i64
    %group = arith.index_cast %1 : i64 to index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FANarrowIndicesPass : Pass<"fa-narrow-indices", "::mlir::func::FuncOp"> {
  let summary = "Compute with 32-bit indices in kernels";
  let description = [{
    Sizes and indices of one dimension fit 32 bits, and so do sums of a few of
    them; products with strides, which may not, are formed at 64 bits when
    addresses are. An index is only cast to `index` where an operation asks for it.

    What may need more stays `index` until it is bounded: 64-bit arguments,
    constants above 2^30, sums with what is loaded from memory or is an argument
    that `fa.captured` marks as a captured number, products that are not marked
    `nsw`, what is shifted to the left, and what is computed in i64. Products that
    passes know to be sizes, as a number of blocks times their size, are marked.
    The marks of arguments go.

    Before: `%i = arith.addi %a, %b : index`
    After: `%i = arith.addi %a, %b : i32`
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGPUComputeOnHostPass
    : Pass<"fagpu-compute-on-host", "::mlir::ModuleOp"> {
  let summary = "Compute scalars of a launch on the host";
  let description = [{
    32-bit arithmetic of a kernel whose operands are its arguments, constants and
    other such results is done by the host, once for a launch: the kernel gets
    the results as arguments. That frees the registers that would carry them
    through the loops, as arguments are read from constant memory. What roles
    compute in the same way from the same arguments becomes one of them. The host
    takes a divisor of 0 for 1: a launch with such a size has no tiles.

    A launcher computes exactly, on numbers with a sign, and refuses an argument
    that 32 bits do not hold. So only what cannot leave these is moved, and no
    unsigned operation on what may be below 0: ranges of the arguments tell, with
    sizes of memory, and index arguments of the host that are passed as i32
    (sizes of slices), between 0 and 2^30, or `nsw` on a product; the host's sums and
    products are marked so, which a launcher then need not check. A ceiling of a
    quotient is moved where the divisor is a constant above 0. All else stays in
    the kernel, where it wraps around. A kernel that several operations launch
    stays as it is.

    Before:
    ```mlir
    func.func @kernel(%heads: i32, %kvHeads: i32, ...) attributes {fagpu.kernel = "sm_90a"} {
      %group = arith.divui %heads, %kvHeads : i32
      fagpu.role @load ... {
        %kvHead = arith.divui %head, %group : i32
    ...
      %h = arith.index_cast %queryHeads : index to i32
      %k = arith.index_cast %keyHeads : index to i32
      fagpu.launch @kernel grid(%tiles) (%h, %k) : i32, i32
    ```
    After:
    ```mlir
    func.func @kernel(%heads: i32, %kvHeads: i32, ..., %group: i32) ... {
      fagpu.role @load ... {
        %kvHead = arith.divui %head, %group : i32
    ...
      %c1 = arith.constant 1 : i32
      %divisor = arith.maxui %k, %c1 : i32
      %group = arith.divui %h, %divisor : i32
      fagpu.launch @kernel grid(%tiles) (%h, %k, %group) : i32, i32, i32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

#endif // FA_CONVERSION_FATOFAGPU_SCALARPASSES_TD
