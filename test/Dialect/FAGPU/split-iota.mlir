// RUN: fa-opt %s -fagpu-split-iota | FileCheck %s

!index = tensor<64x8xi32, #fagpu.acc<4>>
!float = tensor<64x8xf32, #fagpu.acc<4>>
!bool = tensor<64x8xi1, #fagpu.acc<4>>

// CHECK-LABEL: func.func @compare
// CHECK-SAME: (%[[L:.*]]: tensor
func.func @compare(%limit: !index) -> (!bool, !bool) {
  %i = fagpu.iota 1 : !index
  // CHECK-DAG: %[[E:.*]] = fagpu.iota 1 part(element)
  // CHECK-DAG: %[[T:.*]] = fagpu.iota 1 part(thread)
  // CHECK: %[[D:.*]] = arith.subi %[[L]], %[[T]]
  // CHECK: %[[A:.*]] = arith.cmpi slt, %[[E]], %[[D]]
  %a = arith.cmpi slt, %i, %limit : !index
  // CHECK: %[[B:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}}
  %b = arith.cmpi sge, %limit, %i : !index
  // CHECK: return %[[A]], %[[B]]
  return %a, %b : !bool, !bool
}

// CHECK-LABEL: func.func @scale
// CHECK-SAME: (%[[A:[^:]+]]: tensor{{[^%]*}}%[[B:[^:]+]]: tensor
func.func @scale(%a: !float, %b: !float) -> !float {
  // CHECK: %[[T:.*]] = fagpu.iota 1 part(thread)
  // CHECK: %[[TF:.*]] = arith.sitofp %[[T]]
  // CHECK: %[[S:.*]] = math.fma %[[TF]], %[[A]], %[[B]]
  // CHECK: %[[E:.*]] = fagpu.iota 1 part(element)
  // CHECK: %[[EF:.*]] = arith.sitofp %[[E]]
  // CHECK: math.fma %[[EF]], %[[A]], %[[S]]
  %i = fagpu.iota 1 : !index
  %f = arith.sitofp %i : !index to !float
  %r = math.fma %f, %a, %b : !float
  return %r : !float
}

// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[A:[^:]+]]: tensor
func.func @add(%a: !float) -> (!float, !float) {
  // CHECK: %[[TF:.*]] = arith.sitofp
  // CHECK: %[[S:.*]] = arith.subf %[[A]], %[[TF]]
  // CHECK: %[[E:.*]] = fagpu.iota 1 part(element)
  // CHECK: %[[EF:.*]] = arith.sitofp %[[E]]
  // CHECK: arith.subf %[[S]], %[[EF]]
  %i = fagpu.iota 1 : !index
  %f = arith.sitofp %i : !index to !float
  %r = arith.subf %a, %f : !float
  // CHECK: %[[P:.*]] = arith.addf %[[A]], %{{.*}}
  // CHECK: arith.addf %[[P]], %{{.*}}
  %s = arith.addf %a, %f : !float
  return %r, %s : !float, !float
}

// A difference of unsigned values may wrap, and two indices have no limit.
// CHECK-LABEL: func.func @kept
func.func @kept(%limit: !index) -> (!bool, !bool) {
  // CHECK: fagpu.iota 1 :
  // CHECK: fagpu.iota 0 :
  // CHECK-NOT: part
  %i = fagpu.iota 1 : !index
  %j = fagpu.iota 0 : !index
  %a = arith.cmpi ult, %i, %limit : !index
  %b = arith.cmpi slt, %i, %j : !index
  return %a, %b : !bool, !bool
}
