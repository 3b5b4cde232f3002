// Causal gradients of grouped heads in one pass: sequences that fill whole waves of the multiprocessors are worked on together,
// and tiles of odd waves go through their queries the other way.
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a -o %t.schedule
// RUN: FileCheck %s --input-file=%t.schedule
// RUN: FileCheck %s --input-file=%t.schedule --check-prefix=HOST
// Tiles of a window end with queries of their own.
// RUN: %mutate %s change 'mask causal' to 'mask window(%%c255, %%c0)' | fa-opt - -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=WINDOW
// WINDOW-NOT: gpu.grid_dim
// Sums in one order have no waves, and groups of sequences as the cache holds.
// RUN: %mutate %s change 'mask causal' to 'mask causal {deterministic}' | fa-opt - -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=ORDERED
// ORDERED-NOT: gpu.grid_dim
// ORDERED: func.func @grouped(
// ORDERED: %[[CACHED:.*]] = arith.constant 32768 : index
// ORDERED: arith.divui %[[CACHED]]

!q = memref<?x?x8x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<?x?x2x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x8x?xf32>

// CHECK-LABEL: func.func @grouped_all
// CHECK: %[[GRID:.*]] = gpu.grid_dim x
// CHECK: fagpu.role @load
// CHECK: %[[TILE:.*]] = arith.minsi
// CHECK: %[[WAVE:.*]] = arith.divui %[[TILE]], %{{.*}} : i32
// CHECK: %[[PARITY:.*]] = arith.andi %[[WAVE]], %{{.*}} : i32
// CHECK: fagpu.repeat iter(%[[OF_TILE:.*]] = %[[PARITY]],
// CHECK: %[[ODD:.*]] = arith.cmpi eq, %[[OF_TILE]],
// CHECK: fagpu.for %[[I:.*]] = %{{.*}} step -1
// CHECK: %[[BLOCK:.*]] = arith.divui %[[I]], %[[HEADS:.*]] : i32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %[[HEADS]]
// CHECK: %[[HEAD:.*]] = arith.subi %[[I]], %[[BEFORE]]
// CHECK: %[[RISEN:.*]] = arith.subi %{{.*}}, %[[BLOCK]]
// CHECK: arith.select %[[ODD]], %[[RISEN]], %[[BLOCK]]
// CHECK: fagpu.role @math

// Sums of the next tile come while those before are stored.
// HOST-LABEL: func.func @grouped_sums
// HOST: fagpu.channel tma banks(2) : <4096xf32, #fagpu.smem<0>, 2>

// HOST-LABEL: func.func @grouped(
// HOST: %[[PROCESSORS:.*]] = fagpu.multiprocessors
// HOST: %[[SOME:.*]] = arith.maxui %{{.*}}, %{{.*}} : index
// HOST: %[[FEWEST:.*]] = arith.muli %[[SOME]], %{{.*}} : index
// HOST: %[[WAVES:.*]] = arith.ceildivui %[[FEWEST]], %[[PROCESSORS]]
// HOST: %[[TILES:.*]] = arith.muli %[[WAVES]], %[[PROCESSORS]]
// HOST: %[[FITTING:.*]] = arith.divui %[[TILES]], %[[SOME]]
// HOST: arith.minui %[[FITTING]], %[[PROCESSORS]]
func.func @grouped(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q, %dq: !q, %dk: !k, %dv: !k) {
  %c255 = arith.constant 255 : index
  %c0 = arith.constant 0 : index
  fa.attention_gradient ins(%q, %k, %v : !q, !k, !k) of(%o, %lse : !q, !lse) gradients(%do : !q)
      outs(query = %dq : !q, key = %dk : !k, value = %dv : !k) mask causal
  return
}
