//===- FADialect.td - The fa dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FADIALECT_TD
#define FA_DIALECT_FA_IR_FADIALECT_TD

include "mlir/IR/OpBase.td"

def FA_Dialect : Dialect {
  let name = "fa";
  let cppNamespace = "::mlir::fa";
  let summary = "Attention as one operation, and its online form";
  let description = [{
    The `fa` dialect states scaled dot product attention as one operation whose
    score function and mask are regions, and gives the forms that the operation
    takes while it is tiled: one step of online softmax over a block of keys,
    the ordered key ranges that a mask leaves, the final division, and the
    merge of two partial results.

    The meaning of every operation is pinned in `docs/Spec.md`.

    `fa.implements = @reference` on a function says that it computes what the
    function `@reference`, which takes the same arguments, computes.

    `fa.align = 16 : i64` on an argument of a function that is memory says that
    its address and the distances of its rows are multiples of so many bytes, a
    power of two. Where a GPU kernel builds on it, other launches are refused.

    `fa.config = #fa.config<...>` on a GPU kernel is the configuration that its
    schedule is made by, and on a `linalg.contract` that of the step that it was
    a product of.

    `fa.default_scale` on an `arith.mulf` says that its factor, a constant, is
    the scale of a step that names none: 1 / sqrt(head dim), here rounded.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The function whose results a function computes, on `func.func`.
    static constexpr StringLiteral implementsAttrName = "fa.implements";
    /// The configuration of a kernel, on `func.func`, and of a step, on its
    /// products.
    static constexpr StringLiteral configAttrName = "fa.config";
    /// On a multiplication of scores by the scale that a step means by none.
    static constexpr StringLiteral defaultScaleAttrName = "fa.default_scale";
    /// On an argument of a kernel: a captured number and not a size.
    static constexpr StringLiteral capturedAttrName = "fa.captured";

    void registerAttributes();
  }];
}

class FA_Op<string mnemonic, list<Trait> traits = []>
    : Op<FA_Dialect, mnemonic, traits>;

def FA_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef],
    "ranked tensor or strided memref">;

#endif // FA_DIALECT_FA_IR_FADIALECT_TD
