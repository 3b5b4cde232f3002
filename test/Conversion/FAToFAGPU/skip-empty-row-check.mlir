// Rows without a key are looked for in partial blocks, where scores are products.
//
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-skip-empty-row-check | FileCheck %s
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-skip-empty-row-check -o /dev/null \
// RUN:   --remark-format=emitRemark --remarks-filter=fagpu-skip-empty-row-check 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @plain
// CHECK: %[[M:.*]] = arith.maxnumf
// CHECK-NEXT: %[[PARTIAL:.*]] = fa.is_partial : i1
// CHECK-NEXT: %[[REFERENCE:.*]] = scf.if %[[PARTIAL]] -> (tensor<64xf32, #fagpu.row<4>>) {
// CHECK-NEXT: %[[NONE:.*]] = arith.cmpf oeq, %[[M]]
// CHECK-NEXT: %[[CHOSEN:.*]] = arith.select %[[NONE]], %{{.*}}, %[[M]]
// CHECK-NEXT: scf.yield %[[CHOSEN]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[M]]
// CHECK-NEXT: }
// CHECK-NEXT: fagpu.broadcast %[[REFERENCE]]
// REMARK: [Passed] {{.*}}"full blocks have a key in each row"

// A function of a score, and a sum, may be -inf.
// CHECK-LABEL: func.func @bounded(
// CHECK: arith.maxnumf
// CHECK-NOT: fa.is_partial
// CHECK: fa.yield
// REMARK: [Missed] {{.*}}"scores that are not products alone may be -inf in full blocks"

// CHECK-LABEL: func.func @biased
// CHECK: arith.maxnumf
// CHECK-NOT: fa.is_partial
// CHECK: fa.yield

// A scale whose sign is not known is no function.
// CHECK-LABEL: func.func @any_sign
// CHECK: arith.maxnumf
// CHECK-NEXT: fa.is_partial
