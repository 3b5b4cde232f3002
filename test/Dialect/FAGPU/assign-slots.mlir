// RUN: fa-opt %s -fagpu-assign-slots | FileCheck %s

!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!channels = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!half_view = !fagpu.view<32x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>
!s = tensor<64x64xf32>
!h = tensor<64x64xf16>

// CHECK-LABEL: func.func @copies
func.func @copies(%m: !mem, %q: !h, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[KEYS:.*]] = fagpu.channel
  // CHECK: %[[VALUES:.*]] = fagpu.channel
  %keys = fagpu.channel cp_async : !channel
  %values = fagpu.channel cp_async : !channel
  fagpu.role @compute {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      // What the first product reads is copied for the next iteration.
      // CHECK: fagpu.put %[[KEYS]], {{.*}} {fagpu.at = [-1, 4]}
      // CHECK-NEXT: %[[K:.*]] = fagpu.acquire %[[KEYS]] {fagpu.at = [0, 0]}
      // What later products read is copied while the first one runs.
      // CHECK-NEXT: fagpu.put %[[VALUES]], {{.*}} {fagpu.at = [0, 1]}
      // CHECK-NEXT: fagpu.mma nt %{{.*}}, %[[K]] {fagpu.at = [0, 2]}
      // CHECK-NEXT: fagpu.release %[[K]] :
      // The wait for that copy stands before the softmax.
      // CHECK-NEXT: %[[V:.*]] = fagpu.acquire %[[VALUES]] {fagpu.at = [0, 3]}
      // CHECK-NEXT: math.exp2 {{.*}} {fagpu.at = [0, 5]}
      // CHECK: fagpu.mma nn %{{.*}}, %[[V]] acc(%{{[^{]*}}{{$}}
      fagpu.put %keys, %m[%i, %c0] [64, 64] : !mem into !channel
      %k = fagpu.acquire %keys : !channel
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      fagpu.release %k : !view
      %e = math.exp2 %s : !s
      %p = arith.truncf %e : !s to !h
      fagpu.put %values, %m[%i, %c0] [64, 64] : !mem into !channel
      %v = fagpu.acquire %values : !channel
      %x = fagpu.mma nn %p, %v acc(%sum : !s) : !h, !view -> !s
      fagpu.release %v : !view
      fagpu.yield %x : !s
    }
  }
  return
}

// A copy whose place depends on the segment is not made ahead.
// CHECK-LABEL: func.func @segment
// CHECK: fagpu.put {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: fagpu.acquire
// CHECK-NEXT: fagpu.mma nt {{.*}} {fagpu.at = [0, 2]}
func.func @segment(%m: !mem, %q: !h, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !channel
  fagpu.role @compute {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %row = arith.select %once, %c0, %i : i32
      fagpu.put %keys, %m[%row, %c0] [64, 64] : !mem into !channel
      %k = fagpu.acquire %keys : !channel
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield
    }
  }
  return
}

// Where later products read what the first one does, and channels have two stages, all is copied a step ahead behind one wait.
// CHECK-LABEL: func.func @ahead
// CHECK: fagpu.for
// CHECK-NEXT: fagpu.put {{.*}} {fagpu.at = [-1, 1]}
// CHECK-NEXT: %[[Q:.*]] = fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: fagpu.put {{.*}} {fagpu.at = [-1, 1]}
// CHECK-NEXT: %[[D:.*]] = fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: fagpu.mma nt %{{.*}}, %[[Q]] {fagpu.at = [0, 2]}
// CHECK-NOT: fagpu.at
// CHECK: fagpu.mma nn %{{.*}}, %[[Q]]
func.func @ahead(%m: !mem, %q: !h, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %queries = fagpu.channel cp_async : !channels
  %gradients = fagpu.channel cp_async : !channels
  fagpu.role @compute {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      fagpu.put %queries, %m[%i, %c0] [64, 64] : !mem into !channels
      %k = fagpu.acquire %queries : !channels
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      %e = math.exp2 %s : !s
      fagpu.put %gradients, %m[%i, %c0] [64, 64] : !mem into !channels
      %d = fagpu.acquire %gradients : !channels
      %g = fagpu.mma nt %q, %d : !h, !view -> !s
      fagpu.release %d : !view
      %f = arith.mulf %e, %g : !s
      %p = arith.truncf %f : !s to !h
      %x = fagpu.mma nn %p, %k acc(%sum : !s) : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield %x : !s
    }
  }
  return
}

