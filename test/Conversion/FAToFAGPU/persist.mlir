// RUN: fa-opt %s -fagpu-persist -canonicalize -cse | FileCheck %s

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<tile_order = longest_first>>>
#in_order = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<tile_order = in_order>>>
#warps = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 2>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>

// A kernel gets the number of tiles and the counter that gives them out.
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: %[[TILES:[^:, ]*]]: i32, %[[COUNTER:[^:, ]*]]: memref<2xi32>)
func.func @groups(%q: !mem, %k: !mem, %o: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf16>
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  %row = arith.muli %tile, %c64 : i32
  %queries = fagpu.channel tma : !channel
  %keys = fagpu.channel tma : !channel

  // The first tile is that of the block's number, sent with what is made of it.
  // CHECK: %[[MAIL:.*]] = fagpu.mail : <2, i32, i32>
  // CHECK-NEXT: fagpu.role @load groups(1) elect {
  // CHECK: %[[FIRST:.*]] = arith.index_cast %block_id_x
  // CHECK: %[[VALID:.*]] = arith.minsi %[[FIRST]], %
  // CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[VALID]], %c64_i32
  // CHECK-NEXT: fagpu.send %[[MAIL]], %[[FIRST]], %[[ROW]]
  // CHECK-NEXT: fagpu.repeat iter(%[[AT:.*]] = %[[ROW]]) : i32 {
  // CHECK-NEXT: fagpu.put %{{.*}}, %{{.*}}[%[[AT]], %c0_i32]

  // The next tile is taken with the last block of keys.
  // CHECK-NEXT: %[[NEXT:.*]] = fagpu.for %[[I:.*]] = %{{.*}} iter(%[[SEEN:.*]] = %c0_i32)
  // CHECK-NEXT: %[[LAST:.*]] = arith.cmpi eq, %[[I]], %c0_i32
  // CHECK-NEXT: %[[TAKEN:.*]] = scf.if %[[LAST]]
  // CHECK-NEXT: %[[TICKET:.*]] = fagpu.ticket %[[COUNTER]]
  // CHECK-NEXT: scf.yield %[[TICKET]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[SEEN]]
  // CHECK: fagpu.yield %[[TAKEN]]

  // It is sent on; the block ends behind the last tile.
  // CHECK: %[[NEXT_VALID:.*]] = arith.minsi %[[NEXT]], %
  // CHECK-NEXT: %[[NEXT_ROW:.*]] = arith.muli %[[NEXT_VALID]], %c64_i32
  // CHECK-NEXT: fagpu.send %[[MAIL]], %[[NEXT]], %[[NEXT_ROW]]
  // CHECK-NEXT: %[[AGAIN:.*]] = arith.cmpi slt, %[[NEXT]], %[[TILES]]
  // CHECK-NEXT: fagpu.yield %[[AGAIN]], %[[NEXT_ROW]]
  // CHECK-NEXT: }
  // CHECK-NEXT: fagpu.retire %[[COUNTER]]
  fagpu.role @load elect {
    fagpu.put %queries, %q[%row, %c0] [64, 64] : !mem into !channel
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %key = arith.muli %i, %c64 : i32
      fagpu.put %keys, %k[%key, %c0] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }

  // The other roles compute nothing of a tile: all comes with its number.
  // CHECK: fagpu.role @math
  // CHECK-NEXT: %[[WORK:.*]]:2 = fagpu.recv %[[MAIL]]
  // CHECK-NEXT: fagpu.repeat iter(%[[MINE:.*]] = %[[WORK]]#1) : i32 {
  // CHECK: fagpu.store %{{.*}}, %{{.*}}[%[[MINE]], %c0_i32]
  // CHECK-NEXT: %[[MORE:.*]]:2 = fagpu.recv %[[MAIL]]
  // CHECK-NEXT: %[[AGAIN:.*]] = arith.cmpi slt, %[[MORE]]#0, %[[TILES]]
  // CHECK-NEXT: fagpu.yield %[[AGAIN]], %[[MORE]]#1
  fagpu.role @math {
    %qt = fagpu.acquire %queries : !channel
    fagpu.release %qt : !view
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %kt = fagpu.acquire %keys : !channel
      fagpu.release %kt : !view
      fagpu.yield
    }
    fagpu.store %zero, %o[%row, %c0] sizes [64, 64] : tensor<64x64xf16> into !mem
  }
  return
}

