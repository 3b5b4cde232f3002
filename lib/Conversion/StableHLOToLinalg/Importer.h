//===- Importer.h - What operations of StableHLO become ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_STABLEHLOTOLINALG_IMPORTER_H
#define FA_LIB_CONVERSION_STABLEHLOTOLINALG_IMPORTER_H

#include "Attributes.h"
#include "Sizes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::fa::stablehlo {

/// Replaces operations in the order of the program, so that operands of the one
/// at hand are imported already. `builder` stands before it.
class Importer {
public:
  explicit Importer(MLIRContext *context);

  LogicalResult importRegion(Region &region);

  ImplicitLocOpBuilder builder;
  Sizes sizes;
  /// The loops that were made, inner ones first.
  SmallVector<scf::WhileOp> loops;

  /// The type of the only result.
  static RankedTensorType getType(Operation *op);
  static unsigned getRank(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getRank();
  }

  /// The sizes in the form that a type wants: attributes where it is static.
  SizeList fit(RankedTensorType type, ArrayRef<OpFoldResult> sizes);
  Value makeEmpty(RankedTensorType type, ArrayRef<OpFoldResult> sizes);
  /// A tensor of one value.
  Value makeFilled(RankedTensorType type, ArrayRef<OpFoldResult> sizes,
                   Value scalar);

  using BodyFn = function_ref<Value(ImplicitLocOpBuilder &, ValueRange)>;
  /// A `linalg.generic` without reductions. Its body sees the inputs alone.
  Value makeParallel(RankedTensorType type, ArrayRef<OpFoldResult> sizes,
                     ValueRange inputs, ArrayRef<AffineMap> maps, BodyFn body);
  /// Every element cast to another type.
  Value castElements(Value tensor, Type element);

  /// Puts `values` in the place of the results, whose sizes are recorded.
  LogicalResult replace(Operation *op, ValueRange values);

private:
  LogicalResult importOperation(Operation *op);
};

/// How operations are imported, by name, and how many operands and results they
/// have: nobody has checked that yet.
using ImportFn = LogicalResult (*)(Operation *, Importer &);
struct ImportEntry {
  ImportFn import;
  /// -1 for any number above 0.
  int numOperands;
  /// -1 for any number.
  int numResults = 1;
  unsigned numRegions = 0;
};
using ImportTable = llvm::StringMap<ImportEntry>;

/// An error unless the operand is a single number.
LogicalResult checkNumber(Operation *op, unsigned operand);
/// An error unless the operand has an integer for each dimension of the result.
LogicalResult checkShape(Operation *op, unsigned operand);

/// The parts of the table, a file each.
void addContractions(ImportTable &table);
void addElementwise(ImportTable &table);
void addLoops(ImportTable &table);
void addReshapes(ImportTable &table);
void addShapes(ImportTable &table);
void addSlices(ImportTable &table);

/// Turns loops that count up into `scf.for`. To be called at the end, as it
/// erases values that sizes were recorded for.
void raiseLoops(ArrayRef<scf::WhileOp> loops);

/// The table. Built once.
const ImportTable &getImportTable();

} // namespace mlir::fa::stablehlo

#endif // FA_LIB_CONVERSION_STABLEHLOTOLINALG_IMPORTER_H