// Groups that divide columns read parts of them: the same slots.
// CHECK-LABEL: func.func @slices
// CHECK: fagpu.for
// CHECK-NEXT: fagpu.put {{.*}} {fagpu.at = [-1, 1]}
// CHECK-NEXT: %[[Q:.*]] = fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: %[[ROWS:.*]] = fagpu.slice %[[Q]]
// CHECK-NEXT: fagpu.put {{.*}} {fagpu.at = [-1, 1]}
// CHECK-NEXT: fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: fagpu.mma nt %{{.*}}, %[[ROWS]] {fagpu.at = [0, 2]}
func.func @slices(%m: !mem, %q: !h, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %queries = fagpu.channel cp_async : !channels
  %gradients = fagpu.channel cp_async : !channels
  fagpu.role @compute(%g) groups(2) {
    %first = arith.muli %g, %c32 : i32
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      fagpu.put %queries part(%first, %c0), %m[%i, %c0] [32, 64] : !mem into !channels
      %k = fagpu.acquire %queries : !channels
      %rows = fagpu.slice %k[%first, %c0] : !view to !half_view
      %s = fagpu.mma nt %q, %rows : !h, !half_view -> tensor<64x32xf32, #fagpu.acc<4>>
      fagpu.put %gradients part(%first, %c0), %m[%i, %c0] [32, 64] : !mem into !channels
      %d = fagpu.acquire %gradients : !channels
      %x = fagpu.mma nn %q, %d acc(%sum : !s) : !h, !view -> !s
      fagpu.release %d : !view
      %y = fagpu.mma nn %q, %k acc(%x : !s) : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield %y : !s
    }
  }
  return
}

// With one stage they are copied before the product. What may stand before has the first slot.
// CHECK-LABEL: func.func @one_stage
// CHECK: fagpu.iota 0 {fagpu.at = [0, 0]}
// CHECK: fagpu.put {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: fagpu.mma nt {{.*}} {fagpu.at = [0, 2]}
func.func @one_stage(%m: !mem, %q: !h, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %queries = fagpu.channel cp_async : !channel
  fagpu.role @compute {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      %number = fagpu.iota 0 : tensor<64xi32, #fagpu.col<4>>
      fagpu.put %queries, %m[%i, %c0] [64, 64] : !mem into !channel
      %k = fagpu.acquire %queries : !channel
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      %float = arith.sitofp %number : tensor<64xi32, #fagpu.col<4>> to tensor<64xf32, #fagpu.col<4>>
      %spread = fagpu.broadcast %float : tensor<64xf32, #fagpu.col<4>> -> !s
      %e = arith.addf %s, %spread : !s
      %p = arith.truncf %e : !s to !h
      %x = fagpu.mma nn %p, %k acc(%sum : !s) : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield %x : !s
    }
  }
  return
}

// A part of what is copied before the product stands behind its acquire.
// CHECK-LABEL: func.func @slice_of_one_stage
// CHECK: fagpu.for
// CHECK-NEXT: fagpu.put {{.*}} {fagpu.at = [-1, 4]}
// CHECK-NEXT: %[[K:.*]] = fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// CHECK-NEXT: %[[ROWS:.*]] = fagpu.slice %[[K]]
// CHECK-NEXT: fagpu.mma nt %{{.*}}, %[[ROWS]] acc({{.*}}) {fagpu.at = [0, 2]}
func.func @slice_of_one_stage(%m: !mem, %q: !h, %zero: tensor<64x32xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %keys = fagpu.channel cp_async : !channel
  fagpu.role @compute(%g) groups(2) {
    %first = arith.muli %g, %c32 : i32
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (tensor<64x32xf32>) {
      fagpu.put %keys part(%first, %c0), %m[%i, %c0] [32, 64] : !mem into !channel
      %k = fagpu.acquire %keys : !channel
      %rows = fagpu.slice %k[%first, %c0] : !view to !half_view
      %x = fagpu.mma nt %q, %rows acc(%sum : tensor<64x32xf32>) : !h, !half_view -> tensor<64x32xf32>
      fagpu.release %k : !view
      fagpu.yield %x : tensor<64x32xf32>
    }
  }
  return
}

// A loop that has slots keeps them, and gets no others.
// CHECK-LABEL: func.func @given
// CHECK: fagpu.put {{.*}} {fagpu.at = [-1, 7]}
// CHECK-NOT: fagpu.at
// CHECK: return
func.func @given(%m: !mem, %q: !h, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !channel
  fagpu.role @compute {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      fagpu.put %keys, %m[%i, %c0] [64, 64] {fagpu.at = [-1, 7]} : !mem into !channel
      %k = fagpu.acquire %keys : !channel
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield
    }
  }
  return
}

// Where another role copies, there is nothing to copy ahead.
// CHECK-LABEL: func.func @no_copies
// CHECK-NOT: fagpu.at
// CHECK: return
func.func @no_copies(%q: !h, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @compute {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %k = fagpu.acquire %keys : !channel
      %s = fagpu.mma nt %q, %k : !h, !view -> !s
      fagpu.release %k : !view
      fagpu.yield
    }
  }
  return
}
