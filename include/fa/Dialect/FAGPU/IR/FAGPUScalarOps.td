//===- FAGPUScalarOps.td - Tile counters -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUSCALAROPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUSCALAROPS_TD

class FAGPU_CounterUserOp<string mnemonic, list<Trait> traits = []>
    : FAGPU_Op<mnemonic, traits> {
  let arguments = (ins MemRefRankOf<[I32], [1]>:$counter);
  let assemblyFormat = "$counter attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

def FAGPU_TicketOp : FAGPU_CounterUserOp<"ticket", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Number of the next tile";
  let description = [{
    Adds one to the first word of the counter. The first tiles are the block
    numbers, so the result is the old value plus the size of the grid. In
    `elect` roles only.
  }];
  let results = (outs I32:$tile);
}

def FAGPU_RetireOp : FAGPU_CounterUserOp<"retire"> {
  let summary = "Ends the use of a counter by this block";
  let description = [{
    Counts blocks in the second word; the last one sets both words to zero, so
    that the next launch finds them so. In `elect` roles only.
  }];
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUSCALAROPS_TD