// The host launches no more blocks than there are multiprocessors.
// CHECK-LABEL: func.func @host(
// CHECK-SAME: %[[GRID:[^:, ]*]]: index)
// CHECK: %[[COUNT:.*]] = fagpu.multiprocessors
// CHECK: %[[BLOCKS:.*]] = arith.minui %[[GRID]], %[[COUNT]]
// CHECK: %[[ALL:.*]] = arith.index_cast %[[GRID]]
// CHECK: %[[WORDS:.*]] = fagpu.counter
// CHECK: fagpu.launch @groups grid(%[[BLOCKS]]) ({{.*}}, %[[ALL]], %[[WORDS]])
func.func @host(%m: !mem, %n: i32, %tiles: index) {
  fagpu.launch @groups grid(%tiles) (%m, %m, %m, %n) : !mem, !mem, !mem, i32
  return
}

// Where tiles are equally long, the next one is taken a block of keys earlier,
// behind the copies, with all that is made of it.
// CHECK-LABEL: func.func @in_order
// CHECK: %[[EARLY:.*]] = arith.minsi %{{.*}}, %c1_i32
// CHECK: fagpu.for %[[I:[^ ]*]] = %
// CHECK: %[[IS_EARLY:.*]] = arith.cmpi eq, %[[I]], %[[EARLY]]
// CHECK: fagpu.put
// CHECK-NEXT: scf.if %[[IS_EARLY]] -> (i32, i32) {
// CHECK-NEXT: %[[TICKET:.*]] = fagpu.ticket
// CHECK-NEXT: %[[TILE:.*]] = arith.minsi %[[TICKET]], %
// CHECK-NEXT: scf.yield %[[TICKET]], %[[TILE]]
func.func @in_order(%k: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #in_order} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      fagpu.put %keys, %k[%i, %tile] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }
  return
}

// A loop that rises visits one block where there is none to visit: then, too,
// the next tile is taken.
// CHECK-LABEL: func.func @rises
// CHECK-SAME: %[[END:[^:, ]*]]: i32
// CHECK: fagpu.repeat
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[END]], %c1_i32 : i32
// CHECK-NEXT: %[[LAST:.*]] = arith.maxsi %[[BEFORE]], %c0_i32
// CHECK: fagpu.for %[[I:[^ ]*]] = %c0_i32 step 1
// CHECK: arith.cmpi eq, %[[I]], %[[LAST]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: fagpu.ticket
func.func @rises(%k: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.for %i = %c0 step 1 segments(%once: once, %rest: to %n) {
      fagpu.put %keys, %k[%i, %tile] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }
  return
}

// A mail holds words of 32 bits: an index that may need more goes in two.
// CHECK-LABEL: func.func @wide
// CHECK: %[[MAIL:.*]] = fagpu.mail : <2, i32, i32, i32>
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK-NEXT: %[[BITS:.*]] = arith.index_cast %[[ROW]] : index to i64
// CHECK-NEXT: %[[UPPER:.*]] = arith.shrui %[[BITS]], %c32_i64
// CHECK-NEXT: %[[LOWER:.*]] = arith.trunci %[[BITS]]
// CHECK-NEXT: %[[UPPER_WORD:.*]] = arith.trunci %[[UPPER]]
// CHECK-NEXT: fagpu.send %[[MAIL]], %{{.*}}, %[[LOWER]], %[[UPPER_WORD]]
// CHECK: %[[WORK:.*]]:3 = fagpu.recv %[[MAIL]]
// CHECK-NEXT: %[[LOW:.*]] = arith.extui %[[WORK]]#1
// CHECK-NEXT: %[[HIGH:.*]] = arith.extui %[[WORK]]#2
// CHECK-NEXT: %[[SHIFTED:.*]] = arith.shli %[[HIGH]], %c32_i64
// CHECK-NEXT: %[[WHOLE:.*]] = arith.ori %[[LOW]], %[[SHIFTED]]
// CHECK-NEXT: %[[SENT:.*]] = arith.index_cast %[[WHOLE]] : i64 to index
// CHECK-NEXT: fagpu.repeat iter(%[[AT:.*]] = %[[SENT]])
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
func.func @wide(%k: !mem, %words: memref<?xi32>, %rows: index, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %row = arith.muli %block, %rows : index
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.put %keys, %k[%c0, %c0] [64, 64] : !mem into !channel
  }
  fagpu.role @compute groups(1) {
    %view = fagpu.acquire %keys : !channel
    memref.store %n, %words[%row] : memref<?xi32>
    fagpu.release %view : !view
  }
  return
}

