//===- FAAttributes.td - Attributes of the fa dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders of dimensions (`#fa.dims`), then configurations. FA_ConfigAttr says
// how an attention is tiled on any target; its field `target` is the target's
// own part, FA_CPUConfigAttr or FA_GPUConfigAttr. The enumerations of the GPU's
// part stand before it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAATTRIBUTES_TD
#define FA_DIALECT_FA_IR_FAATTRIBUTES_TD

include "fa/Dialect/FA/IR/FADialect.td"
include "fa/Dialect/FA/IR/FAInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class FA_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<FA_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def FA_DimsAttr : FA_Attr<"Dims", "dims"> {
  let summary = "Order of the dimensions of a query, key, value or output";
  let description = [{
    Names the dimensions of an operand in their order: `b` batch, `s` sequence,
    `h` heads, `d` head dim. Packed sequences have no `b`; pages have `p` (the
    pages of a pool) in its place, and `s` counts the rows of a page. A transpose
    before or after an attention is folded into this attribute, so it never costs
    a copy.

    Examples: `#fa.dims<b, h, s, d>` is (batch, heads, sequence, head dim),
    `#fa.dims<s, h, d>` has packed sequences, `#fa.dims<p, s, h, d>` pages. An
    absent attribute means `#fa.dims<b, s, h, d>`.
  }];
  // Entry p is the dimension (see DimKind) that stands at position p.
  let parameters = (ins ArrayRefParameter<"int64_t">:$order);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The order (batch, sequence, heads, head dim).
    static DimsAttr getDefault(::mlir::MLIRContext *context);
    /// Whether an operand with this order has the dimension `kind`.
    bool has(DimKind kind) const;
    /// Position of the dimension `kind` in an operand with this order.
    int64_t positionOf(DimKind kind) const;
    int64_t getRank() const { return getOrder().size(); }
    bool isDefault() const;
  }];
}

class FA_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::fa";
  let genSpecializedAttr = 0;
}

def FA_GradientForm : FA_Enum<"GradientForm", "how gradients are summed", [
  I32EnumAttrCase<"one_pass", 0>, I32EnumAttrCase<"two_pass", 1>,
  I32EnumAttrCase<"three_pass", 2>]>;

def FA_Rotary : FA_Enum<"Rotary", "which elements of a head dim turn together", [
  I32EnumAttrCase<"interleaved", 0>, I32EnumAttrCase<"halves", 1>]>;

def FA_RotaryAttr : EnumAttr<FA_Dialect, FA_Rotary, "rotary"> {
  let assemblyFormat = "$value";
}

