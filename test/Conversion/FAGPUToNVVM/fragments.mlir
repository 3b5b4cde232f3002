// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Values in the order in which threads hold them: 16 bytes a thread, 2048 bytes a
// group of 128 at once; and transposed tiles.

#acc = #fagpu.acc<4>
!acc = tensor<64x16xf32, #acc>
!h = tensor<64x16xbf16, #acc>
!f = !fagpu.channel<1024xf32, #fagpu.smem<0>, 1>
!fv = !fagpu.view<1024xf32, #fagpu.smem<0>>
!t = !fagpu.channel<16x64xbf16, #fagpu.smem<128>, 1>

// CHECK-LABEL: func.func @from_registers(
// CHECK-SAME: {alignment = 16 : i64, argument = 0 : i64, kind = "pointer", pieces = array<i64: 1024>}
func.func @from_registers(%m: memref<?x1024xf32>, %p: memref<?x1024xf32>, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    // CHECK: arith.muli %{{.*}}, %c4_i32
    // CHECK: "st.global.v4.b32 [$0 + 0], {$1, $2, $3, $4};", "l,f,f,f,f,~{memory}"
    // CHECK: "st.global.v4.b32 [$0 + 2048], {$1, $2, $3, $4};"
    // CHECK-NOT: global
    fagpu.store %y, %m[%n, %c0] fragments : !acc into memref<?x1024xf32>
    // CHECK: "red.global.add.v4.f32 [$0 + 0], {$1, $2, $3, $4};"
    // CHECK: "red.global.add.v4.f32 [$0 + 2048], {$1, $2, $3, $4};"
    // CHECK-NOT: global
    fagpu.store %y, %p[%n, %c0] add fragments : !acc into memref<?x1024xf32>
  }
  return
}

// CHECK-LABEL: func.func @one_by_one(
func.func @one_by_one(%m: memref<?x1024xf32>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    // CHECK: "red.global.add.f32 [$0 + 0], $1;"
    // CHECK: "red.global.add.f32 [$0 + 4], $1;"
    // CHECK: "red.global.add.f32 [$0 + 12], $1;"
    // CHECK: "red.global.add.f32 [$0 + 2048], $1;"
    fagpu.store %y, %m[%n, %c0] add fragments : !acc into memref<?x1024xf32>
  }
  return
}

// A word of each thread beside those of the others: 512 bytes a group at once.
// CHECK-LABEL: func.func @by_words(
func.func @by_words(%m: memref<?x1024xf32>, %p: memref<?x1024xf32>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    // CHECK-NOT: arith.muli %{{.*}}, %c4_i32
    // CHECK: "red.global.add.f32 [$0 + 0], $1;"
    // CHECK: "red.global.add.f32 [$0 + 512], $1;"
    // CHECK: "red.global.add.f32 [$0 + 3584], $1;"
    // CHECK-NOT: global
    fagpu.store %y, %m[%n, %c0] add fragments by_words : !acc into memref<?x1024xf32>
    // CHECK: "st.global.b32 [$0 + 0], $1;"
    // CHECK: "st.global.b32 [$0 + 512], $1;"
    fagpu.store %y, %p[%n, %c0] fragments by_words : !acc into memref<?x1024xf32>
  }
  return
}

// In bulk: one piece of 4096 bytes, which the leader starts.
// CHECK-LABEL: func.func @in_bulk(
// CHECK-NOT: tensor_map
func.func @in_bulk(%m: memref<?x1024xf32>, %p: memref<?x1024xf32>, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %f = fagpu.channel tma_store : !f
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    // CHECK: nvvm.barrier
    // CHECK: arith.muli %{{.*}}, %c16_i32
    // CHECK: "st.shared.v4.f32 [$0 + 0], {$1, $2, $3, $4};", "r,f,f,f,f,~{memory}"
    // CHECK: "st.shared.v4.f32 [$0 + 2048], {$1, $2, $3, $4};"
    // CHECK: nvvm.fence.proxy
    // CHECK: nvvm.barrier
    // CHECK: "@$3 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;", "l,r,r,b,~{memory}" %{{.*}}, %{{.*}}, %c4096_i32, %{{.*}} :
    // CHECK: nvvm.cp.async.bulk.commit.group
    fagpu.store %y, %m[%n, %c0] add fragments via(%f : !f) : !acc into memref<?x1024xf32>
    // CHECK: "@$3 cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;"
    fagpu.store %y, %p[%n, %c0] fragments via(%f : !f) : !acc into memref<?x1024xf32>
    // CHECK: nvvm.cp.async.bulk.wait_group 0
  }
  return
}

// And back into registers. Sixteen rows of the value are columns of the tile.
// CHECK-LABEL: func.func @read(
// CHECK: box = [1, 16, 64]
func.func @read(%m: memref<?x1024xf32>, %o: memref<?x?x64xbf16>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %f = fagpu.channel tma : !f
  %t = fagpu.channel tma_store : !t
  fagpu.role @load groups(1) elect {
    fagpu.put %f, %m[%n, %c0] [1, 1024] : memref<?x1024xf32> into !f
  }
  // CHECK: fagpu.role @math
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %f : !f
    // CHECK: llvm.load volatile %[[FIRST:.*]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[FIRST]][2048]
    // CHECK: llvm.load volatile %[[SECOND]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    // CHECK-NOT: llvm.load
    %x = fagpu.load %v fragments : !fv -> !acc
    fagpu.release %v : !fv
    %h = arith.truncf %x : !acc to !h
    // CHECK: nvvm.stmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>
    // CHECK-NOT: nvvm.stmatrix
    // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
    fagpu.store %h, %o[%c0, %n, %c0] sizes [1, 16, 64] transposed via(%t : !t) : !h into memref<?x?x64xbf16>
  }
  return
}
