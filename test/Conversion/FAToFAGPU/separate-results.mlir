// RUN: fa-opt %s -fa-separate-results -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @region
// CHECK: mask(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[X:.*]] = %{{.*}} : i32, %[[Y:.*]] = %{{.*}} : i32) {
// CHECK: %[[LOW:.*]] = arith.muli %[[X]], %[[Y]] : i32
// CHECK-DAG: %[[LONG_X:.*]] = arith.extsi %[[X]] : i32 to i64
// CHECK-DAG: %[[LONG_Y:.*]] = arith.extsi %[[Y]] : i32 to i64
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[LONG_X]], %[[LONG_Y]] : i64
// CHECK: %[[WIDTH:.*]] = arith.constant 32 : i64
// CHECK: %[[UPPER:.*]] = arith.shrsi %[[PRODUCT]], %[[WIDTH]] : i64
// CHECK: %[[HIGH:.*]] = arith.trunci %[[UPPER]] : i64 to i32
// CHECK: %[[SUM:.*]] = arith.addi %[[LOW]], %[[HIGH]] : i32
// CHECK: %[[CARRY:.*]] = arith.cmpi ult, %[[SUM]], %[[LOW]] : i32
// CHECK: fa.yield %[[CARRY]] : i1
!t = tensor<2x64x4x64xbf16>
func.func @region(%q: !t, %o: !t, %x: i32, %y: i32) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) captures(%a = %x : i32, %c = %y : i32) {
        %low, %high = arith.mulsi_extended %a, %c : i32
        %sum, %carry = arith.addui_extended %low, %high : i32, i1
        fa.yield %carry : i1
      }
  return %r : !t
}

// What is below 0 adds the other factor to the upper half.
// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME: %[[A:.*]]: i8, %[[B:.*]]: i8
// CHECK: arith.muli %[[A]], %[[B]] : i8
// CHECK: %[[SIGNED:.*]] = arith.trunci %{{.*}} : i64 to i8
// CHECK: %[[BELOW_A:.*]] = arith.cmpi slt, %[[A]], %{{.*}} : i8
// CHECK: %[[MORE_B:.*]] = arith.select %[[BELOW_A]], %[[B]], %{{.*}} : i8
// CHECK: %[[PART:.*]] = arith.addi %[[SIGNED]], %[[MORE_B]] : i8
// CHECK: %[[BELOW_B:.*]] = arith.cmpi slt, %[[B]], %{{.*}} : i8
// CHECK: %[[MORE_A:.*]] = arith.select %[[BELOW_B]], %[[A]], %{{.*}} : i8
// CHECK: %[[HIGH:.*]] = arith.addi %[[PART]], %[[MORE_A]] : i8
// CHECK: return %[[HIGH]]
func.func @unsigned(%a: i8, %b: i8) -> i8 {
  %low, %high = arith.mului_extended %a, %b : i8
  return %high : i8
}

// CHECK-LABEL: func.func @angle(
// CHECK: %[[S:.*]] = math.sin %{{.*}} fastmath<afn> : f32
// CHECK: %[[C:.*]] = math.cos %{{.*}} fastmath<afn> : f32
// CHECK: return %[[S]], %[[C]]
func.func @angle(%x: f32) -> (f32, f32) {
  %s, %c = math.sincos %x fastmath<afn> : f32
  return %s, %c : f32, f32
}

// Outside of regions wide products stay.
// CHECK-LABEL: func.func @wide(
// CHECK: arith.mulsi_extended
func.func @wide(%x: i64) -> i64 {
  %low, %high = arith.mulsi_extended %x, %x : i64
  return %high : i64
}

// -----

!t = tensor<2x64x4x64xbf16>
func.func @too_wide(%q: !t, %o: !t, %x: i64) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) captures(%a = %x : i64) {
        // expected-error @below {{'arith.mulsi_extended' op on 'i64' has no form on a GPU, expected integers of up to 32 bits}}
        %low, %high = arith.mulsi_extended %a, %a : i64
        %zero = arith.constant 0 : i64
        %visible = arith.cmpi sgt, %high, %zero : i64
        fa.yield %visible : i1
      }
  return %r : !t
}
