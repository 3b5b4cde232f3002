//===- FunctionPasses.td - Passes on whole functions -------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What functions and regions need ahead of tiling. FAResultsToOutParameters
// gives results memory, the two next passes verify and differentiate whole
// functions. Then regions: gradients of score functions, and arithmetic that
// any target computes alike (indices, divisors, dropout).
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_FUNCTIONPASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_FUNCTIONPASSES_TD

include "mlir/Pass/PassBase.td"

def FAResultsToOutParameters
    : Pass<"fa-results-to-out-parameters", "::mlir::ModuleOp"> {
  let summary = "Turn the tensors of functions into memrefs";
  let description = [{
    Level 0 to 1. Tensor arguments become memrefs that are only read; tensor
    results become further arguments, after the others and in their order, whose
    first values are not read; scalar results stay. Attributes of a result move to
    its argument. The caller keeps arguments and out-parameters apart in memory.

    All these memrefs have free offset and strides, but for one dimension of
    stride 1: the head dim of an operand or result of `fa.attention`, the last
    dimension of anything else.

    An attention whose result is returned writes to the out-parameter. Copies,
    which are `linalg.copy` or `linalg.transpose`, are made of

    - a destination of which rows are kept (`query_lengths`, `query_starts`);
      nothing is copied of one that is overwritten, or of a `tensor.empty`;
    - an operand or result of attention or its gradient whose head dim would
      not be contiguous in memory: a transposed copy;
    - an argument that is returned, or that a loop updates, and a second result
      of the same value;
    - what one-shot bufferization copies in the rest of the body.

    What is no result, and does not become one by updates in place, lies in
    temporary memory, freed at the end.

    Arithmetic on whole tensors beside an attention becomes `linalg.generic`. An
    attention may be in an `scf.for`, which then updates what it carries in
    place, or in an `scf.if`, both branches of which write to the same memory.

    Fails on functions of several blocks, on unranked tensors, on calls
    that pass tensors, which are to be inlined first, and where another
    operation with regions returns a tensor.

    Before:

    ```mlir
    func.func @attention(%q: tensor<2x?x8x64xf32>, %k: tensor<2x?x8x64xf32>, %v: tensor<2x?x8x64xf32>,
                         %n: index) -> tensor<2x?x8x64xf32> {
      %init = tensor.empty(%n) : tensor<2x?x8x64xf32>
      %o = fa.attention ins(%q, %k, %v : ...) outs(%init : tensor<2x?x8x64xf32>)
      return %o : tensor<2x?x8x64xf32>
    }
    ```

    After (`...` for the same types):

    ```mlir
    func.func @attention(%q: memref<2x?x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %k: ..., %v: ...,
                         %n: index, %o: memref<2x?x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>) {
      fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAVerifyLevel : Pass<"fa-verify-level", "::mlir::ModuleOp"> {
  let summary = "Refuse a file of another level than a pipeline takes";
  let description = [{
    Begins `fa-to-cpu`, where the first operation of the fagpu dialect is an
    error: a GPU schedule has no form on a CPU. With `schedule` it begins the
    pipelines from GPU schedules (`fagpu-plan`, `fagpu-to-llvm`, `fagpu-to-ptx`),
    where the first operation of the fa dialect is one, if none is of the fagpu
    dialect. The error says which pipeline takes the file. Changes nothing.

    Before, from `fagpu-to-ptx`:

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
    ```

    After:

    ```
    error: 'fa.attention' op is of no GPU schedule; run fa-to-ptx, or
    fa-to-schedule before
    ```
  }];
  let options = [
    Option<"isSchedule", "schedule", "bool", /*default=*/"false",
           "Expect a GPU schedule">
  ];
}

def FAVerifyLowered : Pass<"fa-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Refuse what a lowering has left over";
  let description = [{
    Ends each pipeline that leads to the LLVM dialect. Changes nothing. The first
    operation that is not of the LLVM or NVVM dialect is an error, which says how
    to lower it; `builtin.unrealized_conversion_cast` only if nothing else is left.
    Transform scripts are skipped. With `kernels-only` functions of the LLVM dialect
    alone are looked at, as host functions beside kernels stay what they are.

    Before, from `fa-to-cpu`:

    ```mlir
    linalg.softmax dimension(1) ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
    ```

    After:

    ```
    error: 'linalg.softmax' op has no lowering to the LLVM dialect; lower it to
    linalg.generic before, or write the attention it is part of as fa.attention
    ```
  }];
  let options = [
    Option<"kernelsOnly", "kernels-only", "bool", /*default=*/"false",
           "Look at functions of the LLVM dialect alone">
  ];
}

