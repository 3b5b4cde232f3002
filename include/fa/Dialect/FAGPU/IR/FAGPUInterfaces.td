//===- FAGPUInterfaces.td - Register layouts -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUINTERFACES_TD
#define FA_DIALECT_FAGPU_IR_FAGPUINTERFACES_TD

include "mlir/IR/OpBase.td"

def FAGPU_LayoutInterface : AttrInterface<"LayoutInterface"> {
  let cppNamespace = "::mlir::fagpu";
  let description = [{
    How the elements of a block value are spread over the registers of a group
    of warps. An element's coordinate is the sum of a part that depends on the
    thread alone and a part that is known at compile time:

        coordinate(thread, i) = threadMap(thread) + elementOffset(i)

    so an index costs one addition of an immediate per element. Threads are
    numbered from 0 within the group. Where several threads have the same
    coordinate, all of them hold the same value.
  }];
  let methods = [
    InterfaceMethod<"Warps of the group that holds the value.",
      "unsigned", "getWarps">,
    InterfaceMethod<"Elements that one thread holds of a value of this shape.",
      "int64_t", "perThread", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<[{
        `(thread) -> (coordinate)` of the element 0 of a thread.
      }], "::mlir::AffineMap", "getThreadMap">,
    InterfaceMethod<[{
        Coordinate of element `element` of a thread, relative to element 0.
      }], "::llvm::SmallVector<int64_t>", "getElementOffset",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "int64_t":$element)>
  ];
  let extraSharedClassDeclaration = [{
    /// The coordinate of one element of one thread.
    ::llvm::SmallVector<int64_t> coordinate(::llvm::ArrayRef<int64_t> shape,
                                            int64_t thread, int64_t element) {
      return ::mlir::fagpu::coordinateOf($_attr, shape, thread, element);
    }
  }];
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUINTERFACES_TD
