//===- FAGPUChannelOps.td - Channels and mail -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Channels of matrices and mail of scalars, through which roles hand values on.
// Read a stage's life: fagpu.channel makes it, fagpu.put or fagpu.write fills
// it, fagpu.acquire waits for it, fagpu.release gives it back. Behind these are
// views of parts, bulk stores out of a stage, and the same life of mail.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUCHANNELOPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUCHANNELOPS_TD

// `stage(%stage, %phase)` on the operations below is set by
// fagpu-assign-stages; a schedule that a person writes has none.

def FAGPU_ChannelOp : FAGPU_NamedOp<"channel", [
    ParentOneOf<["::mlir::func::FuncOp"]>]> {
  let summary = "Makes a channel";
  let description = [{
    `engine` says what fills the stages. `banks` copies of the channel are
    independent of one another. The storage may be shared with another channel
    (`over`), whose last release then comes before the first use of this one.
    Stores of one group may leave through both, in any order: each waits until
    those before it have been read.
    A `multicast` channel, of the engine `tma` in a kernel with `fagpu.cluster`,
    is filled for all blocks of a cluster at once: each block copies its share of
    the rows of a box to all of them, and a stage is empty when the groups of all
    blocks have released it. So these blocks put the same boxes in the same order.
    Its memory is shared with no other channel (`over`).
    Set by fagpu-plan-resources: `offset`, bytes from the start of shared memory;
    `barriers`, that of the first full barrier (one a stage, the empty ones
    follow); `arrivals`, how many arrivals complete a full and an empty one.

    Example: `%k = fagpu.channel tma banks(2) : !kv`, and
    `%k = fagpu.channel tma multicast : !kv`
  }];
  let arguments = (ins FAGPU_Engine:$engine, UnitAttr:$multicast,
                       DefaultValuedAttr<I32Attr, "1">:$banks,
                       Optional<FAGPU_ChannelType>:$over,
                       OptionalAttr<I32Attr>:$offset,
                       OptionalAttr<I32Attr>:$barriers,
                       OptionalAttr<DenseI32ArrayAttr>:$arrivals);
  let results = (outs FAGPU_ChannelType:$result);
  let assemblyFormat = [{
    $engine (`multicast` $multicast^)? (`banks` `(` $banks^ `)`)? (`over` `(` $over^ `:` type($over) `)`)?
    (`offset` `(` $offset^ `)`)? (`barriers` `(` $barriers^ `)`)?
    (`arrivals` $arrivals^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Stages of all banks together.
    int64_t getNumStages() { return int64_t(getBanks()) * getType().getDepth(); }
  }];
}

def FAGPU_MailOp : FAGPU_NamedOp<"mail", [
    ParentOneOf<["::mlir::func::FuncOp"]>]> {
  let summary = "Makes a channel of scalars";
  let arguments = (ins OptionalAttr<I32Attr>:$offset,
                       OptionalAttr<I32Attr>:$barriers,
                       OptionalAttr<DenseI32ArrayAttr>:$arrivals);
  let results = (outs FAGPU_MailType:$result);
  let assemblyFormat = [{
    (`offset` `(` $offset^ `)`)? (`barriers` `(` $barriers^ `)`)?
    (`arrivals` $arrivals^)? attr-dict `:` type($result)
  }];
}

def FAGPU_PutOp : FAGPU_Op<"put", [AttrSizedOperandSegments]> {
  let summary = "Copies a box of global memory into the next stage";
  let description = [{
    Waits until the next stage is empty, starts the copy of the box of `sizes`
    at `offsets`, and lets the stage be full when all of its elements are there.
    Leading sizes collapse into the rows of the tile; a box that is smaller than
    the tile goes to `part`. Without `bank` all groups of a role fill a stage
    together, each by parts of its own. `rows` bounds the first dimension whose size is above
    1, apart from the last one if the tile is a matrix (`getRowDim`): indices
    from `rows` on read as zero and touch no memory; without `rows` the
    dimension's size is the limit. `columns` bounds the last dimension of a matrix
    alike, so a tile may have more columns than the memory. With `if`, a false
    condition puts nothing. `align` is how many bytes the memory's address and
    the distances of its rows are multiples of, 16 unless said otherwise: `tma`
    needs 16, `cp_async` 4, `loads` one element. `l2_promotion` is how many bytes
    the L2 cache fetches at least where `tma` misses it: 64, 128 or 256, or 0 for
    no more than it needs; 128 unless said otherwise. `cache` asks the L2 cache
    to give up what `tma` fetches before other lines (`evict_first`, for what is
    read once) or after them (`evict_last`). In a `padded` box indices from the size of any dimension on read as zero; only
    `tma` does that, and without `rows` and `columns`. A vector is one piece of
    the last dimension to `tma`: it copies all of it, without bounds, so a call
    is refused whose last dimension is no multiple of the vector.

    With `pages` the rows are those of a sequence in pages: the dimension behind
    `at` counts pages, and its offset is a row of the table; the offset of the rows,
    and `rows`, count keys. Key x is row x mod P of the page that column x / P (or the
    last one) of the table names, P the rows of a page. A page that is none reads as
    rows past the end do. All warps of the role copy: rows (engine `pages`) or boxes
    (`tma`, where 8 divides P, which divides the rows of the tile or they divide P).

    Example: `fagpu.put %k, %key[%b, %j, %h, %c0] [1, 128, 1, 128] rows(%n)
      : !mem into !kv`, and
    `fagpu.put %l, %lse[%b, %h, %i] [1, 1, 80] : memref<?x?x?xf32> into !l`
  }];
  let arguments = (ins FAGPU_ChannelType:$channel, Optional<I32>:$bank,
                       Variadic<I32>:$part, AnyMemRef:$source,
                       Variadic<I32>:$offsets, DenseI64ArrayAttr:$sizes,
                       Optional<I32>:$rows, Optional<I32>:$columns,
                       Optional<I1>:$condition, Optional<I32>:$stage,
                       Optional<I32>:$phase,
                       DefaultValuedAttr<I64Attr, "16">:$alignment,
                       UnitAttr:$padded,
                       DefaultValuedAttr<I64Attr, "128">:$l2Promotion,
                       OptionalAttr<FAGPU_CachePriority>:$cache,
                       Optional<AnyMemRef>:$pages,
                       OptionalAttr<I64Attr>:$pageDim);
  let assemblyFormat = [{
    $channel (`bank` `(` $bank^ `)`)? (`part` `(` $part^ `)`)? `,`
    $source `[` $offsets `]` $sizes
    (`pages` `(` $pages^ `:` type($pages) `at` $pageDim `)`)?
    (`rows` `(` $rows^ `)`)?
    (`columns` `(` $columns^ `)`)? (`align` `(` $alignment^ `)`)?
    (`l2_promotion` `(` $l2Promotion^ `)`)? (`cache` `(` $cache^ `)`)?
    (`padded` $padded^)? (`if` `(` $condition^ `)`)? (`stage` `(` $stage^ `,` $phase `)`)?
    attr-dict `:` type($source) `into` type($channel)
  }];
  let extraClassDeclaration = [{
    /// The dimension of the memory that `rows` bounds.
    unsigned getRowDim();
  }];
  let hasVerifier = 1;
}

def FAGPU_AcquireOp : FAGPU_NamedOp<"acquire", [
    AttrSizedOperandSegments,
    TypesMatchWith<"the view is a stage of the channel", "channel", "view",
      "::llvm::cast<ChannelType>($_self).getView()">]> {
  let summary = "Waits for the next full stage";
  let description = [{
    The stage is given back by exactly one `fagpu.release` of each group.
    `pending`, set by fagpu-assign-copies on a channel that threads copy to,
    is how many copies started after this one may still be in flight; a
    `fagpu.sync` follows.

    Example: `%k = fagpu.acquire %keys : !kv`
  }];
  let arguments = (ins FAGPU_ChannelType:$channel, Optional<I32>:$bank,
                       Optional<I32>:$stage, Optional<I32>:$phase,
                       OptionalAttr<I32Attr>:$pending);
  let results = (outs FAGPU_ViewType:$view);
  let assemblyFormat = [{
    $channel (`bank` `(` $bank^ `)`)? (`stage` `(` $stage^ `,` $phase `)`)?
    (`pending` `(` $pending^ `)`)? attr-dict `:` type($channel)
  }];
  let hasVerifier = 1;
}

def FAGPU_ReleaseOp : FAGPU_Op<"release"> {
  let summary = "Lets the stage of a view be filled again";
  let arguments = (ins FAGPU_ViewType:$view);
  let assemblyFormat = "$view attr-dict `:` type($view)";
}

def FAGPU_SyncOp : FAGPU_Op<"sync"> {
  let summary = "Lets the warps of a role wait for each other";
  let description = [{
    Those of all its groups. What any of them has read from and written to shared
    memory before is done after it. Placed by fagpu-assign-copies where threads read what others have
    copied, or fill memory that others may still read.
  }];
  let assemblyFormat = "attr-dict";
}

def FAGPU_ScheduleBarrierOp : FAGPU_Op<"schedule_barrier"> {
  let summary = "Keeps what is computed behind it behind it";
  let description = [{
    Waits for nothing. The assembler moves arithmetic ahead as far as its basic
    block goes, to before the issue of a product that was to run beside it. Becomes
    a branch that is never taken.
  }];
  let assemblyFormat = "attr-dict";
}

def FAGPU_SliceOp : FAGPU_NamedOp<"slice", [Pure]> {
  let summary = "A part of a view";
  let description = [{
    Offsets are a row that is a multiple of 8 and a column at the start of a
    panel. Example: `%m = fagpu.slice %k[%row, %c0] : !kv to !half`
  }];
  let arguments = (ins FAGPU_ViewType:$view, Variadic<I32>:$offsets);
  let results = (outs FAGPU_ViewType:$result);
  let assemblyFormat =
      "$view `[` $offsets `]` attr-dict `:` type($view) `to` type($result)";
  let hasVerifier = 1;
}

def FAGPU_WriteOp : FAGPU_Op<"write", [AttrSizedOperandSegments]> {
  let summary = "Writes a block value into the next stage";
  let description = [{
    As `fagpu.put`, from registers, on a channel of the engine `threads`, or of
    `cp_async`, where it counts as a copy that has ended. Without `bank` all
    groups of a role fill a stage together. Where a group writes
    several parts of a stage, they have one size, fill its share of the tile, and
    are written one after the other in one block.
    Set by fagpu-assign-stages: a write that `continues` a stage does not wait
    for it, and behind one that leaves it `unfinished` no warp arrives.

    Example: `fagpu.write %s part(%c0, %g64), %x transposed : !hacc into !ds`
  }];
  let arguments = (ins FAGPU_ChannelType:$channel, Optional<I32>:$bank,
                       Variadic<I32>:$part, FAGPU_BlockValue:$value,
                       UnitAttr:$transposed, UnitAttr:$continues,
                       UnitAttr:$unfinished, Optional<I32>:$stage,
                       Optional<I32>:$phase);
  let assemblyFormat = [{
    $channel (`bank` `(` $bank^ `)`)? (`part` `(` $part^ `)`)? `,` $value
    (`transposed` $transposed^)? (`continues` $continues^)?
    (`unfinished` $unfinished^)? (`stage` `(` $stage^ `,` $phase `)`)?
    attr-dict `:` type($value) `into` type($channel)
  }];
  let hasVerifier = 1;
}

def FAGPU_DrainOp : FAGPU_Op<"drain", [AttrSizedOperandSegments]> {
  let summary = "Bulk store of a stage into global memory";
  let description = [{
    The tile goes to the box of `sizes` at `offsets`, which is that of
    `fagpu.store`. `rows` bounds the same dimension: rows from it on are not
    written. With `add` the elements are added to those in memory.

    Example: `fagpu.drain %g, %dq[%b, %r, %h, %c0] sizes [1, 64, 1, 64] rows(%n)
      add : !gv into !mem`
  }];
  let arguments = (ins FAGPU_ViewType:$view, AnyMemRef:$destination,
                       Variadic<I32>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$sizes,
                       Optional<I32>:$rows, UnitAttr:$add);
  let assemblyFormat = [{
    $view `,` $destination `[` $offsets `]` (`sizes` $sizes^)?
    (`rows` `(` $rows^ `)`)? (`add` $add^)? attr-dict `:` type($view) `into` type($destination)
  }];
  let extraClassDeclaration = [{
    /// The box of the memory that the tile covers.
    SmallVector<int64_t> getBox();
    /// The dimension of the memory that `rows` bounds.
    unsigned getRowDim();
  }];
  let hasVerifier = 1;
}

def FAGPU_SendOp : FAGPU_Op<"send", [
    AttrSizedOperandSegments,
    RangedTypesMatchWith<"the values are those of the mail", "mail", "values",
      "::llvm::cast<MailType>($_self).getTypes()">]> {
  let summary = "Sends scalars to every group that receives from the mail";
  let arguments = (ins FAGPU_MailType:$mail, Variadic<AnyType>:$values,
                       Optional<I32>:$stage, Optional<I32>:$phase);
  let assemblyFormat = [{
    $mail `,` $values (`stage` `(` $stage^ `,` $phase `)`)?
    attr-dict `:` type($mail)
  }];
}

def FAGPU_RecvOp : FAGPU_NamedOp<"recv", [
    AttrSizedOperandSegments,
    RangedTypesMatchWith<"the values are those of the mail", "mail", "values",
      "::llvm::cast<MailType>($_self).getTypes()">]> {
  let summary = "Receives the next scalars of the mail, equal in all threads";
  let arguments = (ins FAGPU_MailType:$mail, Optional<I32>:$stage,
                       Optional<I32>:$phase);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = [{
    $mail (`stage` `(` $stage^ `,` $phase `)`)? attr-dict `:` type($mail)
  }];
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUCHANNELOPS_TD
