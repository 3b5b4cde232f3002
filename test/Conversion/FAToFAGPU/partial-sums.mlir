// The loop carries four sums of a row, which are added behind it.
//
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-partial-sums | FileCheck %s
// RUN: fa-opt %S/Inputs/softmax-steps.mlir -allow-unregistered-dialect -fagpu-drop-maximum -fagpu-partial-sums \
// RUN:   | FileCheck %s --check-prefix=BOUNDED
// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-partial-sums | FileCheck %s --check-prefix=CHAINS
// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-partial-sums -o /dev/null \
// RUN:   --remark-format=emitRemark --remarks-filter=fagpu-partial-sums 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @plain
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64x4xf32>
// CHECK: %[[LOOP:.*]]:3 = fa.key_ranges {{.*}}, %[[L:.*]] = %[[ZEROS]]) -> (tensor<64x64xf32>, tensor<64xf32, #fagpu.row<4>>, tensor<64x4xf32>)
// CHECK: %[[ALPHA:.*]] = math.exp %{{.*}} : tensor<64xf32, #fagpu.row<4>>
// CHECK-NEXT: %[[SUM:.*]] = fagpu.reduce add %{{.*}} : tensor<64x64xf32> -> tensor<64x4xf32>
// CHECK-NEXT: %[[ALPHAS:.*]] = fagpu.broadcast %[[ALPHA]] : tensor<64xf32, #fagpu.row<4>> -> tensor<64x4xf32>
// CHECK-NEXT: %[[L1:.*]] = math.fma %[[L]], %[[ALPHAS]], %[[SUM]] : tensor<64x4xf32>
// CHECK: fa.yield %{{.*}}, %{{.*}}, %[[L1]]
// CHECK: %[[WHOLE:.*]] = fagpu.reduce add %[[LOOP]]#2 : tensor<64x4xf32> -> tensor<64xf32, #fagpu.row<4>>
// CHECK-NEXT: math.log %[[WHOLE]]
// CHECK: "keep"(%[[LOOP]]#0, %[[WHOLE]], %

// BOUNDED-LABEL: func.func @bounded(
// BOUNDED: %[[SUM:.*]] = fagpu.reduce add %{{.*}} : tensor<64x64xf32> -> tensor<64x4xf32>
// BOUNDED-NEXT: arith.addf %{{.*}}, %[[SUM]] : tensor<64x4xf32>

!row = tensor<64xf32, #fagpu.row<4>>
!wide = tensor<64x256xf32>

// A result and weights of 192 registers of a thread leave none for a second
// chain.
// CHAINS-LABEL: func.func @one_chain
// CHAINS: fagpu.reduce add %{{.*}} chains(1) : tensor<64x128xf32> -> tensor<64x4xf32>
// REMARK: [Passed] {{.*}}"each thread carries sums of its own"
func.func @one_chain(%p: tensor<64x128xf32>, %v: tensor<128x256xf32>, %a0: !wide, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !row
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n] step 128
        iter_args(%a = %a0, %m = %zero, %l = %zero) -> (!wide, !row, !row) {
      %sum = fagpu.reduce add %p : tensor<64x128xf32> -> !row
      %l1 = arith.addf %l, %sum : !row
      %a1 = fagpu.product nn %p, %v acc(%a : !wide) : tensor<64x128xf32>, tensor<128x256xf32> -> !wide
      fa.yield %a1, %m, %l1 : !wide, !row, !row
    }
    "keep"(%r#0, %r#2) : (!wide, !row) -> ()
  }
  return
}

// Each of four sums would begin at this one.
// CHAINS-LABEL: func.func @begins_elsewhere
// CHAINS: fagpu.reduce add %{{.*}} : tensor<64x128xf32> -> tensor<64xf32,
// REMARK: [Missed] {{.*}}"the loop carries no sum of rows that begins at 0"
func.func @begins_elsewhere(%p: tensor<64x128xf32>, %v: tensor<128x256xf32>, %a0: !wide, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !row
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n] step 128
        iter_args(%a = %a0, %m = %one, %l = %one) -> (!wide, !row, !row) {
      %sum = fagpu.reduce add %p : tensor<64x128xf32> -> !row
      %l1 = arith.addf %l, %sum : !row
      %a1 = fagpu.product nn %p, %v acc(%a : !wide) : tensor<64x128xf32>, tensor<128x256xf32> -> !wide
      fa.yield %a1, %m, %l1 : !wide, !row, !row
    }
    "keep"(%r#0, %r#2) : (!wide, !row) -> ()
  }
  return
}