def FA_ConfigAttr : FA_Attr<"Config", "config"> {
  let summary = "#fa.config, how an attention is tiled, with the part of a target in it";
  let description = [{
    The choices that tiling reads: rows of a query block, keys of a key block,
    whether results must be bit-equal from run to run, and the fields that only one
    target knows.

    Keys may be split: into `key_splits` parts, or into parts of `split_keys` keys
    each, a multiple of the key block. Parts are computed side by side and merged
    (`fa-split-keys`). A sequence has the same parts of a fixed size in any batch.
    A GPU takes fewer and larger ones than `split_keys` says where it has no
    multiprocessors for more, unless the operation is `batch_invariant` or packed.

    What suits few keys may not suit many: `longer` is another configuration, in
    place of this one where there are `from_keys` keys and more, and
    `from_queries` queries and more (0 unless it says otherwise: any number), of
    packed sequences in their mean.
    Where these numbers are known at run time only, both are compiled
    (`fa-version-lengths`). A `longer` one may have a `longer` one itself, for
    still more keys, and for as many queries or more.

    `gradient_form`, of `fa.attention_gradient` alone, says how often scores are
    computed again:

    | Form | Loops |
    |---|---|
    | `one_pass` | One: blocks of keys also add to the gradient of queries, in memory of f32. Five products. |
    | `two_pass` | Blocks of keys, then blocks of queries. Seven products. |
    | `three_pass` | One for each of query, key and value: least state. Eight products. |

    Examples:

    ```mlir
    #fa.config<query_block = 64, key_block = 128, target = #fa.cpu<lanes = 8>>
    #fa.config<query_block = 16, key_block = 128, key_splits = 4>
    #fa.config<query_block = 16, key_block = 128, split_keys = 2048>
    #fa.config<query_block = 64, key_block = 64, longer =
        #fa.config<query_block = 64, key_block = 256, from_keys = 4096>>
    #fa.config<query_block = 64, key_block = 64, longer =
        #fa.config<query_block = 128, key_block = 128, from_keys = 4096, from_queries = 512>>
    ```
  }];
  let parameters = (ins
    "int64_t":$queryBlock,
    "int64_t":$keyBlock,
    DefaultValuedParameter<"int64_t", "1">:$keySplits,
    DefaultValuedParameter<"int64_t", "0">:$splitKeys,
    DefaultValuedParameter<"bool", "true">:$deterministic,
    OptionalParameter<"::mlir::fa::TargetConfigAttrInterface">:$target,
    OptionalParameter<"std::optional<::mlir::fa::GradientForm>">:$gradientForm,
    DefaultValuedParameter<"int64_t", "0">:$fromKeys,
    DefaultValuedParameter<"int64_t", "0">:$fromQueries,
    OptionalParameter<"::mlir::fa::ConfigAttr">:$longer);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "int64_t":$queryBlock, "int64_t":$keyBlock,
      "int64_t":$keySplits, "bool":$deterministic,
      "::mlir::fa::TargetConfigAttrInterface":$target), [{
    return $_get($_ctxt, queryBlock, keyBlock, keySplits, /*splitKeys=*/0, deterministic, target,
                 /*gradientForm=*/std::nullopt, /*fromKeys=*/0, /*fromQueries=*/0, /*longer=*/ConfigAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Whether keys are split, by number or size of the parts.
    bool splitsKeys() const { return getKeySplits() > 1 || getSplitKeys() > 0; }
    /// This configuration with so many parts of the keys, or with parts of so
    /// many keys where that is not 0.
    ConfigAttr withKeySplits(int64_t keySplits, int64_t splitKeys) const;
    /// This configuration without key splits: what remains to be done once
    /// the keys have been split.
    ConfigAttr withoutKeySplits() const { return withKeySplits(1, 0); }
    /// This configuration with other blocks.
    ConfigAttr withBlocks(int64_t queryBlock, int64_t keyBlock) const;
    /// This configuration for a target, or with another part of it.
    ConfigAttr withTarget(TargetConfigAttrInterface target) const;
    /// This configuration with a form of gradients, or without one.
    ConfigAttr withGradientForm(std::optional<GradientForm> form) const;
    /// This configuration as one for any lengths.
    ConfigAttr forAnyLengths() const;
    /// This configuration from these lengths on, and another one for more.
    ConfigAttr withLengths(int64_t fromKeys, int64_t fromQueries,
                           ConfigAttr longer) const;
    /// What of this configuration and its longer ones may be for such lengths
    /// (ShapedType::kDynamic where unknown).
    ConfigAttr getForLengths(int64_t queries, int64_t keys) const;
  }];
}

