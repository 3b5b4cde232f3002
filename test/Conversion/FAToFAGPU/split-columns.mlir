// RUN: fa-opt %s -fagpu-split-columns -canonicalize | FileCheck %s

#config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 32>>>
!mem = memref<?x?x?x80xf32>
!x = tensor<64x80xf32>
!s = tensor<64x64xf32>
!row = tensor<64xf32, #fagpu.row<4>>

// 80 columns are 32, 32 and 16. Scores are sums of products, what they add to
// comes in three parts, and the keys and values of a product come ahead of the
// one before.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[Q:[^:]*]]: memref<?x?x?x80xf32>, %[[K:[^:]*]]: memref<?x?x?x80xf32>, %[[V:[^:]*]]: memref<?x?x?x80xf32>, %[[O:[^:]*]]: memref
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[Z32:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
// CHECK-DAG: %[[Z16:.*]] = arith.constant dense<0.000000e+00> : tensor<64x16xf32>
// CHECK-NOT: fagpu.fetch
// CHECK: %[[FOR:.*]]:4 = fagpu.for {{.*}} iter(%[[X0:.*]] = %[[Z32]], %[[X1:.*]] = %[[Z32]], %[[X2:.*]] = %[[Z16]], %[[M:.*]] = %{{.*}}) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x16xf32>, tensor<64xf32, #fagpu.row<4>>)
// CHECK:   %[[Q0:.*]] = fagpu.fetch %[[Q]][{{.*}}] [1, 64, 1, 32] rows(%{{.*}}) : {{.*}} -> tensor<64x32xf32>
// CHECK:   %[[K0:.*]] = fagpu.fetch %[[K]][{{.*}}] [1, 64, 1, 32]
// CHECK:   %[[K1:.*]] = fagpu.fetch %[[K]][{{.*}}, %[[C32]]] [1, 64, 1, 32]
// CHECK:   %[[S0:.*]] = fagpu.product nt %[[Q0]], %[[K0]] :
// CHECK:   %[[Q1:.*]] = fagpu.fetch %[[Q]][{{.*}}, %[[C32]]] [1, 64, 1, 32]
// CHECK:   %[[K2:.*]] = fagpu.fetch %[[K]][{{.*}}, %[[C64]]] [1, 64, 1, 16] rows(%{{.*}}) columns(
// CHECK:   %[[S1:.*]] = fagpu.product nt %[[Q1]], %[[K1]] acc(%[[S0]]
// CHECK:   %[[Q2:.*]] = fagpu.fetch %[[Q]][{{.*}}, %[[C64]]] [1, 64, 1, 16]
// CHECK:   %[[V0:.*]] = fagpu.fetch %[[V]][{{.*}}] [1, 64, 1, 32]
// CHECK:   %[[S:.*]] = fagpu.product nt %[[Q2]], %[[K2]] acc(%[[S1]]
// CHECK:   %[[V1:.*]] = fagpu.fetch %[[V]]
// CHECK:   %[[B0:.*]] = fagpu.broadcast %[[M]] : tensor<64xf32, #fagpu.row<4>> -> tensor<64x32xf32>
// CHECK:   %[[Y0:.*]] = arith.mulf %[[X0]], %[[B0]]
// CHECK:   %[[O0:.*]] = fagpu.product nn %[[S]], %[[V0]] acc(%[[Y0]]
// CHECK:   %[[V2:.*]] = fagpu.fetch %[[V]]
// CHECK:   %[[Y1:.*]] = arith.mulf %[[X1]]
// CHECK:   %[[O1:.*]] = fagpu.product nn %[[S]], %[[V1]] acc(%[[Y1]]
// CHECK:   %[[Y2:.*]] = arith.mulf %[[X2]]
// CHECK:   %[[O2:.*]] = fagpu.product nn %[[S]], %[[V2]] acc(%[[Y2]]
// CHECK:   fagpu.yield %[[O0]], %[[O1]], %[[O2]], %[[M]]
// CHECK: fagpu.store %[[FOR]]#0, %[[O]][{{.*}}] sizes [1, 64, 1, 32]
// CHECK: fagpu.store %[[FOR]]#1, %[[O]][{{.*}}, %[[C32]]] sizes [1, 64, 1, 32]
// CHECK: fagpu.store %[[FOR]]#2, %[[O]][{{.*}}, %[[C64]]] sizes [1, 64, 1, 16]
func.func @attention(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %n: i32, %m: !row)
    attributes {fa.config = #config, fagpu.kernel = "sm_80"} {
  %zero = arith.constant dense<0.0> : !x
  %c0 = arith.constant 0 : i32
  %c70 = arith.constant 70 : i32
  fagpu.role @compute groups(1) {
    %query = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
    %r:2 = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%x = %zero, %max = %m) -> (!x, !row) {
      %key = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
      %s = fagpu.product nt %query, %key : !x, !x -> !s
      %scale = fagpu.broadcast %max : !row -> !x
      %y = arith.mulf %x, %scale : !x
      %value = fagpu.fetch %v[%c0, %i, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
      %z = fagpu.product nn %s, %value acc(%y : !x) : !s, !x -> !x
      fagpu.yield %z, %max : !x, !row
    }
    fagpu.store %r#0, %o[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 80] rows(%n) columns(%c70) : !x into !mem
  }
  return
}

// Keys that two products read are fetched for each, as their parts take turns at
// the memory. A number that sums are multiplied by is one of each part.
// CHECK-LABEL: func.func @gradient
// CHECK-SAME: %{{[^:]*}}: memref<?x?x?x80xf32>, %[[K:[^:]*]]: memref<?x?x?x16xf32>
// CHECK: fagpu.for
// CHECK:   %[[K0:.*]] = fagpu.fetch %[[K]]
// CHECK:   %[[K1:.*]] = fagpu.fetch %[[K]]
// CHECK:   %[[S:.*]] = fagpu.product nt %{{.*}}, %[[K1]] :
// CHECK:   fagpu.product nn %[[S]], %[[K0]]
// CHECK: tensor.splat {{.*}} : tensor<64x32xf32>
// CHECK: tensor.splat {{.*}} : tensor<64x16xf32>
func.func @gradient(%o: !mem, %k: memref<?x?x?x16xf32>, %q: tensor<64x16xf32>, %v: !mem, %n: i32, %scale: f32)
    attributes {fa.config = #config, fagpu.kernel = "sm_80"} {
  %zero = arith.constant dense<0.0> : !x
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %r:2 = fagpu.for %i = %n step -1 segments(%all: to %c0) iter(%x = %zero, %y = %none) -> (!x, tensor<64x16xf32>) {
      %key = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 16] rows(%n) : memref<?x?x?x16xf32> -> tensor<64x16xf32>
      %s = fagpu.product nt %q, %key : tensor<64x16xf32>, tensor<64x16xf32> -> !s
      %dq = fagpu.product nn %s, %key acc(%y : tensor<64x16xf32>) : !s, tensor<64x16xf32> -> tensor<64x16xf32>
      %value = fagpu.fetch %v[%c0, %i, %c0, %c0] [1, 64, 1, 80] rows(%n) : !mem -> !x
      %z = fagpu.product nn %s, %value acc(%x : !x) : !s, !x -> !x
      fagpu.yield %z, %dq : !x, tensor<64x16xf32>
    }
    %factor = tensor.splat %scale : !x
    %scaled = arith.mulf %r#0, %factor : !x
    fagpu.store %scaled, %o[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 80] rows(%n) : !x into !mem
  }
  return
}

