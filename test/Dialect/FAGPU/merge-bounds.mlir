// RUN: fa-opt %s -fagpu-merge-bounds -cse | FileCheck %s

!index = tensor<64x8xi32>
!row = tensor<64xi32, #fagpu.row<4>>
!bool = tensor<64x8xi1>

// A bound of all rows and one of each row, joined as rows.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[END:.*]]: i32, %[[DIAGONAL:[^:]*]]: tensor
func.func @rows(%end: i32, %diagonal: !row) -> !bool {
  // CHECK-DAG: %[[COLUMN:.*]] = fagpu.iota 1
  // CHECK-DAG: %[[ENDS:.*]] = tensor.splat %[[END]] : tensor<64xi32
  // CHECK-DAG: %[[LEAST:.*]] = arith.minsi %[[ENDS]], %[[DIAGONAL]]
  // CHECK-DAG: %[[WIDE:.*]] = fagpu.broadcast %[[LEAST]]
  // CHECK: %[[VISIBLE:.*]] = arith.cmpi slt, %[[COLUMN]], %[[WIDE]]
  // CHECK-NEXT: return %[[VISIBLE]]
  %column = fagpu.iota 1 : !index
  %all = tensor.splat %end : !index
  %a = arith.cmpi slt, %column, %all : !index
  %again = fagpu.iota 1 : !index
  %each = fagpu.broadcast %diagonal : !row -> !index
  %b = arith.cmpi slt, %again, %each : !index
  %visible = arith.andi %a, %b : !bool
  return %visible : !bool
}

// Either bound; scalars.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[A:.*]]: i32, %[[B:.*]]: i32)
func.func @scalars(%a: i32, %b: i32) -> (!bool, !bool) {
  // CHECK: arith.maxsi %[[A]], %[[B]] : i32
  // CHECK: %[[LEFT:.*]] = arith.cmpi sle
  // CHECK: arith.minui %[[A]], %[[B]] : i32
  // CHECK: %[[RIGHT:.*]] = arith.cmpi uge
  // CHECK-NEXT: return %[[LEFT]], %[[RIGHT]]
  %column = fagpu.iota 1 : !index
  %as = tensor.splat %a : !index
  %bs = tensor.splat %b : !index
  %l0 = arith.cmpi sle, %column, %as : !index
  %l1 = arith.cmpi sle, %column, %bs : !index
  %left = arith.ori %l0, %l1 : !bool
  %r0 = arith.cmpi uge, %column, %as : !index
  %r1 = arith.cmpi uge, %column, %bs : !index
  %right = arith.ori %r0, %r1 : !bool
  return %left, %right : !bool, !bool
}

// A window inside an end: two comparisons of each element are left.
// CHECK-LABEL: func.func @chain
func.func @chain(%end: i32, %low: !row, %high: !row) -> !bool {
  // CHECK: %[[LOW:.*]] = arith.cmpi sge
  // CHECK: arith.minsi %{{.*}}, %{{.*}} : tensor<64xi32
  // CHECK: %[[HIGH:.*]] = arith.cmpi slt
  // CHECK-NEXT: arith.andi %[[HIGH]], %[[LOW]]
  // CHECK-NEXT: return
  %column = fagpu.iota 1 : !index
  %all = tensor.splat %end : !index
  %lows = fagpu.broadcast %low : !row -> !index
  %highs = fagpu.broadcast %high : !row -> !index
  %a = arith.cmpi slt, %column, %all : !index
  %b = arith.cmpi sge, %column, %lows : !index
  %c = arith.cmpi slt, %column, %highs : !index
  %window = arith.andi %b, %c : !bool
  %visible = arith.andi %a, %window : !bool
  return %visible : !bool
}

// Indices along different dimensions, other predicates, equality.
// CHECK-LABEL: func.func @kept
func.func @kept(%a: !index, %b: !index) -> (!bool, !bool, !bool) {
  // CHECK-COUNT-6: arith.cmpi
  // CHECK-COUNT-4: arith.andi
  %row = fagpu.iota 0 : !index
  %column = fagpu.iota 1 : !index
  %r = arith.cmpi slt, %row, %a : !index
  %c = arith.cmpi slt, %column, %b : !index
  %e = arith.cmpi sle, %column, %a : !index
  %f = arith.cmpi eq, %column, %a : !index
  %g = arith.cmpi eq, %column, %b : !index
  %h = arith.cmpi slt, %a, %b : !index
  %x = arith.andi %r, %c : !bool
  %y = arith.andi %c, %e : !bool
  %z0 = arith.andi %f, %g : !bool
  %z = arith.andi %z0, %h : !bool
  return %x, %y, %z : !bool, !bool, !bool
}

// A bound of all columns that is repeated for the rows merges with one that has
// rows.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[END:.*]]: i32, %[[LOW:.*]]: tensor<64xi32
func.func @columns(%end: i32, %low: !row) -> !bool {
  // CHECK: %[[ENDS:.*]] = tensor.splat %[[END]] : tensor<64xi32, #fagpu.row<4>>
  // CHECK: %[[BOUND:.*]] = arith.maxsi %{{.*}}, %{{.*}} : tensor<64xi32, #fagpu.row<4>>
  // CHECK: %[[WIDE:.*]] = fagpu.broadcast %[[BOUND]]
  // CHECK: %[[VISIBLE:.*]] = arith.cmpi slt, %{{.*}}, %[[WIDE]]
  // CHECK: return %[[VISIBLE]]
  %number = fagpu.iota 0 : tensor<8xi32, #fagpu.col<4>>
  %all = tensor.splat %end : tensor<8xi32, #fagpu.col<4>>
  %a = arith.cmpi slt, %number, %all : tensor<8xi32, #fagpu.col<4>>
  %spread = fagpu.broadcast %a : tensor<8xi1, #fagpu.col<4>> -> !bool
  %column = fagpu.iota 1 : !index
  %lows = fagpu.broadcast %low : !row -> !index
  %b = arith.cmpi slt, %column, %lows : !index
  %visible = arith.ori %spread, %b : !bool
  return %visible : !bool
}
