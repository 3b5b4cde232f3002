// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt -mlir-print-op-generic %s | fa-opt | FileCheck %s

!acc = tensor<64x128xf32, #fagpu.acc<4>>
!packed = tensor<64x128xbf16, #fagpu.acc<4>>
!operand = tensor<64x128xbf16, #fagpu.opa<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!column = tensor<128xf32, #fagpu.col<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>
!index = tensor<64x128xi32, #fagpu.acc<4>>
!bits = tensor<64x128xi1, #fagpu.acc<4>>
!limits = tensor<64xi32, #fagpu.row<4>>
!tile = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 2>
!half = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!vector = !fagpu.channel<128xf32, #fagpu.smem<0>, 2>
!tileView = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!halfView = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!memory = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @copies
// CHECK-SAME: attributes {fagpu.kernel = "sm_90a"}
func.func @copies(%m: !memory, %v: memref<?x?xf32>, %n: i32, %p: i1,
                  %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: %[[K:.*]] = fagpu.channel tma : <128x128xbf16, #fagpu.smem<128>, 2>
  %k = fagpu.channel tma : !tile
  // CHECK: %[[Q:.*]] = fagpu.channel tma banks(2) : <64x128xbf16, #fagpu.smem<128>, 1>
  %q = fagpu.channel tma banks(2) : !half
  // CHECK: fagpu.channel tma_store over(%[[K]] : !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 2>) offset(1024) barriers(64) arrivals [1, 2]
  %o = fagpu.channel tma_store over(%k : !tile) offset(1024) barriers(64) arrivals [1, 2]
      : !half
  // CHECK: fagpu.channel cp_async : <128xf32, #fagpu.smem<0>, 2>
  %s = fagpu.channel cp_async : !vector
  // CHECK: %[[MAIL:.*]] = fagpu.mail : <2, i32, f32>
  %mail = fagpu.mail : !fagpu.mail<2, i32, f32>
  // CHECK: fagpu.mail offset(64) barriers(128) arrivals [1, 8] : <1, i32>
  %planned = fagpu.mail offset(64) barriers(128) arrivals [1, 8] : !fagpu.mail<1, i32>
  %f = arith.constant 1.0 : f32
  // CHECK: fagpu.role @copy groups(1) warps(8) regs(40) elect {
  fagpu.role @copy groups(1) warps(8) regs(40) elect {
    // CHECK: fagpu.put %[[K]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] [1, 128, 1, 128] : memref
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 128, 1, 128] : !memory into !tile
    // CHECK: fagpu.put %[[Q]] bank(%{{.*}}), %{{.*}} [1, 64, 1, 128] rows(%{{.*}}) columns(%{{.*}}) if(%{{.*}}) stage(%{{.*}}, %{{.*}}) {fagpu.at = [-1, 3]} : memref
    fagpu.put %q bank(%c1), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] rows(%n) columns(%n)
        if(%p) stage(%c0, %c1) {fagpu.at = [-1, 3]} : !memory into !half
    // CHECK: fagpu.put %[[K]] part(%{{.*}}, %{{.*}}), %{{.*}} [1, 64, 1, 128]
    fagpu.put %k part(%c0, %c0), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128]
        : !memory into !tile
    // CHECK: fagpu.put %[[K]], %{{.*}} [1, 128, 1, 128] l2_promotion(256) : memref
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 128, 1, 128] l2_promotion(256) : !memory into !tile
    // CHECK: fagpu.put %[[K]], %{{.*}} [1, 128, 1, 128] l2_promotion(64) cache(evict_first) : memref
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 128, 1, 128] l2_promotion(64) cache(evict_first) : !memory into !tile
    // What is usual is not written.
    // CHECK: fagpu.put %[[K]], %{{.*}} [1, 128, 1, 128] : memref
    fagpu.put %k, %m[%c0, %c0, %c0, %c0] [1, 128, 1, 128] l2_promotion(128) : !memory into !tile
    // CHECK: fagpu.put %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] [1, 128] : memref<?x?xf32> into
    fagpu.put %s, %v[%c0, %c0] [1, 128] : memref<?x?xf32> into !vector
    // CHECK: fagpu.send %[[MAIL]], %{{.*}}, %{{.*}} : <2, i32, f32>
    fagpu.send %mail, %c0, %f : !fagpu.mail<2, i32, f32>
    // CHECK: fagpu.send %[[MAIL]], %{{.*}}, %{{.*}} stage(%{{.*}}, %{{.*}}) : <2, i32, f32>
    fagpu.send %mail, %c0, %f stage(%c0, %c1) : !fagpu.mail<2, i32, f32>
    // CHECK: %{{.*}} = fagpu.ticket %{{.*}} : memref<2xi32>
    %t = fagpu.ticket %counter : memref<2xi32>
    // CHECK: fagpu.retire %{{.*}} : memref<2xi32>
    fagpu.retire %counter : memref<2xi32>
  }
  // CHECK: fagpu.role @use(%[[GROUP:.*]]) groups(2) {
  fagpu.role @use(%g) groups(2) {
    // CHECK: %[[WORK:.*]]:2 = fagpu.recv %[[MAIL]] : <2, i32, f32>
    %w:2 = fagpu.recv %mail : !fagpu.mail<2, i32, f32>
    // CHECK: fagpu.recv %[[MAIL]] stage(%{{.*}}, %{{.*}}) : <2, i32, f32>
    %x:2 = fagpu.recv %mail stage(%c0, %c1) : !fagpu.mail<2, i32, f32>
    // CHECK: %[[VIEW:.*]] = fagpu.acquire %[[Q]] bank(%[[GROUP]]) : <64x128xbf16, #fagpu.smem<128>, 1>
    %view = fagpu.acquire %q bank(%g) : !half
    // CHECK: fagpu.release %[[VIEW]] : <64x128xbf16, #fagpu.smem<128>>
    fagpu.release %view : !halfView
    // CHECK: %[[WHOLE:.*]] = fagpu.acquire %[[K]] stage(%{{.*}}, %{{.*}}) : <128x128xbf16, #fagpu.smem<128>, 2>
    %whole = fagpu.acquire %k stage(%c0, %c1) : !tile
    // CHECK: fagpu.acquire %[[Q]] bank(%[[GROUP]]) pending(2) :
    %copied = fagpu.acquire %q bank(%g) pending(2) : !half
    // CHECK: fagpu.sync
    fagpu.sync
    fagpu.release %copied : !halfView
    // CHECK: fagpu.slice %[[WHOLE]][%{{.*}}, %{{.*}}] : <128x128xbf16, #fagpu.smem<128>> to <64x128xbf16, #fagpu.smem<128>>
    %part = fagpu.slice %whole[%c0, %c0] : !tileView to !halfView
    // CHECK: fagpu.drain %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] sizes [1, 64, 1, 128] rows(%{{.*}}) add : <64x128xbf16, #fagpu.smem<128>> into memref
    fagpu.drain %part, %m[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 128] rows(%n) add : !halfView into !memory
    fagpu.release %whole : !tileView
  }
  return
}

