//===- FAGPUDialect.td - The fagpu dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUDIALECT_TD
#define FA_DIALECT_FAGPU_IR_FAGPUDIALECT_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"

def FAGPU_Dialect : Dialect {
  let name = "fagpu";
  let cppNamespace = "::mlir::fagpu";
  let summary = "A GPU schedule language with value semantics";
  let description = [{
    A kernel is a correct sequential program over block values: tensors whose
    encoding is a register layout, on which arith, math and scf work as they
    are. Concurrency enters in four places only: roles (regions for groups of
    warps), channels (shared memory with full and empty meaning), matrix
    results in flight, and two numbers `fagpu.at = [stage, order]` on
    operations. Deleting all the numbers leaves a program of the same meaning.

    `fagpu.kernel = "sm_90a"` marks a `func.func` as a kernel for that chip.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The chip of a kernel, on its function: a name that `lookupTarget` knows.
    static constexpr StringLiteral kernelAttrName = "fagpu.kernel";
    /// `[stage, order]` of an operation in a loop that is to be pipelined.
    static constexpr StringLiteral slotAttrName = "fagpu.at";
    /// The most quotients, of one row in one thread, that share a reciprocal. The
    /// product of so many divisors or fewer, and its reciprocal, have to be normal
    /// numbers.
    static constexpr StringLiteral sharersAttrName = "fagpu.sharers";
    /// On quotients that share reciprocals: the rows of a thread are interleaved,
    /// in the order of its registers. If absent, one row follows the other.
    static constexpr StringLiteral interleaveRowsAttrName =
        "fagpu.interleave_rows";
    /// On an operation that stays behind what stands before it: fagpu-pin.
    static constexpr StringLiteral pinnedAttrName = "fagpu.pinned";
    /// How many blocks share a multiprocessor, on a kernel; 1 if absent.
    static constexpr StringLiteral blocksPerSMAttrName = "fagpu.blocks_per_sm";
    /// How many consecutive blocks make a cluster, on a kernel; 1 if absent.
    static constexpr StringLiteral clusterAttrName = "fagpu.cluster";
    /// On a kernel whose results are the same bits in every run: it adds nothing
    /// to memory in an order that the run decides.
    static constexpr StringLiteral deterministicAttrName =
        "fagpu.deterministic";
    /// Bytes of dynamic shared memory of a kernel, set by the resource plan.
    static constexpr StringLiteral sharedMemoryAttrName = "fagpu.shared_memory";
    /// What a launcher passes for each kernel parameter, set by the lowering.
    static constexpr StringLiteral parametersAttrName = "fagpu.parameters";

    void registerAttributes();
    void registerTypes();
  }];
}

class FAGPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<FAGPU_Dialect, mnemonic, traits>;

/// An operation that names its results.
class FAGPU_NamedOp<string mnemonic, list<Trait> traits = []>
    : FAGPU_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>])>;

#endif // FA_DIALECT_FAGPU_IR_FAGPUDIALECT_TD
