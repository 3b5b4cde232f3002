//===- FAGPUMatrixOps.td - Matrix operations -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUMATRIXOPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUMATRIXOPS_TD

def FAGPU_MatrixOperand : AnyTypeOf<[FAGPU_ViewType, FAGPU_BlockValue]>;

def FAGPU_Accumulator : AnyTypeOf<[FAGPU_BlockValue, FAGPU_InflightType]>;

def FAGPU_MmaAsyncOp : FAGPU_NamedOp<"mma_async"> {
  let summary = "Issues a product of a group of four warps";
  let description = [{
    The first operand (64 x K) is a view, or a block value of layout `opa`,
    which the type of the result then keeps. The second is a view of N x K (`nt`)
    or K x N (`nn`). In the forms `tt` and `tn` the first operand is a view of
    K x 64, as it lies in memory where its rows are summed over. `acc` is updated
    in place and so has no other use; without it the sum starts at zero. It may be in flight itself: products that add to
    one sum complete in their order, and the last of them keeps what those before
    it read. The result has one use in the same block: a `fagpu.wait`, or the
    `acc` of another product.

    Example: `%of = fagpu.mma_async nn %p, %v acc(%o : !acc)
      : !p, !kvv -> !fagpu.inflight<!acc keeps !p>`, and the transpose of a
    product, `%f = fagpu.mma_async tt %keys, %ds : !keys64, !ds80
      -> !fagpu.inflight<tensor<64x80xf32, #acc>>`
  }];
  let arguments = (ins FAGPU_MatrixForm:$form, FAGPU_MatrixOperand:$a,
                       FAGPU_ViewType:$b, Optional<FAGPU_Accumulator>:$acc);
  let results = (outs FAGPU_InflightType:$result);
  let assemblyFormat = [{
    $form $a `,` $b (`acc` `(` $acc^ `:` type($acc) `)`)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The product in flight that this one adds to; null if there is none.
    MmaAsyncOp getPrevious();
    /// What waits for the last of the products that add to one sum.
    WaitOp getWait();
  }];
  let hasVerifier = 1;
}

def FAGPU_WaitOp : FAGPU_NamedOp<"wait", [
    TypesMatchWith<"the value is the one in flight", "inflight", "value",
      "::llvm::cast<InflightType>($_self).getValue()">]> {
  let summary = "Waits for a product, and gives its value";
  let description = [{
    `pending`, set by fagpu-assign-waits, is how many products issued after this
    one may still be in flight.

    Example: `%s = fagpu.wait %sf : !fagpu.inflight<!acc>`
  }];
  let arguments = (ins FAGPU_InflightType:$inflight,
                       OptionalAttr<I32Attr>:$pending);
  let results = (outs FAGPU_BlockValue:$value);
  let assemblyFormat = [{
    $inflight (`pending` `(` $pending^ `)`)? attr-dict `:` type($inflight)
  }];
}

def FAGPU_ProductOp : FAGPU_NamedOp<"product", [Pure]> {
  let summary = "A matrix product of which nothing is decided yet";
  let description = [{
    As `fagpu.mma` on block values: which instruction computes it, and how its
    operands reach it, is decided later. Operands of f32 are split into terms of
    bf16 (fagpu-split-products).

    Example: `%s = fagpu.product nt %q, %k
      : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>`
  }];
  let arguments = (ins FAGPU_MatrixForm:$form, FAGPU_MatrixOperand:$a,
                       FAGPU_MatrixOperand:$b, Optional<FAGPU_BlockValue>:$acc);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $form $a `,` $b (`acc` `(` $acc^ `:` type($acc) `)`)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_MmaOp : FAGPU_NamedOp<"mma", [Pure]> {
  let summary = "Product by mma.sync, complete at once";
  let description = [{
    Operands and forms as of `fagpu.mma_async`, for any number of warps; views
    are read by ldmatrix.

    Example: `%s = fagpu.mma nt %q, %k : !qv, !kvv -> !acc`
  }];
  let arguments = (ins FAGPU_MatrixForm:$form, FAGPU_MatrixOperand:$a,
                       FAGPU_ViewType:$b, Optional<FAGPU_BlockValue>:$acc);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $form $a `,` $b (`acc` `(` $acc^ `:` type($acc) `)`)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_MmaSumOp : FAGPU_NamedOp<"mma_sum", [Pure, AttrSizedOperandSegments]> {
  let summary = "Sum of products by mma.sync, which share their operands";
  let description = [{
    The sum of the products of `a[left[i]]` and `b[right[i]]`, each as of
    `fagpu.mma`, with operands of one type on either side. The products go
    together along the summed dimension and the columns, so that each fragment
    of an operand is read once for all products that have it.

    The matrix unit truncates what it adds to a larger sum. So the last product
    has a sum of its own, beside that of the others, which may be smaller; both
    and `acc` are added at the end, in f32.

    Example: `%s = fagpu.mma_sum nt [%q0, %q1], [%k0, %k1] pairs [0, 1, 0], [1, 0, 0]
      : (!qv, !qv), (!kvv, !kvv) -> !acc`
  }];
  let arguments = (ins FAGPU_MatrixForm:$form,
                       Variadic<FAGPU_MatrixOperand>:$a,
                       Variadic<FAGPU_ViewType>:$b,
                       Optional<FAGPU_BlockValue>:$acc,
                       DenseI32ArrayAttr:$left, DenseI32ArrayAttr:$right);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $form `[` $a `]` `,` `[` $b `]` `pairs` $left `,` $right
    (`acc` `(` $acc^ `:` type($acc) `)`)? attr-dict
    `:` `(` type($a) `)` `,` `(` type($b) `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUMATRIXOPS_TD
