// RUN: fa-opt %s -fagpu-share-operands | FileCheck %s

!h = tensor<64x64xbf16>
!s = tensor<64x64xf32>

// Second operands, and a first one from before the loop, are written; what is
// there before the first product is acquired together.
// CHECK-LABEL: func.func @share
// CHECK: fagpu.role @compute
func.func @share(%n: i32, %x: !s) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // CHECK: %[[Q:.*]] = arith.truncf
    // CHECK-NEXT: fagpu.write %[[QCHANNEL:.*]], %[[Q]]
    // CHECK-NEXT: %[[QVIEW:.*]] = fagpu.acquire %[[QCHANNEL]]
    // CHECK: fagpu.for
    %q = arith.truncf %x : !s to !h
    %o = fagpu.for %i = %n step -1 segments(%all: to %c0) iter(%acc = %x) -> (!s) {
      // CHECK: %[[K0:.*]] = arith.truncf
      // CHECK-NEXT: fagpu.write %[[C0:.*]], %[[K0]]
      // CHECK: %[[K1:.*]] = arith.truncf
      // CHECK-NEXT: fagpu.write %[[C1:.*]], %[[K1]]
      // CHECK: %[[A:.*]] = fagpu.acquire %[[C1]]
      // CHECK-NEXT: %[[B:.*]] = fagpu.acquire %[[C0]]
      // CHECK-NEXT: %[[S:.*]] = fagpu.product nt %[[QVIEW]], %[[A]] :
      // CHECK-NEXT: fagpu.release %[[A]]
      // CHECK-NEXT: %[[T:.*]] = fagpu.product nt %[[QVIEW]], %[[B]] acc(%[[S]]
      %k0 = arith.truncf %acc : !s to !h
      %r = arith.addf %acc, %acc : !s
      %k1 = arith.truncf %r : !s to !h
      %s = fagpu.product nt %q, %k1 : !h, !h -> !s
      %t = fagpu.product nt %q, %k0 acc(%s : !s) : !h, !h -> !s
      // A first operand of the same block stays in registers; one of a later
      // second operand is acquired later.
      // CHECK: %[[P:.*]] = arith.truncf %[[T]]
      // CHECK-NEXT: fagpu.write %[[C2:.*]], %[[P]]
      // CHECK-NEXT: %[[PVIEW:.*]] = fagpu.acquire %[[C2]]
      // CHECK-NEXT: fagpu.product nn %[[P]], %[[PVIEW]]
      // CHECK-NEXT: fagpu.release %[[PVIEW]]
      // CHECK: fagpu.product nn %{{.*}}, %[[B]]
      // CHECK-NEXT: fagpu.release %[[B]]
      %p = arith.truncf %t : !s to !h
      %u = fagpu.product nn %p, %p : !h, !h -> !s
      %w = fagpu.product nn %p, %k0 acc(%u : !s) : !h, !h -> !s
      fagpu.yield %w : !s
    }
    // CHECK: fagpu.release %[[QVIEW]]
  }
  return
}

// Fetched operands are copied, not written, and views are there already.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: fagpu.channel
// CHECK-NOT: fagpu.write
func.func @kept(%m: memref<?x?x?x64xbf16>, %q: !h) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %k = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 64, 1, 64] : memref<?x?x?x64xbf16> -> !h
    %s = fagpu.product nt %q, %k : !h, !h -> !s
    %use = arith.addf %s, %s : !s
  }
  return
}

!wide = tensor<64x128xbf16>
!widef = tensor<64x128xf32>
!mem = memref<?x128xf32, strided<[?, 1]>>

