//===- FA.h - Operations and attributes of the fa dialect ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FA_H
#define FA_DIALECT_FA_IR_FA_H

#include "fa/Dialect/FA/IR/FADialect.h"
#include "fa/Dialect/FA/IR/GPUPart.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace mlir::fa {

/// The dimensions of a query, key, value or output.
enum class DimKind : int64_t {
  Batch = 0,
  Sequence = 1,
  Heads = 2,
  HeadDim = 3,
  /// Pages of a pool, in place of batches.
  Page = 4
};

/// The largest head dim that `fa.attention` takes.
constexpr int64_t maxHeadDim = 512;

/// The largest size of an lse of which f32 has digits for weights. Rows beyond,
/// as those with nothing but an additive mask, have weights of 0 in gradients.
constexpr float largestKnownLse = 0x1p25f;

/// A region that is evaluated for pairs of a query and a key. Its arguments are
/// `numElements` elements (a score, or one of each operand), then batch, head,
/// query, key, then the captures. A sink is evaluated for queries: it has no
/// key.
struct PairRegion {
  Region *region;
  unsigned numElements;
  OperandRange captures;
  unsigned numIndices = 4;

  unsigned getNumFixed() const { return numElements + numIndices; }
};

} // namespace mlir::fa

#include "fa/Dialect/FA/IR/FAAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FA/IR/FAAttributes.h.inc"

#include "fa/Dialect/FA/IR/FAOpInterfaces.h.inc"

namespace mlir::fa {

/// `%output [, %lse] : type [, type]`, the destinations of a result.
ParseResult
parseOutputAndLse(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &output,
                  std::optional<OpAsmParser::UnresolvedOperand> &lse,
                  Type &outputType, Type &lseType);
void printOutputAndLse(OpAsmPrinter &printer, Operation *op, Value output,
                       Value lse, Type outputType, Type lseType);

} // namespace mlir::fa

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.h.inc"

#endif // FA_DIALECT_FA_IR_FA_H
