// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies))" | FileCheck %s

!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!two = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!narrow = !fagpu.channel<64x64xbf16, #fagpu.smem<64>, 1>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!m = memref<?x64xbf16>

// A copy that was started later stays in flight; a barrier follows each wait. The
// stage is put again only behind a barrier.
// CHECK-LABEL: func.func @straight
func.func @straight(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  %v = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: fagpu.put %[[K:channel[_0-9]*]], %{{.*}} rows
    // CHECK-NEXT: fagpu.put %[[V:channel[_0-9]*]], %{{.*}} rows
    // CHECK-NEXT: %[[A:.*]] = fagpu.acquire %[[K]] pending(1)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release %[[A]]
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.put %[[K]]
    // CHECK-NEXT: fagpu.acquire %[[V]] pending(1)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    fagpu.put %v, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %a = fagpu.acquire %k : !tile
    fagpu.release %a : !view
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %b = fagpu.acquire %v : !tile
    fagpu.release %b : !view
    // The barrier behind the acquire of V follows the release of K.
    // CHECK-NEXT: fagpu.acquire %[[K]] pending(0)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.put %[[V]]
    // CHECK-NEXT: fagpu.release
    %c = fagpu.acquire %k : !tile
    fagpu.put %v, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    fagpu.release %c : !view
  }
  return
}

// Two groups fill a stage together: one copy and one write of each is all of it.
// CHECK-LABEL: func.func @groups
func.func @groups(%m: !m, %n: i32, %x: tensor<64x32xbf16, #fagpu.acc<4>>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %k = fagpu.channel cp_async : !tile
  %p = fagpu.channel cp_async : !narrow
  // CHECK: fagpu.role @all(%[[G:.*]]) groups(2) {
  fagpu.role @all(%g) groups(2) {
    %first = arith.muli %g, %c32 : i32
    // CHECK: fagpu.put
    // CHECK-NEXT: fagpu.write
    // CHECK-NEXT: fagpu.acquire {{.*}} pending(1)
    // CHECK-NEXT: fagpu.acquire {{.*}} pending(0)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.put
    fagpu.put %k part(%first, %c0), %m[%first, %c0] [32, 64] rows(%n) : !m into !tile
    fagpu.write %p part(%c0, %first), %x : tensor<64x32xbf16, #fagpu.acc<4>> into !narrow
    %a = fagpu.acquire %k : !tile
    %b = fagpu.acquire %p : !narrow
    fagpu.release %a : !view
    fagpu.put %k part(%first, %c0), %m[%first, %c0] [32, 64] rows(%n) : !m into !tile
    fagpu.release %b : !fagpu.view<64x64xbf16, #fagpu.smem<64>>
    %c = fagpu.acquire %k : !tile
    fagpu.release %c : !view
  }
  return
}

// Acquires that stand together share a barrier, whatever scalars are between. With
// two stages, what the last release gave back is not put next.
// CHECK-LABEL: func.func @together
func.func @together(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !two
  %v = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: fagpu.acquire %[[K:channel[_0-9]*]] pending(1)
    // CHECK-NEXT: arith.addi
    // CHECK-NEXT: fagpu.acquire %[[V:channel[_0-9]*]] pending(0)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release
    // CHECK-NEXT: fagpu.put %[[K]]
    // CHECK-NOT: fagpu.sync
    // CHECK: fagpu.release
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !two
    fagpu.put %v, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %a = fagpu.acquire %k : !two
    %x = arith.addi %n, %n : i32
    %b = fagpu.acquire %v : !tile
    fagpu.release %a : !view
    fagpu.put %k, %m[%x, %c0] [64, 64] rows(%n) : !m into !two
    fagpu.release %b : !view
  }
  return
}

// The release at the end of an iteration counts in the next one.
// CHECK-LABEL: func.func @loop
func.func @loop(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: scf.for
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: fagpu.acquire %{{.*}} pending(0)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release
    scf.for %i = %c0 to %n step %c1 : i32 {
      fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
      %a = fagpu.acquire %k : !tile
      fagpu.release %a : !view
    }
  }
  return
}

// What a put ahead has started is in flight around the loop. A barrier that the
// author placed counts.
// CHECK-LABEL: func.func @ahead
func.func @ahead(%m: !m, %n: i32, %c: i1) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: fagpu.put
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: fagpu.acquire %{{.*}} pending(0)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: }
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    scf.for %i = %c0 to %n step %c1 : i32 {
      %a = fagpu.acquire %k : !tile
      fagpu.release %a : !view
      fagpu.sync
      fagpu.put %k, %m[%i, %c0] [64, 64] rows(%n) if(%c) : !m into !tile
    }
  }
  return
}