// A constant that scores have in common with sums stays whole for them.
// CHECK-LABEL: func.func @common
// CHECK-DAG: %[[WHOLE:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
// CHECK-DAG: %[[PART:.*]] = arith.constant dense<0.000000e+00> : tensor<64x32xf32>
// CHECK: fagpu.for {{.*}} iter(%{{.*}} = %[[PART]], %{{.*}} = %[[PART]])
// CHECK:   arith.maximumf %{{.*}}, %[[WHOLE]] : tensor<64x64xf32>
func.func @common(%o: memref<?x?x?x64xf32>, %v: memref<?x?x?x64xf32>, %s: !s, %n: i32)
    attributes {fa.config = #config, fagpu.kernel = "sm_80"} {
  %zero = arith.constant dense<0.0> : !s
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %r = fagpu.for %i = %n step -1 segments(%all: to %c0) iter(%x = %zero) -> (!s) {
      %p = arith.maximumf %s, %zero : !s
      %value = fagpu.fetch %v[%c0, %i, %c0, %c0] [1, 64, 1, 64] rows(%n) : memref<?x?x?x64xf32> -> !s
      %z = fagpu.product nn %p, %value acc(%x : !s) : !s, !s -> !s
      fagpu.yield %z : !s
    }
    fagpu.store %r, %o[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 64] rows(%n) : !s into memref<?x?x?x64xf32>
  }
  return
}

