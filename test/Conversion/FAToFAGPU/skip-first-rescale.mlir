// The first block rescales nothing. The configuration says where that is chosen.
//
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-skip-first-rescale | FileCheck %s --check-prefixes=CHECK,AFTER
// RUN: %mutate %S/Inputs/softmax-steps.mlir every change fagpu.kernel to 'fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups<overlap = keys<rescale = before_product>>>>, fagpu.kernel' \
// RUN:   | fa-opt -allow-unregistered-dialect -fagpu-skip-first-rescale | FileCheck %s --check-prefixes=CHECK,BEFORE
// RUN: %mutate %S/Inputs/softmax-steps.mlir every change fagpu.kernel to 'fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>>, fagpu.kernel' \
// RUN:   | fa-opt -allow-unregistered-dialect -fagpu-partial-sums -fagpu-skip-first-rescale | FileCheck %s --check-prefix=ROLLED
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-drop-maximum -fagpu-skip-first-rescale -o /dev/null \
// RUN:   --remark-format=emitRemark --remarks-filter=fagpu-skip-first-rescale 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @plain
// CHECK: fa.key_ranges {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK: %[[ALPHA:.*]] = math.exp %{{.*}} : tensor<64xf32, #fagpu.row<4>>
// CHECK-NEXT: %[[SUM:.*]] = fagpu.reduce add
// CHECK-NEXT: %[[FIRST:.*]] = fa.is_first : i1
// CHECK-NEXT: %[[L1:.*]] = math.fma %[[L]], %[[ALPHA]], %[[SUM]]
// CHECK-NEXT: %[[L2:.*]] = arith.select %[[FIRST]], %[[SUM]], %[[L1]]
// CHECK-NEXT: %[[ALPHAS:.*]] = fagpu.broadcast %[[ALPHA]]
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[A]], %[[ALPHAS]]
// AFTER-NEXT: %[[CHOSEN:.*]] = arith.select %[[FIRST]], %[[A]], %[[SCALED]]
// AFTER: fagpu.product nn {{.*}} acc(%[[CHOSEN]] :
// BEFORE: fagpu.product nn {{.*}} acc(%[[SCALED]] :
// CHECK: fa.yield %{{.*}}, %{{.*}}, %[[L2]]
// REMARK: [Passed] {{.*}}"the first block rescales nothing"

// With one body for all blocks the factor is chosen, once for sum and result.
// ROLLED-LABEL: func.func @plain
// ROLLED: %[[ALPHA:.*]] = math.exp %{{.*}} : tensor<64xf32, #fagpu.row<4>>
// ROLLED-NEXT: fagpu.reduce add
// ROLLED-NEXT: %[[FIRST:.*]] = fa.is_first : i1
// ROLLED-NEXT: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// ROLLED-NEXT: %[[CHOSEN:.*]] = arith.select %[[FIRST]], %[[ONE]], %[[ALPHA]]
// ROLLED-NEXT: fagpu.broadcast %[[CHOSEN]] : {{.*}} -> tensor<64x4xf32>
// ROLLED: fagpu.broadcast %[[CHOSEN]] : {{.*}} -> tensor<64x64xf32>
// ROLLED-NOT: arith.select
// ROLLED: fa.yield

// Without a maximum there is nothing to skip.
// REMARK: [Missed] {{.*}}"the loop rescales no sum and result by one factor of rows"
