// Gradients in one pass: blocks of keys add to the gradient of queries, in the order in which threads hold it.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-to-level2{chip=sm_90a},lower-affine,canonicalize,cse,fa-outline-kernels{chip=sm_90a},canonicalize,cse,func.func(fa-decompose-to-blocks,canonicalize,cse))' | FileCheck %s --check-prefix=BLOCKS
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a | FileCheck %s

!t = memref<2x?x8x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x8x?xf32>

// The numbers of each query row; the sums of a block of queries are cleared.
// BLOCKS-LABEL: func.func @gradients_rows
// BLOCKS: fagpu.store %{{.*}}, %[[SUMS:.*]][%{{.*}}] sizes [1, 1, 8192] fragments : tensor<128x64xf32>

// Keys of both groups, of which each has its rows.
// BLOCKS-LABEL: func.func @gradients_all
// BLOCKS: fagpu.role @math(%[[GROUP:.*]]) groups(2)
// BLOCKS: %[[KEYS:.*]] = fagpu.fetch %{{.*}} [1, 128, 1, 64]
// BLOCKS: %[[KEY:.*]] = tensor.extract_slice %[[KEYS]][%{{.*}}, 0] [64, 64] [1, 1]
// BLOCKS: fa.query_ranges
// BLOCKS: %[[S:.*]] = fagpu.product nt %[[KEY]], %[[Q:.*]] :
// BLOCKS: %[[P:.*]] = scf.if
// BLOCKS: %[[DP:.*]] = fagpu.product nt
// BLOCKS: %[[DS:.*]] = arith.mulf %[[P]]
// BLOCKS: %[[HALF:.*]] = arith.truncf %[[DS]]
// BLOCKS: %[[ALL:.*]] = fagpu.exchange %[[HALF]] : tensor<64x128xbf16> -> tensor<128x128xbf16>
// BLOCKS: %[[MINE:.*]] = tensor.extract_slice %[[ALL]][%{{.*}}, 0] [64, 128] [1, 1]
// BLOCKS: %[[DQ:.*]] = fagpu.product nn %[[MINE]], %[[KEYS]]
// BLOCKS: fagpu.store %[[DQ]], %{{.*}} sizes [1, 1, 4096] add fragments

// BLOCKS-LABEL: func.func @gradients_sums
// BLOCKS: fagpu.fetch %{{.*}} [1, 1, 4096] fragments : memref<{{.*}}> -> tensor<64x64xf32>
// BLOCKS: fagpu.store %{{.*}} sizes [1, 64, 1, 64] rows(

// Who reads what the launch ahead wrote waits for it on the device.
// CHECK-LABEL: func.func @gradients_rows
// CHECK-NOT: fagpu.await_previous
// CHECK: fagpu.release_dependents
// CHECK: fagpu.role @compute