// Without `columns` nothing changes.
// CHECK-LABEL: func.func @whole
// CHECK: fagpu.fetch {{.*}} [1, 64, 1, 80]
// CHECK: fagpu.product nn {{.*}} -> tensor<64x80xf32>
func.func @whole(%v: !mem, %p: !s, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %value = fagpu.fetch %v[%c0, %c0, %c0, %c0] [1, 64, 1, 80] : !mem -> !x
    %z = fagpu.product nn %p, %value : !s, !x -> !x
    fagpu.store %z, %v[%c0, %c0, %c0, %c0] sizes [1, 64, 1, 80] : !x into !mem
  }
  return
}

// In a rolled loop 70 of 80 columns by 16 are a loop over two pairs of whole
// parts, and the last part by itself; those of the loop need no bound.
// CHECK-LABEL: func.func @rolled
// CHECK: fagpu.for {{.*}} rolled
// CHECK:   %[[S:.*]] = fagpu.for %[[TURN:.*]] = %{{.*}} step 1 rolled segments(%{{.*}}: to %[[TURNS:.*]]) iter(%[[S0:.*]] = %{{.*}}) -> tensor<64x64xf32> {
// CHECK:     %[[FIRST:.*]] = arith.muli %[[TURN]], %{{.*}} : i32
// CHECK:     %[[SECOND:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
// CHECK:     %[[Q0:.*]] = fagpu.fetch %{{.*}}[{{.*}}, %[[FIRST]]] [1, 64, 1, 16] rows(%{{[^ ]*}}) :
// CHECK:     %[[K0:.*]] = fagpu.fetch %{{.*}}[{{.*}}, %[[FIRST]]] [1, 64, 1, 16] rows(%{{[^ ]*}}) :
// CHECK:     %[[K1:.*]] = fagpu.fetch %{{.*}}[{{.*}}, %[[SECOND]]] [1, 64, 1, 16] rows(%{{[^ ]*}}) :
// CHECK:     %[[S1:.*]] = fagpu.product nt %[[Q0]], %[[K0]] acc(%[[S0]]
// CHECK:     %[[Q1:.*]] = fagpu.fetch %{{.*}}[{{.*}}, %[[SECOND]]] [1, 64, 1, 16] rows(%{{[^ ]*}}) :
// CHECK:     %[[S2:.*]] = fagpu.product nt %[[Q1]], %[[K1]] acc(%[[S1]]
// CHECK:     fagpu.yield %[[S2]]
// CHECK:   }
// CHECK:   fagpu.fetch {{.*}} columns(
// CHECK:   fagpu.product nt %{{.*}}, %{{.*}} acc(%[[S]]
// CHECK-NOT: fagpu.product
func.func @rolled(%q: !mem, %k: !mem, %n: i32, %o: memref<?x?xf32>) attributes {
    fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 16, rolled>>>,
    fagpu.kernel = "sm_80"} {
  %zero = arith.constant dense<0.0> : !s
  %c0 = arith.constant 0 : i32
  %c70 = arith.constant 70 : i32
  fagpu.role @compute groups(1) {
    %query = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
    %r = fagpu.for %i = %n step -1 rolled segments(%first: once, %rest: to %c0) iter(%x = %zero) -> !s {
      %key = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
      %s = fagpu.product nt %query, %key : !x, !x -> !s
      %y = arith.addf %x, %s : !s
      fagpu.yield %y : !s
    }
    fagpu.store %r, %o[%c0, %c0] rows(%n) : !s into memref<?x?xf32>
  }
  return
}

