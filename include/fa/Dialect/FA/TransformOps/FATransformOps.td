//===- FATransformOps.td - Strategies for attention -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMOPS_FATRANSFORMOPS_TD
#define FA_DIALECT_FA_TRANSFORMOPS_FATRANSFORMOPS_TD

include "fa/Dialect/FA/IR/FAAttributes.td"
include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// As upstream's trait, but fails, silenceably, where the target has no operation:
// the match before it found nothing.
def ApplyToEachFound : NativeOpTrait<"ApplyToEachFound"> {
  let cppNamespace = "::mlir::fa";
}

// Applies to each payload operation on its own. A failure was reported by the
// function that the pass of the same name calls too, and ends the script.
class FA_TransformOp<string mnemonic, string payload, list<Trait> traits>
    : Op<Transform_Dialect, "fa." # mnemonic, !listconcat([
        TransformOpInterface, ApplyToEachFound,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        ReportTrackingListenerFailuresOpTrait], traits)> {
  let extraClassDeclaration = [{
    ::mlir::DiagnosedSilenceableFailure applyToOne(
        ::mlir::transform::TransformRewriter &rewriter, }] # payload # [{ target,
        ::mlir::transform::ApplyToEachResultList &results,
        ::mlir::transform::TransformState &state);
  }];
}

// Replaces the payload: consumes its handle and produces others.
class FA_ReplacingTransformOp<string mnemonic, string payload>
    : Op<Transform_Dialect, "fa." # mnemonic, [
        FunctionalStyleTransformOpTrait, TransformOpInterface,
        ApplyToEachFound, MemoryEffectsOpInterface,
        ReportTrackingListenerFailuresOpTrait]> {
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::DiagnosedSilenceableFailure applyToOne(
        ::mlir::transform::TransformRewriter &rewriter, }] # payload # [{ target,
        ::mlir::transform::ApplyToEachResultList &results,
        ::mlir::transform::TransformState &state);
  }];
}

def FAResultsToOutParametersOp
    : FA_ReplacingTransformOp<"results_to_out_parameters", "::mlir::func::FuncOp"> {
  let summary = "Turn the tensors of a function into memrefs";
  let description = [{
    Does to each `func.func` what `fa-results-to-out-parameters` does, and
    returns the functions. Handles to what is inside them end here.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$converted);
}

def FAConfigureOp : FA_TransformOp<"configure", "::mlir::fa::AttentionOp", []> {
  let summary = "Set the configuration of attention";
  let description = [{
    Sets the `config` of each `fa.attention`, in place of one that it may have.
    Fails where the target's part of the config cannot serve the operation. With
    a target, what the config leaves open is filled in, and one that does not
    fit it is refused, as `fa-select-config` does.

    Example:

    ```mlir
    transform.fa.configure %attention
        with(#fa.config<query_block = 32, key_block = 256, target = #fa.cpu<lanes = 16>>) : !transform.any_op
    transform.fa.configure %attention
        with(#fa.config<query_block = 64, key_block = 64>) on("sm_80") : !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       FA_ConfigAttr:$config, OptionalAttr<StrAttr>:$chip);
  let assemblyFormat = [{
    $target `with` `(` qualified($config) `)` (`on` `(` $chip^ `)`)? attr-dict
    `:` type($target)
  }];
}

def FASplitKeysOp : FA_ReplacingTransformOp<"split_keys", "::mlir::fa::AttentionOp"> {
  let summary = "Split the keys of attention into parts";
  let description = [{
    Does to each `fa.attention` what `fa-split-kv` does, by the `key_splits` of
    its config, which must be at least 2. Returns the attention over one part
    and the loop over the parts.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$part,
                      TransformHandleTypeInterface:$loop);
}

def FATileOp : FA_ReplacingTransformOp<"tile", "::mlir::fa::AttentionOp"> {
  let summary = "Tile attention into query blocks of one head";
  let description = [{
    Does to each `fa.attention` what `fa-tile` does. Returns the attention on one
    query block and the loop over the blocks. Other tilings are upstream's:
    `transform.structured.tile_using_forall` takes `fa.attention` (loops: batch,
    query heads, queries) and `fa.online_attention` (queries, keys).
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$tiled,
                      TransformHandleTypeInterface:$loop);
}

def FAConvertToOnlineOp
    : FA_ReplacingTransformOp<"convert_to_online", "::mlir::fa::AttentionOp"> {
  let summary = "Turn attention on one query block into online softmax";
  let description = [{
    Does to each `fa.attention` what `fa-convert-to-online` does. Returns the
    `fa.online_attention` and the `fa.finalize`.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$online,
                      TransformHandleTypeInterface:$finalize);
}

def FASpecializeMaskOp
    : FA_ReplacingTransformOp<"specialize_mask", "::mlir::fa::OnlineAttentionOp"> {
  let summary = "Visit only the key blocks that the mask leaves";
  let description = [{
    Does to each `fa.online_attention` what `fa-specialize-mask` does. Returns
    the `fa.key_ranges` and the step inside it.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$ranges,
                      TransformHandleTypeInterface:$step);
}

def FADecomposeOp : FA_TransformOp<"decompose", "::mlir::Operation *", []> {
  let summary = "Write steps, results and merges as operations on blocks";
  let description = [{
    Does to each `fa.online_attention`, `fa.finalize` and `fa.combine` what
    `fa-decompose-step` does.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

#endif // FA_DIALECT_FA_TRANSFORMOPS_FATRANSFORMOPS_TD
