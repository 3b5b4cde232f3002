// A score function that ends in a select of -inf: the first rows have no score,
// in full blocks of keys too.

// RUN: fa-run %s --target=cpu --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --seed=1 | FileCheck %s
// CHECK: verified all rows

!t = tensor<1x300x1x64xbf16>
!lse = tensor<1x1x300xf32>
func.func @attention(%q: !t, %k: !t, %v: !t, %o: !t, %l: !lse) -> (!t, !lse) {
  %r:2 = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !lse)
      score(%x, %b, %h, %i, %j) {
        %none = arith.constant 0xFF800000 : f32
        %c5 = arith.constant 5 : index
        %c2 = arith.constant 2 : index
        %back = arith.remui %j, %c2 : index
        %far = arith.addi %back, %c5 : index
        %seen = arith.cmpi sge, %i, %far : index
        %y = arith.select %seen, %x, %none : f32
        fa.yield %y : f32
      }
  return %r#0, %r#1 : !t, !lse
}