// CHECK-LABEL: func.func @values
func.func @values(%q: !halfView, %k: !tileView, %p: !operand, %o: !acc,
                  %lv: !fagpu.view<128xf32, #fagpu.smem<0>>, %r: !row,
                  %out: !memory, %lse: memref<?x?xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[S:.*]] = fagpu.mma_async nt %{{.*}}, %{{.*}} : !fagpu.view<64x128xbf16, #fagpu.smem<128>>, <128x128xbf16, #fagpu.smem<128>> -> <tensor<64x128xf32, #fagpu.acc<4>>>
  %s = fagpu.mma_async nt %q, %k : !halfView, !tileView -> !fagpu.inflight<!acc>
  // CHECK: %[[F:.*]] = fagpu.mma_async nn %{{.*}}, %{{.*}} acc(%{{.*}} : tensor<64x128xf32, #fagpu.acc<4>>) : tensor<64x128xbf16, #fagpu.opa<4>>, <128x128xbf16, #fagpu.smem<128>> -> <tensor<64x128xf32, #fagpu.acc<4>> keeps tensor<64x128xbf16, #fagpu.opa<4>>>
  %f = fagpu.mma_async nn %p, %k acc(%o : !acc)
      : !operand, !tileView -> !fagpu.inflight<!acc keeps !operand>
  // CHECK: %[[X:.*]] = fagpu.wait %[[S]] pending(1) : <tensor<64x128xf32, #fagpu.acc<4>>>
  %x = fagpu.wait %s pending(1) : !fagpu.inflight<!acc>
  // CHECK: fagpu.wait %[[F]] : <tensor<64x128xf32, #fagpu.acc<4>> keeps tensor<64x128xbf16, #fagpu.opa<4>>>
  %y = fagpu.wait %f : !fagpu.inflight<!acc keeps !operand>
  // CHECK: fagpu.mma nt %{{.*}}, %{{.*}} acc(%[[X]] : tensor<64x128xf32, #fagpu.acc<4>>)
  %m = fagpu.mma nt %q, %k acc(%x : !acc) : !halfView, !tileView -> !acc
  // CHECK: fagpu.mma_sum nt[%[[Q:.*]], %[[Q]]], [%[[K:.*]]] pairs [0, 1], [0, 0] : (!fagpu.view<64x128xbf16, #fagpu.smem<128>>, !fagpu.view<64x128xbf16, #fagpu.smem<128>>), (!fagpu.view<128x128xbf16, #fagpu.smem<128>>) -> tensor<64x128xf32, #fagpu.acc<4>>
  %m1 = fagpu.mma_sum nt [%q, %q], [%k] pairs [0, 1], [0, 0]
      : (!halfView, !halfView), (!tileView) -> !acc
  // CHECK: fagpu.mma_sum nn[%{{.*}}], [%[[K]], %[[K]]] pairs [0, 0], [0, 1] acc(%[[X]] : tensor<64x128xf32, #fagpu.acc<4>>)
  %m2 = fagpu.mma_sum nn [%p], [%k, %k] pairs [0, 0], [0, 1] acc(%x : !acc)
      : (!operand), (!tileView, !tileView) -> !acc
  // CHECK: %[[MAX:.*]] = fagpu.reduce max %[[X]] : tensor<64x128xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
  %max = fagpu.reduce max %x : !acc -> !row
  // CHECK: fagpu.reduce add %[[X]] chains(4) : tensor<64x128xf32, #fagpu.acc<4>> -> tensor<64x4xf32, #fagpu.quad<4>>
  %part = fagpu.reduce add %x chains(4) : !acc -> !quad
  // CHECK: fagpu.reduce add %{{.*}} : tensor<64x4xf32, #fagpu.quad<4>> -> tensor<64xf32, #fagpu.row<4>>
  %sum = fagpu.reduce add %part : !quad -> !row
  // CHECK: %[[PINNED:.*]]:2 = fagpu.pin %[[X]], %[[MAX]] : tensor<64x128xf32, #fagpu.acc<4>>, tensor<64xf32, #fagpu.row<4>>
  %pinned:2 = fagpu.pin %x, %max : !acc, !row
  // CHECK: fagpu.broadcast %[[MAX]] : tensor<64xf32, #fagpu.row<4>> -> tensor<64x128xf32, #fagpu.acc<4>>
  %b = fagpu.broadcast %max : !row -> !acc
  // CHECK: %[[WARPS:.*]] = fagpu.reduce add %[[X]] : tensor<64x128xf32, #fagpu.acc<4>> -> tensor<4xf32, #fagpu.warp<4>>
  %warps = fagpu.reduce add %x : !acc -> tensor<4xf32, #fagpu.warp<4>>
  // CHECK: fagpu.broadcast %[[WARPS]] : tensor<4xf32, #fagpu.warp<4>> -> tensor<64x128xf32, #fagpu.acc<4>>
  %bw = fagpu.broadcast %warps : tensor<4xf32, #fagpu.warp<4>> -> !acc
  // CHECK: fagpu.broadcast %[[MAX]] : tensor<64xf32, #fagpu.row<4>> -> tensor<64x4xf32, #fagpu.quad<4>>
  %bq = fagpu.broadcast %max : !row -> !quad
  // CHECK: %[[COLUMN:.*]] = fagpu.load %{{.*}} : <128xf32, #fagpu.smem<0>> -> tensor<128xf32, #fagpu.col<4>>
  %l = fagpu.load %lv : !fagpu.view<128xf32, #fagpu.smem<0>> -> !column
  // CHECK: fagpu.broadcast %[[COLUMN]] : tensor<128xf32, #fagpu.col<4>> -> tensor<64x128xf32, #fagpu.acc<4>>
  %bc = fagpu.broadcast %l : !column -> !acc
  // CHECK: fagpu.iota 1 : tensor<64x128xi32, #fagpu.acc<4>>
  %i = fagpu.iota 1 : !index
  // CHECK: fagpu.iota 0 part(element) : tensor<64x128xi32, #fagpu.acc<4>>
  %e = fagpu.iota 0 part(element) : !index
  // CHECK: %[[LIMIT:.*]] = fagpu.iota 0 : tensor<64xi32, #fagpu.row<4>>
  %limit = fagpu.iota 0 : !limits
  // CHECK: fagpu.between %[[LIMIT]], %[[LIMIT]] : tensor<64xi32, #fagpu.row<4>> -> tensor<64x128xi1, #fagpu.acc<4>>
  %between = fagpu.between %limit, %limit : !limits -> !bits
  // CHECK: fagpu.dropout %[[N:.*]] words(%[[N]], %[[N]]) counter(%[[N]], %[[N]]) at(%{{.*}}, %{{.*}}) whole : tensor<64x128xi1, #fagpu.acc<4>>
  %kept = fagpu.dropout %n words(%n, %n) counter(%n, %n) at(%c0, %c0) whole : !bits
  // CHECK: fagpu.dropout %[[N]] words(%[[N]], %[[N]]) counter(%[[N]], %[[N]]) at(%[[N]], %{{.*}}) keys_are_rows : tensor<64x128xi1, #fagpu.acc<4>>
  %kept_keys = fagpu.dropout %n words(%n, %n) counter(%n, %n) at(%n, %c0) keys_are_rows : !bits
  %h = arith.truncf %x : !acc to !packed
  // CHECK: fagpu.convert %{{.*}} : tensor<64x128xbf16, #fagpu.acc<4>> -> tensor<64x128xbf16, #fagpu.opa<4>>
  %c = fagpu.convert %h : !packed -> !operand
  // CHECK: fagpu.store %[[MAX]], %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) : tensor<64xf32, #fagpu.row<4>> into memref<?x?xf32>
  fagpu.store %max, %lse[%c0, %c0] rows(%n) : !row into memref<?x?xf32>
  // CHECK: fagpu.store %{{.*}}, %{{.*}}[%{{.*}}] sizes [1, 64, 1, 128] : tensor<64x128xbf16, #fagpu.acc<4>> into memref
  fagpu.store %h, %out[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 128] : !packed into !memory
  return
}

