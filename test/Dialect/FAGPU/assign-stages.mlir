// RUN: fa-opt %s -fagpu-assign-stages -canonicalize | FileCheck %s

!kv = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 2>
!three = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 3>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!q1 = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
!kvv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>

// One counter for what a role fills or reads of a channel, zero at the entry.

// CHECK-LABEL: func.func @roles
func.func @roles(%m: !m, %p: i1) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
  // CHECK: %[[PUTK:.*]] = memref.alloca() : memref<i32>
  // CHECK: memref.store %[[C0]], %[[PUTK]][]
  // CHECK: %[[PUTQ:.*]] = memref.alloca() : memref<i32>
  // CHECK: memref.store %[[C0]], %[[PUTQ]][]
  // CHECK: %[[PUT3:.*]] = memref.alloca() : memref<i32>
  // CHECK: %[[USEK:.*]] = memref.alloca() : memref<i32>
  // CHECK: memref.store %[[C0]], %[[USEK]][]
  // CHECK-NOT: memref.alloca
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %k = fagpu.channel tma : !kv
  %q = fagpu.channel tma banks(2) : !q
  %t = fagpu.channel tma : !three
  fagpu.role @copy groups(1) elect {
    // Stage is the use modulo 2; the phase of the empty barrier is the one before.
    // CHECK: %[[N:.*]] = memref.load %[[PUTK]][]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %[[C1]]
    // CHECK: memref.store %[[NEXT]], %[[PUTK]][]
    // CHECK: %[[STAGE:.*]] = arith.andi %[[N]], %[[C1]]
    // CHECK: %[[ROUND:.*]] = arith.shrui %[[N]], %[[C1]]
    // CHECK: %[[PHASE:.*]] = arith.andi %[[ROUND]], %[[C1]]
    // CHECK: %[[BEFORE:.*]] = arith.xori %[[PHASE]], %[[C1]]
    // CHECK: fagpu.put {{.*}} stage(%[[STAGE]], %[[BEFORE]])
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 128, 1, 128] : !m into !kv
    // Two parts are one use: the first does not count.
    // CHECK: memref.load %[[PUTK]][]
    // CHECK-NOT: memref.store
    // CHECK: fagpu.put
    // CHECK: memref.load %[[PUTK]][]
    // CHECK: memref.store %{{.*}}, %[[PUTK]][]
    // CHECK: fagpu.put
    fagpu.put %k part(%c0, %c0), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !kv
    fagpu.put %k part(%c64, %c0), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !kv
    // Two banks in turn are one use. Depth 1: stage 0, the phase is the parity.
    // CHECK: %[[B0:.*]] = memref.load %[[PUTQ]][]
    // CHECK-NOT: memref.store
    // CHECK: fagpu.put {{.*}} stage(%[[C0]],
    // CHECK: %[[B1:.*]] = memref.load %[[PUTQ]][]
    // CHECK: memref.store %{{.*}}, %[[PUTQ]][]
    // CHECK: fagpu.put
    fagpu.put %q bank(%c0), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !q
    fagpu.put %q bank(%c1), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !q
    // A put that may not happen counts if it does; a depth of 3 divides.
    // CHECK: %[[U:.*]] = memref.load %[[PUT3]][]
    // CHECK: %[[ONE:.*]] = arith.extui %{{.*}} : i1 to i32
    // CHECK: arith.addi %[[U]], %[[ONE]]
    // CHECK: arith.remui %[[U]], %[[C3]]
    // CHECK: arith.divui %[[U]], %[[C3]]
    fagpu.put %t, %m[%c0, %c0, %c0, %c0] [1, 128, 1, 128] if(%p) : !m into !three
  }
  fagpu.role @use(%g) groups(2) {
    // A full barrier is awaited in its own phase. The role uses both channels once
    // whenever it runs: one counter, which goes up at the last use.
    // CHECK: %[[A:.*]] = memref.load %[[USEK]][]
    // CHECK-NOT: memref.store
    // CHECK: %[[ASTAGE:.*]] = arith.andi %[[A]], %[[C1]]
    // CHECK: %[[AROUND:.*]] = arith.shrui %[[A]], %[[C1]]
    // CHECK: %[[APHASE:.*]] = arith.andi %[[AROUND]], %[[C1]]
    // CHECK: fagpu.acquire %{{.*}} stage(%[[ASTAGE]], %[[APHASE]])
    %kt = fagpu.acquire %k : !kv
    fagpu.release %kt : !kvv
    // CHECK: %[[B:.*]] = memref.load %[[USEK]][]
    // CHECK: %[[C:.*]] = arith.addi %[[B]], %[[C1]]
    // CHECK: memref.store %[[C]], %[[USEK]][]
    // CHECK: fagpu.acquire %{{.*}} bank(%{{.*}}) stage(%[[C0]], %{{.*}})
    %qt = fagpu.acquire %q bank(%g) : !q
    fagpu.release %qt : !qv
  }
  return
}

