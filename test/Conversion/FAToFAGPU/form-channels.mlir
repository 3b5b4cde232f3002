// RUN: fa-opt %s -fagpu-form-channels | FileCheck %s --check-prefixes=CHECK,FORM
// RUN: fa-opt %s -fagpu-form-channels -fagpu-select-products -fagpu-assign-slots | FileCheck %s --check-prefixes=CHECK,SLOTS

!mem = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>

// CHECK-LABEL: func.func @kernel
func.func @kernel(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: %[[CHQ:.*]] = fagpu.channel cp_async : <64x64xf16, #fagpu.smem<128>, 1>
  // CHECK: %[[CHK:.*]] = fagpu.channel cp_async
  // CHECK: %[[CHV:.*]] = fagpu.channel cp_async
  // The result leaves through the query's memory.
  // CHECK: %[[CHO:.*]] = fagpu.channel threads over(%[[CHQ]]
  // CHECK: fagpu.role @compute
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.put %[[CHQ]], %{{.*}}[{{.*}}] [1, 64, 1, 64] rows(%{{.*}})
    // CHECK: %[[Q:.*]] = fagpu.acquire %[[CHQ]]
    %qt = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    // CHECK: fagpu.for
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x64xf32>) {
      %key = arith.muli %i, %c64 : i32
      // FORM: fagpu.put %[[CHK]]
      // FORM-NEXT: %[[K:.*]] = fagpu.acquire %[[CHK]]
      // FORM-NEXT: %[[S:.*]] = fagpu.product nt %[[Q]], %[[K]]
      // FORM-NEXT: fagpu.release %[[K]]
      // SLOTS: fagpu.put %[[CHK]], {{.*}} {fagpu.at = [-1, 4]}
      // SLOTS: %[[K:.*]] = fagpu.acquire %[[CHK]] {fagpu.at = [0, 0]}
      // SLOTS: fagpu.put %[[CHV]], {{.*}} {fagpu.at = [0, 1]}
      // SLOTS: %[[S:.*]] = fagpu.mma nt %[[Q]], %[[K]] {fagpu.at = [0, 2]}
      // SLOTS: fagpu.release %[[K]]
      // SLOTS: fagpu.acquire %[[CHV]] {fagpu.at = [0, 3]}
      // SLOTS: math.exp2 %[[S]] fastmath<afn> {fagpu.at = [0, 5]}
      %kt = fagpu.fetch %k[%c0, %key, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
      %s = fagpu.product nt %qt, %kt : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      %p = math.exp2 %s fastmath<afn> : tensor<64x64xf32>
      %vt = fagpu.fetch %v[%c0, %key, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
      %ph = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      // CHECK: fagpu.{{mma|product}} nn %{{.*}}, %[[V:.*]] acc(
      // CHECK-NEXT: fagpu.release %[[V]]
      %b = fagpu.product nn %ph, %vt acc(%a : tensor<64x64xf32>) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      fagpu.yield %b : tensor<64x64xf32>
    }
    // CHECK: fagpu.release %[[Q]]
    %h = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    // CHECK: fagpu.store %{{.*}} via(%[[CHO]]
    fagpu.store %h, %o[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 64] rows(%n) : tensor<64x64xf16> into !mem
  }
  return
}

// What something else than a product reads is loaded, and released at once.
// CHECK-LABEL: func.func @loaded
// CHECK: %[[CH:.*]] = fagpu.channel cp_async : <64x64xf16, #fagpu.smem<128>, 1>
func.func @loaded(%m: !mem, %o: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.put %[[CH]]
    // CHECK-NEXT: %[[VIEW:.*]] = fagpu.acquire %[[CH]]
    // CHECK-NEXT: %[[TILE:.*]] = fagpu.load %[[VIEW]] : {{.*}} -> tensor<64x64xf16>
    // CHECK-NEXT: fagpu.release %[[VIEW]]
    // CHECK-NEXT: arith.extf %[[TILE]]
    %t = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    %x = arith.extf %t : tensor<64x64xf16> to tensor<64x64xf32>
    fagpu.store %x, %o[%c0, %c0] rows(%n) : tensor<64x64xf32> into memref<?x64xf32>
  }
  return
}