// CHECK-LABEL: func.func @staged
func.func @staged(%h: !packed, %out: !memory, %n: i32)
    attributes {fagpu.kernel = "sm_90a", fagpu.blocks_per_sm = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %o = fagpu.channel tma_store banks(2) : !half
  // CHECK: %[[T:.*]] = fagpu.channel threads : <128x64xbf16, #fagpu.smem<128>, 1>
  %t = fagpu.channel threads : !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
  // CHECK: fagpu.role @only(%[[G:.*]]) groups(2)
  fagpu.role @only(%g) groups(2) {
    // CHECK: fagpu.write %[[T]] part(%{{.*}}, %{{.*}}), %{{.*}} transposed : tensor<64x128xbf16, #fagpu.acc<4>> into
    fagpu.write %t part(%c0, %c0), %h transposed
        : !packed into !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
    // CHECK: fagpu.store %{{.*}}, %{{.*}} padded via(%{{.*}}) bank(%[[G]]) : tensor<64x128xbf16, #fagpu.acc<4>> into memref
    fagpu.store %h, %out[%c0, %c0, %c0, %c0] padded via(%o : !half) bank(%g) : !packed into !memory
    // CHECK: fagpu.store %{{.*}}, %{{.*}} rows(%{{.*}}) columns(%{{.*}}) via(%{{.*}} : !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>) bank(%[[G]])
    fagpu.store %h, %out[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 128] rows(%n) columns(%n) via(%o : !half) bank(%g)
        : !packed into !memory
  }
  return
}

