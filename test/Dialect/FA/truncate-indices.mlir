// RUN: fa-opt %s -fa-truncate-indices | FileCheck %s
// RUN: fa-opt %s -fa-truncate-indices -canonicalize | FileCheck %s --check-prefix=FOLDED

!t = tensor<2x64x4x64xbf16>

// CHECK-LABEL: func.func @mask(
// CHECK: mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) captures(%[[N:.*]] = %{{.*}} : index) {
// CHECK-NEXT: %[[WHOLE:.*]] = arith.index_cast %[[J]] : index to i64
// CHECK-NEXT: %[[BYTE:.*]] = arith.trunci %[[WHOLE]] : i64 to i8
// CHECK-NEXT: %[[KEY:.*]] = arith.index_cast %[[BYTE]] : i8 to index
// CHECK-NEXT: %[[CAPTURE:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK-NEXT: %[[SHORT:.*]] = arith.trunci %[[CAPTURE]] : i64 to i32
// CHECK-NEXT: %[[BOUND:.*]] = arith.index_castui %[[SHORT]] : i32 to index
// CHECK-NEXT: %[[BEHIND:.*]] = arith.subi %[[I]], %[[J]] : index
// CHECK-NEXT: %[[ANY:.*]] = arith.index_cast %[[BEHIND]] : index to i64
// CHECK-NEXT: %[[CUT:.*]] = arith.trunci %[[ANY]] : i64 to i32
// CHECK-NEXT: arith.index_castui %[[CUT]] : i32 to index

// FOLDED-LABEL: func.func @mask(
// FOLDED: arith.trunci
// FOLDED: arith.trunci
// FOLDED: arith.trunci
func.func @mask(%q: !t, %o: !t, %n: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) captures(%c = %n : index) {
        %byte = arith.index_cast %j : index to i8
        %key = arith.index_cast %byte : i8 to index
        %short = index.castu %c : index to i32
        %bound = arith.index_castui %short : i32 to index
        %behind = arith.subi %i, %j : index
        %cut = arith.index_castui %behind : index to i32
        %distance = arith.index_castui %cut : i32 to index
        %near = arith.cmpi sle, %distance, %bound : index
        %before = arith.cmpi sle, %key, %bound : index
        %visible = arith.andi %near, %before : i1
        fa.yield %visible : i1
      }
  return %r : !t
}

// Queries and keys are below 2^30, whose differences fit 32 bits, too.

// CHECK-LABEL: func.func @score(
// CHECK-NOT: trunci
// CHECK: arith.index_cast %[[N:.*]] : index to i64
// CHECK-NEXT: %[[CUT:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK-NEXT: arith.trunci %[[CUT]] : i64 to i32
// CHECK-NOT: trunci
// CHECK: return
func.func @score(%q: !t, %o: !t, %n: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) captures(%c = %n : index) {
        %key = arith.index_castui %j : index to i31
        %query = arith.index_cast %i : index to i32
        %behind = arith.subi %i, %j : index
        %distance = arith.index_cast %behind : index to i32
        %long = arith.index_cast %c : index to i64
        %captured = arith.index_cast %c : index to i32
        %wide = arith.extsi %key : i31 to i32
        %sum1 = arith.addi %wide, %query : i32
        %sum2 = arith.addi %sum1, %distance : i32
        %sum3 = arith.addi %sum2, %captured : i32
        %sum4 = arith.extsi %sum3 : i32 to i64
        %sum = arith.addi %sum4, %long : i64
        %f = arith.sitofp %sum : i64 to f32
        %y = arith.addf %s, %f : f32
        fa.yield %y : f32
      }
  return %r : !t
}
