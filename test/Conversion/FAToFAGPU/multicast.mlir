// RUN: fa-opt %s -fagpu-multicast -split-input-file -verify-diagnostics | FileCheck %s
// RUN: fa-opt %s -fagpu-multicast -split-input-file | fa-opt -fagpu-multicast -split-input-file 2>/dev/null | FileCheck %s

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
// expected-remark @below {{clusters of 4 blocks share no copies: what each block copies depends on its own query block}}
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
// expected-remark @below {{clusters of 2 blocks share no copies}}
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