// Blocks of a cluster use no counter: the next tile is as many further as there
// are blocks.
// CHECK-LABEL: func.func @cluster
// CHECK-SAME: i32, %{{[^:]*}}: i32) attributes
// CHECK: %[[BLOCKS:.*]] = gpu.grid_dim x
// CHECK: %[[STRIDE:.*]] = arith.index_cast %[[BLOCKS]]
// CHECK: fagpu.repeat iter(%{{.*}} = %{{.*}}, %[[TILE:.*]] = %{{.*}}) : i32, i32
// CHECK-NOT: fagpu.ticket
// CHECK: arith.addi %[[TILE]], %[[STRIDE]]
func.func @cluster(%k: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i32, fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      fagpu.put %keys, %k[%i, %tile] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }
  return
}

// A kernel that never asks for the number of its block has one tile.
// CHECK-LABEL: func.func @one_tile
// CHECK-SAME: (%{{[^:]*}}: memref<?x64xf16, strided<[?, 1]>>) attributes
// CHECK-NOT: fagpu.repeat
// CHECK: return
func.func @one_tile(%k: !mem) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.put %keys, %k[%c0, %c0] [64, 64] : !mem into !channel
  }
  fagpu.role @math {
    %kt = fagpu.acquire %keys : !channel
    fagpu.release %kt : !view
  }
  return
}

// What is sent are integers: a role casts them to indices itself, as for an entry of a table.
// CHECK-LABEL: func.func @table
// CHECK: fagpu.mail : <2, i32>
// CHECK: fagpu.role @load
// CHECK: fagpu.repeat iter(%[[TILE:.*]] = %{{.*}}) : i32 {
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[TILE]] : i32 to index
// CHECK: fagpu.for
// CHECK: memref.load %{{.*}}[%[[INDEX]]]
func.func @table(%k: !mem, %pages: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  %index = arith.index_cast %tile : i32 to index
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %page = memref.load %pages[%index] : memref<?xi32>
      fagpu.put %keys, %k[%page, %c0] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }
  return
}

// A list of tiles says how many there are: a block ends behind the last of these.
// It may take one behind it first, of those that the host knows.
// CHECK-LABEL: func.func @listed
// CHECK-SAME: %[[LIST:[^:, ]*]]: memref<?xi32>, %{{[^:]*}}: i32, %[[MOST:[^:, ]*]]: i32, %{{[^:]*}}: memref<2xi32>)
// CHECK: %[[COUNT:.*]] = memref.load %[[LIST]][%c0]
// CHECK: fagpu.role @load
// CHECK: %[[LAST:.*]] = arith.subi %[[MOST]], %c1_i32
// CHECK: arith.minsi %{{.*}}, %[[LAST]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNT]]
// CHECK-NEXT: fagpu.yield %[[MORE]]
// CHECK: fagpu.role @math
// CHECK: %[[AGAIN:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNT]]
// CHECK-NEXT: fagpu.yield %[[AGAIN]]
func.func @listed(%k: !mem, %list: memref<?xi32> {fa.tile_list}, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #in_order} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %word = memref.load %list[%block] : memref<?xi32>
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      fagpu.put %keys, %k[%i, %word] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }
  fagpu.role @math {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %kt = fagpu.acquire %keys : !channel
      fagpu.release %kt : !view
      fagpu.yield
    }
  }
  return
}

