// RUN: fa-opt %s -fagpu-divide-columns | FileCheck %s

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>

// Two groups have half of the columns each, and copy half of the rows. What they
// multiply first goes through shared memory; results are not staged.
// CHECK-LABEL: func.func @weights
// CHECK-DAG: %[[KEYS:.*]] = fagpu.channel cp_async : <64x128xbf16, #fagpu.smem<128>, 1>
// CHECK-DAG: %[[QUERIES:.*]] = fagpu.channel cp_async : <64x128xbf16, #fagpu.smem<128>, 1>
// CHECK-NOT: fagpu.channel threads
// CHECK: %[[WEIGHTS:.*]] = fagpu.channel cp_async : <64x64xbf16, #fagpu.smem<64>, 1>
// CHECK: fagpu.role @compute(%[[G:.*]]) groups(2) warps(2) {
// CHECK: %[[G64:.*]] = arith.muli %[[G]], %c64_i32
// CHECK: %[[G32:.*]] = arith.muli %[[G]], %c32_i32
// CHECK: fagpu.put %{{.*}} part(%[[G32]], %{{.*}}), %{{.*}}[%[[G32]], %{{.*}}] [32, 128]
// CHECK: %[[K:.*]] = fagpu.acquire
// CHECK: fagpu.for %[[I:.*]] = {{.*}} iter(%[[X:.*]] = %{{.*}}) -> tensor<64x64xf32>
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[G32]]
// CHECK: fagpu.put %{{.*}} part(%[[G32]], %{{.*}}), %{{.*}}[%[[ROW]], %{{.*}}] [32, 128]
// CHECK: %[[Q:.*]] = fagpu.acquire
// CHECK: %[[ROWS:.*]] = fagpu.slice %[[Q]][%[[G32]], %{{.*}}]
// CHECK: %[[S:.*]] = fagpu.mma nt %[[K]], %[[ROWS]] : {{.*}} -> tensor<64x32xf32>
// CHECK: %[[NUMBER:.*]] = fagpu.iota 1 : tensor<64x32xi32>
// CHECK: %[[FIRST:.*]] = tensor.splat %[[G32]]
// CHECK: arith.addi %[[NUMBER]], %[[FIRST]]
// CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x32xbf16>
// CHECK: fagpu.write %[[WEIGHTS]] part(%{{.*}}, %[[G32]]), %[[P]]
// CHECK: %[[ALL:.*]] = fagpu.acquire %[[WEIGHTS]]
// CHECK: %[[COLUMNS:.*]] = fagpu.slice %[[Q]][%{{.*}}, %[[G64]]]
// CHECK: fagpu.mma nn %[[ALL]], %[[COLUMNS]] acc(%[[X]] : tensor<64x64xf32>)
// CHECK: fagpu.release %[[ALL]]
// CHECK: fagpu.release %[[Q]]
// CHECK: fagpu.store {{.*}}, %[[G64]]] sizes [64, 64]
// CHECK-NOT: via
func.func @weights(%k: !m, %q: !m, %out: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  %queries = fagpu.channel cp_async : !q
  %staged = fagpu.channel threads over(%keys : !q) : !q
  %zero = arith.constant dense<0.0> : !o
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %sum = fagpu.for %i = %c0 step 1 segments(%first: to %n) iter(%x = %zero) -> (!o) {
      fagpu.put %queries, %q[%i, %c0] [64, 128] rows(%n) : !m into !q
      %qv = fagpu.acquire %queries : !q
      %s = fagpu.mma nt %kv, %qv : !qv, !qv -> !s
      %row = fagpu.iota 1 : tensor<64x64xi32>
      %f = arith.sitofp %row : tensor<64x64xi32> to !s
      %t = arith.mulf %s, %f : !s
      %p = arith.truncf %t : !s to !h
      %y = fagpu.mma nn %p, %qv acc(%x : !o) : !h, !qv -> !o
      fagpu.release %qv : !qv
      fagpu.yield %y : !o
    }
    fagpu.release %kv : !qv
    %r = arith.truncf %sum : !o to tensor<64x128xbf16>
    fagpu.store %r, %out[%c0, %c0] sizes [64, 128] rows(%n) via(%staged : !q) : tensor<64x128xbf16> into !m
  }
  return
}

// Two first operands are read behind one barrier, so the first product waits for
// the second write. A product that only reads what was copied stays.
// CHECK-LABEL: func.func @together
// CHECK: fagpu.for
// CHECK: fagpu.write
// CHECK-NOT: fagpu.mma nn
// CHECK: fagpu.mma nt
// CHECK: fagpu.write
// CHECK-NEXT: fagpu.acquire
// CHECK-NEXT: fagpu.acquire
// CHECK: fagpu.mma nn
// CHECK: fagpu.mma nn
func.func @together(%k: !m, %q: !m, %out: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  %queries = fagpu.channel cp_async : !q
  %staged = fagpu.channel threads over(%keys : !q) : !q
  %zero = arith.constant dense<0.0> : !o
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %sum = fagpu.for %i = %c0 step 1 segments(%first: to %n) iter(%x = %zero) -> (!o) {
      fagpu.put %queries, %q[%i, %c0] [64, 128] rows(%n) : !m into !q
      %qv = fagpu.acquire %queries : !q
      %s = fagpu.mma nt %kv, %qv : !qv, !qv -> !s
      %p = arith.truncf %s : !s to !h
      %z = fagpu.mma nn %p, %qv acc(%x : !o) : !h, !qv -> !o
      %u = fagpu.mma nt %kv, %qv : !qv, !qv -> !s
      %v = arith.truncf %u : !s to !h
      %y = fagpu.mma nn %v, %qv acc(%z : !o) : !h, !qv -> !o
      fagpu.release %qv : !qv
      fagpu.yield %y : !o
    }
    fagpu.release %kv : !qv
    %r = arith.truncf %sum : !o to tensor<64x128xbf16>
    fagpu.store %r, %out[%c0, %c0] sizes [64, 128] rows(%n) via(%staged : !q) : tensor<64x128xbf16> into !m
  }
  return
}

// Without `column_groups` nothing changes.
// CHECK-LABEL: func.func @one_group
// CHECK: fagpu.role @compute groups(1) {
// CHECK: [64, 128] rows
// CHECK-NOT: fagpu.slice
// CHECK-NOT: fagpu.write
// CHECK: fagpu.store {{.*}} via(
func.func @one_group(%k: !m, %q: !m, %out: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  %queries = fagpu.channel cp_async : !q
  %staged = fagpu.channel threads over(%keys : !q) : !q
  %zero = arith.constant dense<0.0> : !o
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %sum = fagpu.for %i = %c0 step 1 segments(%first: to %n) iter(%x = %zero) -> (!o) {
      fagpu.put %queries, %q[%i, %c0] [64, 128] rows(%n) : !m into !q
      %qv = fagpu.acquire %queries : !q
      %s = fagpu.mma nt %kv, %qv : !qv, !qv -> !s
      %row = fagpu.iota 1 : tensor<64x64xi32>
      %f = arith.sitofp %row : tensor<64x64xi32> to !s
      %t = arith.mulf %s, %f : !s
      %p = arith.truncf %t : !s to !h
      %y = fagpu.mma nn %p, %qv acc(%x : !o) : !h, !qv -> !o
      fagpu.release %qv : !qv
      fagpu.yield %y : !o
    }
    fagpu.release %kv : !qv
    %r = arith.truncf %sum : !o to tensor<64x128xbf16>
    fagpu.store %r, %out[%c0, %c0] sizes [64, 128] rows(%n) via(%staged : !q) : tensor<64x128xbf16> into !m
  }
  return
}
