// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// Additions to memory: from registers, in bulk, and at indices of their own.

#acc = #fagpu.acc<4>
!acc = tensor<64x64xf32, #acc>
!i = tensor<64x64xi32, #acc>
!b = tensor<64x64xi1, #acc>
!few = tensor<64x8xf32, #acc>
!row = tensor<64xf32, #fagpu.row<4>>
!col = tensor<8xf32, #fagpu.col<4>>
!warp = tensor<4xf32, #fagpu.warp<4>>
!t = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
!f = !fagpu.channel<4096xf32, #fagpu.smem<0>, 1>

// Pairs of columns, and what ends at a row; a value of a row comes from one of the
// four lanes that hold it.
// CHECK-LABEL: func.func @from_registers(
func.func @from_registers(%m: memref<?x64xf32>, %v: memref<?xf32>, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    // CHECK-COUNT-16: "@$3 red.global.add.v2.f32 [$0 + {{[0-9]+}}], {$1, $2};", "l,f,f,b,~{memory}"
    // CHECK-NOT: red.global
    fagpu.store %y, %m[%c0, %c0] rows(%n) add : !acc into memref<?x64xf32>
    %r = fagpu.reduce add %y : !acc -> !row
    // CHECK: %[[LANE:.*]] = arith.cmpi eq
    // CHECK-COUNT-2: "@$2 red.global.add.f32 [$0], $1;", "l,f,b,~{memory}" %{{.*}}, %{{.*}}, %[[LANE]]
    // CHECK-NOT: red.global
    fagpu.store %r, %v[%c0] add : !row into memref<?xf32>
  }
  return
}

// Chips before sm_90 add one by one.
// CHECK-LABEL: func.func @one_by_one(
func.func @one_by_one(%m: memref<?x8xf32>, %p: memref<?xf32>, %x: f32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !few
    // CHECK-COUNT-4: "red.global.add.f32 [$0 + {{[0-9]+}}], $1;"
    // CHECK-NOT: red.global
    fagpu.store %y, %m[%c0, %c0] add : !few into memref<?x8xf32>
  }
  return
}

// Columns as rows: of each eight columns a thread holds two, of two rows. Lanes 4
// and 8 apart have the same columns; after two exchanges of half of what they hold
// each has four rows of one column, side by side in memory. A size of dense rows
// ends no piece of aligned ones; any other number may.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: {alignment = 16 : i64, argument = 0 : i64, kind = "pointer"}
func.func @transposed(%m: memref<?x?xf32>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %d1 = arith.constant 1 : index
  %size = memref.dim %m, %d1 : memref<?x?xf32>
  %columns = arith.index_cast %size : index to i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !few
    // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c8_i32, %c31_i32 : f32
    // CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c4_i32, %c31_i32 : f32
    // CHECK: "@$5 red.global.add.v4.f32 [$0 + 0], {$1, $2, $3, $4};", "l,f,f,f,f,b,~{memory}"
    // CHECK-NOT: red.global
    fagpu.store %y, %m[%c0, %c0] rows(%n) columns(%columns) add transposed : !few into memref<?x?xf32>
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK: red.global.add.v4.f32
    // CHECK-COUNT-3: "@$2 red.global.add.f32
    // CHECK-NOT: red.global
    fagpu.store %y, %m[%c0, %c0] columns(%n) add transposed : !few into memref<?x?xf32>
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-COUNT-4: "red.global.add.f32
    // CHECK-NOT: red.global
    fagpu.store %y, %m[%c0, %c0] align(4) add transposed : !few into memref<?x?xf32>
    // CHECK: return
  }
  return
}

// A tensor map, by the group's leader: two panels of 32 floats of one map.
// CHECK-LABEL: func.func @boxes(
// CHECK-SAME: %[[MAP:[^:]+]]: !llvm.ptr {llvm.align = 64
// CHECK-SAME: bounded = false, box = [64, 64], columns = 32 : i64, kind = "tensor_map", l2_promotion = 128 : i64, panels = 2 : i64, swizzle = 128 : i64
func.func @boxes(%m: memref<?x64xf32>, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %t = fagpu.channel tma_store : !t
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
    // CHECK: nvvm.barrier
    // CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
    // CHECK: nvvm.fence.proxy
    // CHECK: nvvm.barrier
    // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[MAP]]
    // CHECK: "@$2 cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [$0, {$3, $4, $5}], [$1];", "l,r,b,r,r,r,~{memory}" %[[ADDRESS]]
    // CHECK: nvvm.cp.async.bulk.commit.group
    fagpu.store %y, %m[%c0, %c0] add via(%t : !t) : !acc into memref<?x64xf32>
    // CHECK: nvvm.cp.async.bulk.wait_group 0
  }
  return
}

// Each element where its indices say, if its mask is true. Of lanes that hold the
// same, one adds: the first of four of a row, of a warp, of those of a column.
// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: {argument = 0 : i64, kind = "pointer"}
func.func @scattered(%m: memref<?x64xf32>, %v: memref<?xf32>, %x: f32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %y = tensor.splat %x : !acc
    %i = fagpu.iota 0 : !i
    %j = fagpu.iota 1 : !i
    %last = tensor.splat %n : !i
    %ok = arith.cmpi slt, %j, %last : !i
    // CHECK: arith.cmpi slt
    // CHECK-COUNT-32: "@$2 red.global.add.f32 [$0], $1;", "l,f,b,~{memory}"
    // CHECK-NOT: red.global
    fagpu.scatter_add %y, %m[%i, %j] mask(%ok : !b) : !acc into memref<?x64xf32>[!i, !i]
    // CHECK-COUNT-32: "red.global.add.f32 [$0], $1;", "l,f,~{memory}"
    // CHECK-NOT: red.global
    fagpu.scatter_add %y, %m[%n, %j] : !acc into memref<?x64xf32>[i32, !i]
    %r = tensor.splat %x : !row
    // CHECK: %[[FOURTH:.*]] = arith.andi %{{.*}}, %c3_i32
    // CHECK: %[[OF_ROW:.*]] = arith.cmpi eq, %[[FOURTH]], %c0_i32
    // CHECK-COUNT-2: "@$2 red.global.add.f32 [$0], $1;", "l,f,b,~{memory}" %{{.*}}, %{{.*}}, %[[OF_ROW]]
    fagpu.scatter_add %r, %v[%n] : !row into memref<?xf32>[i32]
    %c = tensor.splat %x : !col
    // CHECK: %[[OF_COLUMN:.*]] = arith.cmpi ult, %{{.*}}, %c4_i32
    // CHECK-COUNT-2: "@$2 red.global.add.f32 [$0], $1;", "l,f,b,~{memory}" %{{.*}}, %{{.*}}, %[[OF_COLUMN]]
    fagpu.scatter_add %c, %v[%n] : !col into memref<?xf32>[i32]
    %w = tensor.splat %x : !warp
    // CHECK: %[[OF_WARP:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
    // CHECK: "@$2 red.global.add.f32 [$0], $1;", "l,f,b,~{memory}" %{{.*}}, %{{.*}}, %[[OF_WARP]]
    // CHECK-NOT: red.global
    fagpu.scatter_add %w, %v[%n] : !warp into memref<?xf32>[i32]
  }
  return
}
