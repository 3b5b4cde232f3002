// RUN: fa-opt %s -fagpu-select-products | FileCheck %s

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
#warps = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!h = tensor<64x64xf16>
!s = tensor<64x64xf32>

// In a kernel of `warp_groups` a product is issued, then awaited.
// CHECK-LABEL: func.func @groups
// CHECK: %[[K:.*]] = fagpu.acquire
// CHECK-NEXT: %[[ISSUED:.*]] = fagpu.mma_async nt %{{.*}}, %[[K]] : {{.*}} -> <tensor<64x64xf32>>
// CHECK-NEXT: %[[S:.*]] = fagpu.wait %[[ISSUED]]
// CHECK-NEXT: fagpu.release %[[K]]
// CHECK-NEXT: arith.truncf %[[S]]
func.func @groups(%h: !h, %o: !s) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %keys = fagpu.channel threads : !channel
  %values = fagpu.channel threads : !channel
  fagpu.role @math groups(1) {
    %k = fagpu.acquire %keys : !channel
    %s = fagpu.product nt %k, %k : !view, !view -> !s
    fagpu.release %k : !view
    %p = arith.truncf %s : !s to !h

    // A product in flight keeps its first operand where that is in registers.
    // CHECK: %[[V:.*]] = fagpu.acquire
    // CHECK-NEXT: %[[ISSUED:.*]] = fagpu.mma_async nn %[[P:.*]], %[[V]] acc(%[[O:.*]] : {{.*}}) : {{.*}} -> <tensor<64x64xf32> keeps tensor<64x64xf16>>
    // CHECK-NEXT: fagpu.wait %[[ISSUED]]
    // CHECK-NEXT: fagpu.release %[[V]]
    %v = fagpu.acquire %values : !channel
    %x = fagpu.product nn %p, %v acc(%o : !s) : !h, !view -> !s
    fagpu.release %v : !view
  }
  return
}

// In a kernel of `warps` a product is complete at once.
// CHECK-LABEL: func.func @warps
// CHECK: %[[V:.*]] = fagpu.acquire
// CHECK-NEXT: fagpu.mma nn %[[P:[^,]*]], %[[V]] acc(%{{.*}} : tensor<64x64xf32>)
// CHECK-NEXT: fagpu.release %[[V]]
// CHECK-NOT: fagpu.wait
func.func @warps(%p: !h, %o: !s) attributes {fagpu.kernel = "sm_80", fa.config = #warps} {
  %values = fagpu.channel threads : !channel
  fagpu.role @compute {
    %v = fagpu.acquire %values : !channel
    %x = fagpu.product nn %p, %v acc(%o : !s) : !h, !view -> !s
    fagpu.release %v : !view
  }
  return
}

// What is no kernel stays as it is.
// CHECK-LABEL: func.func @host
// CHECK: fagpu.product nn
func.func @host(%p: !h, %v: !h) -> !s {
  %x = fagpu.product nn %p, %v : !h, !h -> !s
  return %x : !s
}