def FADifferentiate : Pass<"fa-differentiate", "::mlir::ModuleOp"> {
  let summary = "Make the gradients of functions with attention";
  let description = [{
    For a function `@f` on tensors makes `@f_vjp`: given the arguments and the
    gradients of the float results, it returns those of the float arguments. It
    holds a copy of `@f` and saves the `lse` of each attention; nothing has the
    size of queries times keys.

    Known are `fa.attention`, arith and math on scalars and tensors, linalg whose
    destinations are overwritten or added to, slices, casts, `expand_shape` and
    `collapse_shape`. Anything else between an argument and a result is an error
    at its place. Gradients of linalg are `linalg.generic` over the same loops,
    summed in f32 where elements are narrower.

    Before:

    ```mlir
    func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
      %o = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q)
      return %o : !q
    }
    ```

    After:

    ```mlir
    func.func @f_vjp(%q: !q, %k: !k, %v: !k, %do: !q) -> (!q, !k, !k) {
      %o, %lse = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      %dq, %dk, %dv = fa.attention_gradient ins(%q, %k, %v : !q, !k, !k) of(%o, %lse : !q, !row)
          gradients(%do : !q) outs(query = %0 : !q, key = %1 : !k, value = %2 : !k)
      return %dq, %dk, %dv : !q, !k, !k
    }
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"",
           "Function to differentiate; all with an attention if not given">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FADifferentiateScore : Pass<"fa-differentiate-score"> {
  let summary = "Derive gradients of score functions";
  let description = [{
    Gives `fa.attention_gradient` the region `score_gradient` where its score has
    none: reverse mode over the operations of `score`. Loads of captures that have
    a gradient among `outs` become `fa.scatter_gradient`. So with a sink of which
    captures have gradients, and `sink_gradient`.

    Comparisons, integers and casts to them, `floor`, `ceil`, `round`, `roundeven`,
    `trunc` and `fa.stop_gradient` have the gradient 0; the last is then replaced by its
    operand, in every operation. Of equal operands of a maximum or minimum each has half
    of the gradient. A gradient of 0, as that of a value that `select` leaves out, stays 0
    where the derivative is infinite or NaN. Gradients of f16 and bf16 values are f32.
    What has no gradient, as bits that reach the result, is an error at its place.

    Before:

    ```mlir
    score(%s, %b, %h, %i, %j) {
      %x = math.tanh %s : f32
      fa.yield %x : f32
    }
    ```

    After:

    ```mlir
    score(...) {...} score_gradient(%dx, %s, %b, %h, %i, %j) {
      %x = math.tanh %s : f32
      %one = arith.constant 1.0 : f32
      %square = arith.mulf %x, %x : f32
      %slope = arith.subf %one, %square : f32
      %ds = arith.mulf %dx, %slope : f32
      fa.yield %ds : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FATruncateIndices : Pass<"fa-truncate-indices"> {
  let summary = "Cut indices to fewer bits by truncations";
  let description = [{
    A cast of an index to fewer bits cuts it, but folds away with one back to
    `index`. In score and mask regions what may be cut is cast to i64 and then
    truncated, which does not fold. Batches, heads, queries, keys and lengths are
    below 2^30: casts of them to 31 bits and more stay.

    To run before anything that folds.

    Before:
    ```mlir
    %byte = arith.index_cast %j : index to i8
    %rest = arith.index_cast %byte : i8 to index
    ```
    After:
    ```mlir
    %0 = arith.index_cast %j : index to i64
    %byte = arith.trunci %0 : i64 to i8
    %rest = arith.index_cast %byte : i8 to index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGuardDivisors : Pass<"fa-guard-divisors"> {
  let summary = "Hold divisors of regions to what a processor divides by";
  let description = [{
    Score and mask regions are evaluated for pairs that do not exist, too, where
    what is loaded reads as 0, and a captured number may be 0. An
    `arith.remsi`, `remui` or `floordivsi` by a divisor that is not known to
    be another number divides by 1 in place of 0, and in place of -1 where the dividend
    may be the least number of its type, which has no opposite. A quotient by -1
    is then the difference of 0 and the dividend. Other divisions have constants
    for divisors.

    To run before what expands regions: fa-apply-to-linalg, fa-naive and
    fa-decompose-to-blocks. Pipelines do.

    Before:
    ```mlir
    %rest = arith.remui %j, %stride : index
    ```
    After:
    ```mlir
    %none = arith.cmpi eq, %stride, %c0 : index
    %divisor = arith.select %none, %c1, %stride : index
    %rest = arith.remui %j, %divisor : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAExpandDropout : Pass<"fa-expand-dropout"> {
  let summary = "Write random factors of weights in integer arithmetic";
  let description = [{
    Replaces each `fa.dropout` by the ten rounds of Philox 4x32 and the
    comparison with `p` that its description gives, for each pair alone.
    `keep-pairs` leaves those of attention at the indices of the pair, which
    fa-decompose-to-blocks turns into `fagpu.dropout`.

    To run before what expands regions, like fa-guard-divisors. Pipelines do.

    Before:
    ```mlir
    %f = fa.dropout %p, %seed, %offset at(%b, %h, %i, %j)
    ```
    After:
    ```mlir
    %low, %high = arith.mului_extended %counter0, %c-766435501 : i32
    ...
    %keep = arith.cmpi uge, %u, %threshold : i32
    %f = arith.select %keep, %factor, %zero : f32
    ```
  }];
  let options = [
    Option<"keepPairs", "keep-pairs", "bool", "false",
           "Leave what blocks of pairs draw together">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // FA_DIALECT_FA_TRANSFORMS_FUNCTIONPASSES_TD
