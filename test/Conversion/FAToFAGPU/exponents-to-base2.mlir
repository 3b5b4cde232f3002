// Weights are powers of 2. A factor of all scores goes with log2(e) where it may.
//
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-exponents-to-base2 -canonicalize -cse | FileCheck %s
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-exponents-to-base2 -o /dev/null \
// RUN:   --remark-format=emitRemark --remarks-filter=fagpu-exponents-to-base2 2>&1 | FileCheck %s --check-prefix=REMARK

// 0.322596431 is the default scale 1/sqrt(20) times log2(e), rounded once.
// CHECK-LABEL: func.func @plain
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<64xf32,
// CHECK-DAG: %[[ROW_FACTOR:.*]] = arith.constant dense<0.322596431> : tensor<64xf32,
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<0.322596431> : tensor<64x64xf32>
// CHECK: %[[LOOP:.*]]:3 = fa.key_ranges {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK: %[[S:.*]] = fagpu.product nt
// CHECK: %[[H:.*]] = scf.if
// CHECK-NEXT: arith.select %{{.*}}, %[[S]], %
// CHECK: scf.yield %[[S]]
// CHECK: %[[MB:.*]] = fagpu.reduce max %[[H]]
// CHECK-NEXT: %[[M1:.*]] = arith.maxnumf %[[M]], %[[MB]]
// CHECK-NEXT: arith.cmpf oeq, %[[M1]]
// CHECK-NEXT: %[[REFERENCE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[M1]]
// CHECK-NEXT: %[[SHIFT:.*]] = arith.mulf %[[REFERENCE]], %[[ROW_FACTOR]]
// CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[SHIFT]]
// CHECK-NEXT: %[[WIDE:.*]] = fagpu.broadcast %[[MINUS]]
// CHECK-NEXT: %[[E:.*]] = math.fma %[[H]], %[[FACTOR]], %[[WIDE]]
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[E]] fastmath<afn>
// CHECK-NEXT: %[[BEFORE:.*]] = arith.mulf %[[M]], %[[ROW_FACTOR]]
// CHECK-NEXT: %[[LESS:.*]] = arith.subf %[[BEFORE]], %[[SHIFT]]
// CHECK-NEXT: %[[ALPHA:.*]] = math.exp2 %[[LESS]] fastmath<afn>
// CHECK-NEXT: %[[SUM:.*]] = fagpu.reduce add %[[P]]
// CHECK-NEXT: math.fma %[[L]], %[[ALPHA]], %[[SUM]]
// CHECK: %[[LOG2:.*]] = math.log2 %[[LOOP]]#2
// CHECK-NEXT: %[[BASE2:.*]] = math.fma %[[LOOP]]#1, %[[ROW_FACTOR]], %[[LOG2]]
// CHECK-NEXT: arith.mulf %[[BASE2]], %[[LN2]]
// REMARK: [Passed] Factor {{.*}}"a factor of all scores joins log2(e)"
// REMARK: [Passed] Rewrite {{.*}}"weights are powers of 2"

// The factor of a score function.
// CHECK-LABEL: func.func @bounded(
// CHECK: arith.constant dense<43.2808495> : tensor<64x64xf32>
// CHECK: %[[T:.*]] = math.tanh
// CHECK-NOT: arith.mulf {{.*}} tensor<64x64xf32>
// CHECK: fagpu.reduce max

// Scores of any size: the factor of a row whose maximum is large is 1, so that its differences are exact.
// CHECK-LABEL: func.func @biased
// CHECK-DAG: %[[LARGEST:.*]] = arith.constant dense<0x4D000000> : tensor<64xf32,
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<64xf32,
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf32,
// CHECK: iter_args(%{{.*}} = %{{.*}}, %[[M:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[X:.*]] = arith.addf
// CHECK: fagpu.reduce max %[[X]]
// CHECK: %[[M1:.*]] = arith.maxnumf %[[M]]
// CHECK: %[[REFERENCE:.*]] = arith.select
// CHECK-NEXT: %[[SIZE:.*]] = math.absf %[[M1]]
// CHECK-NEXT: %[[LARGE:.*]] = arith.cmpf ogt, %[[SIZE]], %[[LARGEST]]
// CHECK-NEXT: %[[ROW_FACTOR:.*]] = arith.select %[[LARGE]], %[[ONE]], %[[LOG2E]]
// CHECK-NEXT: arith.mulf %[[REFERENCE]], %[[ROW_FACTOR]]
// CHECK-NEXT: %[[FACTOR:.*]] = fagpu.broadcast %[[ROW_FACTOR]]
// CHECK: math.fma %[[X]], %[[FACTOR]], %
// CHECK: arith.mulf %[[M]], %[[ROW_FACTOR]]

// A factor below 0 would turn the maximum around.
// CHECK-LABEL: func.func @any_sign
// CHECK: arith.constant dense<1.44269502> : tensor<64x64xf32>
// CHECK: fagpu.product nt
// CHECK: arith.mulf
// REMARK: [Missed] Factor
// REMARK: [Passed] Rewrite

// A factor of 0 would make NaN of what is hidden.
// CHECK-LABEL: func.func @not_negative
// CHECK: %[[SCALE:.*]] = math.absf
// CHECK: %[[POSITIVE:.*]] = arith.maximumf %[[SCALE]], %cst{{.*}} : f32
// CHECK: arith.mulf %[[POSITIVE]], %cst{{.*}} : f32
// CHECK: %[[S:.*]] = fagpu.product nt
// CHECK-NOT: arith.mulf %[[S]]
// CHECK: fagpu.reduce max
// REMARK: [Passed] Factor

// CHECK-LABEL: func.func @ordered
// CHECK: fagpu.product nt
// CHECK: arith.mulf
// CHECK: fagpu.reduce max
// REMARK: [Missed] Factor

// CHECK-LABEL: func.func @of_block
// CHECK: fagpu.product nt
// CHECK: arith.mulf
// CHECK: fagpu.reduce max
// REMARK: [Missed] Factor
// REMARK: [Passed] Rewrite
