// RUN: fa-opt %s -fagpu-join-limits | FileCheck %s

!irow = tensor<64xi32, #fagpu.row<4>>
!icol = tensor<128xi32, #fagpu.col<4>>
!iacc = tensor<64x128xi32, #fagpu.acc<4>>
!bacc = tensor<64x128xi1, #fagpu.acc<4>>

// Each limit on either side, the conjunction in either order.
// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[FIRST:.*]]: tensor{{.*}}, %[[END:.*]]: tensor
func.func @window(%first: !irow, %end: !irow) -> (!bacc, !bacc) {
  %column = fagpu.iota 1 : !iacc
  %from = fagpu.broadcast %first : !irow -> !iacc
  %to = fagpu.broadcast %end : !irow -> !iacc
  %reached = arith.cmpi sge, %column, %from : !iacc
  %below = arith.cmpi slt, %column, %to : !iacc
  // CHECK: %[[SEEN:.*]] = fagpu.between %[[FIRST]], %[[END]] : tensor<64xi32, #fagpu.row<4>> -> tensor<64x128xi1, #fagpu.acc<4>>
  %seen = arith.andi %below, %reached : !bacc
  %reached_turned = arith.cmpi sle, %from, %column : !iacc
  %below_turned = arith.cmpi sgt, %to, %column : !iacc
  // CHECK: %[[TURNED:.*]] = fagpu.between %[[FIRST]], %[[END]]
  %turned = arith.andi %reached_turned, %below_turned : !bacc
  // CHECK: return %[[SEEN]], %[[TURNED]]
  return %seen, %turned : !bacc, !bacc
}

// Rows, numbers of columns, other comparisons and one limit alone stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: fagpu.between
// CHECK: return
func.func @others(%first: !irow, %end: !irow, %numbers: !icol) -> (!bacc, !bacc, !bacc, !bacc, !bacc) {
  %column = fagpu.iota 1 : !iacc
  %row = fagpu.iota 0 : !iacc
  %from = fagpu.broadcast %first : !irow -> !iacc
  %to = fagpu.broadcast %end : !irow -> !iacc
  %each = fagpu.broadcast %numbers : !icol -> !iacc
  %reached = arith.cmpi sge, %column, %from : !iacc
  %below = arith.cmpi slt, %column, %to : !iacc
  %row_below = arith.cmpi slt, %row, %to : !iacc
  %of_rows = arith.andi %reached, %row_below : !bacc
  %below_each = arith.cmpi slt, %column, %each : !iacc
  %of_columns = arith.andi %reached, %below_each : !bacc
  %unsigned_below = arith.cmpi ult, %column, %to : !iacc
  %of_unsigned = arith.andi %reached, %unsigned_below : !bacc
  %below_both = arith.cmpi slt, %column, %from : !iacc
  %of_ends = arith.andi %below, %below_both : !bacc
  return %of_rows, %of_columns, %of_unsigned, %of_ends, %below : !bacc, !bacc, !bacc, !bacc, !bacc
}

// Four rows of a thread would take four words.
// CHECK-LABEL: func.func @four_words
// CHECK-NOT: fagpu.between
// CHECK: return
func.func @four_words(%first: tensor<128xi32, #fagpu.row<4>>, %end: tensor<128xi32, #fagpu.row<4>>) -> tensor<128x128xi1, #fagpu.acc<4>> {
  %column = fagpu.iota 1 : tensor<128x128xi32, #fagpu.acc<4>>
  %from = fagpu.broadcast %first : tensor<128xi32, #fagpu.row<4>> -> tensor<128x128xi32, #fagpu.acc<4>>
  %to = fagpu.broadcast %end : tensor<128xi32, #fagpu.row<4>> -> tensor<128x128xi32, #fagpu.acc<4>>
  %reached = arith.cmpi sge, %column, %from : tensor<128x128xi32, #fagpu.acc<4>>
  %below = arith.cmpi slt, %column, %to : tensor<128x128xi32, #fagpu.acc<4>>
  %seen = arith.andi %below, %reached : tensor<128x128xi1, #fagpu.acc<4>>
  return %seen : tensor<128x128xi1, #fagpu.acc<4>>
}
