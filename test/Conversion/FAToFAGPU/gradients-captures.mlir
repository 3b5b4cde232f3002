// Blocks add to gradients of captures and of the scale: what all pairs of a warp share, or those of a row, is summed up before.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-to-level2{chip=sm_90a},lower-affine,canonicalize,cse,fa-outline-kernels{chip=sm_90a},canonicalize,cse,func.func(fa-decompose-to-blocks,canonicalize,cse))' -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a -split-input-file -o /dev/null

!q = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x4x?xf32>

// The slopes start at 0; each warp adds one number for its pairs of the head. Integers times hidden gradients hide no more.
// CHECK-LABEL: func.func @slopes_all
// CHECK-SAME: %[[SLOPES:[^:]*]]: memref<4xf32>
// CHECK: fa.query_ranges
// CHECK: %[[HIDDEN:.*]]:2 = scf.if
// CHECK: %[[NEGATIVE:.*]] = arith.negf %[[HIDDEN]]#1
// CHECK: %[[TIMES:.*]] = arith.mulf %[[NEGATIVE]], %{{.*}} : tensor<64x64xf32>
// CHECK: %[[SUM:.*]] = fagpu.reduce add %[[TIMES]] : tensor<64x64xf32> -> tensor<4xf32, #fagpu.warp<4>>
// CHECK: fagpu.scatter_add %[[SUM]], %{{.*}}[%{{.*}}] mask(%{{.*}}) : tensor<4xf32, #fagpu.warp<4>> into memref<4xf32>[i32]
// CHECK-LABEL: func.func @slopes(
// CHECK: fagpu.launch @slopes_rows
// CHECK: linalg.fill
// CHECK: fagpu.launch @slopes_all
func.func @slopes(%t: !q, %lse: !lse, %slopes: memref<4xf32>, %dq: !q, %dk: !q, %dv: !q, %to: memref<4xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !q, !q, !q) of(%t, %lse : !q, !lse) gradients(%t : !q)
      outs(query = %dq : !q, key = %dk : !q, value = %dv : !q, capture[0] = %to : memref<4xf32>)
      score alibi(%slopes : memref<4xf32>) mask causal
  return
}

// -----

!q = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x4x?xf32>

// What 16 bits hold is summed up in f32.
// CHECK-LABEL: func.func @bias_all
// CHECK: %[[HIDDEN:.*]]:2 = scf.if
// CHECK: fagpu.scatter_add %[[HIDDEN]]#1, %{{.*}}[%{{.*}}] mask(%{{.*}}) : tensor<64x64xf32> into memref<?x?xf32>[tensor<64x64xi32>, tensor<64x64xi32>]
// CHECK-LABEL: func.func @bias(
// CHECK: %[[SUMS:.*]] = fagpu.workspace({{.*}}) : memref<?x?xf32>
// CHECK: linalg.fill {{.*}} outs(%[[SUMS]] : memref<?x?xf32>)
// CHECK: fagpu.launch @bias_all
// CHECK: linalg.copy ins(%[[SUMS]] : memref<?x?xf32>) outs(%{{.*}} : memref<?x?xbf16>)
func.func @bias(%t: !q, %lse: !lse, %table: memref<?x?xbf16>, %dq: !q, %dk: !q, %dv: !q, %to: memref<?x?xbf16>) {
  fa.attention_gradient ins(%t, %t, %t : !q, !q, !q) of(%t, %lse : !q, !lse) gradients(%t : !q)
      outs(query = %dq : !q, key = %dk : !q, value = %dv : !q, capture[0] = %to : memref<?x?xbf16>)
      score(%s, %b, %h, %i, %j) captures(%bias = %table : memref<?x?xbf16>) {
        %w = memref.load %bias[%i, %j] : memref<?x?xbf16>
        %wide = arith.extf %w : bf16 to f32
        %x = arith.addf %s, %wide : f32
        fa.yield %x : f32
      }
  return
}

// -----

!q = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x4x?xf32>

