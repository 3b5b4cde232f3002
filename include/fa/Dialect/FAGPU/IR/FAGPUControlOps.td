//===- FAGPUControlOps.td - Roles and loops -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What runs, how often and when. Roles first, of which a kernel consists, then
// loops (fagpu.for has segments), then tokens that groups take in turns. The
// last two operations order a launch behind the one ahead.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUCONTROLOPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUCONTROLOPS_TD

def FAGPU_RoleOp : FAGPU_Op<"role", [
    HasParent<"::mlir::func::FuncOp">, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "What some groups of warps do";
  let description = [{
    `groups` groups of `warps` warps each run the body, and have warps beside
    each other; all roles of a kernel run at the same time. The argument is the number of the group. `regs` is
    the register count that each thread of the role asks for. With `elect`, one
    thread runs the body of scalars and channels; all warps copy rows in pages. `barrier`,
    set by fagpu-plan-resources, is the named barrier of the role's first group;
    that of all groups together is behind those of each.

    Example: `fagpu.role @math(%g) groups(2) regs(232) { ... }`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       DefaultValuedAttr<I32Attr, "1">:$groups,
                       DefaultValuedAttr<I32Attr, "4">:$warps,
                       OptionalAttr<I32Attr>:$regs, UnitAttr:$elect,
                       OptionalAttr<I32Attr>:$barrier);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of the group that runs the body.
    Value getGroup() { return getBody().getArgument(0); }
    /// Threads of one group.
    int64_t getThreadsPerGroup() { return 32 * getWarps(); }
    /// Threads that the role takes of its block: registers are given to warps by
    /// fours, and roles start at such a four.
    int64_t getThreadsOfBlock() {
      return (getGroups() * getThreadsPerGroup() + 127) / 128 * 128;
    }
  }];
}

def FAGPU_ForOp : FAGPU_NamedOp<"for", [
    AttrSizedOperandSegments, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Counted loop over consecutive segments";
  let description = [{
    The index runs from `start` by `step` (1 or -1). Each segment has a bound
    (inclusive when the index falls, exclusive when it rises) and a flag that is
    true inside it. A first segment `once` is exactly one iteration; a loop that
    is to be pipelined has one, so that its prologue always runs.

    The machine code holds a copy of the body for each segment, with constant
    flags. A `rolled` loop computes the flags instead and has one copy, for long
    bodies; its operations are all of stage 0.

    Example:
    ```mlir
    %sum = fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0)
        iter(%x = %init) -> (f32) {
      ...
      fagpu.yield %y : f32
    }
    ```
  }];
  let arguments = (ins I32:$start, Variadic<I32>:$bounds,
                       Variadic<AnyType>:$inits, I32Attr:$step, BoolAttr:$once,
                       UnitAttr:$rolled);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// 1 or -1.
    int64_t getDirection() { return static_cast<int32_t>(getStep()); }
    unsigned getNumSegments() { return getBounds().size() + getOnce(); }
    BlockArgument getIndex() { return getBody().getArgument(0); }
    Block::BlockArgListType getFlags() {
      return getBody().getArguments().slice(1, getNumSegments());
    }
    Block::BlockArgListType getIterArguments() {
      return getBody().getArguments().drop_front(1 + getNumSegments());
    }
  }];
}

def FAGPU_RepeatOp : FAGPU_Op<"repeat", [
    SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Loop whose body runs at least once";
  let description = [{
    The body runs again while the first yielded value, an i1, is true, with the
    rest of the yielded values.

    Example: `fagpu.repeat iter(%row = %first) : i32 { ...
      fagpu.yield %again, %next : i1, i32 }`
  }];
  let arguments = (ins Variadic<AnyType>:$inits);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def FAGPU_YieldOp : FAGPU_Op<"yield", [
    Terminator, Pure, ReturnLike, ParentOneOf<["ForOp", "RepeatOp"]>]> {
  let summary = "Ends the body of a loop";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def FAGPU_TurnsOp : FAGPU_NamedOp<"turns"> {
  let summary = "Makes a token that the groups of a role take in turns";
  let description = [{
    Group 0 has the first turn. Example: `%turns = fagpu.turns 2 : !fagpu.turns`
  }];
  let arguments = (ins I32Attr:$groups, OptionalAttr<I32Attr>:$barrier);
  let results = (outs FAGPU_TurnsType:$result);
  let assemblyFormat =
      "$groups (`barrier` `(` $barrier^ `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def FAGPU_TakeOp : FAGPU_Op<"take"> {
  let summary = "Waits for this group's turn";
  let arguments = (ins FAGPU_TurnsType:$turns);
  let assemblyFormat = "$turns attr-dict `:` type($turns)";
}

def FAGPU_PassOp : FAGPU_Op<"pass"> {
  let summary = "Hands the turn to the next group";
  let arguments = (ins FAGPU_TurnsType:$turns);
  let assemblyFormat = "$turns attr-dict `:` type($turns)";
}

def FAGPU_AwaitPreviousOp : FAGPU_Op<"await_previous"> {
  let summary = "Waits until the launch ahead has ended";
  let description = [{
    All that earlier launches wrote can be read behind it. Stands in a kernel,
    outside of roles and ahead of all that accesses memory, once; channels and
    scalars may be made before. A kernel whose launch is not `dependent` has
    nothing to wait for.

    Example: `fagpu.await_previous`
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def FAGPU_ReleaseDependentsOp : FAGPU_Op<"release_dependents"> {
  let summary = "Lets blocks of a dependent launch start";
  let description = [{
    A dependent launch behind this one may start its blocks when all blocks of
    this one have passed here or ended. It sees what they write when they have
    ended (`fagpu.await_previous`), so that nothing depends on the place but who
    has the multiprocessors when. At most once in a kernel.

    Example: `fagpu.release_dependents`
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUCONTROLOPS_TD