// Where each block has tiles of its own, the list says which is the first one, how far they are apart and where they end.
// CHECK-LABEL: func.func @shares
// CHECK-SAME: %[[LIST:[^:, ]*]]: memref<?xi32>, %{{[^:]*}}: i32, %[[MOST:[^:, ]*]]: i32) attributes
// CHECK: %[[BLOCK:.*]] = arith.index_cast %block_id_x
// CHECK: %[[TWICE:.*]] = arith.muli %[[BLOCK]], %c2_i32
// CHECK: %[[PLACE:.*]] = arith.addi %[[TWICE]], %c8_i32
// CHECK: %[[AT_FIRST:.*]] = arith.index_cast %[[PLACE]]
// CHECK: %[[FIRST:.*]] = memref.load %[[LIST]][%[[AT_FIRST]]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[TWICE]], %c9_i32
// CHECK: %[[AT_END:.*]] = arith.index_cast %[[BEHIND]]
// CHECK: %[[END:.*]] = memref.load %[[LIST]][%[[AT_END]]]
// CHECK: %[[APART:.*]] = memref.load %[[LIST]][%c1]
// CHECK: fagpu.role @load
// CHECK: fagpu.send %{{.*}}, %[[FIRST]] :
// CHECK: fagpu.repeat iter(%{{.*}}, %[[TILE:[^ ]*]] = %[[FIRST]])
// CHECK-NOT: fagpu.ticket
// CHECK: arith.addi %[[TILE]], %[[APART]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK-NEXT: fagpu.yield %[[MORE]]
// CHECK-NOT: fagpu.retire
// CHECK: fagpu.role @math
// CHECK: %[[AGAIN:.*]] = arith.cmpi slt, %{{.*}}, %[[END]]
// CHECK-NEXT: fagpu.yield %[[AGAIN]]
func.func @shares(%k: !mem, %list: memref<?xi32> {fagpu.work_list}, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #in_order} {
  %c0 = arith.constant 0 : i32
  %block = gpu.block_id x
  %word = memref.load %list[%block] : memref<?xi32>
  %keys = fagpu.channel tma : !channel
  fagpu.role @load elect {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      fagpu.put %keys, %k[%i, %word] [64, 64] : !mem into !channel
      fagpu.yield
    }
  }
  fagpu.role @math {
    fagpu.for %i = %n step -1 segments(%once: once, %rest: to %c0) {
      %kt = fagpu.acquire %keys : !channel
      fagpu.release %kt : !view
      fagpu.yield
    }
  }
  return
}

// In a kernel of `warps` a block computes one tile, of a list too.
// CHECK-LABEL: func.func @warps
// CHECK-NOT: fa.tile_list
// CHECK: gpu.block_id
// CHECK-NOT: fagpu.repeat
// CHECK: return
func.func @warps(%o: !mem, %list: memref<?xi32> {fa.tile_list}) attributes {fagpu.kernel = "sm_80", fa.config = #warps} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf16>
  %block = gpu.block_id x
  %row = arith.index_cast %block : index to i32
  fagpu.role @compute {
    fagpu.store %zero, %o[%row, %c0] sizes [64, 64] : tensor<64x64xf16> into !mem
  }
  return
}
// CHECK-LABEL: func.func @others
// CHECK: fagpu.launch @cluster
// CHECK-NOT: fagpu.multiprocessors
// CHECK: fagpu.launch @one_tile
// CHECK: fagpu.launch @listed
// CHECK-NOT: fagpu.counter
// CHECK: fagpu.launch @shares
// CHECK: fagpu.launch @warps grid(%{{[^)]*}}) (%{{[^,)]*}}, %{{[^,)]*}}) :
func.func @others(%m: !mem, %pages: memref<?xi32>, %n: i32, %tiles: index) {
  fagpu.launch @in_order grid(%tiles) (%m, %n) : !mem, i32
  fagpu.launch @rises grid(%tiles) (%m, %n) : !mem, i32
  fagpu.launch @wide grid(%tiles) (%m, %pages, %tiles, %n) : !mem, memref<?xi32>, index, i32
  fagpu.launch @cluster grid(%tiles) (%m, %n) : !mem, i32
  fagpu.launch @one_tile grid(%tiles) (%m) : !mem
  fagpu.launch @table grid(%tiles) (%m, %pages, %n) : !mem, memref<?xi32>, i32
  fagpu.launch @listed grid(%tiles) (%m, %pages, %n) : !mem, memref<?xi32>, i32
  fagpu.launch @shares grid(%tiles) (%m, %pages, %n) : !mem, memref<?xi32>, i32
  fagpu.launch @warps grid(%tiles) (%m, %pages) : !mem, memref<?xi32>
  return
}
