// Each rewrite of a step is applied where it should be, as its remarks say. A
// rewrite that no longer matches the text before it would only make a kernel slow.
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 -mlir-disable-threading -o %t.sm_80.mlir --remark-format=emitRemark '--remarks-filter=fagpu-.*' 2>&1 \
// RUN:   | FileCheck %s
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a -mlir-disable-threading -o %t.sm_90a.mlir --remark-format=emitRemark '--remarks-filter=fagpu-.*' 2>&1 \
// RUN:   | FileCheck %s
// RUN: cat %t.sm_80.mlir %t.sm_90a.mlir | not grep 'math.exp %%'
// RUN: FileCheck %s --check-prefix=TEXT --input-file=%t.sm_80.mlir
// RUN: FileCheck %s --check-prefix=TEXT --input-file=%t.sm_90a.mlir

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!half = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!float = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>

// CHECK: :[[#@LINE+7]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+6]]:{{.*}} [Passed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+4]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+3]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+2]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
func.func @causal(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o, %lse : !mem, !lse) mask causal
  return
}

// CHECK: :[[#@LINE+7]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+6]]:{{.*}} [Passed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+4]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+3]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+2]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
func.func @floats(%q: !float, %k: !float, %v: !float, %o: !float, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !float, !float, !float) outs(%o, %lse : !float, !lse)
  return
}

// A scale of run time may be negative.
// CHECK: :[[#@LINE+7]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+6]]:{{.*}} [Missed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+4]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+3]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+2]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
func.func @scale(%q: !mem, %k: !mem, %v: !mem, %s: f32, %o: !mem, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o, %lse : !mem, !lse) scale(%s) mask causal
  return
}

// A mask that is no bound of keys hides in two branches.
// CHECK: :[[#@LINE+7]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+6]]:{{.*}} [Passed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+4]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+3]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+2]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
func.func @documents(%q: !mem, %k: !mem, %v: !mem, %ids: memref<?x?xi32>, %o: !mem, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o, %lse : !mem, !lse) mask causal documents(%ids : memref<?x?xi32>)
  return
}

// A score function may give -inf.
// CHECK: :[[#@LINE+6]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+4]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+3]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+2]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
func.func @alibi(%q: !mem, %k: !mem, %v: !mem, %slopes: memref<?xf32>, %o: !mem, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o, %lse : !mem, !lse) score alibi(%slopes : memref<?xf32>)
  return
}

// So may one that ends in a select of it, which is no mask.
// CHECK: :[[#@LINE+6]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+4]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+3]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+2]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
func.func @select(%q: !mem, %k: !mem, %v: !mem, %o: !mem, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o, %lse : !mem, !lse)
      score(%x, %b, %h, %i, %j) {
        %none = arith.constant 0xFF800000 : f32
        %c3 = arith.constant 3 : index
        %seen = arith.cmpi sge, %i, %c3 : index
        %y = arith.select %seen, %x, %none : f32
        fa.yield %y : f32
      }
      mask causal
  return
}

// The version with a bounded cap has no maximum; tanh is expanded there.
// CHECK: :[[#@LINE+14]]:{{.*}} [Passed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+13]]:{{.*}} [Missed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+12]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+11]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+10]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-first-rescale
// CHECK: :[[#@LINE+9]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+8]]:{{.*}} [Missed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+7]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+6]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+4]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
// TEXT-LABEL: func.func @softcap
// TEXT: fagpu.sharers
func.func @softcap(%q: !mem, %k: !mem, %v: !mem, %c: f32, %o: !mem, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o, %lse : !mem, !lse) score softcap(%c) mask causal
  return
}

// f16 has no range for that.
// CHECK: :[[#@LINE+15]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+14]]:{{.*}} [Missed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+13]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+12]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+11]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+10]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
// CHECK: :[[#@LINE+9]]:{{.*}} [Missed] Rewrite | Category:fagpu-drop-maximum
// CHECK: :[[#@LINE+8]]:{{.*}} [Missed] Factor | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+7]]:{{.*}} [Passed] Rewrite | Category:fagpu-exponents-to-base2
// CHECK: :[[#@LINE+6]]:{{.*}} [Missed] Rewrite | Category:fagpu-skip-empty-row-check
// CHECK: :[[#@LINE+5]]:{{.*}} [Passed] Rewrite | Category:fagpu-partial-sums
// CHECK: :[[#@LINE+4]]:{{.*}} [Passed] Rewrite | Category:fagpu-skip-first-rescale
// TEXT-LABEL: func.func @halves
// TEXT: fagpu.sharers
func.func @halves(%q: !half, %k: !half, %v: !half, %c: f32, %o: !half, %lse: !lse) {
  fa.attention ins(%q, %k, %v : !half, !half, !half) outs(%o, %lse : !half, !lse) score softcap(%c)
  return
}
