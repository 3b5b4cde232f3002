// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-expand-slots -fagpu-pipeline -canonicalize -cse -split-input-file | FileCheck %s

// Stage 0 of an iteration beside stage 1 of the one before it: prologue, one
// loop for the segment behind 'once', epilogue. A value that crosses is carried,
// flags are constants, scalars are made again where they are needed.

!kv = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 2>
!m = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @two_stages
// CHECK-SAME: (%[[M:.*]]: memref{{.*}}, %[[N:.*]]: i32)
func.func @two_stages(%m: !m, %n: i32) {
  // CHECK-DAG: %[[C128:.*]] = arith.constant 128 : i32
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  // CHECK: %[[K:.*]] = fagpu.channel tma
  %k = fagpu.channel tma : !kv
  // CHECK: %[[V:.*]] = fagpu.channel tma
  %v = fagpu.channel tma : !kv
  // CHECK: %[[KEY:.*]] = arith.muli %[[N]], %[[C128]]
  // CHECK: fagpu.put %[[K]], %[[M]][%[[C0]], %[[KEY]], %[[C0]], %[[C0]]]
  // CHECK-NOT: fagpu.put
  // CHECK: %[[NEXT:.*]] = arith.addi %[[N]]
  // CHECK: scf.for %[[TRIP:.*]] = %[[C0]] to
  // CHECK:   %[[NEW:.*]] = arith.subi %{{.*}}, %[[TRIP]]
  // CHECK:   %[[OLD:.*]] = arith.addi %[[NEW]], %[[C1]]
  // CHECK:   %[[NEWKEY:.*]] = arith.muli %[[NEW]], %[[C128]]
  // CHECK:   fagpu.put %[[K]], %[[M]][%[[C0]], %[[NEWKEY]], %[[C0]], %[[C0]]]
  // CHECK:   %[[OLDKEY:.*]] = arith.muli %[[OLD]], %[[C128]]
  // CHECK:   fagpu.put %[[V]], %[[M]][%[[C0]], %[[OLDKEY]], %[[C0]], %[[C0]]]
  // CHECK: }
  // CHECK: fagpu.put %[[V]]
  // CHECK-NOT: fagpu.put
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) {
    %key = arith.muli %i, %c128 : i32
    fagpu.put %k, %m[%c0, %key, %c0, %c0] [1, 128, 1, 128] {fagpu.at = [0, 1]} : !m into !kv
    fagpu.put %v, %m[%c0, %key, %c0, %c0] [1, 128, 1, 128] {fagpu.at = [1, 2]} : !m into !kv
    fagpu.yield
  }
  return
}

// -----

// A tie goes to the older iteration, orders decide otherwise, and a flag that is
// constant in a copy folds the branch on it.

// CHECK-LABEL: func.func @order_and_flags
func.func @order_and_flags(%n: i32, %x: f32) -> f32 {
  %c0 = arith.constant 0 : i32
  // CHECK-DAG: %[[TURNS:.*]] = fagpu.turns 2
  %turns = fagpu.turns 2 : !fagpu.turns
  // CHECK: "first"
  // CHECK-NOT: "later"
  // CHECK: "newer"
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[CROSS:[^ ]*]] = %{{[^ ]*}}, %[[SUM:[^ ]*]] = %{{.*}}) -> (f32, f32)
  // CHECK-NOT: "first"
  // CHECK: fagpu.take %[[TURNS]]
  // CHECK: %[[NEWER:.*]] = "newer"
  // CHECK: %[[OLDER:.*]] = "older"(%[[CROSS]], %[[SUM]])
  // CHECK: scf.yield %[[NEWER]], %[[OLDER]]
  // CHECK: fagpu.take
  // CHECK: %[[LAST:.*]] = "older"(%[[R]]#0, %[[R]]#1)
  // CHECK: return %[[LAST]]
  %r = fagpu.for %i = %n step 1 segments(%first: once, %rest: to %n) iter(%s = %x) -> (f32) {
    scf.if %first {
      "first"() : () -> ()
    } else {
      "later"() : () -> ()
    } {fagpu.at = [0, 3]}
    %a = "newer"(%i) {fagpu.at = [0, 4]} : (i32) -> f32
    fagpu.take %turns {fagpu.at = [1, 3]} : !fagpu.turns
    %b = "older"(%a, %s) {fagpu.at = [1, 5]} : (f32, f32) -> f32
    fagpu.yield %b : f32
  }
  return %r : f32
}

// -----

// A put that runs ahead is guarded where its iteration may not exist.

!kv = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>

// CHECK-LABEL: func.func @ahead
// CHECK-SAME: (%[[M:.*]]: memref{{.*}}, %[[N:.*]]: i32)
func.func @ahead(%m: !m, %n: i32) {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !kv
  // CHECK: fagpu.put %{{.*}}, %[[M]][%{{.*}}, %[[N]],
  // CHECK-NOT: if
  // CHECK: fagpu.acquire
  // CHECK: %[[EXISTS:.*]] = arith.cmpi sge, %[[NEXT:.*]], %{{.*}}
  // CHECK: fagpu.put %{{.*}}, %[[M]][%{{.*}}, %[[NEXT]],{{.*}} if(%[[EXISTS]])
  // CHECK: scf.for
  // CHECK:   fagpu.acquire
  // CHECK:   fagpu.put {{.*}} if(
  // CHECK: }
  // CHECK-NOT: fagpu.put
  fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) {
    fagpu.put %k, %m[%c0, %i, %c0, %c0] [1, 128, 1, 128] {fagpu.at = [-1, 2]} : !m into !kv
    %v = fagpu.acquire %k {fagpu.at = [0, 1]} : !kv
    fagpu.release %v {fagpu.at = [0, 1]} : !fagpu.view<128x128xbf16, #fagpu.smem<128>>
    fagpu.yield
  }
  return
}

