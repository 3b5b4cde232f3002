// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// What the L2 cache is told about bulk copies: a policy for each priority.

#acc = #fagpu.acc<4>
!acc = tensor<64x64xbf16, #acc>
!t = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>

// CHECK-LABEL: func.func @copies(
func.func @copies(%m: memref<?x64xbf16>, %f: memref<?x64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %in = fagpu.channel tma : !t
  %numbers = fagpu.channel tma : !v
  %out = fagpu.channel tma_store : !t
  fagpu.role @copy groups(1) elect {
    // CHECK: %[[FIRST:.*]] = llvm.inline_asm asm_dialect = att "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l"
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} l2_cache_hint = %[[FIRST]]
    fagpu.put %in, %m[%c0, %c0] [64, 64] cache(evict_first) : memref<?x64xbf16> into !t
    // CHECK: nvvm.cp.async.bulk.shared.cluster.global {{.*}} l2_cache_hint = %{{.*}}
    fagpu.put %numbers, %f[%c0, %c0] [1, 64] cache(evict_first) : memref<?x64xf32> into !v
  }
  fagpu.role @move groups(1) {
    %view = fagpu.acquire %in : !t
    %x = fagpu.load %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !acc
    fagpu.release %view : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    %row = fagpu.acquire %numbers : !v
    fagpu.release %row : !fagpu.view<64xf32, #fagpu.smem<0>>
    // CHECK: %[[LAST:.*]] = llvm.inline_asm asm_dialect = att "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l"
    // CHECK: llvm.inline_asm has_side_effects {{.*}}"@$2 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [$0, {$3, $4}], [$1], $5;", {{.*}}%[[LAST]]
    fagpu.store %x, %m[%c0, %c0] cache(evict_last) via(%out : !t) : !acc into memref<?x64xbf16>
  }
  return
}
