//===- FASequenceOps.td - Operations on tables of sequences -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FASEQUENCEOPS_TD
#define FA_DIALECT_FA_IR_FASEQUENCEOPS_TD

include "fa/Dialect/FA/IR/FAAttributes.td"
include "fa/Dialect/FA/IR/FADialect.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def FA_SequenceErrorsOp : FA_Op<"sequence_errors", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Says what is wrong with lengths, starts and pages of sequences";
  let description = [{
    Writes a word for each sequence of an `fa.attention` with the same operands: 0,
    or the sum of

    | value | name | what is wrong |
    |---|---|---|
    | 1 | query_starts | they fall, or end past the rows of queries |
    | 2 | query_length | it is negative, or above the room that the starts or dimensions leave |
    | 4 | key_starts | they fall, or end past the rows of keys |
    | 8 | key_length | it is negative, or above the room that starts, dimensions or pages leave |
    | 16 | key_pages | a page of a key is not in the pools |

    Lengths are not looked at where starts are wrong, and pages only below a
    right length. With starts or pages a sequence has an error where its results are
    NaN. The attention does not wait for the words, and a host may read them
    whenever it wants to: one check serves all layers of a step.

    Example:

    ```mlir
    fa.sequence_errors ins(%q, %k, %v : memref<4x1x8x64xf16>, memref<?x16x2x64xf16>, memref<?x16x2x64xf16>)
        outs(%errors : memref<4xi32>) key_lengths(%lengths : memref<4xi32>) key_pages(%table : memref<4x?xi32>)
        {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
    ```
  }];
  let arguments = (ins
    FA_Shaped:$query, FA_Shaped:$key, FA_Shaped:$value,
    Optional<FA_Shaped>:$query_lengths, Optional<FA_Shaped>:$key_lengths,
    Optional<FA_Shaped>:$query_starts, Optional<FA_Shaped>:$key_starts,
    Optional<FA_Shaped>:$key_pages, FA_Shaped:$errors,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims);
  let results = (outs Variadic<AnyRankedTensor>:$words);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    `outs` `(` $errors `:` type($errors) `)`
    (`query_lengths` `(` $query_lengths^ `:` type($query_lengths) `)`)?
    (`key_lengths` `(` $key_lengths^ `:` type($key_lengths) `)`)?
    (`query_starts` `(` $query_starts^ `:` type($query_starts) `)`)?
    (`key_starts` `(` $key_starts^ `:` type($key_starts) `)`)?
    (`key_pages` `(` $key_pages^ `:` type($key_pages) `)`)?
    attr-dict (`->` type($words)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::fa::DimsAttr getQueryOrder() { return orderOrDefault(getQueryDimsAttr()); }
    ::mlir::fa::DimsAttr getKeyOrder() { return orderOrDefault(getKeyDimsAttr()); }
    ::mlir::fa::DimsAttr getValueOrder() { return orderOrDefault(getValueDimsAttr()); }
    ::mlir::fa::DimsAttr orderOrDefault(::mlir::fa::DimsAttr order) {
      return order ? order : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getErrorsMutable());
    }
  }];
}

#endif // FA_DIALECT_FA_IR_FASEQUENCEOPS_TD