def FA_CPUConfigAttr : FA_Attr<"CPUConfig", "cpu", [
    DeclareAttrInterfaceMethods<FA_TargetConfigAttrInterface>]> {
  let summary = "The CPU's part of a configuration";
  let description = [{
    Queries lie along the lanes of a vector. A register tile of a matrix
    product holds `register_vectors` vectors of queries for each of
    `register_rows` keys (scores) or head dims (output).

    Example: `#fa.cpu<lanes = 8, register_rows = 6, register_vectors = 2>`
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "8">:$lanes,
    DefaultValuedParameter<"int64_t", "6">:$register_rows,
    DefaultValuedParameter<"int64_t", "2">:$register_vectors);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def FA_KernelForm : FA_Enum<"KernelForm", "who copies and who multiplies", [
  I32EnumAttrCase<"warps", 0>, I32EnumAttrCase<"warp_groups", 1>]>;

def FA_Overlap : FA_Enum<"Overlap", "what is pipelined", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"keys", 1>,
  I32EnumAttrCase<"tiles", 2>, I32EnumAttrCase<"stores", 3>]>;

def FA_RescalePlace : FA_Enum<"RescalePlace", "when the output is rescaled", [
  I32EnumAttrCase<"after_product", 0>, I32EnumAttrCase<"before_product", 1>]>;

def FA_TileOrder : FA_Enum<"TileOrder", "in which order tiles are taken", [
  I32EnumAttrCase<"in_order", 0>, I32EnumAttrCase<"longest_first", 1>]>;

def FA_Captures : FA_Enum<"Captures", "how captured tensors are read", [
  I32EnumAttrCase<"elements", 0>, I32EnumAttrCase<"tiles", 1>]>;

def FA_GPUPart : AttrParameter<"::mlir::fa::GPUPart", "the fields above",
                               "const ::mlir::fa::GPUPart &">;

def FA_GPUConfigAttr : FA_Attr<"GPUConfig", "gpu", [
    DeclareAttrInterfaceMethods<FA_TargetConfigAttrInterface,
                                ["needsEqualKeyRanges"]>]> {
  let summary = "The GPU's part of a configuration";
  let description = [{
    How the threads of a block share a query block. The form comes first. What
    only one form, an overlap or f32 reads stands in brackets behind it; what is
    left out has its default.

    | Form | Who copies and who multiplies |
    |---|---|
    | `warps<...>` | Every warp copies to shared memory and multiplies by `mma.sync`. |
    | `warp_groups<...>` | One thread copies. Groups of four warps multiply asynchronously. |

    | Field of `warps` | Default | Meaning |
    |---|---|---|
    | `column_groups` | 1 | For gradients in one pass: 2 lets two groups of warps each compute half of the columns of every block value, which reads fewer fragments of operands (`fagpu-divide-columns`). |
    | `tile_order` | `in_order` | `in_order`: head by head. `longest_first`: groups of heads whose keys and values stay in the L2 cache, the query blocks with most keys first. |
    | `blocks_per_sm` | 1 | Blocks that share a multiprocessor (`fagpu.blocks_per_sm`). `split_keys` makes parts of the keys for as many. |

    | Field of `warp_groups` | Default | Meaning |
    |---|---|---|
    | `groups` | 1 | Groups that share the rows of the query block evenly, 1 to 3. |
    | `overlap` | `none` | `keys`: the products of a key block run beside the softmax of the next one. `tiles`: also from one query block to the next. `stores`: of gradients in one pass, results of a key block are stored beside the copies of the next one. |
    | `tile_order` | `in_order` | As of `warps`. |
    | `cluster` | 1 | Query blocks that see the same keys and share the copies of these (`fagpu-multicast`). Their tiles are given out ahead, in order; there is no `block_table`. |
    | `captures` | `elements` | `elements`: each thread reads what it needs of captured tensors. `tiles`: what the score function reads at (query, key) comes like keys, by bulk copies to `stages` of shared memory, one for gradients in one pass (16-bit elements whose rows start at multiples of 16 bytes). |
    | `copying_registers` | 0 | Registers of each thread beside the one that copies; threads that multiply share the rest. 0 is what suits the number of groups. |

    | Field of any `overlap` but `none` | Default | Meaning |
    |---|---|---|
    | `turns` | off | Groups take turns at the matrix units (ping-pong scheduling). |
    | `rescale` | `after_product` | `after_product`: the output is rescaled behind the product that ran beside the new maximum. `before_product`: before the next product is issued, which keeps fewer values alive and waits more. |

    | Field of both forms | Default | Meaning |
    |---|---|---|
    | `stages` | 1 | Stages of shared memory for keys and for values. |
    | `terms<...>` | none | How f32 operands are split into terms of 16 bits. |
    | `tanh<...>` | 4 `sharers` | How elements of a `tanh` that `fagpu-expand-tanh` expands, as of a soft cap up to 80, share reciprocals. For operands of 16 bits, not for gradients. |
    | `block_table` | off | A table at run time says which blocks a mask leaves (`fa-list-blocks`). |

    | Field of `terms` | Default | Meaning |
    |---|---|---|
    | `columns` | 0 | Columns of operands that are in registers and shared memory at once, 0 for all of a head dim (`fagpu-split-columns`). Where groups share a key block that is no multiple of 64 for each, a multiple of 16 for each group. |
    | `keep_queries` | off | With `columns`, all of the queries stay in shared memory. Otherwise they are read and split again for each key block. |
    | `common_stages` | off | Values take the place of keys in shared memory, and keys the place of values (`warps`). |
    | `rolled` | off | The machine code holds one copy of a step, which asks whether it is masked, instead of one for each key range. Steps of f32 are long. |

    | Field of `tanh` | Default | Meaning |
    |---|---|---|
    | `sharers` | 4 | Elements of a row that share a reciprocal at most, 1 to 5. |
    | `interleave_rows` | off | Elements come in the order of their registers, so that rows of a thread alternate, in place of one row after the other. ptxas arranges instructions by that order. |

    Examples:

    ```mlir
    #fa.gpu<warps>
    #fa.gpu<warps, terms<common_stages, rolled>>
    #fa.gpu<warps<column_groups = 2>, stages = 2>
    #fa.config<query_block = 64, key_block = 128, split_keys = 256, target = #fa.gpu<warps<blocks_per_sm = 2>>>
    #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>
    #fa.gpu<warp_groups<groups = 2, overlap = keys<rescale = before_product>>, stages = 2, block_table>
    #fa.gpu<warp_groups<groups = 2>, terms<columns = 32, keep_queries, rolled>>
    #fa.gpu<warp_groups<groups = 2, overlap = tiles>, stages = 2, tanh<sharers = 5, interleave_rows>>
    ```
  }];
  let parameters = (ins FA_GPUPart:$part);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // FA_DIALECT_FA_IR_FAATTRIBUTES_TD