// Rows that are queries behind the last one have an infinite lse. Gradients of the scale alone have a kernel, too.
// CHECK-LABEL: func.func @scale_queries
// CHECK-DAG: %[[INFINITE:.*]] = arith.constant dense<0x7F800000> : tensor<64xf32, #fagpu.row<4>>
// CHECK: %[[LSE:.*]] = fagpu.gather %{{.*}} mask(%[[IS_ROW:.*]] : tensor<64xi1, #fagpu.row<4>>)
// CHECK: arith.select %[[IS_ROW]], %[[LSE]], %[[INFINITE]]
// CHECK: fa.key_ranges
// CHECK: %[[PRODUCT:.*]] = fagpu.product nt
// CHECK: %[[TIMES:.*]] = arith.mulf %{{.*}}, %[[PRODUCT]]
// CHECK: %[[SUM:.*]] = fagpu.reduce add %[[TIMES]]
// CHECK: fagpu.scatter_add %[[SUM]], %{{.*}}[] : tensor<4xf32, #fagpu.warp<4>> into memref<f32>{{$}}
// CHECK-NOT: fagpu.product nn
func.func @scale(%t: !q, %lse: !lse, %scale: f32, %to: memref<f32>) {
  fa.attention_gradient ins(%t, %t, %t : !q, !q, !q) of(%t, %lse : !q, !lse) gradients(%t : !q)
      outs(scale = %to : memref<f32>) scale(%scale)
  return
}

// -----

!q = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x4x?xf32>

// In one order: each warp of the two groups has a part in each block of queries of each batch item; parts are added up behind.
// CHECK-LABEL: func.func @ordered_queries
// CHECK-SAME: %[[PARTS:[^:]*]]: memref<8x2x?x4xf32>
// CHECK-SAME: fagpu.deterministic
// CHECK: %[[GROUP:.*]] = arith.muli %{{.*}}, %c4_i32
// CHECK: %[[FIRST:.*]] = tensor.splat %[[GROUP]] : tensor<4xi32, #fagpu.warp<4>>
// CHECK: %[[WARP:.*]] = arith.addi %{{.*}}, %[[FIRST]] : tensor<4xi32, #fagpu.warp<4>>
// CHECK: fagpu.scatter_add %{{.*}}, %[[PARTS]][%[[WARP]], %{{.*}}, %{{.*}}, %{{.*}}] mask(%{{.*}}) {fagpu.owned} : tensor<4xf32, #fagpu.warp<4>> into memref<8x2x?x4xf32>
// CHECK-LABEL: func.func @ordered(
// CHECK: %[[PARTS:.*]] = fagpu.workspace(%{{.*}}) : memref<8x2x?x4xf32>
// CHECK: linalg.fill {{.*}} outs(%[[PARTS]]
// CHECK: fagpu.launch @ordered_queries
// CHECK: linalg.generic {{.*}} ins(%[[PARTS]]
// CHECK: linalg.copy
func.func @ordered(%t: !q, %lse: !lse, %slopes: memref<4xf32>, %dq: !q, %to: memref<4xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !q, !q, !q) of(%t, %lse : !q, !lse) gradients(%t : !q)
      outs(query = %dq : !q, capture[0] = %to : memref<4xf32>)
      score alibi(%slopes : memref<4xf32>) {deterministic}
  return
}

// -----

!q = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<2x4x?xf32>
!bias = memref<?x?x?xbf16>

// Of aligned rows, which batch items share: a box of the sums, up to the sizes of their memory; none of a head that it has not.
// CHECK-LABEL: func.func @boxes_all
// CHECK-SAME: %[[SUMS:[^:]*]]: memref<?x?x?xf32>
// CHECK: %[[HEADS:.*]] = memref.dim %[[SUMS]], %c0
// CHECK: %[[IS_HEAD:.*]] = arith.cmpi ult, %[[HEAD:.*]], %[[HEADS]] : index
// CHECK: %[[ROWS:.*]] = arith.select %[[IS_HEAD]], %{{.*}}, %c0_i32 : i32
// CHECK: %[[HIDDEN:.*]]:2 = scf.if
// CHECK: fagpu.store %[[HIDDEN]]#1, %[[SUMS]][%{{.*}}, %{{.*}}, %{{.*}}] sizes [1, 64, 64] rows(%[[ROWS]]) columns(%{{.*}}) add transposed : tensor<64x64xf32> into memref<?x?x?xf32>
// CHECK-LABEL: func.func @boxes(
func.func @boxes(%t: !q, %lse: !lse, %table: !bias, %dq: !q, %dk: !q, %dv: !q, %to: !bias {fa.align = 16 : i64}) {
  fa.attention_gradient ins(%t, %t, %t : !q, !q, !q) of(%t, %lse : !q, !lse) gradients(%t : !q)
      outs(query = %dq : !q, key = %dk : !q, value = %dv : !q, capture[0] = %to : !bias)
      score(%s, %b, %h, %i, %j) captures(%bias = %table : !bias) {
        %w = memref.load %bias[%h, %i, %j] : !bias
        %wide = arith.extf %w : bf16 to f32
        %x = arith.addf %s, %wide : f32
        fa.yield %x : f32
      }
  return
}
