//===- ScalarOps.h - Operations on elements ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_STABLEHLOTOLINALG_SCALAROPS_H
#define FA_LIB_CONVERSION_STABLEHLOTOLINALG_SCALAROPS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::fa::stablehlo {

/// The operations that work element by element, and how many operands they
/// have.
SmallVector<std::pair<StringRef, int>> getElementwiseOperations();
bool isElementwise(StringRef name);

/// An error for types of elements that the operation does not take together.
LogicalResult checkElementTypes(Operation *op);

/// The element of an elementwise operation's result, from those of its
/// operands. `element` is the type of the result. An error for types and
/// attributes that the operation is not imported for.
FailureOr<Value> computeElement(ImplicitLocOpBuilder &builder, Operation *op,
                                ValueRange operands, Type element);

/// The number as StableHLO's `convert` makes it of another type.
Value convertElement(ImplicitLocOpBuilder &builder, Value value, Type element);

} // namespace mlir::fa::stablehlo

#endif // FA_LIB_CONVERSION_STABLEHLOTOLINALG_SCALAROPS_H
