// RUN: sed 's/OVERLAP/keys/' %s | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s
// RUN: sed 's/OVERLAP/none/' %s | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=NONE

// Keys are split while the weights are multiplied by the values of the block
// before, values while the scores are computed.
// NONE-NOT: fagpu.at
// CHECK: fagpu.for
// CHECK: tensor.splat %{{.*}} {fagpu.at = [0, 1]}
// CHECK: %[[KEYS:.*]] = fagpu.gather %arg1
// CHECK: fagpu.write %[[C0:.*]] part(
// CHECK: fagpu.write %{{.*}} part(
// CHECK: fagpu.write %{{.*}} part(
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [0, 2]}
// CHECK: fagpu.mma_async nt
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 5]}
// CHECK: fagpu.broadcast %{{.*}} {fagpu.at = [0, 6]} : {{.*}} -> tensor<64x64xf32
// CHECK: fagpu.gather %arg2{{.*}} {fagpu.at = [0, 4]}
// CHECK: arith.truncf %{{.*}} {fagpu.at = [0, 5]}
// CHECK: fagpu.acquire %{{.*}} {fagpu.at = [1, 0]}
// CHECK-COUNT-6: fagpu.mma_async nn
// CHECK-NEXT: fagpu.wait %{{.*}} {fagpu.at = [1, 3]}
// CHECK: arith.addf
// CHECK-NEXT: fagpu.yield
!t = tensor<1x?x2x64xf32>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t) -> !t {
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = OVERLAP>, stages = 1>>}
  return %r : !t
}
