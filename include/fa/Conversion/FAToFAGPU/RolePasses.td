//===- RolePasses.td - Roles and slots ---------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who does what, and when. First who: groups that have half of the columns each
// (FAGPUDivideColumnsPass), roles that copy and roles that compute
// (FAGPUSplitRolesPass), and blocks that take one tile after the other
// (FAGPUPersistPass). Then when: stage and order in the loops of roles, by one
// pass for each kind of loop (FAGPUAssign...SlotsPass).
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_ROLEPASSES_TD
#define FA_CONVERSION_FATOFAGPU_ROLEPASSES_TD

include "mlir/Pass/PassBase.td"

def FAGPUDivideColumnsPass
    : Pass<"fagpu-divide-columns", "::mlir::func::FuncOp"> {
  let summary = "Let groups of warps divide the columns of block values";
  let description = [{
    With `column_groups = 2` the warps of a role become two groups. Each has all
    rows of a block value and half of its columns, so fewer warps read the same
    fragment of a second operand. A first operand that threads compute is written
    to shared memory, where both groups read it; one barrier serves all of these.
    Each group copies half of the rows of a tile.

    Refused: operations that read across columns, as reductions do, and block
    values whose halves do not start at a panel of shared memory.

    Before:
    ```mlir
    fagpu.role @compute groups(1) {
      fagpu.put %queries, %query[%b, %i, %h, %c0] [1, 64, 1, 128] : ...
      %q = fagpu.acquire %queries : !q
      %s = fagpu.mma nt %k, %q : !k, !q -> tensor<64x64xf32>
      %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
      %o = fagpu.mma nn %p, %q acc(%sum : tensor<64x128xf32>) : ...
    ```
    After:
    ```mlir
    fagpu.role @compute(%g) groups(2) warps(2) {
      %g32 = arith.muli %g, %c32 : i32
      %g64 = arith.muli %g, %c64 : i32
      %i32 = arith.addi %i, %g32 : i32
      fagpu.put %queries part(%g32, %c0), %query[%b, %i32, %h, %c0] [1, 32, 1, 128] : ...
      %q = fagpu.acquire %queries : !q
      %rows = fagpu.slice %q[%g32, %c0] : !q to !rows
      %s = fagpu.mma nt %k, %rows : !k, !rows -> tensor<64x32xf32>
      %p = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
      fagpu.write %weights part(%c0, %g32), %p : tensor<64x32xbf16> into !w
      %all = fagpu.acquire %weights : !w
      %columns = fagpu.slice %q[%c0, %g64] : !q to !columns
      %o = fagpu.mma nn %all, %columns acc(%sum : tensor<64x64xf32>) : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUSplitRolesPass : Pass<"fagpu-split-roles", "::mlir::func::FuncOp"> {
  let summary = "Let one thread copy for the groups that compute";
  let description = [{
    In kernels of `warp_groups` the puts of a role go to a role of one
    thread, with the loops around them and the scalars that they need. A put
    whose place depends on the group becomes one for each group. Registers are
    shared out between the two roles.

    Refused: puts inside of other operations than `fagpu.for`, and to places that
    depend on values that a loop carries or that are no scalars.

    Before:
    ```mlir
    fagpu.role @math(%g) groups(2) {
      %row = arith.muli %g, %c64 : i32
      fagpu.put %queries bank(%g), %query[%b, %row, %h, %c0] ...
      fagpu.for %i = %last step -1 segments(...) ... {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
        %k = fagpu.acquire %keys : !k
        ...
    ```
    After:
    ```mlir
    fagpu.role @load groups(1) regs(56) elect {
      fagpu.put %queries bank(%c0), %query[%b, %c0, %h, %c0] ...
      fagpu.put %queries bank(%c1), %query[%b, %c64, %h, %c0] ...
      fagpu.for %i = %last step -1 segments(...) {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
        fagpu.yield
      }
    }
    fagpu.role @math(%g) groups(2) regs(224) {
      fagpu.for %i = %last step -1 segments(...) ... {
        %k = fagpu.acquire %keys : !k
        ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUShareScalarsPass
    : Pass<"fagpu-share-scalars", "::mlir::func::FuncOp"> {
  let summary = "Compute costly scalars once for all roles";
  let description = [{
    In kernels of `warp_groups`, loads of scalars and divisions by values
    of run time, and what they need, go before the roles: whoever makes the
    kernel persistent can then compute them once for each tile. Scalars that are
    cheap stay where they are, as they cost less than the registers that would
    carry them. What depends on the group stays too.

    Before:
    ```mlir
    fagpu.role @math(%g) groups(2) {
      %length = memref.load %lengths[%b] : memref<?xi32>
      %clamped = arith.minsi %length, %n : i32
    ```
    After:
    ```mlir
    %length = memref.load %lengths[%b] : memref<?xi32>
    fagpu.role @math(%g) groups(2) {
      %clamped = arith.minsi %length, %n : i32
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect"];
}

def FAGPUPersistPass : Pass<"fagpu-persist", "::mlir::ModuleOp"> {
  let summary = "Let each block compute one tile after the other";
  let description = [{
    In kernels of `warp_groups` the first tile of a block is that of its
    number; the others are taken from a counter by the role that copies, with the
    last block of its last loop, and sent to the other roles. With `tile_order =
    in_order`, where tiles are equally long, that is a block earlier, so that
    nothing waits for the number between tiles. What is computed
    from the number of the block is computed by the role that copies alone; what
    the others read of it travels with the tile's number. The host launches no
    more blocks than there are multiprocessors, but at least one cluster. In a
    kernel with `fagpu.cluster` there is no counter: the next tile is so many
    further as there are blocks, so that the blocks of a cluster, which the host
    launches all of, go on to neighbouring tiles. A kernel that does not ask for
    the number of its block, as of a problem of one tile, stays as it is. An
    argument with `fa.tile_list` says in its first word how many tiles there are;
    without one it is as many as the host launches for. One with
    `fagpu.work_list` gives each block tiles of its own, so that there is no
    counter either: word 1 says how far they are apart, words 8 + 2b and 9 + 2b
    which is the first one of block b, and where they end.

    Before:
    ```mlir
    func.func @kernel(...) attributes {fagpu.kernel = "sm_90a", ...} {
      %block = gpu.block_id x
      %row = ... %block
      fagpu.role @load elect { ... }
      fagpu.role @math(%g) groups(2) { ... }
    ```
    After:
    ```mlir
    func.func @kernel(..., %tiles: i32, %counter: memref<2xi32>) ... {
      %mail = fagpu.mail : !fagpu.mail<2, i32, i32>
      fagpu.role @load elect {
        %block = gpu.block_id x
        %row0 = ... %block
        fagpu.send %mail, %block, %row0 : ...
        fagpu.repeat iter(%row = %row0) : i32 {
          ...
          %next = fagpu.for ... {
            %taken = scf.if %end -> (i32) { %t = fagpu.ticket %counter ... } ...
            ...
          %row1 = ... %next
          fagpu.send %mail, %next, %row1 : ...
          %again = arith.cmpi slt, %next, %tiles : i32
          fagpu.yield %again, %row1 : i1, i32
        }
        fagpu.retire %counter : memref<2xi32>
      }
      fagpu.role @math(%g) groups(2) {
        %tile0:2 = fagpu.recv %mail : ...
        fagpu.repeat iter(%row = %tile0#1) : i32 {
          ...
    ```
    After, in a kernel with `fagpu.cluster`, whose tiles are given out ahead:
    ```mlir
      fagpu.role @load elect {
        %block = gpu.block_id x
        %blocks = gpu.grid_dim x
        ...
        fagpu.repeat iter(%row = %row0, %tile = %block) : i32, i32 {
          ...
          %next:2 = fagpu.for ... {
            %ahead:2 = scf.if %end -> (i32, i32) {
              %following = arith.addi %tile, %blocks : i32
              %row1 = ... %following
              ...
          }
          fagpu.send %mail, %next#0, %next#1 : ...
          %again = arith.cmpi slt, %next#0, %tiles : i32
          fagpu.yield %again, %next#1, %next#0 : i1, i32, i32
        }
      }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect", "::mlir::gpu::GPUDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def FAGPUAssignWriteSlotsPass
    : Pass<"fagpu-assign-write-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order where groups make the operands of products";
  let description = [{
    In the loops of kernels of `warp_groups` with an `overlap`, in which
    groups compute what products read and write it to channels: what the first
    products of a step read is loaded before the wait for them and written, for
    the next step, while the second ones run; what the second ones read is loaded
    before the first ones are issued and written while those run. Sums are scaled
    before the issue of what is added to them. Loops that have slots already stay
    as they are.

    Before:
    ```mlir
    %k = fagpu.gather %keys[...] : ...
    fagpu.write %kc, %k0 : ...
    %kv = fagpu.acquire %kc : !k
    %sf = fagpu.mma_async nt %q, %kv : ...
    %s = fagpu.wait %sf : !fagpu.inflight<!s>
    fagpu.release %kv : !kv
    ```
    After:
    ```mlir
    %k = fagpu.gather %keys[...] {fagpu.at = [0, 3]} : ...
    fagpu.write %kc, %k0 {fagpu.at = [0, 6]} : ...
    %kv = fagpu.acquire %kc {fagpu.at = [1, 1]} : !k
    %sf = fagpu.mma_async nt %q, %kv : ...
    %s = fagpu.wait %sf {fagpu.at = [1, 4]} : !fagpu.inflight<!s>
    fagpu.release %kv : !kv
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUAssignExchangeSlotsPass
    : Pass<"fagpu-assign-exchange-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order where groups exchange operands";
  let description = [{
    In the loops of kernels of `warp_groups` with an `overlap` in which groups
    write parts of what a product of all groups reads (fagpu-share-operands, of
    `fagpu.exchange`): gradients that one pass adds up. The first rule that an
    operation fits gives its slot; a level 0 product needs no other one of its
    step, a level 1 product has its first operand in registers, an exchanged one
    has one from the other groups.

    | operation | slot | slot, sums of at most 64 columns |
    |---|---|---|
    | products of level 0, what they acquire | 0, 1 | 0, 1 |
    | take turns; first product of level 1 | 0, 3 | 0, 3 |
    | write what is exchanged | 0, 4 | 0, 5 |
    | exchanged product, what it acquires | 1, 5 | 1, 4 |
    | wait for the first product of level 1, what it releases | 0, 6 | 0, 6 |
    | other products of level 1; pass turns | 0, 7 | 0, 5 |
    | wait for the exchanged product, what it releases, stores and scalars of that alone | 1, 8 | 1, 7 |
    | wait for the other products of level 1, what they release | 0, 9 | 0, 8 |
    | the rest | 0, 2 | 0, 2 |

    With narrow sums a `fagpu.schedule_barrier` stands behind what the first
    operands are made of. So what comes from another group is a step old, and no group waits for it;
    products from registers stand around it, and its store runs beside the last
    one. A vector is acquired ahead of the wait for the product that it is used
    with, and released behind what reads it, as it is to take registers for a moment only. Loops that have slots already stay as they
    are.

    With `overlap = tiles`, where what the exchanged product reads beside has a
    stage for the next tile too, tiles overlap like steps. All orders above 1 are
    3 higher then, and leave room in the tile:

    | operation of the tile | slot |
    |---|---|
    | the loop, the next tile's numbers, releases of what has one stage | 1, 0 |
    | acquire what has two stages | 0, 1 |
    | store the sums of the tile before | 1, 2 |
    | acquire what has one stage; products of level 0 that read it | 0, 3 |
    | release what the exchanged product reads | that of its wait |

    Before:
    ```mlir
    fagpu.write %chS part(%c0, %g64), %ds transposed : ...
    %dvf = fagpu.mma_async nn %p, %dot acc(%dv0 : !g) : ...
    %dv1 = fagpu.wait %dvf : !gf
    %all = fagpu.acquire %chS : !ds
    %dqf = fagpu.mma_async tt %kn, %all : ...
    %dq1 = fagpu.wait %dqf : !sf
    ```
    After:
    ```mlir
    fagpu.write %chS part(%c0, %g64), %ds transposed {fagpu.at = [0, 4]} : ...
    fagpu.take %turns {fagpu.at = [0, 3]} : !fagpu.turns
    %dvf = fagpu.mma_async nn %p, %dot acc(%dv0 : !g) : ...
    %dv1 = fagpu.wait %dvf {fagpu.at = [0, 6]} : !gf
    %all = fagpu.acquire %chS {fagpu.at = [1, 5]} : !ds
    %dqf = fagpu.mma_async tt %kn, %all : ...
    %dq1 = fagpu.wait %dqf {fagpu.at = [1, 8]} : !sf
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUAssignGroupSlotsPass
    : Pass<"fagpu-assign-group-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order in the loops of groups of warps";
  let description = [{
    In kernels of `warp_groups` with an `overlap`. A product that needs
    another one of its iteration is a second product, any other a first one. The
    rules:

    1. First products and what depends on them alone are stage 0, of the newer
       key block; second products are stage 1, of the one before.
    2. A step issues first products, then second ones; each operand is acquired
       just before.
    3. What needs first products alone is computed while second ones run; then
       comes the wait for these.
    4. Behind that wait comes what writes registers that second products read:
       the narrowing of their register operands, and the rescaling of the sums
       (with `rescale = before_product` that stands before the second product).
    5. With `turns` a group has its turn from before the first product to behind
       the second one.
    6. With `overlap = tiles` the same numbers hold for the next tile: its first
       operands are acquired and multiplied with the last second product of this
       one, whose rows are finished behind the issue, and whose result is stored
       behind the wait.
    7. A role that copies fills channels in the order in which they are read;
       what stands behind the copies follows them.
    8. Of two first products, as gradients have, the other one is late: it is
       issued behind the wait for second ones, whose registers are free then. What
       needs it, and what nothing else needs, follows.
    9. Where two second products add to sums of their own, they are issued ahead
       of the first one: registers do not hold its result beside their operands.

    Before:
    ```mlir
    %k = fagpu.acquire %keys : !k
    %si = fagpu.mma_async nt %q, %k : ...
    %s = fagpu.wait %si : ...
    fagpu.release %k : !kv
    %p = math.exp2 %s : ...
    %pa = arith.truncf %p : ...
    %scaled = arith.mulf %o, %alpha : ...
    %v = fagpu.acquire %values : !k
    %oi = fagpu.mma_async nn %pa, %v acc(%scaled : !o) : ...
    %o1 = fagpu.wait %oi : ...
    fagpu.release %v : !kv
    ```
    After:
    ```mlir
    %k = fagpu.acquire %keys {fagpu.at = [0, 1]} : !k
    %si = fagpu.mma_async nt %q, %k {fagpu.at = [0, 3]} : ...
    %s = fagpu.wait %si {fagpu.at = [0, 6]} : ...
    fagpu.release %k {fagpu.at = [0, 6]} : !kv
    %p = math.exp2 %s {fagpu.at = [0, 6]} : ...
    %pa = arith.truncf %p {fagpu.at = [0, 8]} : ...
    %scaled = arith.mulf %o, %alpha {fagpu.at = [0, 8]} : ...
    %v = fagpu.acquire %values {fagpu.at = [1, 4]} : !k
    %oi = fagpu.mma_async nn %pa, %v acc(%scaled : !o) {fagpu.at = [1, 4]} : ...
    %o1 = fagpu.wait %oi {fagpu.at = [1, 7]} : ...
    fagpu.release %v {fagpu.at = [1, 7]} : !kv
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

#endif // FA_CONVERSION_FATOFAGPU_ROLEPASSES_TD
