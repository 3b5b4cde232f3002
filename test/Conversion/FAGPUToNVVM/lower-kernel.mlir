// RUN: fa-opt %s -fagpu-lower-kernel | FileCheck %s

// A kernel is an llvm.func with the threads of all its roles.
// CHECK-LABEL: llvm.func @roles
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 384>
func.func @roles(%m: !llvm.ptr<1>) attributes {fagpu.kernel = "sm_90a"} {
  // Every thread of a warp reads the number of the warp from the first lane.
  // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[OWN:.*]] = arith.shrui %[[THREAD]], %{{.*}}
  // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[OWN]],

  // The first role is the first four warps; `elect` leaves one thread of them.
  // CHECK: %[[GROUP:.*]] = arith.shrui
  // CHECK: %[[IS_LOAD:.*]] = arith.cmpi ult, %[[GROUP]], %c1_i32
  // CHECK: scf.if %[[IS_LOAD]] {
  // CHECK-NEXT: nvvm.setmaxregister decrease 40
  // CHECK: %[[FIRST_WARP:.*]] = arith.cmpi eq, %[[WARP]],
  // CHECK-NEXT: scf.if %[[FIRST_WARP]] {
  // CHECK-NEXT: %[[ONE:.*]] = nvvm.elect.sync
  // CHECK-NEXT: scf.if %[[ONE]] {
  // CHECK-NEXT: llvm.store %c7_i32
  %c7 = arith.constant 7 : i32
  fagpu.role @load groups(1) regs(40) elect {
    llvm.store %c7, %m : i32, !llvm.ptr<1>
  }

  // The next role counts its groups from the warp behind those.
  // CHECK: %[[WARP_OF_ROLE:.*]] = arith.subi %[[WARP]], %c4_i32
  // CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP_OF_ROLE]], %c2_i32
  // CHECK: %[[IS_MATH:.*]] = arith.cmpi ult, %[[GROUP]], %c2_i32
  // CHECK-NEXT: scf.if %[[IS_MATH]] {
  // CHECK-NEXT: nvvm.setmaxregister increase 232
  // CHECK-NEXT: llvm.store %[[GROUP]]
  // CHECK: llvm.return
  fagpu.role @math(%g) groups(2) regs(232) {
    llvm.store %g, %m : i32, !llvm.ptr<1>
  }
  return
}

// A role that is the whole block needs no branch.
// CHECK-LABEL: llvm.func @one_role
// CHECK-SAME: nvvm.maxntid = array<i32: 128>
// CHECK-NOT: scf.if
// CHECK: llvm.store
func.func @one_role(%m: !llvm.ptr<1>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute(%g) groups(1) {
    llvm.store %g, %m : i32, !llvm.ptr<1>
  }
  return
}

// What is no kernel stays as it is.
// CHECK-LABEL: func.func @host
// CHECK: return
func.func @host() {
  return
}
