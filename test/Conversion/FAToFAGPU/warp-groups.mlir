// A kernel of two groups of warps, from fetches to a pipeline. Each pass has a
// file of its own beside this one.
// RUN: fa-opt %s -fagpu-form-channels | FileCheck %s --check-prefix=CHANNELS
// RUN: fa-opt %s -fagpu-form-channels -fagpu-select-products -fagpu-split-roles -canonicalize -cse -o %t.split.mlir
// RUN: fa-opt %t.split.mlir -fagpu-persist -canonicalize -cse -o %t.persistent.mlir
// RUN: fa-opt %t.persistent.mlir -fagpu-infer-layouts -fagpu-assign-group-slots -o %t.slots.mlir
// RUN: FileCheck %s --check-prefix=SLOTS --input-file=%t.slots.mlir
// What comes out passes the rules of the language, and is pipelined.
// RUN: fa-opt %t.slots.mlir --pass-pipeline="builtin.module(fagpu-plan)" -o %t.planned.mlir

// Bulk copies; a bank of the queries for each group, two stages as tiles overlap.
// CHANNELS: %[[Q:.*]] = fagpu.channel tma banks(2) : <64x64xf16, #fagpu.smem<128>, 2>
// CHANNELS: %[[K:.*]] = fagpu.channel tma : <64x64xf16, #fagpu.smem<128>, 2>
// CHANNELS: %[[V:.*]] = fagpu.channel tma : <64x64xf16, #fagpu.smem<128>, 2>
// CHANNELS: %[[O:.*]] = fagpu.channel tma_store banks(2) : <64x64xf16, #fagpu.smem<128>, 1>
// CHANNELS: fagpu.role @math(%[[G:.*]]) groups(2)
// CHANNELS: fagpu.put %[[Q]] bank(%[[G]]), %{{.*}} [1, 64, 1, 64] rows(
// CHANNELS-NEXT: fagpu.acquire %[[Q]] bank(%[[G]])
// CHANNELS: fagpu.put %[[K]], %
// CHANNELS-NEXT: %[[KT:.*]] = fagpu.acquire %[[K]]
// CHANNELS-NEXT: fagpu.product nt
// CHANNELS-NEXT: fagpu.release %[[KT]]
// CHANNELS: fagpu.store %{{.*}} via(%[[O]] : {{.*}}) bank(%[[G]])

// With `overlap = tiles` the slots reach into the next tile.
// SLOTS: %[[TURNS:.*]] = fagpu.turns 2
// SLOTS: fagpu.role @load
// SLOTS: fagpu.put {{.*}} {fagpu.at = [0, 1]}
// SLOTS: fagpu.for
// SLOTS: } {fagpu.at = [0, 2]}
// SLOTS-NEXT: arith.muli
// SLOTS-NEXT: fagpu.put %{{.*}} [1, 64, 1, 64] rows(%{{[^)]*}}) :
// SLOTS-NEXT: fagpu.put {{.*}} {fagpu.at = [1, 3]}
// SLOTS: } {fagpu.at = [1, 0]}
// SLOTS: fagpu.role @math
// SLOTS: fagpu.acquire {{.*}} {fagpu.at = [0, 1]}
// SLOTS: fagpu.acquire {{.*}} {fagpu.at = [0, 1]}
// SLOTS: %[[S:.*]] = fagpu.mma_async nt {{.*}} {fagpu.at = [0, 3]}
// SLOTS: fagpu.wait %[[S]] {fagpu.at = [0, 6]}
// SLOTS-NEXT: fagpu.release %{{[^{]*}} :
// SLOTS-NEXT: math.exp2 %{{[^{]*}} :
// SLOTS: fagpu.take %[[TURNS]] {fagpu.at = [1, 2]}
// SLOTS: fagpu.acquire {{.*}} {fagpu.at = [1, 4]}
// SLOTS: arith.truncf {{.*}} {fagpu.at = [0, 8]}
// SLOTS-NEXT: fagpu.convert %{{[^{]*}} :
// SLOTS-NEXT: arith.addf %{{[^{]*}} :
// SLOTS: %[[X:.*]] = fagpu.mma_async nn {{.*}} {fagpu.at = [1, 4]}
// SLOTS-NEXT: fagpu.pass %[[TURNS]] :
// SLOTS-NEXT: fagpu.wait %[[X]] {fagpu.at = [1, 7]}
// SLOTS-NEXT: fagpu.release %{{[^{]*}} :
// SLOTS: } {fagpu.at = [1, 0]}
// SLOTS-NEXT: fagpu.release
// SLOTS: arith.truncf {{.*}} {fagpu.at = [1, 9]}
// SLOTS-NEXT: fagpu.store
// SLOTS: fagpu.recv {{.*}} {fagpu.at = [1, 0]}

!mem = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
func.func @kernel(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %n: i32, %heads: i32) attributes {fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  %row = arith.muli %tile, %c64 : i32
  fagpu.role @math(%g) groups(2) {
    %ofGroup = arith.muli %g, %c64 : i32
    %first = arith.addi %row, %ofGroup : i32
    %qt = fagpu.fetch %q[%c0, %first, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    %r = fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x64xf32>) {
      %key = arith.muli %i, %c64 : i32
      %kt = fagpu.fetch %k[%c0, %key, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
      %s = fagpu.product nt %qt, %kt : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      %p = math.exp2 %s fastmath<afn> : tensor<64x64xf32>
      %vt = fagpu.fetch %v[%c0, %key, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
      %ph = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      %doubled = arith.addf %a, %a : tensor<64x64xf32>
      %x = fagpu.product nn %ph, %vt acc(%doubled : tensor<64x64xf32>) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      fagpu.yield %x : tensor<64x64xf32>
    }
    %h = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    fagpu.store %h, %o[%c0, %first, %c0, %c0] sizes [1, 64, 1, 64] rows(%n) : tensor<64x64xf16> into !mem
  }
  return
}
func.func @host(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %n: i32, %tiles: index) {
  fagpu.launch @kernel grid(%tiles) (%q, %k, %v, %o, %n, %n) : !mem, !mem, !mem, !mem, i32, i32
  return
}
