//===- FAGPUTypes.td - Types of the fagpu dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUTYPES_TD
#define FA_DIALECT_FAGPU_IR_FAGPUTYPES_TD

include "fa/Dialect/FAGPU/IR/FAGPUAttributes.td"
include "mlir/IR/AttrTypeBase.td"

class FAGPU_Type<string name, string typeMnemonic>
    : TypeDef<FAGPU_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def FAGPU_ViewType : FAGPU_Type<"View", "view"> {
  let summary = "A full stage of a channel, read-only";
  let description = [{
    No operation takes a view as a destination. At run time it is the address
    of the stage in shared memory and that of the barrier that frees it.

    Example: `!fagpu.view<64x128xbf16, #fagpu.smem<128>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "Type":$elementType, "SharedLayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of the tile in shared memory.
    int64_t getBytes();
  }];
}

def FAGPU_ChannelType : FAGPU_Type<"Channel", "channel"> {
  let summary = "Stages of one tile in shared memory, with full/empty meaning";
  let description = [{
    Example: `!fagpu.channel<128x128xbf16, #fagpu.smem<128>, 2>`, two stages.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "Type":$elementType, "SharedLayoutAttr":$layout,
                        "unsigned":$depth);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The type of one full stage.
    ViewType getView();
    /// Bytes of one stage.
    int64_t getStageBytes() { return getView().getBytes(); }
  }];
}

def FAGPU_MailType : FAGPU_Type<"Mail", "mail"> {
  let summary = "A channel of scalars";
  let description = [{
    `depth` stages of some 32-bit scalars, for a work item of a persistent
    kernel. Example: `!fagpu.mail<2, i32, f32>`
  }];
  let parameters = (ins "unsigned":$depth, ArrayRefParameter<"Type">:$types);
  let assemblyFormat = "`<` $depth `,` $types `>`";
  let genVerifyDecl = 1;
}

def FAGPU_InflightType : FAGPU_Type<"Inflight", "inflight"> {
  let summary = "A matrix result that has been issued and not awaited";
  let description = [{
    Contains the register operands that are still being read (`keeps`), so that
    they stay alive until the wait by construction.

    Example: `!fagpu.inflight<!acc keeps !p>`
  }];
  let parameters = (ins "RankedTensorType":$value,
                        OptionalArrayRefParameter<"RankedTensorType">:$keeps);
  let assemblyFormat = "`<` $value (`keeps` $keeps^)? `>`";
  let genVerifyDecl = 1;
}

def FAGPU_TurnsType : FAGPU_Type<"Turns", "turns"> {
  let summary = "A token that the groups of a role pass around";
}

// A text may leave layouts out; fagpu-infer-layouts puts them in.
def FAGPU_BlockValue
    : Type<CPred<"::mlir::fagpu::isBlockType($_self)">,
           "tensor of static shape with a register layout or without encoding",
           "::mlir::RankedTensorType">;

#endif // FA_DIALECT_FAGPU_IR_FAGPUTYPES_TD
