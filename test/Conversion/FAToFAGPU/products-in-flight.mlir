// RUN: fa-opt %s -fagpu-select-products | FileCheck %s
// RUN: fa-opt %s -fagpu-select-products | fa-opt | FileCheck %s

!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!channel = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!p = tensor<64x64xbf16, #fagpu.opa<4>>
!s = tensor<64x64xf32, #fagpu.acc<4>>

// Products that add to one sum are awaited together; the last of them keeps
// what all of them read, and views are released behind the wait.
// CHECK-LABEL: func.func @sum
func.func @sum(%p0: !p, %p1: !p) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>} {
  %c = fagpu.channel threads : !channel
  %d = fagpu.channel threads : !channel
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !channel
    %w = fagpu.acquire %d : !channel
    // CHECK: %[[A:.*]] = fagpu.mma_async nn %{{.*}}, %[[V:.*]] : {{.*}} keeps tensor<64x64xbf16, #fagpu.opa<4>>>
    // CHECK-NEXT: %[[B:.*]] = fagpu.mma_async nn %{{.*}}, %[[W:.*]] acc(%[[A]] : {{.*}} keeps tensor<64x64xbf16, #fagpu.opa<4>>, tensor<64x64xbf16, #fagpu.opa<4>>>
    // CHECK-NEXT: %[[SUM:.*]] = fagpu.wait %[[B]]
    // CHECK-NEXT: fagpu.release
    // CHECK-NEXT: fagpu.release
    // CHECK-NEXT: arith.addf %[[SUM]], %[[SUM]]
    %a = fagpu.product nn %p0, %v : !p, !view -> !s
    fagpu.release %v : !view
    %b = fagpu.product nn %p1, %w acc(%a : !s) : !p, !view -> !s
    fagpu.release %w : !view
    %use = arith.addf %b, %b : !s
  }
  return
}

// A sum that something else reads too is awaited for it.
// CHECK-LABEL: func.func @both
// CHECK: fagpu.mma_async
// CHECK-NEXT: %[[X:.*]] = fagpu.wait
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: fagpu.mma_async nn %{{.*}}, %{{.*}} acc(%[[Y]] :
// CHECK-NEXT: fagpu.wait
func.func @both(%p0: !p) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>} {
  %c = fagpu.channel threads : !channel
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !channel
    %a = fagpu.product nn %p0, %v : !p, !view -> !s
    %y = arith.addf %a, %a : !s
    %b = fagpu.product nn %p0, %v acc(%y : !s) : !p, !view -> !s
    fagpu.release %v : !view
    %use = arith.addf %b, %b : !s
  }
  return
}
