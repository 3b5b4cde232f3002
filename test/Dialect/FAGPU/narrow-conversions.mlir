// RUN: fa-opt %s -fagpu-narrow-conversions -canonicalize | FileCheck %s

!row = tensor<128xi32, #fagpu.row<4>>
!column = tensor<64xi32, #fagpu.col<4>>
!index = tensor<128x64xi32>
!real = tensor<128x64xf32>

// A distance of a query and a key: the rows once each, the columns as numbers of
// the block.
// CHECK-LABEL: func.func @distance
// CHECK-SAME: (%[[QUERY:.*]]: i32, %[[KEY:.*]]: i32)
func.func @distance(%query: i32, %key: i32) -> !real {
  // CHECK-DAG: %[[MORE:.*]] = arith.addi %[[QUERY]], %c3_i32 : i32
  // CHECK-DAG: %[[FIRST:.*]] = arith.subi %[[MORE]], %[[KEY]] : i32
  // CHECK-DAG: %[[SCALAR:.*]] = arith.sitofp %[[FIRST]] : i32 to f32
  // CHECK-DAG: %[[ALL:.*]] = tensor.splat %[[SCALAR]] : tensor<128xf32, #fagpu.row<4>>
  // CHECK-DAG: %[[ROWS:.*]] = arith.sitofp %{{.*}} : tensor<128xi32, #fagpu.row<4>>
  // CHECK: %[[SUM:.*]] = arith.addf %[[ALL]], %[[ROWS]] : tensor<128xf32, #fagpu.row<4>>
  // CHECK: %[[WIDE:.*]] = fagpu.broadcast %[[SUM]]
  // CHECK: %[[NUMBER:.*]] = fagpu.iota 1
  // CHECK: %[[COLUMN:.*]] = arith.sitofp %[[NUMBER]]
  // CHECK: %[[DISTANCE:.*]] = arith.subf %[[WIDE]], %[[COLUMN]]
  // CHECK: return %[[DISTANCE]]
  %i = fagpu.iota 0 : !row
  %three = arith.constant dense<3> : !row
  %queries = tensor.splat %query : !row
  %a0 = arith.addi %i, %queries : !row
  %a = arith.addi %a0, %three : !row
  %j = fagpu.iota 0 : !column
  %keys = tensor.splat %key : !column
  %b = arith.addi %j, %keys : !column
  %wide = fagpu.broadcast %a : !row -> !index
  %long = fagpu.broadcast %b : !column -> !index
  %d = arith.subi %wide, %long : !index
  %r = arith.sitofp %d : !index to !real
  return %r : !real
}

// What is loaded, scaled, or a vector anyway stays.
// CHECK-LABEL: func.func @kept
func.func @kept(%m: !index, %a: !row) -> (!real, !real, tensor<128xf32, #fagpu.row<4>>) {
  // CHECK: arith.sitofp %{{.*}} : tensor<128x64xi32>
  %r = arith.sitofp %m : !index to !real
  // CHECK: arith.sitofp %{{.*}} : tensor<128x64xi32>
  %i = fagpu.iota 0 : !row
  %wide = fagpu.broadcast %i : !row -> !index
  %twice = arith.addi %wide, %wide : !index
  %s = arith.sitofp %twice : !index to !real
  // CHECK: arith.sitofp %{{.*}} : tensor<128xi32, #fagpu.row<4>>
  %t = arith.sitofp %a : !row to tensor<128xf32, #fagpu.row<4>>
  return %r, %s, %t : !real, !real, tensor<128xf32, #fagpu.row<4>>
}
