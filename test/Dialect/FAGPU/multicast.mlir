// RUN: fa-opt %s -fagpu-multicast -split-input-file | FileCheck %s
// RUN: fa-opt %s -fagpu-multicast -split-input-file | fa-opt -fagpu-multicast -split-input-file | FileCheck %s
// RUN: fa-opt %s -fagpu-multicast -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fagpu-multicast 2>&1 | grep 'remark:' | FileCheck %s --check-prefix=REMARK --match-full-lines

// REMARK-NOT: {{.}}

// Blocks of a cluster have a head in common, and query blocks of their own.

!q = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!k = !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x64xbf16>
// CHECK-LABEL: func.func @heads
// CHECK: fagpu.channel tma : <64x64xbf16
// CHECK: fagpu.channel tma multicast : <128x64xbf16
// CHECK: fagpu.channel tma : <128x64xbf16
func.func @heads(%query: !m, %key: !m, %value: !m, %heads: i32, %end: i32) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c128 = arith.constant 128 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %cluster = arith.divui %block, %c2 : i32
  %head = arith.remui %cluster, %heads : i32
  %row = arith.muli %block, %c128 : i32
  %queries = fagpu.channel tma : !q
  %keys = fagpu.channel tma : !k
  %values = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %queries, %query[%head, %row, %c0] [1, 64, 64] : !m into !q
    fagpu.for %i = %c0 step 1 segments(%all: to %end) {
      %at = arith.muli %i, %c128 : i32
      fagpu.put %keys, %key[%head, %at, %c0] [1, 128, 64] : !m into !k
      fagpu.yield
    }
    // So many as the block has rows.
    fagpu.for %i = %c0 step 1 segments(%all: to %row) {
      %at = arith.muli %i, %c128 : i32
      fagpu.put %values, %value[%head, %at, %c0] [1, 128, 64] : !m into !k
      fagpu.yield
    }
  }
  return
}

// -----

// What a loop carries or a branch gives may differ too; a quotient by less than
// a cluster does.

!k = !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x64xbf16>
// REMARK: {{.*}}remark: {{.*}}clusters of 4 blocks share no copies: what each block copies depends on the number of the block"
func.func @carried(%key: !m, %end: i32) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %pair = arith.divui %block, %c2 : i32
  %isFirst = arith.cmpi eq, %block, %c0 : i32
  %by_pair = fagpu.channel tma : !k
  %by_loop = fagpu.channel tma : !k
  %by_branch = fagpu.channel tma : !k
  %by_condition = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %by_pair, %key[%pair, %c0, %c0] [1, 128, 64] : !m into !k
    %last = fagpu.for %i = %c0 step 1 segments(%all: to %end) iter(%at = %c0) -> (i32) {
      fagpu.put %by_loop, %key[%at, %c0, %c0] [1, 128, 64] : !m into !k
      %next = arith.addi %at, %block : i32
      fagpu.yield %next : i32
    }
    %chosen = scf.if %isFirst -> (i32) {
      scf.yield %c0 : i32
    } else {
      scf.yield %c1 : i32
    }
    fagpu.put %by_branch, %key[%chosen, %c0, %c0] [1, 128, 64] : !m into !k
    fagpu.put %by_condition, %key[%c0, %c0, %c0] [1, 128, 64] if(%isFirst) : !m into !k
  }
  return
}

// -----

// Rows that cannot be shared out, and a kernel of no clusters.

!k = !fagpu.channel<24x64xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x64xbf16>
// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: the 24 rows of a tile are no multiple of 16, 8 for each block"
func.func @rows(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 24, 64] : !m into !k
  }
  return
}

// CHECK-LABEL: func.func @alone
// CHECK: fagpu.channel tma : <
func.func @alone(%key: !m) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 24, 64] : !m into !k
  }
  return
}

// -----

// What the blocks share is said first, and of what it is copied for only then.

!q = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!k = !fagpu.channel<80x64xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x64xbf16>
// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 4 blocks share no copies: the 80 rows of a tile are no multiple of 32, 8 for each block"
func.func @both(%query: !m, %key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i32
  %queries = fagpu.channel tma : !q
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %queries, %query[%block, %c0, %c0] [1, 64, 64] : !m into !q
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 80, 64] : !m into !k
  }
  return
}

// -----

// Whole tiles are shared out, of rows of one dimension.

!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x64xbf16>
// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: a tile is put in parts"
func.func @parts(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys part(%c0, %c0), %key[%c0, %c0, %c0] [1, 32, 64] : !m into !k
  }
  return
}

// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: the rows of a tile are in pages"
func.func @pages(%pool: memref<?x16x64xbf16>, %table: memref<?x?xi32>) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %pool[%c0, %c0, %c0] [1, 64, 64] pages(%table : memref<?x?xi32> at 0) rows(%c0) : memref<?x16x64xbf16> into !k
  }
  return
}

// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: the rows of a tile are 2 of dimension 0 and others, and not of one dimension"
func.func @dimensions(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0, %c0] [2, 32, 64] : !m into !k
  }
  return
}

// -----

// Warps of all blocks release what all of them fill.

!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x?x64xbf16>
// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: a stage is not released by all warps of a role"
func.func @released(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 64, 64] : !m into !k
  }
  fagpu.role @drop groups(1) elect {
    %view = fagpu.acquire %keys : !k
    fagpu.release %view : !v
  }
  return
}

// -----

// Memory that another channel takes over is a block's own.

!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!o = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x64xbf16>
// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: a channel shares its memory with another one"
func.func @memory(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !k
  %out = fagpu.channel threads over(%keys : !k) : !o
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 64, 64] : !m into !k
  }
  return
}

// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: a channel shares its memory with another one"
func.func @over(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %other = fagpu.channel threads : !k
  %keys = fagpu.channel tma over(%other : !k) : !k
  fagpu.role @load groups(1) elect {
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 64, 64] : !m into !k
  }
  return
}

// -----

// Without the engine that copies to several blocks there is nothing to share.

!k = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x64xbf16>
// REMARK-NEXT: {{.*}}remark: {{.*}}clusters of 2 blocks share no copies: no channel is filled by the engine 'tma'"
func.func @engine(%key: !m) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !k
  fagpu.role @load groups(1) {
    fagpu.put %keys, %key[%c0, %c0, %c0] [1, 64, 64] : !m into !k
  }
  return
}
// REMARK-NOT: {{.}}