// CHECK-LABEL: func.func @loops
func.func @loops(%n: i32, %x: f32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // CHECK: %[[TURNS:.*]] = fagpu.turns 3 : !fagpu.turns
  %turns = fagpu.turns 3 : !fagpu.turns
  // CHECK: fagpu.turns 2 barrier(4) : !fagpu.turns
  %planned = fagpu.turns 2 barrier(4) : !fagpu.turns
  fagpu.role @only groups(3) barrier(4) {
    // CHECK: fagpu.role @only groups(3) barrier(4) {
    // CHECK: fagpu.repeat iter(%[[A:.*]] = %{{.*}}) : i32 {
    fagpu.repeat iter(%a = %n) : i32 {
      // CHECK: %{{.*}}:2 = fagpu.for %[[I:.*]] = %[[A]] step -1 segments(%[[ONCE:.*]]: once, %[[REST:.*]]: to %{{.*}}) iter(%[[S:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, i32) {
      %f:2 = fagpu.for %i = %a step -1 segments(%once: once, %rest: to %c0)
          iter(%s = %x, %k = %c0) -> (f32, i32) {
        // CHECK: fagpu.take %[[TURNS]] {fagpu.at = [0, 1]} : !fagpu.turns
        fagpu.take %turns {fagpu.at = [0, 1]} : !fagpu.turns
        // CHECK: arith.select %[[ONCE]], %[[S]], %{{.*}} : f32
        %y = arith.select %once, %s, %x : f32
        // CHECK: fagpu.pass %[[TURNS]] : !fagpu.turns
        fagpu.pass %turns : !fagpu.turns
        // CHECK: fagpu.yield %{{.*}}, %[[I]] : f32, i32
        fagpu.yield %y, %i : f32, i32
      // CHECK: } {fagpu.at = [1, 0]}
      } {fagpu.at = [1, 0]}
      // CHECK: fagpu.for %{{.*}} = %{{.*}} step 1 segments(%{{.*}}: to %{{.*}}) {
      fagpu.for %i = %c0 step 1 segments(%all: to %n) {
        fagpu.yield
      }
      // CHECK: fagpu.for %{{.*}} = %{{.*}} step 1 rolled segments(%{{.*}}: once, %{{.*}}: to %{{.*}}) {
      fagpu.for %i = %c0 step 1 rolled segments(%first: once, %rest: to %n) {
        fagpu.yield
      }
      %again = arith.cmpi sgt, %f#1, %c0 : i32
      // CHECK: fagpu.yield %{{.*}}, %{{.*}}#1 : i1, i32
      fagpu.yield %again, %f#1 : i1, i32
    }
    // CHECK: fagpu.repeat {
    fagpu.repeat {
      %done = arith.constant false
      fagpu.yield %done : i1
    }
  }
  return
}

