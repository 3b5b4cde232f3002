//===- FAInterfaces.td - Interfaces of the fa dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAINTERFACES_TD
#define FA_DIALECT_FA_IR_FAINTERFACES_TD

include "mlir/IR/OpBase.td"

def FA_TargetConfigAttrInterface : AttrInterface<"TargetConfigAttrInterface"> {
  let cppNamespace = "::mlir::fa";
  let description = [{
    The part of a `#fa.config` that one target owns. A target adds fields by
    implementing this interface on an attribute of its own dialect.
  }];
  let methods = [
    InterfaceMethod<"Name of the target that reads this part, as in `cpu`.",
      "::llvm::StringRef", "getTargetName">,
    InterfaceMethod<[{
        Checks that a problem with these head dims and operand type, tiled by
        `queryBlock` x `keyBlock`, is one that this part can serve. Limits of
        a chip (registers, shared memory) are checked against
        `fa::Target` where the chip is known.
      }],
      "::llvm::LogicalResult", "verifyConfig",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "int64_t":$queryBlock, "int64_t":$keyBlock, "int64_t":$queryHeadDim,
           "int64_t":$valueHeadDim, "::mlir::Type":$elementType)>,
    InterfaceMethod<[{
        Whether query blocks of a head that a mask leaves the same keys share
        the work on these, so that their key ranges have to be the same values:
        nothing but what the mask says may be in them.
      }],
      "bool", "needsEqualKeyRanges", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return false;">
  ];
}

def FA_PairRegionsOpInterface : OpInterface<"PairRegionsOpInterface"> {
  let cppNamespace = "::mlir::fa";
  let description = [{
    An operation with regions that are evaluated for pairs of a query and a
    key: where its first pair stands in the whole problem, and the regions.
  }];
  let methods = [
    InterfaceMethod<[{
        Absolute (batch, query head, query, key) of this piece's first
        element: four index values, or none for the origin.
      }], "::mlir::OperandRange", "getOffsets">,
    InterfaceMethod<[{
        Number of queries and keys of the whole problem: two index values, or
        none where this is the whole problem.
      }], "::mlir::OperandRange", "getExtents">,
    InterfaceMethod<"The regions that have a body, with their captures.",
      "::llvm::SmallVector<::mlir::fa::PairRegion>", "getPairRegions">
  ];
}

def FA_AttentionLikeOpInterface : OpInterface<"AttentionLikeOpInterface",
                                              [FA_PairRegionsOpInterface]> {
  let cppNamespace = "::mlir::fa";
  let description = [{
    What a whole attention and one step of it share: operands, the place of
    this piece in the whole problem, and the score and mask regions.
  }];
  let methods = [
    InterfaceMethod<"The query operand.", "::mlir::Value", "getQuery">,
    InterfaceMethod<"The key operand.", "::mlir::Value", "getKey">,
    InterfaceMethod<"The value operand.", "::mlir::Value", "getValue">,
    InterfaceMethod<"Dimension order of the query.", "::mlir::fa::DimsAttr",
      "getQueryOrder">,
    InterfaceMethod<"Dimension order of the key.", "::mlir::fa::DimsAttr",
      "getKeyOrder">,
    InterfaceMethod<"Dimension order of the value.", "::mlir::fa::DimsAttr",
      "getValueOrder">,
    InterfaceMethod<"Factor of the scores; null means 1 / sqrt(head dim).",
      "::mlir::Value", "getScale">,
    InterfaceMethod<"The score function; empty means the identity.",
      "::mlir::Region &", "getScore">,
    InterfaceMethod<"The mask; empty means that every pair is visible.",
      "::mlir::Region &", "getMask">,
    InterfaceMethod<"Values that the score function captures.",
      "::mlir::OperandRange", "getScoreCaptures">,
    InterfaceMethod<"Values that the mask captures.",
      "::mlir::OperandRange", "getMaskCaptures">
  ];
}

def FA_GradientLikeOpInterface : OpInterface<"GradientLikeOpInterface",
                                             [FA_AttentionLikeOpInterface]> {
  let cppNamespace = "::mlir::fa";
  let description = [{
    What the gradient of a whole attention and its steps share beside what
    every attention has.
  }];
  let methods = [
    InterfaceMethod<"The gradient of the output.", "::mlir::Value", "getOutputGradient">,
    InterfaceMethod<"Dimension order of the gradient of the output.",
      "::mlir::fa::DimsAttr", "getOutputGradientOrder">,
    InterfaceMethod<"The lse of each query, f32.", "::mlir::Value", "getLse">,
    InterfaceMethod<[{
        From the gradient of a score to that of the scaled product; empty where
        the score function is.
      }], "::mlir::Region &", "getScoreGradient">
  ];
}

def FA_BlockRangesOpInterface : OpInterface<"BlockRangesOpInterface"> {
  let cppNamespace = "::mlir::fa";
  let description = [{
    Visits of the blocks that a mask leaves, of keys or of queries. The body's
    arguments are the first of the block, how many it has, then the carried
    values.
  }];
  let methods = [
    InterfaceMethod<"Where each range begins.", "::mlir::OperandRange", "getBegins">,
    InterfaceMethod<"Where each range ends.", "::mlir::OperandRange", "getEnds">,
    InterfaceMethod<"What the first block is given.", "::mlir::OperandRange", "getInits">,
    InterfaceMethod<"Which ranges the mask leaves whole.", "::llvm::ArrayRef<bool>",
      "getFull">,
    InterfaceMethod<"How many a block has, but for the last.", "uint64_t", "getStep">,
    InterfaceMethod<"The body.", "::mlir::Region &", "getBodyRegion">
  ];
}

#endif // FA_DIALECT_FA_IR_FAINTERFACES_TD