// Both copies start before one of them is waited for.
// CHECK-LABEL: func.func @loaded_together
// CHECK: %[[A:.*]] = fagpu.channel cp_async : <64x64xf16
// CHECK: %[[B:.*]] = fagpu.channel cp_async : <64x64xf16
func.func @loaded_together(%m: !mem, %g: !mem, %o: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // CHECK: fagpu.put %[[A]]
    // CHECK-NEXT: fagpu.put %[[B]]
    // CHECK-NEXT: %[[OF_A:.*]] = fagpu.acquire %[[A]]
    // CHECK-NEXT: %[[LOADED:.*]] = fagpu.load %[[OF_A]]
    // CHECK-NEXT: fagpu.release %[[OF_A]]
    // CHECK-NEXT: arith.extf %[[LOADED]]
    // CHECK-NEXT: fagpu.acquire %[[B]]
    %a = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    %b = fagpu.fetch %g[%c0, %c0, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    %x = arith.extf %a : tensor<64x64xf16> to tensor<64x64xf32>
    %y = arith.extf %b : tensor<64x64xf16> to tensor<64x64xf32>
    %xy = arith.mulf %x, %y : tensor<64x64xf32>
    %sum = fagpu.reduce add %xy : tensor<64x64xf32> -> tensor<64xf32>
    fagpu.store %sum, %o[%c0] rows(%n) : tensor<64xf32> into memref<?xf32>
  }
  return
}

// A place that a branch gives for the group has a bank for each; one that it
// gives for all of them has none.
// CHECK-LABEL: func.func @places_by_branch
// CHECK: %[[MINE:.*]] = fagpu.channel tma banks(2) : <64x64xf16
// CHECK: %[[ALL:.*]] = fagpu.channel tma : <64x64xf16
// CHECK: fagpu.role @math(%[[G:[a-z]+]]) groups(2)
// CHECK: fagpu.put %[[MINE]] bank(%[[G]])
// CHECK: fagpu.put %[[ALL]], %
func.func @places_by_branch(%q: !mem, %k: !mem, %n: i32, %is: i1) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math(%g) groups(2) {
    %mine, %all = scf.if %is -> (i32, i32) {
      scf.yield %g, %n : i32, i32
    } else {
      scf.yield %c0, %c0 : i32, i32
    }
    %qt = fagpu.fetch %q[%c0, %mine, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    %kt = fagpu.fetch %k[%c0, %all, %c0, %c0] [1, 64, 1, 64] rows(%n) : !mem -> tensor<64x64xf16>
    %s = fagpu.product nt %qt, %kt : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %use = arith.addf %s, %s : tensor<64x64xf32>
  }
  return
}

// Where shared memory has room for them, queries of the next tile are copied while this one is at work.
!q128 = memref<?x?x?x128xf16, strided<[?, ?, ?, 1]>>
// CHECK-LABEL: func.func @ahead
// CHECK: fagpu.channel tma : <64x128xf16, #fagpu.smem<128>, 2>
// CHECK: fagpu.channel tma : <64x128xf16, #fagpu.smem<128>, 2>
// CHECK-NOT: fagpu.channel
func.func @ahead(%q: !q128, %k: !q128, %o: memref<?x64xf32>, %n: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<groups = 1, overlap = keys>, stages = 2>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %qt = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x64xf32>) {
      %kt = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
      %s = fagpu.product nt %qt, %kt acc(%a : tensor<64x64xf32>) : tensor<64x128xf16>, tensor<64x128xf16> -> tensor<64x64xf32>
      fagpu.yield %s : tensor<64x64xf32>
    }
    fagpu.store %r, %o[%c0, %c0] rows(%n) : tensor<64x64xf32> into memref<?x64xf32>
  }
  return
}

