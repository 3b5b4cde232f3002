// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Columns end inside a tile: what is beyond reads as zero and is not stored.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!t = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!s = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!m = memref<?x72xbf16, strided<[?, 1], offset: ?>>

// The first panel is there; of the second a thread's chunk has 16 bytes or none,
// and a row past the end has none.
// CHECK-LABEL: func.func @copied
func.func @copied(%m: !m, %f: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c72 = arith.constant 72 : i32
  %t = fagpu.channel cp_async : !t
  fagpu.role @all groups(1) {
    // CHECK: %[[LEFT:.*]] = arith.subi %c8_i32, %[[COLUMN:.*]] : i32
    // CHECK: %[[MAX:.*]] = arith.maxsi %[[LEFT]], %c0_i32
    // CHECK: %[[MIN:.*]] = arith.minsi %[[MAX]], %c8_i32
    // CHECK: %[[BYTES:.*]] = arith.shli %[[MIN]], %c1_i32
    // CHECK: %[[PAST:.*]] = arith.cmpi sle
    // CHECK: "cp.async.cg.shared.global [$0], [$1], 16, $2;", "l,l,b,~{memory}" %{{.*}}, %{{.*}}, %[[PAST]]
    // CHECK: %[[SIZE:.*]] = arith.select %[[PAST]], %c0_i32, %[[BYTES]] : i32
    // CHECK: "cp.async.cg.shared.global [$0], [$1], 16, $2;", "l,l,r,~{memory}" %{{.*}}, %{{.*}}, %[[SIZE]]
    fagpu.put %t, %m[%c0, %c0] [64, 128] rows(%n) columns(%c72) : !m into !t
    %v = fagpu.acquire %t : !t
    %x = fagpu.mma nt %v, %v : !v, !v -> !acc
    fagpu.release %v : !v
    fagpu.store %x, %f[%c0, %c0] rows(%n) : !acc into memref<?x64xf32>
  }
  return
}

// Chunks of 8 columns are stored or not; where columns end inside a chunk, it is
// stored column by column. Nothing is staged for panels past the end.
// CHECK-LABEL: func.func @chunks
func.func @chunks(%o: memref<?x40xbf16>, %p: memref<?x36xbf16>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c40 = arith.constant 40 : i32
  %c36 = arith.constant 36 : i32
  %s = fagpu.channel threads : !s
  fagpu.role @all groups(1) {
    %y = tensor.splat %x : !acc
    %h = arith.truncf %y : !acc to !half
    // CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
    // CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %{{.*}}, %c8_i32 : i32
    // CHECK: %[[BOTH:.*]] = arith.andi %[[IN]], %[[WHOLE]] : i1
    // CHECK: st.global.v4.b32 {{.*}} %[[BOTH]] :
    // CHECK-NOT: st.global.b16
    // CHECK: nvvm.bar.warp.sync
    fagpu.store %h, %o[%c0, %c0] rows(%n) columns(%c40) via(%s : !s) : !half into memref<?x40xbf16>
    // CHECK: st.global.v4.b32
    // CHECK: "{ .reg .b16 x; mov.b32 {x, _}, $1; @$2 st.global.b16 [$0 + 0], x; }"
    // CHECK: "{ .reg .b16 x; mov.b32 {_, x}, $1; @$2 st.global.b16 [$0 + 2], x; }"
    fagpu.store %h, %p[%c0, %c0] rows(%n) columns(%c36) via(%s : !s) : !half into memref<?x36xbf16>
  }
  return
}

// From registers: 32 columns at once, then those of which some are there.
// CHECK-LABEL: func.func @registers
func.func @registers(%o: memref<?x40xbf16>, %f: memref<?x3xf32>, %x: f32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c40 = arith.constant 40 : i32
  %c3 = arith.constant 3 : i32
  fagpu.role @all groups(1) {
    %y = tensor.splat %x : !acc
    %h = arith.truncf %y : !acc to !half
    // CHECK: "st.global.v4.b32 [$0 + 0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"
    // CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %{{.*}}, %c8_i32 : i32
    // CHECK: "@$5 st.global.v4.b32 [$0 + 64], {$1, $2, $3, $4};", "l,r,r,r,r,b,~{memory}" {{.*}} %[[WHOLE]] :
    fagpu.store %h, %o[%c0, %c0] columns(%c40) : !half into memref<?x40xbf16>
    // Two columns a lane: both, or the first.
    // CHECK: "@$3 st.global.v2.b32 [$0 + 0], {$1, $2};", "l,f,f,b,~{memory}"
    // CHECK: "@$2 st.global.b32 [$0 + 0], $1;", "l,f,b,~{memory}"
    // CHECK-NOT: [$0 + 32]
    fagpu.store %y, %f[%c0, %c0] columns(%c3) : !acc into memref<?x3xf32>
  }
  return
}

// A map of one panel, which ends with the memory; a copy for each panel.
// CHECK-LABEL: func.func @bulk
// CHECK-SAME: {argument = 0 : i64, bounded = false, box = [64, 64], columns = 64 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 1 : i64, swizzle = 128 : i64}
// CHECK-SAME: {argument = 1 : i64, bounded = false, box = [64, 64], columns = 64 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 1 : i64, swizzle = 128 : i64}
func.func @bulk(%m: memref<128x72xbf16>, %o: memref<128x40xbf16>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c72 = arith.constant 72 : i32
  %c40 = arith.constant 40 : i32
  %t = fagpu.channel tma : !t
  %s = fagpu.channel tma_store : !t
  fagpu.role @load groups(1) elect {
    // All 16384 bytes arrive, zeros included.
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16384_i32
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}box[%c0_i32, %c0_i32]
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}box[%c64_i32, %c0_i32]
    fagpu.put %t, %m[%c0, %c0] [64, 128] columns(%c72) : memref<128x72xbf16> into !t
  }
  fagpu.role @all groups(1) {
    %v = fagpu.acquire %t : !t
    %h = fagpu.load %v : !v -> tensor<64x128xbf16, #fagpu.acc<4>>
    fagpu.release %v : !v
    // The second panel is past the end.
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
    // CHECK-NOT: nvvm.cp.async.bulk.tensor.global.shared.cta
    fagpu.store %h, %o[%c0, %c0] columns(%c40) via(%s : !t) : tensor<64x128xbf16, #fagpu.acc<4>> into memref<128x40xbf16>
  }
  return
}

// A tile that starts at any column: a copy for each panel as well. The map has
// the dimensions of the memory, past whose ends a padded box is zero.
// CHECK-LABEL: func.func @any_column
// CHECK-SAME: {argument = 0 : i64, bounded = false, box = [1, 64, 64], columns = 64 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 1 : i64, swizzle = 128 : i64}
func.func @any_column(%m: memref<?x?x?xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma : !t
  fagpu.role @load groups(1) elect {
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16384_i32
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}box[%[[N:.*]], %c0_i32, %[[N]]]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %c64_i32
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}box[%[[NEXT]], %c0_i32, %[[N]]]
    fagpu.put %t, %m[%n, %c0, %n] [1, 64, 128] padded : memref<?x?x?xbf16> into !t
  }
  fagpu.role @all groups(1) {
    %v = fagpu.acquire %t : !t
    fagpu.release %v : !v
  }
  return
}