// -----

// Inside out: the prologue of the inner loop joins stage 0 of the outer one, so
// the next tile's first "a" runs beside this tile's last "b".

// CHECK-LABEL: func.func @across_tiles
func.func @across_tiles(%n: i32, %t0: i32) {
  %c0 = arith.constant 0 : i32
  // CHECK: "tile"
  // CHECK: "a"
  // CHECK: scf.while
  // CHECK:   scf.for
  // CHECK:     "a"
  // CHECK:     "b"
  // CHECK:   }
  // CHECK:   %[[NEXT:.*]] = "next"
  // CHECK:   scf.condition
  // CHECK: } do {
  // CHECK:   "tile"
  // CHECK:   "a"
  // CHECK:   "b"
  // CHECK:   "finish"
  // CHECK:   scf.yield
  // CHECK: }
  // CHECK-NOT: "a"
  // CHECK: "b"
  // CHECK: "finish"
  fagpu.repeat iter(%t = %t0) : i32 {
    "tile"(%t) {fagpu.at = [0, 1]} : (i32) -> ()
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%s = %c0) -> (i32) {
      %x = "a"(%i) {fagpu.at = [0, 2]} : (i32) -> f32
      %y = "b"(%x) {fagpu.at = [1, 3]} : (f32) -> i32
      fagpu.yield %y : i32
    } {fagpu.at = [1, 0]}
    %next = "next"() {fagpu.at = [1, 0]} : () -> i32
    "finish"(%t, %r) {fagpu.at = [1, 9]} : (i32, i32) -> ()
    %again = arith.cmpi sge, %next, %c0 : i32
    fagpu.yield %again, %next : i1, i32
  }
  return
}

// -----

// The bounds of a tile's loop take more than 20 operations: they are computed
// ahead of the wait of the step before, and kept.

!rows = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!acc = tensor<64x64xf32, #fagpu.acc<4>>
// CHECK-LABEL: func.func @bounds
func.func @bounds(%q: !rows, %k: !rows, %n: i32, %t0: i32) {
  %c0 = arith.constant 0 : i32
  // CHECK: fagpu.mma_async
  // CHECK: arith.muli
  // CHECK: %[[FIRST:.*]] = arith.muli
  // CHECK: fagpu.wait
  // CHECK: scf.while ({{.*}} = %{{.*}}, {{.*}} = %{{.*}}, %[[BOUND:.*]] = %[[FIRST]])
  // CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[BOUND]]
  // CHECK-NOT: arith.addi
  // CHECK: } do {
  // CHECK: fagpu.mma_async
  // CHECK: arith.muli
  // CHECK: %[[NEXT:.*]] = arith.muli
  // CHECK: fagpu.wait
  // CHECK-NOT: arith.addi
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %[[NEXT]]
  fagpu.repeat iter(%t = %t0) : i32 {
    %x1 = arith.muli %t, %n : i32
    %x2 = arith.addi %x1, %n : i32
    %x3 = arith.addi %x2, %n : i32
    %x4 = arith.addi %x3, %n : i32
    %x5 = arith.addi %x4, %n : i32
    %x6 = arith.addi %x5, %n : i32
    %x7 = arith.addi %x6, %n : i32
    %x8 = arith.addi %x7, %n : i32
    %x9 = arith.addi %x8, %n : i32
    %x10 = arith.addi %x9, %n : i32
    %x11 = arith.addi %x10, %n : i32
    %x12 = arith.addi %x11, %n : i32
    %x13 = arith.addi %x12, %n : i32
    %x14 = arith.addi %x13, %n : i32
    %x15 = arith.addi %x14, %n : i32
    %x16 = arith.addi %x15, %n : i32
    %x17 = arith.addi %x16, %n : i32
    %x18 = arith.addi %x17, %n : i32
    %x19 = arith.addi %x18, %n : i32
    %x20 = arith.addi %x19, %n : i32
    %x21 = arith.muli %x20, %n : i32
    %s = fagpu.mma_async nt %q, %k {fagpu.at = [0, 1]} : !rows, !rows -> !fagpu.inflight<!acc>
    %p = fagpu.wait %s {fagpu.at = [0, 2]} : !fagpu.inflight<!acc>
    scf.for %i = %c0 to %x21 step %n : i32 {
      "block"(%i) : (i32) -> ()
    } {fagpu.at = [1, 0]}
    %next = "next"() {fagpu.at = [1, 0]} : () -> i32
    "finish"(%t, %p) {fagpu.at = [1, 9]} : (i32, !acc) -> ()
    %again = arith.cmpi sge, %next, %c0 : i32
    fagpu.yield %again, %next : i1, i32
  }
  return
}

// -----

// Without numbers nothing overlaps, and no first segment 'once' is needed.

// CHECK-LABEL: func.func @not_scheduled
func.func @not_scheduled(%n: i32, %t0: i32) {
  %c0 = arith.constant 0 : i32
  // CHECK-NOT: "a"
  // CHECK: scf.while
  // CHECK:   scf.for
  // CHECK:     "a"
  // CHECK:     "b"
  // CHECK:   }
  // CHECK:   "next"
  // CHECK:   scf.condition
  // CHECK: } do {
  // CHECK-NOT: "a"
  fagpu.repeat iter(%t = %t0) : i32 {
    fagpu.for %i = %c0 step 1 segments(%all: to %n) {
      "a"(%i) : (i32) -> ()
      "b"(%i) : (i32) -> ()
      fagpu.yield
    }
    %next = "next"() : () -> i32
    %again = arith.cmpi sge, %next, %c0 : i32
    fagpu.yield %again, %next : i1, i32
  }
  return
}