// CHECK-LABEL: func.func @gradients_all
// CHECK: fagpu.await_previous
// CHECK: %[[CH_S:.*]] = fagpu.channel threads : <128x128xbf16, #fagpu.smem<128>, 2>
// CHECK: %[[CH_K:.*]] = fagpu.channel tma : <128x64xbf16, #fagpu.smem<128>, 1>
// CHECK: %[[CH_V:.*]] = fagpu.channel tma banks(2) : <64x64xbf16, #fagpu.smem<128>, 1>
// CHECK: %[[CH_G:.*]] = fagpu.channel tma_store banks(2) : <4096xf32, #fagpu.smem<0>, 1>
// CHECK: %[[CH_O:.*]] = fagpu.channel tma_store banks(2) over(%[[CH_V]]
// CHECK: %[[TURNS:.*]] = fagpu.turns 2
// CHECK: fagpu.role @load groups(1) regs(24) elect
// CHECK-NOT: fagpu.repeat
// CHECK: fagpu.role @math(%{{.*}}) groups(2) regs(240)
// CHECK: fagpu.for
// CHECK: fagpu.mma_async nt
// The vector's barrier is asked while the product runs.
// CHECK: %[[LV:.*]] = fagpu.acquire %{{.*}} {fagpu.at = [0, 2]} : <128xf32
// CHECK-NEXT: fagpu.wait
// CHECK-NEXT: fagpu.load %[[LV]] : <128xf32
// CHECK: math.exp2
// CHECK-NEXT: fagpu.release %[[LV]]
// CHECK: fagpu.schedule_barrier
// CHECK-NEXT: fagpu.convert
// CHECK-NEXT: fagpu.convert
// CHECK: fagpu.write %[[CH_S]] part(%{{.*}}), %{{.*}} transposed {fagpu.at = [0, 5]}
// CHECK: fagpu.take %[[TURNS]] {fagpu.at = [0, 3]}
// CHECK: fagpu.mma_async nn %{{.*}} acc(
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 6]}
// CHECK: fagpu.acquire %[[CH_S]] {fagpu.at = [1, 4]}
// CHECK: %[[DQF:.*]] = fagpu.mma_async nn %{{.*}} : !fagpu.view<64x128xbf16
// CHECK: fagpu.wait %[[DQF]] {fagpu.at = [1, 7]}
// CHECK: fagpu.mma_async nn %{{.*}} acc({{.*}} {fagpu.at = [0, 5]}
// CHECK: fagpu.pass %[[TURNS]]
// CHECK: fagpu.wait %{{.*}} {fagpu.at = [0, 8]}
// CHECK: fagpu.store %{{.*}} sizes [1, 1, 4096] add fragments via(%[[CH_G]] {{.*}} {fagpu.at = [1, 7]}
// CHECK: fagpu.yield
// CHECK: fagpu.release_dependents
// CHECK: fagpu.store %{{.*}} via(%[[CH_O]]
// CHECK: fagpu.store %{{.*}} via(%[[CH_O]]

// CHECK-LABEL: func.func @gradients_sums
// CHECK: fagpu.await_previous
// CHECK: fagpu.role @load groups(1) elect
// CHECK: fagpu.load %{{.*}} fragments

// CHECK-LABEL: func.func @gradients(
// CHECK: fagpu.launch @gradients_rows grid(
// CHECK-NOT: dependent
// CHECK: fagpu.launch @gradients_all grid(%{{.*}}) dependent
// CHECK: fagpu.launch @gradients_sums grid(%{{.*}}) dependent
func.func @gradients(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !lse, %do: !t, %dq: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !lse) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 128, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>, copying_registers = 24>, stages = 2>, gradient_form = one_pass>}
  return
}

// Blocks that take one tile after the other: what a tile stores has memory of its own, which both gradients share.
// RUN: %mutate %s change 'overlap = keys<turns>' to 'overlap = stores<turns>, tile_order = longest_first' | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefixes=TILES,STORES
// Keys have a stage for the next tile.
// RUN: %mutate %s change 'overlap = keys<turns>' to 'overlap = tiles<turns>, tile_order = longest_first' | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefixes=TILES,NEXTKEYS
// TILES-LABEL: func.func @gradients_all
// STORES: %[[CH_K:.*]] = fagpu.channel tma : <128x64xbf16, #fagpu.smem<128>, 1>
// NEXTKEYS: %[[CH_K:.*]] = fagpu.channel tma : <128x64xbf16, #fagpu.smem<128>, 2>
// TILES: %[[CH_O:.*]] = fagpu.channel tma_store banks(2) : <64x64xbf16, #fagpu.smem<128>, 1>
// TILES: fagpu.mail
// TILES: fagpu.role @load
// TILES: fagpu.repeat
// NEXTKEYS: fagpu.put %[[CH_K]],
// TILES: fagpu.for %{{.*}} = %{{.*}} step 1 segments(%[[FIRST:.*]]: once, %{{[^:]*}}: to %{{[^:]*}})
// TILES: fagpu.ticket
// STORES: fagpu.put %[[CH_K]], {{.*}} if(%[[FIRST]])
// TILES: fagpu.role @math
// TILES: fagpu.repeat
// TILES: fagpu.for
// TILES: fagpu.store {{.*}} sizes [1, 64, 1, 64] {{.*}} via(%[[CH_O]]
// TILES: fagpu.store {{.*}} sizes [1, 64, 1, 64] {{.*}} via(%[[CH_O]]
// TILES: fagpu.recv

