//===- FAGPUAttributes.td - Layouts and enumerations -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUATTRIBUTES_TD
#define FA_DIALECT_FAGPU_IR_FAGPUATTRIBUTES_TD

include "fa/Dialect/FAGPU/IR/FAGPUDialect.td"
include "fa/Dialect/FAGPU/IR/FAGPUInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

//===----------------------------------------------------------------------===//
// Register layouts
//===----------------------------------------------------------------------===//

// A thread is (warp w, quad row r = lane / 4, quad column c = lane % 4); W warps
// are stacked over rows.
class FAGPU_Layout<string name, string attrMnemonic>
    : AttrDef<FAGPU_Dialect, name, [
        DeclareAttrInterfaceMethods<FAGPU_LayoutInterface,
          ["perThread", "getThreadMap", "getElementOffset"]>,
        DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = attrMnemonic;
  let parameters = (ins "unsigned":$warps);
  let assemblyFormat = "`<` $warps `>`";
  let genVerifyDecl = 1;
}

def FAGPU_AccumulatorLayout : FAGPU_Layout<"AccumulatorLayout", "acc"> {
  let summary = "Accumulator of a matrix operation";
  let description = [{
    A value of (16 W a) x 8 b: a thread holds rows 16 w + r and that + 8, and
    columns 8 j + 2 c and that + 1. This is the result of WGMMA (W = 4) and of
    mma.sync alike. 16-bit elements are packed in pairs of columns.
  }];
}

def FAGPU_RowLayout : FAGPU_Layout<"RowLayout", "row"> {
  let summary = "One value for each row of an accumulator";
  let description = [{
    A vector of 16 W a: a thread holds those of the rows that it holds in
    `acc`; the four lanes that share a row hold the same value.
  }];
}

def FAGPU_ColumnLayout : FAGPU_Layout<"ColumnLayout", "col"> {
  let summary = "One value for each column of an accumulator";
  let description = [{
    A vector of 8 b: a thread holds those of the columns that it holds in
    `acc`; all threads that share a column hold the same value.
  }];
}

def FAGPU_QuadLayout : FAGPU_Layout<"QuadLayout", "quad"> {
  let summary = "What one thread has reduced alone";
  let description = [{
    A value of (16 W a) x 4: element (row, c) is what the thread with quad column
    c has of that row. A sum that stays per thread until the end of a loop is a
    value of this layout, and no special state.
  }];
}

def FAGPU_WarpLayout : FAGPU_Layout<"WarpLayout", "warp"> {
  let summary = "One value for each warp of an accumulator";
  let description = [{
    A vector of W: element w is of all that warp w holds in `acc`, the rows r with
    r / 16 mod W = w. All of its lanes hold the same value.
  }];
}

def FAGPU_OperandLayout : FAGPU_Layout<"OperandLayout", "opa"> {
  let summary = "First operand of a matrix operation, in registers";
  let description = [{
    A value of (16 W a) x 16 b of 16-bit floats, packed in pairs. Its order is
    that of a packed `acc`, so a conversion between the two costs nothing.
  }];
}

def FAGPU_SharedLayout : AttrDef<FAGPU_Dialect, "SharedLayout"> {
  let mnemonic = "smem";
  let summary = "Tile in shared memory";
  let description = [{
    Panels of `swizzle` bytes per row (32, 64 or 128), one after the other, rows
    packed; the 16-byte chunk of a panel is stored at its index xor the number of
    the 128 bytes that its row is in, modulo the chunks of a panel. So eight rows
    of a chunk are in different banks. 0: one panel, row after row, not swizzled.
  }];
  let parameters = (ins "unsigned":$swizzle);
  let assemblyFormat = "`<` $swizzle `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class FAGPU_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::fagpu";
}

// tma: bulk copies, which a thread starts; cp_async: copies that the threads of
// a group start; loads: the same copies through registers; threads: block
// values; tma_store: block values that leave by a bulk copy; pages: rows of a
// sequence in pages, which the lanes of all warps copy.
def FAGPU_Engine : FAGPU_Enum<"Engine", "what fills a channel", [
  I32EnumAttrCase<"tma", 0>, I32EnumAttrCase<"cp_async", 1>,
  I32EnumAttrCase<"threads", 2>, I32EnumAttrCase<"tma_store", 3>,
  I32EnumAttrCase<"loads", 4>, I32EnumAttrCase<"pages", 5>]>;

// What the L2 cache does with a line that a bulk copy moves: gives it up before
// others, or after them.
def FAGPU_CachePriority : FAGPU_Enum<"CachePriority",
  "when the L2 cache gives up what is copied", [
  I32EnumAttrCase<"evict_first", 0>, I32EnumAttrCase<"evict_last", 1>]>;

def FAGPU_MatrixForm : FAGPU_Enum<"MatrixForm",
  "how the operands are stored: the first as M x K (n) or K x M (t), the second "
  "as K x N (n) or N x K (t)", [
  I32EnumAttrCase<"nt", 0>, I32EnumAttrCase<"nn", 1>,
  I32EnumAttrCase<"tt", 2>, I32EnumAttrCase<"tn", 3>]>;

def FAGPU_ReductionKind : FAGPU_Enum<"ReductionKind", "kind of a reduction", [
  I32EnumAttrCase<"max", 0>, I32EnumAttrCase<"add", 1>]>;

def FAGPU_IndexPart : FAGPU_Enum<"IndexPart",
  "which addend of an index: all of it, the thread's, the element's", [
  I32EnumAttrCase<"all", 0>, I32EnumAttrCase<"thread", 1>,
  I32EnumAttrCase<"element", 2>]>;

#endif // FA_DIALECT_FAGPU_IR_FAGPUATTRIBUTES_TD