// CHECK-LABEL: func.func @gather
func.func @gather(%m: memref<?x?x?xf32>, %ids: memref<?xi32>, %b: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %i = fagpu.iota 0 : tensor<64x8xi32, #fagpu.acc<4>>
    %j = fagpu.iota 1 : tensor<64x8xi32, #fagpu.acc<4>>
    %ok = arith.cmpi sle, %j, %i : tensor<64x8xi32, #fagpu.acc<4>>
    // CHECK: %[[X:.*]] = fagpu.gather %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] mask(%{{.*}} : tensor<64x8xi1, #fagpu.acc<4>>) : memref<?x?x?xf32>[i32, tensor<64x8xi32, #fagpu.acc<4>>, tensor<64x8xi32, #fagpu.acc<4>>] -> tensor<64x8xf32, #fagpu.acc<4>>
    %x = fagpu.gather %m[%b, %i, %j] mask(%ok : tensor<64x8xi1, #fagpu.acc<4>>)
        : memref<?x?x?xf32>[i32, tensor<64x8xi32, #fagpu.acc<4>>, tensor<64x8xi32, #fagpu.acc<4>>]
        -> tensor<64x8xf32, #fagpu.acc<4>>
    %r = fagpu.iota 0 : tensor<64xi32, #fagpu.row<4>>
    // CHECK: fagpu.gather %{{.*}}[%{{.*}}] : memref<?xi32>[tensor<64xi32, #fagpu.row<4>>] -> tensor<64xi32, #fagpu.row<4>>
    %y = fagpu.gather %ids[%r] : memref<?xi32>[tensor<64xi32, #fagpu.row<4>>]
        -> tensor<64xi32, #fagpu.row<4>>
  }
  return
}

// CHECK-LABEL: func.func @extremes
func.func @extremes(%ids: memref<?x?xi32>, %b: i32, %first: i32, %n: i32)
    attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @only groups(1) {
    // CHECK: %least, %greatest = fagpu.extremes %{{.*}}[%{{.*}}, %{{.*}}] 128 count(%{{.*}}) : memref<?x?xi32>
    %least, %greatest = fagpu.extremes %ids[%b, %first] 128 count(%n) : memref<?x?xi32>
  }
  return
}

// CHECK-LABEL: func.func @copy
func.func @copy(%m: memref<?xf32>, %n: i32, %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_80"} {
  return
}
func.func @empty() attributes {fagpu.kernel = "sm_80"} {
  return
}

// CHECK-LABEL: func.func @vote
func.func @vote(%s: i1) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all groups(1) {
    %x = tensor.splat %s : tensor<64x16xi1, #fagpu.acc<4>>
    // CHECK: %any = fagpu.any %{{.*}} : tensor<64x16xi1, #fagpu.acc<4>>
    %any = fagpu.any %x : tensor<64x16xi1, #fagpu.acc<4>>
  }
  return
}

