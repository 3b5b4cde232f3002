// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-plan-resources | FileCheck %s

!kv = !fagpu.channel<128x128xbf16, #fagpu.smem<128>, 2>
!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!m = memref<?x?x?x128xbf16>
!h = tensor<64x128xbf16, #fagpu.acc<4>>
!kvv = !fagpu.view<128x128xbf16, #fagpu.smem<128>>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!mail = !fagpu.mail<2, i32, i32, f32>

// CHECK-LABEL: func.func @plan
// CHECK-SAME: fagpu.shared_memory = 98432 : i64
func.func @plan(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  // Two stages of 32768 bytes; each is filled by two puts and freed by two groups.
  // CHECK: fagpu.channel tma offset(0) barriers(98328) arrivals [2, 2]
  %k = fagpu.channel tma : !kv
  // Banks belong to one group each.
  // CHECK: %[[Q:.*]] = fagpu.channel tma banks(2) offset(65536) barriers(98360) arrivals [1, 1]
  %q = fagpu.channel tma banks(2) : !q
  // Nobody acquires it: no barriers.
  // CHECK: fagpu.channel tma_store banks(2) over(%[[Q]] : {{.*}}) offset(65536) :
  %o = fagpu.channel tma_store banks(2) over(%q : !q) : !q
  // 24 bytes; every warp of both groups frees a stage.
  // CHECK: fagpu.mail offset(98304) barriers(98392) arrivals [1, 8]
  %mail = fagpu.mail : !mail
  // CHECK: fagpu.turns 2 barrier(1)
  %turns = fagpu.turns 2 : !fagpu.turns
  // CHECK: fagpu.role @copy groups(1) regs(40) elect {
  fagpu.role @copy groups(1) regs(40) elect {
    %f = arith.constant 1.0 : f32
    fagpu.put %k part(%c0, %c0), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !kv
    fagpu.put %k part(%c64, %c0), %m[%c0, %c0, %c0, %c0] [1, 64, 1, 128] : !m into !kv
    fagpu.send %mail, %c0, %c0, %f : !mail
  }
  // It stores through shared memory, so its groups have barriers of their own.
  // CHECK: fagpu.role @use(%{{.*}}) groups(2) regs(232) barrier(3) {
  fagpu.role @use(%g) groups(2) regs(232) {
    %kt = fagpu.acquire %k : !kv
    fagpu.release %kt : !kvv
    %qt = fagpu.acquire %q bank(%g) : !q
    fagpu.release %qt : !qv
    %w:3 = fagpu.recv %mail : !mail
    %h = "test.value"() : () -> !h
    fagpu.store %h, %m[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 128] via(%o : !q) bank(%g) : !h into !m
  }
  return
}

// A block value is written by each warp: four arrivals for the bank of a group;
// four of each of the groups that fill a stage together. What only the first
// operand of a product reads, each warp reads for itself: no barrier.
// CHECK-LABEL: func.func @writes
func.func @writes(%v: !h) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  // CHECK: fagpu.channel threads banks(2) offset(0) barriers({{[0-9]+}}) arrivals [4, 1]
  %shared = fagpu.channel threads banks(2) : !q
  // CHECK: fagpu.channel threads banks(2) offset(32768) : <64x128
  %own = fagpu.channel threads banks(2) : !q
  // CHECK: fagpu.channel threads offset(65536) barriers({{[0-9]+}}) arrivals [8, 2]
  %both = fagpu.channel threads : !kv
  fagpu.role @math(%g) groups(2) {
    %row = arith.muli %g, %c64 : i32
    fagpu.write %shared bank(%g), %v : !h into !q
    fagpu.write %own bank(%g), %v : !h into !q
    fagpu.write %both part(%row, %c0), %v : !h into !kv
    %a = fagpu.acquire %shared bank(%g) : !q
    %b = fagpu.acquire %own bank(%g) : !q
    %c = fagpu.acquire %both : !kv
    %f = fagpu.mma_async nt %b, %a : !qv, !qv
        -> !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    %x = fagpu.wait %f
        : !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    fagpu.release %a : !qv
    fagpu.release %b : !qv
    fagpu.release %c : !kvv
  }
  return
}

// Threads that vote are those of a group, threads that wait for each other those
// of a role: the block has one barrier only, which serves what is all of it.
// CHECK-LABEL: func.func @groups_vote
func.func @groups_vote(%c: i1) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: fagpu.role @only groups(2) barrier(1) {
  fagpu.role @only groups(2) {
    %x = tensor.splat %c : tensor<64x8xi1, #fagpu.acc<4>>
    %any = fagpu.any %x : tensor<64x8xi1, #fagpu.acc<4>>
  }
  return
}

// CHECK-LABEL: func.func @groups_wait
func.func @groups_wait() attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: fagpu.role @only groups(2) {
  fagpu.role @only groups(2) {
    fagpu.sync
  }
  return
}

// Beside another role, the barrier of all groups is behind those of each.
// CHECK-LABEL: func.func @groups_wait_beside
func.func @groups_wait_beside() attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: fagpu.role @first groups(2) barrier(1) {
  fagpu.role @first groups(2) {
    fagpu.sync
  }
  // CHECK: fagpu.role @second groups(1) barrier(4) {
  fagpu.role @second groups(1) {
    fagpu.sync
  }
  return
}

// CHECK-LABEL: func.func @block_votes
func.func @block_votes(%c: i1) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: fagpu.role @only groups(1) {
  fagpu.role @only groups(1) {
    %x = tensor.splat %c : tensor<64x8xi1, #fagpu.acc<4>>
    %any = fagpu.any %x : tensor<64x8xi1, #fagpu.acc<4>>
  }
  return
}

// A tile that is swizzled lies over one that is not: both start where the pattern does.
// CHECK-LABEL: func.func @over_plain
func.func @over_plain(%m: memref<?xf32>, %o: memref<?x64xbf16>, %x: tensor<64x64xf32, #fagpu.acc<4>>, %y: tensor<64x64xbf16, #fagpu.acc<4>>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // CHECK: fagpu.channel tma_store offset(0) :
  %first = fagpu.channel tma_store : !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
  // CHECK: fagpu.channel tma_store offset(1024) :
  %sums = fagpu.channel tma_store : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>
  // CHECK: fagpu.channel tma_store over({{.*}}) offset(1024) :
  %results = fagpu.channel tma_store over(%sums : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>) : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @use groups(1) {
    fagpu.store %x, %m[%c0] sizes [4096] fragments via(%sums : !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>) : tensor<64x64xf32, #fagpu.acc<4>> into memref<?xf32>
    fagpu.store %y, %o[%c0, %c0] via(%results : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>) : tensor<64x64xbf16, #fagpu.acc<4>> into memref<?x64xbf16>
  }
  return
}
