// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-copies,fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Rows at multiples of less than 16 bytes are copied and stored by pieces.

!acc = tensor<64x64xf32, #fagpu.acc<4>>
!half = tensor<64x64xbf16, #fagpu.acc<4>>
!cp = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
!m = memref<?x60xbf16, strided<[?, 1], offset: ?>>

// Two copies of 8 bytes for each chunk, each with the bytes that are there.
// CHECK-LABEL: func.func @copied
// CHECK-SAME: {alignment = 8 : i64, argument = 0 : i64, kind = "pointer"}
func.func @copied(%m: !m, %f: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c60 = arith.constant 60 : i32
  %t = fagpu.channel cp_async : !cp
  fagpu.role @all groups(1) {
    // CHECK: %[[PAST:.*]] = arith.cmpi sle
    // CHECK: arith.minsi %{{.*}}, %c8_i32
    // CHECK: "cp.async.ca.shared.global [$0], [$1], 8, $2;", "l,l,r,~{memory}"
    // CHECK: arith.subi %{{.*}}, %c8_i32
    // CHECK: "cp.async.ca.shared.global [$0 + 8], [$1 + 8], 8, $2;", "l,l,r,~{memory}"
    // CHECK-NOT: ld.global
    // CHECK: nvvm.cp.async.commit.group
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) columns(%c60) align(8) : !m into !cp
    %v = fagpu.acquire %t : !cp
    %x = fagpu.mma nt %v, %v : !v, !v -> !acc
    fagpu.release %v : !v
    fagpu.store %x, %f[%c0, %c0] rows(%n) : !acc into memref<?x64xf32>
  }
  return
}

// Through registers: what a thread loads of a row is stored when it is there.
// The acquire waits as for copies that nobody has to wait for.
// CHECK-LABEL: func.func @loaded
// CHECK-SAME: {alignment = 2 : i64, argument = 0 : i64, kind = "pointer"}
func.func @loaded(%m: !m, %f: memref<?x64xf32>, %n: i32, %p: i1) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel loads : !cp
  fagpu.role @all groups(1) {
    // CHECK: %[[IN:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32
    // CHECK: %[[LOADED:.*]] = arith.andi %[[IN]], %[[P:.*]] : i1
    // CHECK: "{ .reg .b16 x; mov.b16 x, 0; @$2 ld.global.b16 x, [$1]; cvt.u32.u16 $0, x; }", "=r,l,b,~{memory}" %{{.*}}, %[[LOADED]]
    // CHECK: ld.global.b16 x, [$1 + 2]
    // CHECK: ld.global.b16 x, [$1 + 14]
    // CHECK: "@$5 st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,b,~{memory}" {{.*}}, %[[P]] :
    // CHECK-NOT: cp.async.c{{[ag]}}
    // CHECK: nvvm.cp.async.commit.group
    // CHECK: nvvm.cp.async.wait.group 0
    // CHECK-NEXT: nvvm.barrier0
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) align(2) if(%p) : !m into !cp
    %v = fagpu.acquire %t : !cp
    %x = fagpu.mma nt %v, %v : !v, !v -> !acc
    fagpu.release %v : !v
    fagpu.store %x, %f[%c0, %c0] rows(%n) : !acc into memref<?x64xf32>
  }
  return
}

// Loads do not straddle the end of the columns: 30 are 15 pairs.
// CHECK-LABEL: func.func @loaded_pairs
func.func @loaded_pairs(%m: memref<?x32xbf16>, %f: memref<?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c30 = arith.constant 30 : i32
  %t = fagpu.channel loads : !cp
  fagpu.role @all groups(1) {
    // CHECK: %[[MIN:.*]] = arith.minsi %{{.*}}, %c8_i32
    // CHECK: %[[BYTES:.*]] = arith.shli %[[MIN]], %c1_i32
    // CHECK: %[[THIRD:.*]] = arith.cmpi sgt, %[[BYTES]], %c8_i32
    // CHECK: %[[LOADED:.*]] = arith.andi %{{.*}}, %[[THIRD]]
    // CHECK: "mov.b32 $0, 0; @$2 ld.global.b32 $0, [$1 + 8];", "=&r,l,b,~{memory}" %{{.*}}, %[[LOADED]]
    fagpu.put %t, %m[%c0, %c0] [64, 64] rows(%n) columns(%c30) align(16) : memref<?x32xbf16> into !cp
    %v = fagpu.acquire %t : !cp
    %x = fagpu.mma nt %v, %v : !v, !v -> !acc
    fagpu.release %v : !v
    fagpu.store %x, %f[%c0, %c0] rows(%n) : !acc into memref<?x64xf32>
  }
  return
}

// CHECK-LABEL: func.func @stored
// CHECK-SAME: {alignment = 8 : i64, argument = 0 : i64, kind = "pointer"}
// CHECK-SAME: {alignment = 2 : i64, argument = 1 : i64, kind = "pointer"}
func.func @stored(%o: memref<?x64xbf16>, %p: memref<?x64xbf16>, %x: f32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %y = tensor.splat %x : !acc
    %h = arith.truncf %y : !acc to !half
    // CHECK: "st.global.v2.b32 [$0 + 0], {$1, $2};"
    // CHECK: "st.global.v2.b32 [$0 + 8], {$1, $2};"
    fagpu.store %h, %o[%c0, %c0] align(8) : !half into memref<?x64xbf16>
    // CHECK: "{ .reg .b16 x; mov.b32 {x, _}, $1; st.global.b16 [$0 + 0], x; }"
    // CHECK: "{ .reg .b16 x; mov.b32 {_, x}, $1; st.global.b16 [$0 + 2], x; }"
    // CHECK: st.global.b16 [$0 + 14]
    // CHECK-NOT: st.global{{.*}}.b32
    fagpu.store %h, %p[%c0, %c0] align(2) : !half into memref<?x64xbf16>
  }
  return
}
