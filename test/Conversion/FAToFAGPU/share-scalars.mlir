// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-share-scalars | FileCheck %s

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>

// CHECK-LABEL: func.func @kernel
func.func @kernel(%lengths: memref<?xi32>, %n: i32, %heads: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c3 = arith.constant 3 : i32
  %block = gpu.block_id x
  // CHECK: %[[BLOCK:.*]] = gpu.block_id
  // CHECK: %[[LENGTH:.*]] = memref.load %{{.*}}[%[[BLOCK]]]
  // CHECK-NEXT: %[[MORE:.*]] = arith.addi %[[LENGTH]], %{{.*}} : i32
  // CHECK-NEXT: %[[HEAD:.*]] = arith.divui %[[MORE]], %{{.*}} : i32
  // CHECK-NEXT: fagpu.role @math
  fagpu.role @math(%g) groups(2) {
    %length = memref.load %lengths[%block] : memref<?xi32>
    %more = arith.addi %length, %c3 : i32
    %head = arith.divui %more, %heads : i32
    // Cheap: a minimum, and a division by a constant.
    // CHECK-NEXT: %[[CLAMPED:.*]] = arith.minsi %[[LENGTH]], %{{.*}} : i32
    // CHECK-NEXT: %[[THIRD:.*]] = arith.divui %[[CLAMPED]], %{{.*}} : i32
    %clamped = arith.minsi %length, %n : i32
    %third = arith.divui %clamped, %c3 : i32
    // Of the group.
    // CHECK-NEXT: %[[OF_GROUP:.*]] = arith.remui %{{.*}}, %[[HEAD]] : i32
    %ofGroup = arith.remui %g, %head : i32
    "keep"(%third, %ofGroup, %head) : (i32, i32, i32) -> ()
  }
  return
}

// What is needed of it and is no word stays in the role as a copy, also where
// the role begins with what leaves it.
// CHECK-LABEL: func.func @copied
// CHECK: %[[LOADED:.*]] = memref.load
// CHECK: fagpu.role @math groups(2) {
// CHECK-NEXT: arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT: "keep"
func.func @copied(%lengths: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  fagpu.role @math(%g) groups(2) {
    %place = arith.index_cast %n : i32 to index
    %length = memref.load %lengths[%place] : memref<?xi32>
    "keep"(%place, %length) : (index, i32) -> ()
  }
  return
}

// One role that does all has nobody to share with.
// CHECK-LABEL: func.func @warps
func.func @warps(%lengths: memref<?xi32>) attributes {fagpu.kernel = "sm_80"} {
  %block = gpu.block_id x
  // CHECK: fagpu.role @compute
  // CHECK-NEXT: memref.load
  fagpu.role @compute {
    %length = memref.load %lengths[%block] : memref<?xi32>
    "keep"(%length) : (i32) -> ()
  }
  return
}
