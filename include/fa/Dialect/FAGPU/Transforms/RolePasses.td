//===- RolePasses.td - Roles and slots --------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Copies of roles: when, for whom, and in which stage of a loop.

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_ROLEPASSES_TD
#define FA_DIALECT_FAGPU_TRANSFORMS_ROLEPASSES_TD

include "mlir/Pass/PassBase.td"

def FAGPUMulticastPass : Pass<"fagpu-multicast", "::mlir::func::FuncOp"> {
  let summary = "Let the blocks of a cluster share the copies that are the same";
  let description = [{
    In kernels with `fagpu.cluster`, a channel becomes `multicast` where all
    blocks of a cluster put the same boxes into it equally often: where neither
    offsets and bounds nor the loops and conditions around the put depend on the
    number of the block, but for its quotient by the size of the cluster, and
    where the rows of a box can be shared out among the blocks. L2 is then read
    once for all of them. Where nothing can be shared a remark of the category
    `fagpu-multicast` says why, of copies that are the same in all blocks first.

    Before:
    ```mlir
    func.func @kernel(...) attributes {fagpu.cluster = 2 : i64, ...} {
      %block = gpu.block_id x
      %cluster = arith.divui %block, %c2 : index
      %head = ... %cluster
      %row = ... %block
      %queries = fagpu.channel tma : !q
      %keys = fagpu.channel tma : !k
      fagpu.role @load elect {
        fagpu.put %queries, %query[%row, %head, %c0] [64, 1, 64] : !mem into !q
        fagpu.for %i = %c0 step 1 segments(%all: to %end) {
          fagpu.put %keys, %key[%i, %head, %c0] [128, 1, 64] : !mem into !k
    ```
    After:
    ```mlir
      %queries = fagpu.channel tma : !q
      %keys = fagpu.channel tma multicast : !k
    ```
  }];
  let dependentDialects = ["::mlir::fagpu::FAGPUDialect"];
}

def FAGPUDeferPutsPass : Pass<"fagpu-defer-puts", "::mlir::func::FuncOp"> {
  let summary = "Let copies that wait for the tile before come second";
  let description = [{
    A persistent role of one thread copies in order. A copy to a channel of one
    stage waits until the tile before has been read, and whatever stands behind
    it waits too, though its stages may be free. Such a copy, where it comes before
    the tile's loop, goes into the loop's first iteration, behind the first
    copy that has a stage to spare; behind all of them where another copy of the
    tile has one, since the next tile begins with that. A loop whose first iteration is no segment of
    its own (`once`) may have none, and stays as it is.

    Before:
    ```mlir
    fagpu.repeat iter(...) {
      fagpu.put %queries, %query[%b, %row, %h, %c0] ...
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) ... {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
    ```
    After:
    ```mlir
    fagpu.repeat iter(...) {
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) ... {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
        fagpu.put %queries, %query[%b, %row, %h, %c0] ... if(%first) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGPUAssignSlotsPass
    : Pass<"fagpu-assign-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order in the loops of a role that copies for itself";
  let description = [{
    In a loop in which one role fills channels and multiplies, three rules: what
    the first product reads is copied for the next iteration as soon as the
    product has read it; what later products read is copied while the first one
    runs; the wait for that copy stands before the statistics, where its barrier
    also says that every thread has read the first operand. A copy whose place
    depends on the segment is not made ahead. Where later products read what the
    first one does, as in gradients, and every channel has two stages, all is
    copied a step ahead, behind one wait. Loops that have slots already stay as
    they are.

    Before:
    ```mlir
    fagpu.put %keys, ...
    %k = fagpu.acquire %keys : !k
    %s = fagpu.mma nt %q, %k : ...
    fagpu.release %k : !kv
    ...
    fagpu.put %values, ...
    %v = fagpu.acquire %values : !k
    %o = fagpu.mma nn %p, %v acc(%scaled : !o) : ...
    ```
    After:
    ```mlir
    fagpu.put %keys, ... {fagpu.at = [-1, 4]}
    %k = fagpu.acquire %keys {fagpu.at = [0, 0]} : !k
    fagpu.put %values, ... {fagpu.at = [0, 1]}
    %s = fagpu.mma nt %q, %k {fagpu.at = [0, 2]} : ...
    fagpu.release %k : !kv
    %v = fagpu.acquire %values {fagpu.at = [0, 3]} : !k
    ... {fagpu.at = [0, 5]}
    %o = fagpu.mma nn %p, %v acc(%scaled : !o) : ...
    ```
  }];
}

#endif // FA_DIALECT_FAGPU_TRANSFORMS_ROLEPASSES_TD
