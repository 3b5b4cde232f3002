// RUN: fa-opt %s -split-input-file -fagpu-defer-puts | FileCheck %s

!q = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!kv = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!mem = memref<?x64xf16>

// Queries have one stage, which the tile before holds; keys need not wait for it.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%query: !mem, %key: !mem, %rows: i32, %last: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: %[[Q:.*]] = fagpu.channel tma banks(2)
  // CHECK: %[[K:.*]] = fagpu.channel tma :
  %queries = fagpu.channel tma banks(2) : !q
  %keys = fagpu.channel tma : !kv
  fagpu.role @load groups(1) regs(40) elect {
    // CHECK: fagpu.repeat iter(%[[ROW:.*]] =
    fagpu.repeat iter(%row = %c0) : i32 {
      // CHECK-NOT: fagpu.put
      fagpu.put %queries bank(%c0), %query[%row, %c0] [64, 64] rows(%rows) : !mem into !q
      %some = arith.cmpi slt, %row, %rows : i32
      fagpu.put %queries bank(%c1), %query[%row, %c0] [64, 64] rows(%rows) if(%some) : !mem into !q
      // CHECK: fagpu.for %{{.*}} segments(%[[FIRST:.*]]: once, %{{.*}}: to
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) {
        // CHECK: fagpu.put %[[K]]
        // CHECK-NEXT: fagpu.put %[[Q]] bank(%c0_i32), %{{.*}}[%[[ROW]], %{{.*}} if(%[[FIRST]])
        // CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[FIRST]], %{{.*}} : i1
        // CHECK-NEXT: fagpu.put %[[Q]] bank(%c1_i32), {{.*}} if(%[[BOTH]])
        // CHECK-NEXT: fagpu.yield
        fagpu.put %keys, %key[%i, %c0] [64, 64] : !mem into !kv
        fagpu.yield
      }
      %next = arith.addi %row, %rows : i32
      %again = arith.cmpi slt, %next, %last : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}

// -----

!q = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!q2 = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!kv = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!mem = memref<?x64xf16>

// Two stages of queries need not wait; a loop that may be empty would not copy
// them at all.
// CHECK-LABEL: func.func @stays
func.func @stays(%query: !mem, %key: !mem, %rows: i32, %last: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %spare = fagpu.channel tma : !q2
  %queries = fagpu.channel tma : !q
  %keys = fagpu.channel tma : !kv
  fagpu.role @load groups(1) regs(40) elect {
    // CHECK: fagpu.repeat
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: fagpu.for
    fagpu.repeat iter(%row = %c0) : i32 {
      fagpu.put %spare, %query[%row, %c0] [64, 64] : !mem into !q2
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) {
        fagpu.put %keys, %key[%i, %c0] [64, 64] : !mem into !kv
        fagpu.yield
      }
      %next = arith.addi %row, %rows : i32
      %again = arith.cmpi slt, %next, %last : i32
      fagpu.yield %again, %next : i1, i32
    }
    // CHECK: fagpu.repeat
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: fagpu.for
    fagpu.repeat iter(%row = %c0) : i32 {
      fagpu.put %queries, %query[%row, %c0] [64, 64] : !mem into !q
      fagpu.for %i = %last step -1 segments(%all: to %c0) {
        fagpu.put %keys, %key[%i, %c0] [64, 64] : !mem into !kv
        fagpu.yield
      }
      %next = arith.addi %row, %rows : i32
      %again = arith.cmpi slt, %next, %last : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}

// -----

!v = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!k2 = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!q3 = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!mem = memref<?x64xf16>

// The next tile begins with keys, which have a stage for it: what waits for the tile before comes last.
// CHECK-LABEL: func.func @begins_early
func.func @begins_early(%query: !mem, %key: !mem, %value: !mem, %rows: i32, %last: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[K:.*]] = fagpu.channel tma : <64x64xf16, #fagpu.smem<128>, 2>
  // CHECK: %[[V:.*]] = fagpu.channel tma : <64x64xf16, #fagpu.smem<128>, 1>
  %keys = fagpu.channel tma : !k2
  %values = fagpu.channel tma : !v
  %queries = fagpu.channel tma : !q3
  %others = fagpu.channel tma : !q3
  fagpu.role @load groups(1) regs(40) elect {
    // CHECK: fagpu.repeat
    // CHECK-NEXT: fagpu.put %[[K]]
    // CHECK-NEXT: fagpu.for %{{.*}} segments(%[[FIRST:.*]]: once, %{{.*}}: to
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: fagpu.put %[[V]], {{.*}} if(%[[FIRST]])
    // CHECK-NEXT: fagpu.yield
    fagpu.repeat iter(%row = %c0) : i32 {
      fagpu.put %keys, %key[%row, %c0] [64, 64] : !mem into !k2
      fagpu.put %values, %value[%row, %c0] [64, 64] : !mem into !v
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) {
        fagpu.put %queries, %query[%i, %c0] [64, 64] : !mem into !q3
        fagpu.put %others, %query[%i, %c0] [64, 64] : !mem into !q3
        fagpu.yield
      }
      %next = arith.addi %row, %rows : i32
      %again = arith.cmpi slt, %next, %last : i32
      fagpu.yield %again, %next : i1, i32
    }
  }
  return
}
