// RUN: fa-opt %s -fagpu-assign-write-slots | FileCheck %s

#keys = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys>>>
#none = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = none>>>
!channel = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!mem = memref<?x64xf32, strided<[?, 1]>>
!index = tensor<64x64xi32, #fagpu.acc<4>>
!s = tensor<64x64xf32, #fagpu.acc<4>>
!h = tensor<64x64xbf16, #fagpu.acc<4>>
!p = tensor<64x64xbf16, #fagpu.opa<4>>
!inflight = !fagpu.inflight<!s keeps !p>

// Operations without a number have that of the one before them.
// CHECK-LABEL: func.func @overlap
func.func @overlap(%m: !mem, %at: !index, %q: !p, %zero: !s, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #keys} {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[KEYS:.*]] = fagpu.channel
  // CHECK: %[[VALUES:.*]] = fagpu.channel
  %keys = fagpu.channel threads : !channel
  %values = fagpu.channel threads : !channel
  fagpu.role @math {
    %o = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%sum = %zero) -> (!s) {
      // Keys are written while the second product of the block before runs.
      // CHECK: fagpu.gather {{.*}} {fagpu.at = [0, 1]}
      // CHECK-NEXT: arith.truncf %{{[^{]*}} :
      // CHECK-NEXT: fagpu.write %[[KEYS]], %{{[^{]*}} :
      %k32 = fagpu.gather %m[%at, %at] : !mem[!index, !index] -> !s
      %k16 = arith.truncf %k32 : !s to !h
      fagpu.write %keys, %k16 : !h into !channel

      // The first product follows that; its softmax comes behind its wait.
      // CHECK-NEXT: fagpu.acquire %[[KEYS]] {fagpu.at = [0, 2]}
      // CHECK-NEXT: fagpu.mma_async nt %{{[^{]*$}}
      // CHECK-NEXT: fagpu.wait %{{.*}} {fagpu.at = [0, 5]}
      // CHECK-NEXT: fagpu.release %{{[^{]*}} :
      // CHECK-NEXT: arith.truncf %{{[^{]*}} :
      // CHECK-NEXT: fagpu.convert %{{[^{]*}} :
      %k = fagpu.acquire %keys : !channel
      %sf = fagpu.mma_async nt %q, %k : !p, !view -> !inflight
      %s = fagpu.wait %sf : !inflight
      fagpu.release %k : !view
      %h = arith.truncf %s : !s to !h
      %p = fagpu.convert %h : !h -> !p

      // Values are written while the first product runs.
      // CHECK-NEXT: fagpu.gather {{.*}} {fagpu.at = [0, 4]}
      // CHECK-NEXT: arith.truncf %{{[^{]*}} :
      // CHECK-NEXT: fagpu.write %[[VALUES]], %{{[^{]*}} :
      %v32 = fagpu.gather %m[%at, %at] : !mem[!index, !index] -> !s
      %v16 = arith.truncf %v32 : !s to !h
      fagpu.write %values, %v16 : !h into !channel

      // The second product is stage 1, of the block before.
      // CHECK-NEXT: fagpu.acquire %[[VALUES]] {fagpu.at = [1, 0]}
      // CHECK-NEXT: fagpu.mma_async nn %{{[^{]*$}}
      // CHECK-NEXT: fagpu.wait %{{.*}} {fagpu.at = [1, 3]}
      // CHECK-NEXT: fagpu.release %{{[^{]*}} :
      %v = fagpu.acquire %values : !channel
      %of = fagpu.mma_async nn %p, %v : !p, !view -> !inflight
      %x = fagpu.wait %of : !inflight
      fagpu.release %v : !view

      // A sum is scaled last in a step, before what is added to it is issued.
      // CHECK-NEXT: math.absf %{{.*}} {fagpu.at = [0, 6]}
      // CHECK-NEXT: arith.mulf %{{[^{]*}} :
      // CHECK-NEXT: arith.addf {{.*}} {fagpu.at = [1, 3]}
      %alpha = math.absf %s : !s
      %scaled = arith.mulf %sum, %alpha : !s
      %next = arith.addf %scaled, %x : !s
      fagpu.yield %next : !s
    }
  }
  return
}

// Without an `overlap` a step keeps its order.
// CHECK-LABEL: func.func @no_overlap
// CHECK-NOT: fagpu.at
// CHECK: return
func.func @no_overlap(%m: !mem, %at: !index, %q: !p, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #none} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel threads : !channel
  fagpu.role @math {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %k32 = fagpu.gather %m[%at, %at] : !mem[!index, !index] -> !s
      %k16 = arith.truncf %k32 : !s to !h
      fagpu.write %keys, %k16 : !h into !channel
      %k = fagpu.acquire %keys : !channel
      %sf = fagpu.mma_async nt %q, %k : !p, !view -> !inflight
      %s = fagpu.wait %sf : !inflight
      %h = arith.truncf %s : !s to !h
      %p = fagpu.convert %h : !h -> !p
      %of = fagpu.mma_async nt %p, %k : !p, !view -> !inflight
      %x = fagpu.wait %of : !inflight
      fagpu.release %k : !view
      fagpu.yield
    }
  }
  return
}
