// Exponents of bounded scores are taken from 0: there is no maximum, and nothing
// is rescaled.
//
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-drop-maximum -canonicalize -cse | FileCheck %s
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-drop-maximum -o /dev/null \
// RUN:   --remark-format=emitRemark --remarks-filter=fagpu-drop-maximum 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @plain
// CHECK: fagpu.reduce max
// CHECK: math.exp %
// REMARK: [Missed] {{.*}}"no bound of the scores is known"

// CHECK-LABEL: func.func @bounded(
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<64xf32,
// CHECK-DAG: %[[ROW_FACTOR:.*]] = arith.constant dense<43.2808495> : tensor<64xf32,
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<43.2808495> : tensor<64x64xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32,
// CHECK: %[[LOOP:.*]]:3 = fa.key_ranges {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK: %[[T:.*]] = math.tanh
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[T]], %[[FACTOR]]
// CHECK: %[[H:.*]] = scf.if
// CHECK-NEXT: arith.select %{{.*}}, %[[X]], %
// CHECK: scf.yield %[[X]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[H]] fastmath<afn>
// CHECK-NEXT: %[[SUM:.*]] = fagpu.reduce add %[[P]]
// CHECK-NEXT: %[[L1:.*]] = arith.addf %[[L]], %[[SUM]]
// CHECK-NEXT: %[[PH:.*]] = arith.truncf %[[P]]
// CHECK-NEXT: %[[A1:.*]] = fagpu.product nn %[[PH]], %{{.*}} acc(%[[A]] :
// CHECK-NEXT: fa.yield %[[A1]], %[[ZERO]], %[[L1]]
// CHECK: %[[LOG2:.*]] = math.log2 %[[LOOP]]#2
// CHECK-NEXT: %[[BASE2:.*]] = math.fma %[[LOOP]]#1, %[[ROW_FACTOR]], %[[LOG2]]
// CHECK-NEXT: arith.mulf %[[BASE2]], %[[LN2]]
// REMARK: [Passed] {{.*}}"scores are bounded: exponents are taken from 0"

// Weights of f16 have a smaller range.
// CHECK-LABEL: func.func @bounded_f16
// CHECK: fagpu.reduce max
// REMARK: [Missed] {{.*}}"weights are not rounded to bf16"

// CHECK-LABEL: func.func @large_bound
// CHECK: fagpu.reduce max
// REMARK: [Missed] {{.*}}"exponents to base 2 reach 86.6, more than 73.0"

// Two factors that all pairs have are multiplied before; one may be negative.
// CHECK-LABEL: func.func @two_factors
// CHECK: %[[CAP:.*]] = arith.minimumf
// CHECK: %[[FACTOR:.*]] = arith.mulf %[[CAP]], %cst{{.*}} : f32
// CHECK: %[[T:.*]] = math.tanh
// CHECK-NEXT: %[[FACTORS:.*]] = tensor.splat %[[FACTOR]]
// CHECK-NEXT: arith.mulf %[[T]], %[[FACTORS]]
// CHECK-NOT: fagpu.reduce max
// CHECK: fa.yield
// REMARK: [Passed]

// CHECK-LABEL: func.func @biased
// CHECK: fagpu.reduce max
// REMARK: [Missed] {{.*}}"no bound of the scores is known"
