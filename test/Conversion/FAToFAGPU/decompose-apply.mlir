// RUN: fa-opt %s -fa-decompose-to-blocks | FileCheck %s

// A value that depends on the row alone is a vector of rows, and is broadcast.
// With rows that are keys they are the key's.
// CHECK-LABEL: func.func @rows
// CHECK: %[[Q:.*]] = arith.addi %{{.*}} : tensor<64xi32, #fagpu.row<4>>
// CHECK: %[[X:.*]] = fagpu.gather %{{.*}}[%[[Q]]] mask(%{{.*}}) {{.*}}-> tensor<64xf32, #fagpu.row<4>>
// CHECK: %[[BLOCK:.*]] = fagpu.broadcast %[[X]] : tensor<64xf32, #fagpu.row<4>> -> tensor<64x32xf32>
// CHECK: fagpu.store %[[BLOCK]]
// CHECK: arith.addi %{{.*}} : tensor<64xi32, #fagpu.row<4>>
// CHECK: fagpu.gather %{{.*}}[%{{.*}}] mask(%{{.*}}) {{.*}}-> tensor<32xf32, #fagpu.col<4>>
func.func @rows(%x: memref<200xf32>, %y: memref<200x32xf32>, %c: index, %o: i32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    %t = fa.apply offsets(%c, %c, %c, %c) extents(%c, %c) pairs(%b, %h, %i, %j) captures(%m = %x : memref<200xf32>) {
      %v = memref.load %m[%i] : memref<200xf32>
      fa.yield %v : f32
    } -> tensor<64x32xf32>
    fagpu.store %t, %y[%o, %o] sizes [64, 32] align(4) : tensor<64x32xf32> into memref<200x32xf32>
    %u = fa.apply offsets(%c, %c, %c, %c) extents(%c, %c) rows(keys) pairs(%b, %h, %i, %j) captures(%m = %x : memref<200xf32>) {
      %v = memref.load %m[%i] : memref<200xf32>
      fa.yield %v : f32
    } -> tensor<64x32xf32>
    fagpu.store %u, %y[%o, %o] sizes [64, 32] align(4) : tensor<64x32xf32> into memref<200x32xf32>
  }
  return
}
