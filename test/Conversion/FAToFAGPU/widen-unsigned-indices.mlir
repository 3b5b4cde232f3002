// RUN: fa-opt %s -fa-widen-unsigned-indices | FileCheck %s

!t = tensor<2x8x4x64xbf16>

// What is read as unsigned and may be below 0 has 64 bits.

// CHECK-LABEL: func.func @same_for_all_pairs(
// CHECK: %[[D:.+]] = arith.subi %{{.+}}, %{{.+}} : index
// CHECK: %[[WIDE:.+]] = arith.index_cast %[[D]] : index to i64
// CHECK: %[[Q:.+]] = arith.divui %[[WIDE]], %c3_i64 : i64
// CHECK: %[[INDEX:.+]] = arith.index_cast %[[Q]] : i64 to index
// CHECK: arith.cmpi sle, %{{.+}}, %[[INDEX]] : index
func.func @same_for_all_pairs(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %d = arith.subi %h, %c1 : index
        %g = arith.divui %d, %c3 : index
        %v = arith.cmpi sle, %j, %g : index
        fa.yield %v : i1
      }
  return %r : !t
}

// A head is not below 0, and what differs between pairs is widened later.

// CHECK-LABEL: func.func @others(
// CHECK-NOT: i64
// CHECK: arith.divui %{{.+}}, %{{.+}} : index
// CHECK: arith.remui %{{.+}}, %{{.+}} : index
// CHECK-NOT: i64
// CHECK: return
func.func @others(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score(%s, %b, %h, %i, %j) {
        %c3 = arith.constant 3 : index
        %g = arith.divui %h, %c3 : index
        %d = arith.subi %i, %j : index
        %n = arith.remui %d, %c3 : index
        %m = arith.addi %g, %n : index
        %m32 = arith.index_cast %m : index to i32
        %f = arith.sitofp %m32 : i32 to f32
        %x = arith.addf %s, %f : f32
        fa.yield %x : f32
      }
  return %r : !t
}