// Not in a cluster.
// CHECK-LABEL: func.func @cluster
// CHECK: fagpu.channel tma : <64x128xf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.channel tma : <64x128xf16, #fagpu.smem<128>, 2>
func.func @cluster(%q: !q128, %k: !q128, %o: memref<?x64xf32>, %n: i32) attributes {
    fagpu.kernel = "sm_90a", fagpu.cluster = 2 : i64, fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<groups = 1, overlap = keys>, stages = 2>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %qt = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x64xf32>) {
      %kt = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
      %s = fagpu.product nt %qt, %kt acc(%a : tensor<64x64xf32>) : tensor<64x128xf16>, tensor<64x128xf16> -> tensor<64x64xf32>
      fagpu.yield %s : tensor<64x64xf32>
    }
    fagpu.store %r, %o[%c0, %c0] rows(%n) : tensor<64x64xf32> into memref<?x64xf32>
  }
  return
}

// All blocks of a tile do, such as those that gradients read.
// CHECK-LABEL: func.func @several
// CHECK-COUNT-3: fagpu.channel tma : <64x128xf16, #fagpu.smem<128>, 2>
func.func @several(%q: !q128, %g: !q128, %k: !q128, %o: memref<?x64xf32>, %n: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<groups = 1, overlap = keys>, stages = 2>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %qt = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
    %gt = fagpu.fetch %g[%c0, %c0, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x64xf32>) {
      %kt = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
      %s = fagpu.product nt %qt, %kt acc(%a : tensor<64x64xf32>) : tensor<64x128xf16>, tensor<64x128xf16> -> tensor<64x64xf32>
      %p = fagpu.product nt %gt, %kt acc(%s : tensor<64x64xf32>) : tensor<64x128xf16>, tensor<64x128xf16> -> tensor<64x64xf32>
      fagpu.yield %p : tensor<64x64xf32>
    }
    fagpu.store %r, %o[%c0, %c0] rows(%n) : tensor<64x64xf32> into memref<?x64xf32>
  }
  return
}
// Not where it has none: 64 KiB of queries, 128 KiB of keys.
!q256 = memref<?x?x?x256xf16, strided<[?, ?, ?, 1]>>
// CHECK-LABEL: func.func @no_room
// CHECK: fagpu.channel tma banks(2) : <64x256xf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.channel tma : <128x256xf16, #fagpu.smem<128>, 2>
func.func @no_room(%q: !q256, %k: !q256, %o: memref<?x128xf32>, %n: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  fagpu.role @math(%g) groups(2) {
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %row = arith.muli %g, %c64 : i32
    %qt = fagpu.fetch %q[%c0, %row, %c0, %c0] [1, 64, 1, 256] rows(%n) : !q256 -> tensor<64x256xf16>
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x128xf32>) {
      %kt = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 128, 1, 256] rows(%n) : !q256 -> tensor<128x256xf16>
      %s = fagpu.product nt %qt, %kt acc(%a : tensor<64x128xf32>) : tensor<64x256xf16>, tensor<128x256xf16> -> tensor<64x128xf32>
      fagpu.yield %s : tensor<64x128xf32>
    }
    fagpu.store %r, %o[%row, %c0] rows(%n) : tensor<64x128xf32> into memref<?x128xf32>
  }
  return
}

// Rows of two dimensions end with the memory. Where all or none are stored, none begin behind it. Threads store any other number.
!rows = memref<?x16x8x64xf16>
// CHECK-LABEL: func.func @all_or_none(
// CHECK-SAME:    %[[IS:[a-z0-9]+]]: i1
// CHECK:         %[[VIA:.*]] = fagpu.channel tma_store banks(2) : <64x64xf16, #fagpu.smem<128>, 1>
// CHECK:         %[[FIRST:.*]] = arith.muli
// CHECK:         %[[AT:.*]] = arith.select %[[IS]], %[[FIRST]], %c16
// CHECK:         fagpu.store %{{.*}}, %{{.*}}[%{{.*}}, %[[AT]], %{{.*}}, %{{.*}}] sizes [1, 8, 8, 64] padded via(%[[VIA]]
// CHECK:         fagpu.store %{{.*}} sizes [1, 8, 8, 64] padded via(%[[VIA]]
// CHECK:         fagpu.store %{{.*}} sizes [1, 8, 8, 64] rows(%{{[^)]*}}) : tensor
// CHECK:         fagpu.store %{{.*}} sizes [1, 8, 8, 64] rows(%{{[^)]*}}) : tensor
func.func @all_or_none(%o: !rows, %is: i1, %x: tensor<64x64xf16>) attributes {
    fagpu.kernel = "sm_90a", fa.config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  fagpu.role @math(%g) groups(2) {
    %first = arith.muli %g, %c8 : i32
    %all = arith.select %is, %c16, %c0 : i32
    %half = arith.select %is, %c8, %c0 : i32
    %not = arith.select %is, %c0, %c16 : i32
    fagpu.store %x, %o[%c0, %first, %c0, %c0] sizes [1, 8, 8, 64] rows(%all) : tensor<64x64xf16> into !rows
    fagpu.store %x, %o[%c0, %first, %c0, %c0] sizes [1, 8, 8, 64] rows(%c16) : tensor<64x64xf16> into !rows
    fagpu.store %x, %o[%c0, %first, %c0, %c0] sizes [1, 8, 8, 64] rows(%half) : tensor<64x64xf16> into !rows
    fagpu.store %x, %o[%c0, %first, %c0, %c0] sizes [1, 8, 8, 64] rows(%not) : tensor<64x64xf16> into !rows
  }
  return
}

