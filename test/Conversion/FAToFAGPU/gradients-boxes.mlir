// The gradient of a bias whose elements are of one pair each, with rows that bulk copies take, is stored in boxes.
// DEFINE: %{to-kernels} = fa-to-level2{chip=sm_90a},lower-affine,canonicalize,cse,fa-outline-kernels{chip=sm_90a},canonicalize,cse
// RUN: fa-opt %s --pass-pipeline='builtin.module(%{to-kernels})' -o %t.mlir
// RUN: FileCheck %s --check-prefix=STEP < %t.mlir
// RUN: fa-opt %t.mlir --pass-pipeline='builtin.module(func.func(fa-decompose-to-blocks,canonicalize,cse))' | FileCheck %s
// RUN: sed 's/fa.capture_boxes = array<i64: 0>/other/' %t.mlir | not fa-opt -fa-decompose-to-blocks 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: sed 's/fa.scatter_gradient \(%[^ ]*\) to \(%[^[]*\)\[\(%[^,]*\), \(%[^,]*\), \(%[^,]*\), \(%[^]]*\)\]/%moved = arith.addi \5, \5 : index fa.scatter_gradient \1 to \2[\3, \4, %moved, \6]/' %t.mlir | not fa-opt -fa-decompose-to-blocks 2>&1 | FileCheck %s --check-prefix=INDEX
// MISSING: error: 'fa.gradient_keys' op adds to memory of 'bf16', expected f32, or boxes in fa.capture_boxes
// INDEX: error: 'fa.gradient_keys' op has fa.capture_boxes = array<i64: 0>, but index 2 of capture 0 is none of batch, head, query, key and constants

!q = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x4x?xf32>
!bias = memref<?x?x?x?xbf16>

// STEP-LABEL: func.func @bias_all
// STEP: fa.gradient_keys
// STEP: fa.scatter_gradient
// STEP: fa.capture_boxes = array<i64: 0>
// What has more than the pairs is cleared, which all of it is where it has less or more of one dimension.
// STEP-LABEL: func.func @bias(
// STEP-COUNT-3: arith.select
// STEP: %[[REST:.*]] = arith.select
// STEP: %[[MORE:.*]] = memref.subview %{{.*}}[0, 0, 0, 0] [%[[REST]], %{{.*}}, %{{.*}}, %{{.*}}]
// STEP: linalg.fill {fa.align = 16 : i64} {{.*}} outs(%[[MORE]] :
// CHECK-LABEL: func.func @bias_all
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK: fagpu.store %[[ROUNDED]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] sizes [1, 1, 64, 64] padded transposed : tensor<64x64xbf16> into memref<?x?x?x?xbf16>
// CHECK-NOT: fagpu.scatter_add
func.func @bias(%t: !q, %lse: !lse, %table: !bias {fa.align = 16 : i64}, %dq: !q, %dk: !q, %dv: !q, %to: !bias {fa.align = 16 : i64}) {
  fa.attention_gradient ins(%t, %t, %t : !q, !q, !q) of(%t, %lse : !q, !lse) gradients(%t : !q)
      outs(query = %dq : !q, key = %dk : !q, value = %dv : !q, capture[0] = %to : !bias) score bias(%table : !bias)
  return
}

// Elements that a score reads come in boxes too, a step ahead in one stage of each group: keys are rows of its block, so that
// rows of the box become columns. Without aligned rows a thread reads single elements.
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=READ
// RUN: sed 's/ {fa.align = 16 : i64}//g' %s | fa-opt -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=SINGLE --implicit-check-not=fagpu.transposed
// READ-LABEL: func.func @bias_all
// READ-SAME: captures = tiles
// READ: fagpu.put %[[BOX:.*]] bank(%{{.*}}), %{{.*}} [1, 1, 64, 64] padded : {{.*}} into <64x64xbf16, #fagpu.smem<128>, 1>
// READ: fagpu.put %[[BOX]] bank(%{{.*}}), %{{.*}} [1, 1, 64, 64] padded
// READ: %[[VIEW:.*]] = fagpu.acquire %[[BOX]] bank(%{{.*}})
// READ-NEXT: %[[TABLE:.*]] = fagpu.load %[[VIEW]] {fagpu.transposed} : <64x64xbf16, #fagpu.smem<128>> -> tensor<64x64xbf16, #fagpu.acc<4>>
// READ-NEXT: fagpu.release %[[VIEW]]
// READ: arith.extf %[[TABLE]]
// SINGLE-LABEL: func.func @bias_all
// SINGLE: fagpu.gather