// Of head dim 128 a group has 64 columns, as rows of a product where there are not 64 queries.
// RUN: %mutate %s change 'memref<2x?x8x64xbf16' to 'memref<2x?x8x128xbf16' then change 'query_block = 128' to 'query_block = 80' | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=WIDE
// WIDE-LABEL: func.func @gradients_all
// WIDE: %[[CH_S:.*]] = fagpu.channel threads : <80x128xbf16, #fagpu.smem<128>, 2>
// WIDE: fagpu.write %[[CH_S]] part(%{{.*}}), %{{.*}} transposed {fagpu.at = [0, 4]}
// WIDE: fagpu.take %{{.*}} {fagpu.at = [0, 3]}
// WIDE: fagpu.acquire %[[CH_S]] {fagpu.at = [1, 5]}
// WIDE: %[[DQF:.*]] = fagpu.mma_async tt
// WIDE: fagpu.wait %[[DQF]] {fagpu.at = [1, 8]}
// WIDE: fagpu.mma_async nn %{{.*}} acc({{.*}} {fagpu.at = [0, 7]}
// WIDE: fagpu.wait %{{.*}} {fagpu.at = [0, 9]}
// WIDE: fagpu.store %{{.*}} sizes [1, 1, 5120] add fragments via({{.*}} {fagpu.at = [1, 8]}
// WIDE-LABEL: func.func @gradients_sums
// WIDE: fagpu.store %{{.*}} sizes [1, 80, 1, 64] rows(%{{.*}}) transposed via(

// Keys have a stage for the next tile, and tiles overlap. Results leave through what the sums of queries leave through, which is as large.
// RUN: %mutate %s change 'memref<2x?x8x64xbf16' to 'memref<2x?x8x128xbf16' then change 'query_block = 128' to 'query_block = 64' then change 'overlap = keys' to 'overlap = tiles' | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=AHEAD
// AHEAD-LABEL: func.func @gradients_all
// AHEAD: %[[CH_K:.*]] = fagpu.channel tma : <128x128xbf16, #fagpu.smem<128>, 2>
// AHEAD: %[[CH_V:.*]] = fagpu.channel tma banks(2) : <64x128xbf16, #fagpu.smem<128>, 1>
// AHEAD: %[[CH_G:.*]] = fagpu.channel tma_store banks(2) : <4096xf32, #fagpu.smem<0>, 1>
// AHEAD: %[[CH_O:.*]] = fagpu.channel tma_store banks(2) over(%[[CH_G]] : {{.*}}) : <64x128xbf16, #fagpu.smem<128>, 1>
// AHEAD: fagpu.role @load
// AHEAD: fagpu.repeat
// AHEAD: fagpu.put %[[CH_K]],
// AHEAD: fagpu.for %{{.*}} = %{{.*}} step 1 segments(%[[FIRST:.*]]: once, %{{[^:]*}}: to %{{[^:]*}})
// AHEAD-COUNT-4: [1, {{(1, )?64}}
// AHEAD: fagpu.put %[[CH_V]] bank(%{{.*}}), {{.*}} if(%[[FIRST]])
// AHEAD: fagpu.put %[[CH_V]] bank(%{{.*}}), {{.*}} if(%[[FIRST]])
// AHEAD: fagpu.yield
// AHEAD: fagpu.role @math
// AHEAD: fagpu.repeat
// AHEAD: fagpu.acquire %[[CH_K]] {fagpu.at = [0, 1]}
// AHEAD: fagpu.acquire %[[CH_V]] bank(%{{.*}}) {fagpu.at = [0, 3]}
// AHEAD: fagpu.for
// AHEAD: } {fagpu.at = [1, 0]}
// AHEAD: fagpu.store {{.*}} sizes [1, 64, 1, 128] {{.*}} via(%[[CH_O]]
// AHEAD: fagpu.store {{.*}} sizes [1, 64, 1, 128] {{.*}} via(%[[CH_O]]
// AHEAD: fagpu.recv %{{.*}} {fagpu.at = [1, 0]}
