// A kernel of two groups of warps, pass by pass.
// RUN: fa-opt %s -fagpu-form-channels | FileCheck %s --check-prefix=CHANNELS
// RUN: fa-opt %s -fagpu-form-channels -fagpu-select-products | FileCheck %s --check-prefix=PRODUCTS
// RUN: fa-opt %s -fagpu-form-channels -fagpu-select-products -fagpu-split-roles -canonicalize -cse -o %t.split.mlir
// RUN: FileCheck %s --check-prefix=ROLES --input-file=%t.split.mlir
// RUN: sed 's/groups = 2,/groups = 2, copying_registers = 40,/' %s | fa-opt -fagpu-form-channels -fagpu-select-products -fagpu-split-roles | FileCheck %s --check-prefix=SHARE
// RUN: fa-opt %t.split.mlir -fagpu-persist -canonicalize -cse -o %t.persistent.mlir
// RUN: FileCheck %s --check-prefix=PERSIST --input-file=%t.persistent.mlir
// RUN: sed 's/, tile_order = longest_first//' %t.split.mlir | fa-opt -fagpu-persist -canonicalize -cse -fagpu-infer-layouts -fagpu-assign-group-slots | FileCheck %s --check-prefix=EARLY
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

// PRODUCTS: %[[S:.*]] = fagpu.mma_async nt
// PRODUCTS-NEXT: fagpu.wait %[[S]]
// PRODUCTS-NEXT: fagpu.release
// PRODUCTS: %[[P:.*]] = arith.truncf
// PRODUCTS: %[[X:.*]] = fagpu.mma_async nn %[[P]], %{{.*}} acc(%{{.*}} : {{.*}}) : {{.*}} keeps tensor<64x64xf16>>
// PRODUCTS-NEXT: fagpu.wait %[[X]]
// PRODUCTS-NEXT: fagpu.release

// The copies of a place that depends on the group are one for each.
// ROLES: %[[Q:.*]] = fagpu.channel tma banks(2)
// What the thread that copies leaves, the others share.
// SHARE: fagpu.role @load groups(1) regs(40) elect {
// SHARE: fagpu.role @math(%{{.*}}) groups(2) regs(232) {
// ROLES: fagpu.role @load groups(1) regs(56) elect {
// ROLES-NEXT: fagpu.put %[[Q]] bank(%c0_i32), %{{.*}}[%c0_i32, %[[ROW:.*]], %c0_i32, %c0_i32]
// ROLES-NEXT: %[[SECOND:.*]] = arith.addi %[[ROW]], %c64_i32
// ROLES-NEXT: fagpu.put %[[Q]] bank(%c1_i32), %{{.*}}[%c0_i32, %[[SECOND]], %c0_i32, %c0_i32]
// ROLES-NEXT: fagpu.for %[[I:.*]] = %{{.*}} step -1 segments(%{{.*}}: once, %{{.*}}: to %c0_i32) {
// ROLES-NEXT: %[[KEY:.*]] = arith.muli %[[I]], %c64_i32
// ROLES-NEXT: fagpu.put
// ROLES-NEXT: fagpu.put
// ROLES-NEXT: fagpu.yield
// ROLES: fagpu.role @math(%{{.*}}) groups(2) regs(224) {
// ROLES-NOT: fagpu.put
// ROLES: fagpu.acquire %[[Q]]