func.func private @reference(memref<?xf32>)

// CHECK-LABEL: func.func @host
// CHECK-SAME: attributes {fa.implements = @reference}
func.func @host(%m: memref<?xf32>) attributes {fa.implements = @reference} {
  %c0 = arith.constant 0 : index
  %size = memref.dim %m, %c0 : memref<?xf32>
  %n = arith.index_cast %size : index to i32
  // CHECK: %[[COUNTER:.*]] = fagpu.counter : memref<2xi32>
  %counter = fagpu.counter : memref<2xi32>
  // CHECK: %{{.*}} = fagpu.workspace(%{{.*}}) : memref<?x4xi32>
  %table = fagpu.workspace(%size) : memref<?x4xi32>
  // CHECK: %{{.*}} = fagpu.workspace() : memref<8xf32>
  %words = fagpu.workspace() : memref<8xf32>
  // CHECK: %[[COUNT:.*]] = fagpu.multiprocessors : index
  %count = fagpu.multiprocessors : index
  // CHECK: fagpu.launch @copy grid(%[[COUNT]]) (%{{.*}}, %{{.*}}, %[[COUNTER]]) : memref<?xf32>, i32, memref<2xi32>
  fagpu.launch @copy grid(%count) (%m, %n, %counter)
      : memref<?xf32>, i32, memref<2xi32>
  // CHECK: fagpu.launch @empty grid(%[[COUNT]], %{{.*}}, %{{.*}}) ()
  fagpu.launch @empty grid(%count, %size, %size) ()
  %isLarge = arith.cmpi uge, %size, %count : index
  // CHECK: fagpu.launch @empty grid(%[[COUNT]]) if(%{{.*}}) ()
  fagpu.launch @empty grid(%count) if(%isLarge) ()
  // CHECK: fagpu.launch @behind grid(%[[COUNT]]) if(%{{.*}}) dependent (%{{.*}}) : memref<?xf32>
  fagpu.launch @behind grid(%count) if(%isLarge) dependent (%m) : memref<?xf32>
  return
}