// Nor where it has none for the results too, which are wider: 32 KiB of queries, 108 KiB of keys, 64 KiB of results.
!o256 = memref<?x?x?x256xf16, strided<[?, ?, ?, 1]>>
// CHECK-LABEL: func.func @wide_results
// CHECK: fagpu.channel tma banks(2) : <64x128xf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.channel tma : <144x128xf16, #fagpu.smem<128>, 3>
// CHECK: %[[OUT:.*]] = fagpu.channel tma_store banks(2) : <64x256xf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.store %{{.*}} via(%[[OUT]]
func.func @wide_results(%q: !q128, %k: !q128, %o: !o256, %n: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #fa.config<query_block = 128, key_block = 144, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 3>>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  fagpu.role @math(%g) groups(2) {
    %zero = arith.constant dense<0.0> : tensor<64x144xf32>
    %row = arith.muli %g, %c64 : i32
    %qt = fagpu.fetch %q[%c0, %row, %c0, %c0] [1, 64, 1, 128] rows(%n) : !q128 -> tensor<64x128xf16>
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%a = %zero) -> (tensor<64x144xf32>) {
      %kt = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 144, 1, 128] rows(%n) : !q128 -> tensor<144x128xf16>
      %s = fagpu.product nt %qt, %kt acc(%a : tensor<64x144xf32>) : tensor<64x128xf16>, tensor<144x128xf16> -> tensor<64x144xf32>
      fagpu.yield %s : tensor<64x144xf32>
    }
    %h = arith.constant dense<1.0> : tensor<64x256xf16>
    fagpu.store %h, %o[%c0, %row, %c0, %c0] sizes [1, 64, 1, 256] rows(%n) : tensor<64x256xf16> into !o256
  }
  return
}

// Rows that become columns are loaded, for a product too.
// CHECK-LABEL: func.func @product_of_columns
func.func @product_of_columns(%q: memref<64x64xf16>, %k: memref<64x64xf16>, %o: memref<64x64xf32>, %n: i32) attributes {
    fagpu.kernel = "sm_90a", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<groups = 1, overlap = keys>, stages = 2>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    // CHECK: %[[COLUMNS:.*]] = fagpu.load %{{.*}} {fagpu.transposed} : {{.*}} -> tensor<64x64xf16>
    // FORM: fagpu.product nt %[[COLUMNS]], %{{.*}} acc(%{{.*}}) : tensor<64x64xf16>, !fagpu.view<64x64xf16,
    %qt = fagpu.fetch %q[%c0, %c0] [64, 64] {fagpu.transposed} : memref<64x64xf16> -> tensor<64x64xf16>
    %kt = fagpu.fetch %k[%c0, %c0] [64, 64] : memref<64x64xf16> -> tensor<64x64xf16>
    %s = fagpu.product nt %qt, %kt acc(%zero : tensor<64x64xf32>) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    fagpu.store %s, %o[%c0, %c0] rows(%n) : tensor<64x64xf32> into memref<64x64xf32>
  }
  return
}