// PERSIST: func.func @kernel({{.*}}, %[[TILES:[^:]*]]: i32, %[[COUNTER:[^:]*]]: memref<2xi32>)
// PERSIST: %[[MAIL:.*]] = fagpu.mail : <2, i32, i32>
// PERSIST: fagpu.role @load
// PERSIST-DAG: %[[BLOCK:.*]] = arith.index_cast %block_id_x
// PERSIST-DAG: %[[LAST:.*]] = arith.subi %[[TILES]], %c1_i32
// PERSIST: %[[VALID:.*]] = arith.minsi %[[BLOCK]], %[[LAST]]
// PERSIST: %[[ROW0:.*]] = arith.muli %[[VALID]], %c64_i32
// PERSIST: fagpu.send %[[MAIL]], %[[BLOCK]], %[[ROW0]]
// PERSIST: fagpu.repeat iter(%{{.*}} = %[[ROW0]]) : i32 {
// PERSIST: %[[NEXT:.*]] = fagpu.for %[[I:.*]] = %{{.*}} iter(%[[SEEN:.*]] = %c0_i32)
// PERSIST: %[[END:.*]] = arith.cmpi eq, %[[I]], %c0_i32
// PERSIST: %[[TAKEN:.*]] = scf.if %[[END]] -> (i32) {
// PERSIST-NEXT: %[[TICKET:.*]] = fagpu.ticket %[[COUNTER]]
// PERSIST-NEXT: scf.yield %[[TICKET]]
// PERSIST-NEXT: } else {
// PERSIST-NEXT: scf.yield %[[SEEN]]
// PERSIST: fagpu.yield %[[TAKEN]]
// PERSIST: %[[NEXT_VALID:.*]] = arith.minsi %[[NEXT]],
// PERSIST: %[[NEXT_ROW:.*]] = arith.muli %[[NEXT_VALID]], %c64_i32
// PERSIST: fagpu.send %[[MAIL]], %[[NEXT]], %[[NEXT_ROW]]
// PERSIST: %[[AGAIN:.*]] = arith.cmpi slt, %[[NEXT]], %[[TILES]]
// PERSIST: fagpu.yield %[[AGAIN]], %[[NEXT_ROW]]
// PERSIST: fagpu.retire %[[COUNTER]]
// PERSIST: fagpu.role @math
// PERSIST: %[[WORK:.*]]:2 = fagpu.recv %[[MAIL]]
// PERSIST: fagpu.repeat iter(%{{.*}} = %[[WORK]]#1) : i32 {
// PERSIST: %[[MORE:.*]]:2 = fagpu.recv %[[MAIL]]
// PERSIST: %[[AGAIN:.*]] = arith.cmpi slt, %[[MORE]]#0, %[[TILES]]
// PERSIST: fagpu.yield %[[AGAIN]], %[[MORE]]#1
// PERSIST: func.func @host
// PERSIST: %[[COUNT:.*]] = fagpu.multiprocessors
// PERSIST: %[[GRID:.*]] = arith.minui %{{.*}}, %[[COUNT]]
// PERSIST: %[[ALL:.*]] = arith.index_cast
// PERSIST: %[[WORDS:.*]] = fagpu.counter : memref<2xi32>
// PERSIST: fagpu.launch @kernel grid(%[[GRID]]) ({{.*}}, %[[ALL]], %[[WORDS]])

// Tiles of equal length: a block before the last one, behind the copies.
// EARLY: fagpu.repeat
// EARLY: %[[AT:.*]] = arith.minsi %{{.*}}, %c1_i32
// EARLY: %[[NEXT:.*]]:2 = fagpu.for %[[I:[^ ]*]] = %{{.*}} iter(%[[SEEN:[^ ]*]] = %c0_i32, %[[SEEN_ROW:[^ ]*]] = %c0_i32)
// EARLY: %[[THERE:.*]] = arith.cmpi eq, %[[I]], %[[AT]]
// EARLY: fagpu.put
// EARLY: fagpu.put
// EARLY: scf.if %[[THERE]] -> (i32, i32) {
// EARLY: %[[TICKET:.*]] = fagpu.ticket
// EARLY: %[[ROW:.*]] = arith.muli
// EARLY: scf.yield %[[TICKET]], %[[ROW]]
// EARLY: scf.yield %[[SEEN]], %[[SEEN_ROW]]
// EARLY-NEXT: } {fagpu.at = [0, 4]}
// EARLY: fagpu.send %{{.*}}, %[[NEXT]]#0, %[[NEXT]]#1

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
