// RUN: fa-opt %s -fa-guard-divisors | FileCheck %s
// RUN: fa-opt %s -fa-guard-divisors -fa-guard-divisors -canonicalize -cse | FileCheck %s --check-prefix=TWICE

!t = tensor<2x64x4x64xbf16>

// Unsigned: what is 0 becomes 1.

// CHECK-LABEL: func.func @unsigned(
// CHECK: mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) captures(%[[N:.*]] = %{{.*}} : index) {
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[N]], %[[ZERO]] : index
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: %[[DIVISOR:.*]] = arith.select %[[NONE]], %[[ONE]], %[[N]] : index
// CHECK: arith.remui %[[J]], %[[DIVISOR]] : index

// TWICE-LABEL: func.func @unsigned(
// TWICE: arith.remui
func.func @unsigned(%q: !t, %o: !t, %n: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) captures(%x = %n : index) {
        %rest = arith.remui %j, %x : index
        %visible = arith.cmpi ule, %rest, %i : index
        fa.yield %visible : i1
      }
  return %r : !t
}

// Signed: -1, too, and quotients by it are the opposite.

// CHECK-LABEL: func.func @signed(
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]]) captures(%[[TABLE:.*]] = %{{.*}} : tensor<?xi8>) {
// CHECK: %[[X:.*]] = tensor.extract %[[TABLE]][%[[J]]]
// CHECK: %[[Y:.*]] = arith.trunci
// CHECK: %[[MINUS:.*]] = arith.constant -1 : i8
// CHECK: %[[TURNS:.*]] = arith.cmpi eq, %[[X]], %[[MINUS]] : i8
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[X]], %[[ZERO]] : i8
// CHECK: %[[OUT:.*]] = arith.ori %[[NONE]], %[[TURNS]] : i1
// CHECK: %[[ONE:.*]] = arith.constant 1 : i8
// CHECK: %[[DIVISOR:.*]] = arith.select %[[OUT]], %[[ONE]], %[[X]] : i8
// CHECK: %[[NOTHING:.*]] = arith.constant 0 : i8
// CHECK: %[[OPPOSITE:.*]] = arith.subi %[[NOTHING]], %[[Y]] : i8
// CHECK: %[[QUOTIENT:.*]] = arith.floordivsi %[[Y]], %[[DIVISOR]] : i8
// CHECK: %[[RESULT:.*]] = arith.select %[[TURNS]], %[[OPPOSITE]], %[[QUOTIENT]] : i8
// CHECK: arith.select
// CHECK: %[[REST:.*]] = arith.remsi %[[Y]], %{{.*}} : i8
// CHECK: arith.addi %[[RESULT]], %[[REST]]
func.func @signed(%q: !t, %o: !t, %table: tensor<?xi8>) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<?xi8>) {
        %x = tensor.extract %t[%j] : tensor<?xi8>
        %wide = arith.index_cast %i : index to i64
        %y = arith.trunci %wide : i64 to i8
        %quotient = arith.floordivsi %y, %x : i8
        %rest = arith.remsi %y, %x : i8
        %sum = arith.addi %quotient, %rest : i8
        %f = arith.sitofp %sum : i8 to f32
        %score = arith.addf %s, %f : f32
        fa.yield %score : f32
      }
  return %r : !t
}

// What is known to be another number stays.

// CHECK-LABEL: func.func @known(
// CHECK: mask(
// CHECK-NOT: arith.select
// CHECK: fa.yield
func.func @known(%q: !t, %o: !t, %n: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) captures(%x = %n : index) {
        %seven = arith.constant 7 : index
        %one = arith.constant 1 : index
        %position = arith.addi %i, %one : index
        %rest = arith.remsi %j, %seven : index
        %block = arith.floordivsi %j, %seven : index
        %other = arith.remsi %block, %position : index
        %sum = arith.addi %rest, %other : index
        %visible = arith.cmpi sle, %sum, %x : index
        fa.yield %visible : i1
      }
  return %r : !t
}