// CHECK-LABEL: func.func @behind
func.func @behind(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // CHECK: fagpu.await_previous
  fagpu.await_previous
  fagpu.role @all groups(1) {
    %zero = arith.constant dense<0.0> : tensor<64xf32, #fagpu.row<4>>
    // CHECK: fagpu.release_dependents
    fagpu.release_dependents
    fagpu.store %zero, %m[%c0] : tensor<64xf32, #fagpu.row<4>> into memref<?xf32>
  }
  return
}

// What gradients need: vectors in bulk, products of transposed operands, additions,
// fragments and transposed stores.
// CHECK-LABEL: func.func @gradients(
func.func @gradients(%m: memref<?x4096xf32>, %o: memref<?x64xbf16>, %b: memref<?x?xf32>, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %ch = fagpu.channel tma : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
  %st = fagpu.channel tma_store : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
  %tr = fagpu.channel tma_store : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  %t = fagpu.channel threads : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @load groups(1) elect {
    // CHECK: fagpu.put %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] [1, 4096] : memref<?x4096xf32> into
    fagpu.put %ch, %m[%n, %c0] [1, 4096] : memref<?x4096xf32> into !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %ch : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
    // CHECK: fagpu.load %{{.*}} fragments : <4096xf32, #fagpu.smem<0>> -> tensor<64x64xf32, #fagpu.acc<4>>
    %x = fagpu.load %v fragments : !fagpu.view<4096xf32, #fagpu.smem<0>> -> tensor<64x64xf32, #fagpu.acc<4>>
    fagpu.release %v : !fagpu.view<4096xf32, #fagpu.smem<0>>
    %a = fagpu.acquire %t : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
    // CHECK: fagpu.mma_async tt %{{.*}}, %{{.*}} acc(
    %f = fagpu.mma_async tt %a, %a acc(%x : tensor<64x64xf32, #fagpu.acc<4>>) : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    %y = fagpu.wait %f : !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    // CHECK: fagpu.mma_async tn %
    %g = fagpu.mma_async tn %a, %a : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    %z = fagpu.wait %g : !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    fagpu.release %a : !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    // CHECK: fagpu.store %{{.*}}, %{{.*}} sizes [1, 4096] add fragments via(%{{.*}} : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>) : tensor
    fagpu.store %y, %m[%n, %c0] sizes [1, 4096] add fragments via(%st : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>) : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x4096xf32>
    // CHECK: fagpu.store %{{.*}}, %{{.*}} sizes [1, 4096] add fragments by_words : tensor
    fagpu.store %y, %m[%n, %c0] sizes [1, 4096] add fragments by_words : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x4096xf32>
    %h = arith.truncf %z : tensor<64x64xf32, #fagpu.acc<4>> to tensor<64x64xbf16, #fagpu.acc<4>>
    // CHECK: fagpu.store %{{.*}}, %{{.*}} rows(%{{.*}}) transposed via(
    fagpu.store %h, %o[%n, %c0] rows(%n) transposed via(%tr : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>) : tensor<64x64xbf16, #fagpu.acc<4>> into memref<?x64xbf16>
    %i = fagpu.iota 0 : tensor<64x64xi32, #fagpu.acc<4>>
    %ok = arith.constant dense<true> : tensor<64x64xi1, #fagpu.acc<4>>
    // CHECK: fagpu.scatter_add %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] mask(%{{.*}} : tensor<64x64xi1, #fagpu.acc<4>>) : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x?xf32>[i32, tensor<64x64xi32, #fagpu.acc<4>>]
    fagpu.scatter_add %z, %b[%n, %i] mask(%ok : tensor<64x64xi1, #fagpu.acc<4>>) : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x?xf32>[i32, tensor<64x64xi32, #fagpu.acc<4>>]
    // CHECK: fagpu.scatter_add %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x?xf32>[i32, i32]
    fagpu.scatter_add %z, %b[%n, %c0] : tensor<64x64xf32, #fagpu.acc<4>> into memref<?x?xf32>[i32, i32]
  }
  return
}
