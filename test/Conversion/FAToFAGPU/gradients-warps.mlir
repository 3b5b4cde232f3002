// Gradients by warps: threads read the numbers of their columns, and the weights are multiplied before the product that follows.
// RUN: sed 's/OPTIONS/{config = #fa.config<query_block = 64, key_block = 64, deterministic = false>}/' %s | fa-opt - -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=ONCE
// RUN: sed 's/OPTIONS/{deterministic}/' %s | fa-opt - -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=TWICE

// Eight warps where 128 keys visit more than 32 queries at a time.
// RUN: sed 's/OPTIONS/{config = #fa.config<query_block = 64, key_block = 128, deterministic = false>}/' %s | fa-opt - -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=EIGHT
// EIGHT: fagpu.role @compute groups(1) warps(8)
// EIGHT: fagpu.mma tn {{.*}} -> tensor<128x64xf32, #fagpu.acc<8>>

!t = memref<2x?x8x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x8x?xf32>

// One pass: the warps share 64 keys, and then the head dim of the queries' gradient.
// ONCE-LABEL: func.func @gradients_all
// ONCE: %[[CH_DS:.*]] = fagpu.channel cp_async : <64x64xbf16, #fagpu.smem<128>, 1>
// ONCE: fagpu.role @compute groups(1) {
// ONCE: %[[K:.*]] = fagpu.acquire
// ONCE: %[[V:.*]] = fagpu.acquire
// ONCE: fagpu.put {{.*}} {fagpu.at = [-1, 1]}
// ONCE: %[[Q:.*]] = fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// ONCE: fagpu.put {{.*}} {fagpu.at = [-1, 1]}
// ONCE: %[[DO:.*]] = fagpu.acquire {{.*}} {fagpu.at = [0, 0]}
// ONCE: %[[S:.*]] = fagpu.mma nt %[[K]], %[[Q]]
// ONCE: fagpu.gather {{.*}} pairs : {{.*}} -> tensor<64xf32, #fagpu.col<4>>
// ONCE: %[[P:.*]] = math.exp2
// ONCE: scf.if
// ONCE: fagpu.mma nn %{{.*}}, %[[DO]] acc(
// ONCE: %[[DP:.*]] = fagpu.mma nt %[[V]], %[[DO]]
// ONCE: fagpu.gather {{.*}} pairs
// ONCE: %[[DS:.*]] = arith.truncf {{.*}} to tensor<64x64xbf16, #fagpu.acc<4>>
// ONCE: fagpu.write %[[CH_DS]], %[[DS]]
// ONCE: fagpu.mma nn %{{.*}}, %[[Q]] acc(
// ONCE: %[[ALL:.*]] = fagpu.acquire %[[CH_DS]]
// ONCE: %[[DQ:.*]] = fagpu.mma tn %[[K]], %[[ALL]] : {{.*}} -> tensor<128x64xf32, #fagpu.acc<4>>
// ONCE: fagpu.store %[[DQ]], {{.*}} add fragments by_words

// What the warps added comes back by the index that each thread had.
// ONCE-LABEL: func.func @gradients_sums
// ONCE: %[[SUMS:.*]] = fagpu.gather {{.*}} -> tensor<64x128xf32, #fagpu.acc<4>>
// ONCE: arith.mulf %[[SUMS]]
// ONCE: fagpu.store {{.*}} sizes [1, 64, 1, 128]

// TWICE-NOT: add fragments
// TWICE-LABEL: func.func @gradients_keys_and_values
// TWICE: fagpu.mma nt
// TWICE: fagpu.mma nn {{.*}} acc(
// TWICE: fagpu.mma nt
// TWICE: fagpu.mma nn {{.*}} acc(
// TWICE-LABEL: func.func @gradients_queries
// TWICE: fagpu.mma nt
// TWICE: fagpu.mma nt
// TWICE: fagpu.mma nn {{.*}} acc(
// TWICE-NOT: add fragments
func.func @gradients(%query: !t, %key: !t, %value: !t, %output: !t, %lse: !lse, %output_gradient: !t,
    %query_gradient: !t, %key_gradient: !t, %value_gradient: !t) {
  fa.attention_gradient ins(%query, %key, %value : !t, !t, !t) of(%output, %lse : !t, !lse)
      gradients(%output_gradient : !t)
      outs(query = %query_gradient : !t, key = %key_gradient : !t, value = %value_gradient : !t) mask causal OPTIONS
  return
}