// Groups share what does not depend on the group: each makes its half of the
// columns, a panel of 64. What depends on it has a bank for each.
// CHECK-LABEL: func.func @groups
// CHECK-DAG: %[[MINE:.*]] = fagpu.channel threads banks(2) : <64x128xbf16, #fagpu.smem<128>, 1>
// CHECK-DAG: %[[SHARED:.*]] = fagpu.channel threads : <64x128xbf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.role @math(%[[GROUP:[a-z]+]])
func.func @groups(%n: i32, %m: !mem) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math(%g) groups(2) {
    // CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %{{.*}} : i32
    // CHECK: %[[COLUMN:.*]] = fagpu.iota 1 : tensor<64x64xi32>
    // CHECK: %[[SPLAT:.*]] = tensor.splat %[[FIRST]] : tensor<64x64xi32>
    // CHECK: %[[AT:.*]] = arith.addi %[[COLUMN]], %[[SPLAT]]
    %row = fagpu.iota 0 : tensor<64x128xi32>
    %column = fagpu.iota 1 : tensor<64x128xi32>
    %splat = tensor.splat %g : tensor<64x128xi32>
    %own = arith.addi %row, %splat : tensor<64x128xi32>
    // CHECK: %[[Q:.*]] = arith.truncf %{{.*}} : tensor<64x128xf32> to tensor<64x128xbf16>
    // CHECK: fagpu.write %[[MINE]] bank(%[[GROUP]]), %[[Q]]
    %x = fagpu.gather %m[%own, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
    %q = arith.truncf %x : !widef to !wide
    fagpu.for %i = %n step -1 segments(%all: to %c0) {
      // CHECK: %[[PART:.*]] = fagpu.gather %{{.*}}[%{{.*}}, %[[AT]]] pairs
      // CHECK: %[[K:.*]] = arith.truncf %[[PART]] : tensor<64x64xf32> to tensor<64x64xbf16>
      // CHECK: fagpu.write %[[SHARED]] part(%{{.*}}, %[[FIRST]]), %[[K]] : tensor<64x64xbf16>
      // CHECK: fagpu.acquire %[[SHARED]] :
      %y = fagpu.gather %m[%row, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
      %k = arith.truncf %y : !widef to !wide
      %s = fagpu.product nt %q, %k : !wide, !wide -> !s
      %use = arith.addf %s, %s : !s
      fagpu.yield
    }
  }
  return
}

// What a branch yields for a group, and what a loop carries on from it, depends
// on the group; what comes by branches and loops for all of them does not.
// CHECK-LABEL: func.func @by_regions
// CHECK: %[[BRANCH:.*]] = fagpu.channel threads banks(2) : <64x128xbf16
// CHECK: %[[LOOP:.*]] = fagpu.channel threads banks(2) : <64x128xbf16
// CHECK: %[[ALL:.*]] = fagpu.channel threads : <64x128xbf16
// CHECK: %[[FIRST:.*]] = fagpu.channel threads : <64x128xbf16
// CHECK: fagpu.role @math(%[[GROUP:[a-z]+]])
// CHECK: fagpu.write %[[FIRST]] part(%
// CHECK: fagpu.write %[[BRANCH]] bank(%[[GROUP]]), %
// CHECK: fagpu.write %[[LOOP]] bank(%[[GROUP]]), %
// CHECK: fagpu.write %[[ALL]] part(%
func.func @by_regions(%n: i32, %is: i1, %m: !mem) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  fagpu.role @math(%g) groups(2) {
    %row = fagpu.iota 0 : tensor<64x128xi32>
    %column = fagpu.iota 1 : tensor<64x128xi32>
    %a = fagpu.gather %m[%row, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
    %q = arith.truncf %a : !widef to !wide
    %mine, %all = scf.if %is -> (i32, i32) {
      %place = arith.muli %g, %c64 : i32
      scf.yield %place, %n : i32, i32
    } else {
      scf.yield %c0, %c0 : i32, i32
    }
    %end:2 = fagpu.for %i = %n step -1 segments(%f: to %c0) iter(%x = %g, %y = %n) -> (i32, i32) {
      %own = tensor.splat %mine : tensor<64x128xi32>
      %own_row = arith.addi %row, %own : tensor<64x128xi32>
      %b = fagpu.gather %m[%own_row, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
      %k = arith.truncf %b : !widef to !wide
      %s = fagpu.product nt %q, %k : !wide, !wide -> !s
      %carried = tensor.splat %x : tensor<64x128xi32>
      %carried_row = arith.addi %row, %carried : tensor<64x128xi32>
      %c = fagpu.gather %m[%carried_row, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
      %l = arith.truncf %c : !widef to !wide
      %t = fagpu.product nt %q, %l : !wide, !wide -> !s
      %for_all = arith.addi %all, %y : i32
      %common = tensor.splat %for_all : tensor<64x128xi32>
      %common_row = arith.addi %row, %common : tensor<64x128xi32>
      %d = fagpu.gather %m[%common_row, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
      %o = arith.truncf %d : !widef to !wide
      %u = fagpu.product nt %q, %o : !wide, !wide -> !s
      %next_x = arith.addi %x, %c64 : i32
      %next_y = arith.addi %y, %i : i32
      fagpu.yield %next_x, %next_y : i32, i32
    }
  }
  return
}

// Values of one type that are there together lie in one channel: each group
// writes its columns of both, and products read slices.
// CHECK-LABEL: func.func @stacked
// CHECK: %[[STACK:.*]] = fagpu.channel threads : <128x128xbf16, #fagpu.smem<128>, 1>
// CHECK-NEXT: %[[OWN:.*]] = fagpu.channel threads banks(2) : <128x128xbf16, #fagpu.smem<128>, 1>
// CHECK: fagpu.role @math(%[[GROUP:[a-z]+]])
// CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %{{.*}} : i32
// CHECK: fagpu.write %[[OWN]] bank(%[[GROUP]]) part(%c0{{.*}}, %c0{{.*}}),
// CHECK: fagpu.write %[[OWN]] bank(%[[GROUP]]) part(%c64{{.*}}, %c0{{.*}}),
// CHECK: %[[Q:.*]] = fagpu.acquire %[[OWN]] bank(%[[GROUP]])
// CHECK: %[[Q1:.*]] = fagpu.slice %[[Q]][%c0{{.*}}, %c0{{.*}}]
// CHECK: %[[Q0:.*]] = fagpu.slice %[[Q]][%c64{{.*}}, %c0{{.*}}]
// CHECK: fagpu.for
// CHECK: %[[K0:.*]] = arith.truncf {{.*}} : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK: fagpu.write %[[STACK]] part(%c0{{.*}}, %[[FIRST]]), %[[K0]]
// CHECK: fagpu.write %[[STACK]] part(%c64{{.*}}, %[[FIRST]]),
// CHECK: %[[K:.*]] = fagpu.acquire %[[STACK]] :
// CHECK: %[[A:.*]] = fagpu.slice %[[K]][%c0{{.*}}, %c0{{.*}}] : {{.*}} to <64x128xbf16, #fagpu.smem<128>>
// CHECK: %[[B:.*]] = fagpu.slice %[[K]][%c64{{.*}}, %c0{{.*}}]
// CHECK: fagpu.product nt %[[Q1]], %[[A]]
// CHECK-NEXT: fagpu.product nt %[[Q0]], %[[B]]
// CHECK-NEXT: fagpu.release %[[K]]
// CHECK: fagpu.release %[[Q]]
func.func @stacked(%n: i32, %m: !mem) attributes {
    fagpu.kernel = "sm_90a",
    fa.config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math(%g) groups(2) {
    %row = fagpu.iota 0 : tensor<64x128xi32>
    %column = fagpu.iota 1 : tensor<64x128xi32>
    %splat = tensor.splat %g : tensor<64x128xi32>
    %own = arith.addi %row, %splat : tensor<64x128xi32>
    %x = fagpu.gather %m[%own, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
    %q1 = arith.truncf %x : !widef to !wide
    %x0 = arith.negf %x : !widef
    %q0 = arith.truncf %x0 : !widef to !wide
    fagpu.for %i = %n step -1 segments(%all: to %c0) {
      %y = fagpu.gather %m[%row, %column] pairs : !mem[tensor<64x128xi32>, tensor<64x128xi32>] -> !widef
      %k1 = arith.truncf %y : !widef to !wide
      %y0 = arith.negf %y : !widef
      %k0 = arith.truncf %y0 : !widef to !wide
      %s = fagpu.product nt %q1, %k1 : !wide, !wide -> !s
      %t = fagpu.product nt %q0, %k0 acc(%s : !s) : !wide, !wide -> !s
      %use = arith.addf %t, %t : !s
      fagpu.yield
    }
  }
  return
}