// A bound behind the end of a box leaves the box its columns: 80 of it, and not
// 160, are two pairs of whole parts and one more.
// CHECK-LABEL: func.func @bound_behind
// CHECK-DAG: %[[TURNS:.*]] = arith.constant 2 : i32
// CHECK: fagpu.for {{.*}} rolled segments(%{{.*}}: to %[[TURNS]])
// CHECK: }
// CHECK: fagpu.product
// CHECK-NOT: fagpu.product
func.func @bound_behind(%q: memref<?x?x?x160xf32>, %k: memref<?x?x?x160xf32>, %n: i32, %o: memref<?x?xf32>) attributes {
    fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 16, rolled>>>,
    fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c160 = arith.constant 160 : i32
  fagpu.role @compute groups(1) {
    %query = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c160) : memref<?x?x?x160xf32> -> !x
    %key = fagpu.fetch %k[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c160) : memref<?x?x?x160xf32> -> !x
    %s = fagpu.product nt %query, %key : !x, !x -> !s
    fagpu.store %s, %o[%c0, %c0] rows(%n) : !s into memref<?x?xf32>
  }
  return
}

#kept = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups, terms<columns = 32, keep_queries, rolled>>>

// Queries that stay: their parts are fetched before the loop, and sums are
// written out.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: %[[Q:[^:]*]]: memref<?x?x?x80xf32>, %[[K:[^:]*]]: memref<?x?x?x80xf32>
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : i32
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
// CHECK: fagpu.role
// CHECK: %[[Q0:.*]] = fagpu.fetch %[[Q]][{{.*}}] [1, 64, 1, 32] rows(%{{.*}}) : {{.*}} -> tensor<64x32xf32>
// CHECK: %[[Q1:.*]] = fagpu.fetch %[[Q]][{{.*}}, %[[C32]]] [1, 64, 1, 32]
// CHECK: %[[Q2:.*]] = fagpu.fetch %[[Q]][{{.*}}, %[[C64]]] [1, 64, 1, 16] rows(%{{.*}}) columns(
// CHECK: fagpu.for
// CHECK-NOT: fagpu.fetch %[[Q]]
// CHECK-NOT: fagpu.for
// CHECK:   %[[K0:.*]] = fagpu.fetch %[[K]][{{.*}}] [1, 64, 1, 32]
// CHECK:   %[[K1:.*]] = fagpu.fetch %[[K]][{{.*}}, %[[C32]]] [1, 64, 1, 32]
// CHECK:   %[[S0:.*]] = fagpu.product nt %[[Q0]], %[[K0]] :
// CHECK:   %[[K2:.*]] = fagpu.fetch %[[K]][{{.*}}, %[[C64]]] [1, 64, 1, 16]
// CHECK:   %[[S1:.*]] = fagpu.product nt %[[Q1]], %[[K1]] acc(%[[S0]]
// CHECK:   fagpu.product nt %[[Q2]], %[[K2]] acc(%[[S1]]
func.func @kept(%q: !mem, %k: !mem, %o: memref<?x?x64xf32>, %n: i32)
    attributes {fa.config = #kept, fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c70 = arith.constant 70 : i32
  %zero = arith.constant dense<0.0> : !s
  fagpu.role @math groups(1) {
    %query = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%x = %zero) -> (!s) {
      %key = fagpu.fetch %k[%c0, %i, %c0, %c0] [1, 64, 1, 80] rows(%n) columns(%c70) : !mem -> !x
      %s = fagpu.product nt %query, %key : !x, !x -> !s
      %y = arith.addf %x, %s : !s
      fagpu.yield %y : !s
    }
    fagpu.store %r, %o[%c0, %c0, %c0] : !s into memref<?x?x64xf32>
  }
  return
}

// Parts are read as the whole would be.
// CHECK-LABEL: func.func @outside
// CHECK-COUNT-6: fagpu.fetch {{.*}} {fagpu.nan} :
// CHECK-NOT: fagpu.fetch
func.func @outside(%q: !mem, %k: !mem, %o: memref<?x?x64xf32>, %n: i32)
    attributes {fa.config = #config, fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %query = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) {fagpu.nan} : !mem -> !x
    %key = fagpu.fetch %k[%c0, %c0, %c0, %c0] [1, 64, 1, 80] rows(%n) {fagpu.nan} : !mem -> !x
    %s = fagpu.product nt %query, %key : !x, !x -> !s
    fagpu.store %s, %o[%c0, %c0, %c0] : !s into memref<?x?x64xf32>
  }
  return
}
