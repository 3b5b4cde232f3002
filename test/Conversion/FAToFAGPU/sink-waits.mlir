// RUN: fa-opt %s -fagpu-sink-waits -split-input-file | FileCheck %s

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!h = tensor<64x64xbf16>
!s = tensor<64x64xf32>
!kc = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!kv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!mem = memref<?x64xf32, strided<[?, 1]>>

// What the next product reads is made beside the one that runs; what is loaded
// for later comes behind it, and a branch on the product stays behind the wait.
// CHECK-LABEL: func.func @sink
func.func @sink(%m: !mem, %i: tensor<64x64xi32>, %x: !s, %flag: i1) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  %values = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    // CHECK: %[[K:.*]] = fagpu.acquire
    // CHECK-NEXT: %[[ISSUED:.*]] = fagpu.mma_async nt
    // CHECK-NEXT: fagpu.schedule_barrier
    // CHECK-NEXT: %[[V:.*]] = arith.truncf
    // CHECK-NEXT: fagpu.write %{{.*}}, %[[V]]
    // CHECK-NEXT: %[[LATER:.*]] = fagpu.gather
    // CHECK-NEXT: %[[S:.*]] = fagpu.wait %[[ISSUED]]
    // CHECK-NEXT: fagpu.release %[[K]]
    // CHECK-NEXT: %[[P:.*]] = math.exp2 %[[S]]
    // CHECK-NEXT: %[[T:.*]] = scf.if
    // CHECK: arith.addf %[[T]], %[[LATER]]
    // CHECK: fagpu.acquire
    %k0 = arith.truncf %x : !s to !h
    fagpu.write %keys, %k0 : !h into !kc
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    fagpu.release %k : !kv
    %p = math.exp2 %s : !s
    %later = fagpu.gather %m[%i, %i] : !mem[tensor<64x64xi32>, tensor<64x64xi32>] -> !s
    %t = scf.if %flag -> !s {
      %u = arith.addf %p, %p : !s
      scf.yield %u : !s
    } else {
      scf.yield %p : !s
    }
    %w = arith.addf %t, %later : !s
    %v0 = arith.truncf %x : !s to !h
    fagpu.write %values, %v0 : !h into !kc
    %v = fagpu.acquire %values : !kc
    fagpu.release %v : !kv
  }
  return
}

// What is loaded and written at once is loaded first.
// CHECK-LABEL: func.func @loaded
// CHECK: fagpu.schedule_barrier
// CHECK-NEXT: %[[NOW:.*]] = fagpu.gather
// CHECK-NEXT: %[[V:.*]] = arith.truncf %[[NOW]]
// CHECK-NEXT: fagpu.write %{{.*}}, %[[V]]
// CHECK-NEXT: fagpu.wait
func.func @loaded(%m: !mem, %i: tensor<64x64xi32>) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  %values = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    %now = fagpu.gather %m[%i, %i] : !mem[tensor<64x64xi32>, tensor<64x64xi32>] -> !s
    %v0 = arith.truncf %now : !s to !h
    fagpu.write %values, %v0 : !h into !kc
    fagpu.release %k : !kv
  }
  return
}

// A stage that is released behind the wait is filled behind it.
// CHECK-LABEL: func.func @same_stage
// CHECK-NOT: fagpu.schedule_barrier
// CHECK: fagpu.mma_async
// CHECK-NEXT: fagpu.wait
// CHECK-NEXT: fagpu.release
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: fagpu.write
func.func @same_stage(%x: !s) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    fagpu.release %k : !kv
    %k0 = arith.truncf %x : !s to !h
    fagpu.write %keys, %k0 : !h into !kc
  }
  return
}

// So it is where a product reads slices of the stage.
// CHECK-LABEL: func.func @same_slice
// CHECK-NOT: fagpu.schedule_barrier
func.func @same_slice(%x: tensor<32x64xf32>, %c0: i32, %c32: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  %queries = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    %q = fagpu.acquire %queries : !kc
    %k = fagpu.acquire %keys : !kc
    %half = fagpu.slice %k[%c32, %c0] : !kv to !fagpu.view<32x64xbf16, #fagpu.smem<128>>
    %issued = fagpu.mma_async nt %q, %half : !kv, !fagpu.view<32x64xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x32xf32>>
    %s = fagpu.wait %issued : !fagpu.inflight<tensor<64x32xf32>>
    fagpu.release %k : !kv
    %k0 = arith.truncf %x : tensor<32x64xf32> to tensor<32x64xbf16>
    fagpu.write %keys part(%c0, %c0), %k0 : tensor<32x64xbf16> into !kc
    fagpu.release %q : !kv
  }
  return
}

// So it is where a branch releases it, or where a value of the product was
// written to it before.
// CHECK-LABEL: func.func @in_a_branch
// CHECK-NOT: fagpu.schedule_barrier
func.func @in_a_branch(%x: !s, %flag: i1) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    scf.if %flag {
      fagpu.release %k : !kv
    } else {
      fagpu.release %k : !kv
    }
    %k0 = arith.truncf %x : !s to !h
    fagpu.write %keys, %k0 : !h into !kc
  }
  return
}

// CHECK-LABEL: func.func @in_order
// CHECK-NOT: fagpu.schedule_barrier
func.func @in_order(%x: !s, %m: !mem, %i: tensor<64x64xi32>, %c0: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  %values = fagpu.channel threads : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    %p = arith.truncf %s : !s to !h
    fagpu.write %values, %p : !h into !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
    %v0 = arith.truncf %x : !s to !h
    fagpu.write %values, %v0 : !h into !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 2>
    fagpu.release %k : !kv
  }
  return
}

// Memory that a value of the product was stored to is read behind it.
// CHECK-LABEL: func.func @stored
// CHECK: fagpu.schedule_barrier
// CHECK-NOT: fagpu.gather
// CHECK: fagpu.wait
// CHECK: fagpu.store
// CHECK: fagpu.gather
func.func @stored(%x: !s, %m: !mem, %i: tensor<64x64xi32>, %c0: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !kc
  %values = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    %v0 = arith.truncf %x : !s to !h
    fagpu.write %values, %v0 : !h into !kc
    fagpu.store %s, %m[%c0, %c0] : !s into !mem
    %later = fagpu.gather %m[%i, %i] : !mem[tensor<64x64xi32>, tensor<64x64xi32>] -> !s
    fagpu.release %k : !kv
    %use = arith.addf %later, %s : !s
  }
  return
}

// -----

#overlap = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys>>>
!h = tensor<64x64xbf16>
!s = tensor<64x64xf32>
!kc = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!kv = !fagpu.view<64x64xbf16, #fagpu.smem<128>>

// Slots say what runs beside what.
// CHECK-LABEL: func.func @overlap
// CHECK-NOT: fagpu.schedule_barrier
func.func @overlap(%x: !s) attributes {
    fagpu.kernel = "sm_90a", fa.config = #overlap} {
  %keys = fagpu.channel threads : !kc
  %values = fagpu.channel threads : !kc
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !kc
    %issued = fagpu.mma_async nt %k, %k : !kv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    fagpu.release %k : !kv
    %v0 = arith.truncf %x : !s to !h
    fagpu.write %values, %v0 : !h into !kc
  }
  return
}