// A loop that may run again, and a branch.
// CHECK-LABEL: func.func @while
func.func @while(%m: !m, %n: i32, %c: i1) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: scf.while
    // CHECK: fagpu.sync
    // CHECK-NEXT: fagpu.put
    // CHECK: } do {
    // CHECK: scf.if
    // CHECK: fagpu.acquire %{{.*}} pending(0)
    // CHECK-NEXT: fagpu.sync
    // CHECK: } else {
    // CHECK: fagpu.acquire %{{.*}} pending(0)
    // CHECK-NEXT: fagpu.sync
    scf.while : () -> () {
      fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
      scf.condition(%c)
    } do {
      scf.if %c {
        %a = fagpu.acquire %k : !tile
        fagpu.release %a : !view
      } else {
        %a = fagpu.acquire %k : !tile
        fagpu.release %a : !view
      }
      scf.yield
    }
  }
  return
}

// A store that is staged over a channel waits until all have read it, and what is
// put there next waits for the store.
// CHECK-LABEL: func.func @staged
func.func @staged(%m: !m, %o: !m, %n: i32, %x: !half) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  %s = fagpu.channel threads over(%k : !tile) : !tile
  fagpu.role @all groups(1) {
    // CHECK: fagpu.release
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.store
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.put
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %a = fagpu.acquire %k : !tile
    fagpu.release %a : !view
    fagpu.store %x, %o[%c0, %c0] rows(%n) via(%s : !tile) : !half into !m
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
  }
  return
}

// Copies are counted by bank, and all parts of a stage are waited for. The stage
// of a bank is filled again behind the barrier of its own release.
// CHECK-LABEL: func.func @banks_and_parts
func.func @banks_and_parts(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %k = fagpu.channel cp_async banks(2) : !tile
  fagpu.role @all groups(1) {
    fagpu.put %k bank(%c0) part(%c0, %c0), %m[%c0, %c0] [32, 64] rows(%n) : !m into !tile
    fagpu.put %k bank(%c0) part(%c32, %c0), %m[%c0, %c0] [32, 64] rows(%n) : !m into !tile
    fagpu.put %k bank(%c1), %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    // CHECK: fagpu.acquire %{{.*}} bank(%{{.*}}) pending(1)
    // CHECK-NEXT: fagpu.sync
    %a = fagpu.acquire %k bank(%c0) : !tile
    fagpu.release %a : !view
    // CHECK: fagpu.acquire %{{.*}} bank(%{{.*}}) pending(0)
    // CHECK-NEXT: fagpu.sync
    %b = fagpu.acquire %k bank(%c1) : !tile
    // The barrier behind the acquire has followed the release.
    // CHECK-NEXT: fagpu.put
    // CHECK-NEXT: fagpu.put
    fagpu.put %k bank(%c0) part(%c0, %c0), %m[%c0, %c0] [32, 64] rows(%n) : !m into !tile
    fagpu.put %k bank(%c0) part(%c32, %c0), %m[%c0, %c0] [32, 64] rows(%n) : !m into !tile
    fagpu.release %b : !view
    // CHECK: fagpu.sync
    // CHECK-NEXT: fagpu.put
    fagpu.put %k bank(%c1), %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    // CHECK: fagpu.acquire %{{.*}} bank(%{{.*}}) pending(1)
    %c = fagpu.acquire %k bank(%c0) : !tile
    // CHECK: fagpu.acquire %{{.*}} bank(%{{.*}}) pending(0)
    %d = fagpu.acquire %k bank(%c1) : !tile
    fagpu.release %c : !view
    fagpu.release %d : !view
  }
  return
}

// What threads write counts as a copy that has ended: it is waited for in turn,
// seen behind the barrier, and written again only behind one.
// CHECK-LABEL: func.func @written
func.func @written(%m: !m, %n: i32, %x: !half) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  %v = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: fagpu.write %[[K:channel[_0-9]*]]
    // CHECK-NEXT: fagpu.put %[[V:channel[_0-9]*]]
    // CHECK-NEXT: %[[A:.*]] = fagpu.acquire %[[K]] pending(1)
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.release %[[A]]
    // CHECK-NEXT: fagpu.sync
    // CHECK-NEXT: fagpu.write %[[K]]
    // CHECK-NEXT: fagpu.acquire %[[V]] pending(1)
    // CHECK-NEXT: fagpu.sync
    // CHECK: fagpu.acquire %[[K]] pending(0)
    fagpu.write %k, %x : !half into !tile
    fagpu.put %v, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %a = fagpu.acquire %k : !tile
    fagpu.release %a : !view
    fagpu.write %k, %x : !half into !tile
    %b = fagpu.acquire %v : !tile
    fagpu.release %b : !view
    %c = fagpu.acquire %k : !tile
    fagpu.release %c : !view
  }
  return
}


// The barrier stands behind an acquire that ends its block, too.
// CHECK-LABEL: func.func @last
func.func @last(%m: !m, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %k = fagpu.channel cp_async : !tile
  fagpu.role @all groups(1) {
    // CHECK: fagpu.put
    // CHECK-NEXT: fagpu.acquire %{{.*}} pending(0)
    // CHECK-NEXT: fagpu.sync
    fagpu.put %k, %m[%c0, %c0] [64, 64] rows(%n) : !m into !tile
    %a = fagpu.acquire %k : !tile
  }
  return
}