// A role that fills a channel and reads it counts both; here they go together.
// CHECK-LABEL: func.func @both_ends
func.func @both_ends(%v: tensor<64x128xbf16, #fagpu.acc<4>>)
    attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: %[[USES:.*]] = memref.alloca() : memref<i32>
  // CHECK-NOT: memref.alloca
  %c = fagpu.channel threads : !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
  fagpu.role @math(%g) groups(1) {
    // CHECK: %[[W:.*]] = memref.load %[[USES]][] : memref<i32>
    // CHECK-NOT: memref.store
    // CHECK: fagpu.write
    fagpu.write %c, %v : tensor<64x128xbf16, #fagpu.acc<4>>
        into !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
    // CHECK: %[[R:.*]] = memref.load %[[USES]][] : memref<i32>
    // CHECK: %[[NEXT:.*]] = arith.addi %[[R]],
    // CHECK: memref.store %[[NEXT]], %[[USES]][]
    // CHECK: fagpu.acquire
    %t = fagpu.acquire %c : !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
    fagpu.release %t : !fagpu.view<64x128xbf16, #fagpu.smem<128>>
  }
  return
}

// A role that reads several banks counts each of them, if not always together.

// CHECK-LABEL: func.func @banks
func.func @banks() attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: %[[FIRST:.*]] = memref.alloca() : memref<i32>
  // CHECK: %[[SECOND:.*]] = memref.alloca() : memref<i32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %q = fagpu.channel tma banks(2) : !q
  fagpu.role @read groups(1) elect {
    // CHECK: memref.store %{{.*}}, %[[FIRST]][]
    // CHECK: fagpu.acquire
    // CHECK: memref.store %{{.*}}, %[[SECOND]][]
    // CHECK: fagpu.acquire
    %v0 = fagpu.acquire %q bank(%c0) : !q
    fagpu.release %v0 : !qv
    %v1 = fagpu.acquire %q bank(%c1) : !q
    fagpu.release %v1 : !qv
    // CHECK: memref.store %{{.*}}, %[[FIRST]][]
    // CHECK: fagpu.acquire
    %v2 = fagpu.acquire %q bank(%c0) : !q
    fagpu.release %v2 : !qv
  }
  return
}

// Uses outside and inside a loop are counted apart from those inside alone, and
// what is filled in one block and read in others is, too.
// CHECK-LABEL: func.func @apart
func.func @apart(%n: index, %v: tensor<64x128xbf16, #fagpu.acc<4>>)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[A:.*]] = memref.alloca() : memref<i32>
  // CHECK: %[[B:.*]] = memref.alloca() : memref<i32>
  // CHECK-NOT: memref.alloca
  %a = fagpu.channel tma : !q1
  %b = fagpu.channel tma : !q1
  fagpu.role @math(%g) groups(1) {
    // CHECK: memref.load %[[A]][]
    %x = fagpu.acquire %a : !q1
    fagpu.release %x : !qv
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      // CHECK: memref.load %[[A]][]
      %y = fagpu.acquire %a : !q1
      fagpu.release %y : !qv
      // CHECK: memref.load %[[B]][]
      %z = fagpu.acquire %b : !q1
      fagpu.release %z : !qv
    }
  }
  return
}

// Writes of the parts of a stage are one use: the first waits for it, the last
// arrives. Two groups write a half each of what has no banks.
// CHECK-LABEL: func.func @writes
!parts = !fagpu.channel<192x128xbf16, #fagpu.smem<128>, 1>
!own = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
func.func @writes(%x: tensor<64x64xbf16, #fagpu.acc<4>>, %y: tensor<64x128xbf16, #fagpu.acc<4>>)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %ch = fagpu.channel threads : !parts
  %mine = fagpu.channel threads banks(2) : !own
  fagpu.role @math(%g) groups(2) {
    %column = arith.muli %g, %c64 : i32
    // CHECK: fagpu.write %{{.*}} part(%c64_i32, %{{.*}}), %{{.*}} unfinished stage(
    // CHECK: fagpu.write %{{.*}} part(%c0_i32, %{{.*}}), %{{.*}} continues unfinished stage(
    // CHECK-NOT: memref.store
    // CHECK: memref.load
    // CHECK: fagpu.write %{{.*}} part(%c128_i32, %{{.*}}), %{{.*}} continues stage(
    fagpu.write %ch part(%c64, %column), %x : tensor<64x64xbf16, #fagpu.acc<4>> into !parts
    fagpu.write %ch part(%c0, %column), %x : tensor<64x64xbf16, #fagpu.acc<4>> into !parts
    fagpu.write %ch part(%c128, %column), %x : tensor<64x64xbf16, #fagpu.acc<4>> into !parts
    // CHECK: fagpu.write %{{.*}} bank(%{{.*}}) part(%c0_i32, %c0_i32), %{{.*}} unfinished stage(
    // CHECK: memref.store
    // CHECK: fagpu.write %{{.*}} bank(%{{.*}}) part(%c64_i32, %c0_i32), %{{.*}} continues stage(
    fagpu.write %mine bank(%g) part(%c0, %c0), %y : tensor<64x128xbf16, #fagpu.acc<4>> into !own
    fagpu.write %mine bank(%g) part(%c64, %c0), %y : tensor<64x128xbf16, #fagpu.acc<4>> into !own
  }
  return
}
