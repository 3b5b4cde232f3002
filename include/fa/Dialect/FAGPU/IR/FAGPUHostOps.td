//===- FAGPUHostOps.td - Launches and what they need -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUHOSTOPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUHOSTOPS_TD

include "mlir/IR/SymbolInterfaces.td"

def FAGPU_LaunchOp : FAGPU_Op<"launch", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel, on the host side";
  let description = [{
    Stands in a function that is not a kernel: the host function, an ordinary
    `func.func` that computes grid, block counts and scalars from the dims of
    its memrefs and its scalar arguments. The grid has one to three sizes; where
    one is 0, nothing runs, nor with `if` where the condition is false, so that a
    host function may hold several kernels and choose by the sizes of a call.
    Arguments have the types of the kernel's.

    A launch that is `dependent` may start blocks before the launch ahead of it
    has ended: on multiprocessors that have nothing else to do, once all blocks
    of that launch have ended or passed `fagpu.release_dependents`. Its kernel
    waits for the rest by `fagpu.await_previous`, before it accesses memory.
    `sm_90` and later (PTX ISA, griddepcontrol; CUDA's programmatic dependent
    launch).

    Where the host function has the attribute `fa.implements = @reference`, the
    function `@reference`, which takes the same arguments, says what it computes.

    Example:
    ```mlir
    func.func @host(%q: !mem, ...) attributes {fa.implements = @reference} {
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %queries = memref.dim %q, %c1 : !mem
      %blocks = arith.ceildivsi %queries, %c128 : index
      %counter = fagpu.counter : memref<2xi32>
      fagpu.launch @fwd grid(%blocks) (%q, %counter) : !mem, memref<2xi32>
      return
    }
    ```
    and of two kernels:
    ```mlir
    fagpu.launch @fwd_long grid(%blocks) if(%isLong) (%q) : !mem
    fagpu.launch @fwd grid(%blocks) if(%isShort) (%q) : !mem
    ```
    and of a kernel that reads what another one writes:
    ```mlir
    fagpu.launch @prepare grid(%blocks) (%o, %delta) : !mem, !vec
    fagpu.launch @gradients grid(%blocks) dependent (%q, %delta) : !mem, !vec
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Index>:$grid,
                       Optional<I1>:$condition, Variadic<AnyType>:$arguments,
                       UnitAttr:$dependent);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` (`if` `(` $condition^ `)`)?
    (`dependent` $dependent^)? ` ` `(` $arguments `)`
    attr-dict (`:` type($arguments)^)?
  }];
  let hasVerifier = 1;
}

def FAGPU_CounterOp : FAGPU_NamedOp<"counter"> {
  let summary = "Words that are zero when a launch starts";
  let description = [{
    A launch that takes them sets them back to zero before it ends
    (`fagpu.retire`), so that no launch has to clear them. Launches that may run
    at the same time get different words.

    Example: `%counter = fagpu.counter : memref<2xi32>`
  }];
  let results = (outs Res<MemRefRankOf<[I32], [1]>, "", [MemAlloc]>:$counter);
  let assemblyFormat = "attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

def FAGPU_WorkspaceOp : FAGPU_NamedOp<"workspace"> {
  let summary = "Device memory for the launches of a call";
  let description = [{
    Memory that one launch writes and a later one of the same host function
    reads. It holds anything at first, and nothing behind the last launch. Calls
    that may run at the same time get different memory. Its sizes fold to operands.

    Example: `%table = fagpu.workspace(%words) : memref<?xi32>`
  }];
  let arguments = (ins Variadic<Index>:$sizes);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$memory);
  let assemblyFormat = "`(` $sizes `)` attr-dict `:` type($memory)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def FAGPU_MultiprocessorsOp : FAGPU_NamedOp<"multiprocessors", [Pure]> {
  let summary = "Number of multiprocessors of the device";
  let description = [{
    What the grid of a persistent kernel is bounded by.

    Example: `%count = fagpu.multiprocessors : index`
  }];
  let results = (outs Index:$count);
  let assemblyFormat = "attr-dict `:` type($count)";
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUHOSTOPS_TD
