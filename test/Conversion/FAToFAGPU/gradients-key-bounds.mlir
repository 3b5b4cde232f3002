// Rows that are keys: the queries of a window compare with the row and one scalar, however large the window is, in 32 bits.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-to-level2{chip=sm_90a},lower-affine,canonicalize,cse,fa-outline-kernels{chip=sm_90a},canonicalize,cse,func.func(fa-decompose-to-blocks,canonicalize,cse))' | FileCheck %s
// Bits of a word answer both.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-to-schedule{chip=sm_90a},func.func(fagpu-join-limits))' | FileCheck %s --check-prefix=JOINED

!q = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>

// CHECK-LABEL: func.func @window_all
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -1073741824 : index
// CHECK-DAG: %[[MOST:.*]] = arith.constant 1073741824 : index
// CHECK: fa.query_ranges (%[[QUERY:.*]], %{{.*}}) =
// CHECK: scf.if
// CHECK-NEXT: %[[DISTANCE:.*]] = arith.subi %{{.*}}, %[[QUERY]] : index
// CHECK-NEXT: %[[ABOVE:.*]] = arith.maxsi %[[DISTANCE]], %[[LEAST]] : index
// CHECK-NEXT: %[[HELD:.*]] = arith.minsi %[[ABOVE]], %[[MOST]] : index
// CHECK-NEXT: %[[SCALAR:.*]] = arith.index_cast %[[HELD]] : index to i32
// CHECK-NEXT: %[[ROW:.*]] = fagpu.iota 0 : tensor<64xi32, #fagpu.row<4>>
// CHECK-NEXT: %[[SCALARS:.*]] = tensor.splat %[[SCALAR]] : tensor<64xi32, #fagpu.row<4>>
// CHECK-NEXT: arith.addi %[[ROW]], %[[SCALARS]]
// CHECK: %[[COLUMN:.*]] = fagpu.iota 1 : tensor<64x128xi32>
// CHECK: arith.cmpi slt, %[[COLUMN]], %{{.*}} : tensor<64x128xi32>
// CHECK: arith.cmpi sge, %[[COLUMN]], %{{.*}} : tensor<64x128xi32>
// The last block of keys alone has rows to hide.
// CHECK: scf.if
// CHECK: arith.select
// CHECK: arith.select
// JOINED-LABEL: func.func @window_all
// JOINED: fagpu.between
// JOINED-NOT: xi64
func.func @window(%query: !q, %key: !q, %value: !q, %output: !q, %lse: !lse, %output_gradient: !q, %query_gradient: !q, %key_gradient: !q,
    %value_gradient: !q, %left: index, %right: index) {
  fa.attention_gradient ins(%query, %key, %value : !q, !q, !q) of(%output, %lse : !q, !lse) gradients(%output_gradient : !q)
      outs(query = %query_gradient : !q, key = %key_gradient : !q, value = %value_gradient : !q) mask window(%left, %right)
  return
}

// What 32 bits hold needs no scalar for each block: with it, causal gradients of head dim 64 took 6 % longer on an H200.
// CHECK-LABEL: func.func @causal_all
// CHECK-NOT: 1073741824
// CHECK: fa.query_ranges
// CHECK: arith.cmpi s{{.*}} : tensor<64x128xi32>
// CHECK-NOT: 1073741824
// CHECK: func.func
func.func @causal(%query: !q, %key: !q, %value: !q, %output: !q, %lse: !lse, %output_gradient: !q, %query_gradient: !q, %key_gradient: !q,
    %value_gradient: !q) {
  fa.attention_gradient ins(%query, %key, %value : !q, !q, !q) of(%output, %lse : !q, !lse) gradients(%output_gradient : !q)
      outs(query = %query_gradient : !q, key = %key_gradient : !q, value = %value_gradient : !q) mask causal
  return
}
