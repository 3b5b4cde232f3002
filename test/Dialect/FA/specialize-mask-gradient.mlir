// Which queries a block of keys is seen by, from the mask that says which keys
// a query sees.
// RUN: fa-opt %s --fa-specialize-mask --canonicalize --cse --split-input-file | FileCheck %s

!q = memref<1x512x1x16xf32>
!k = memref<1x128x1x16xf32>
!row = memref<1x1x512xf32>
!s = tensor<128x16xf32>

// A causal mask hides the queries before the block of keys: visits begin at its
// first key, and from its last key on every query sees all of it.
// CHECK-LABEL: @causal
// CHECK: fa.query_ranges (%[[I:.*]], %[[N:.*]]) = [partial %[[BEGIN:.*]] to %[[FULL:.*]], full %[[FULL]] to %[[END:.*]], partial %[[END]] to %c512] step 64
// CHECK-SAME: iter_args(%[[DK:.*]] = %{{.*}}) -> (tensor<128x16xf32>)
// CHECK-DAG: memref.subview %{{.*}}[0, %[[I]], 0, 0] [1, %[[N]], 1, 16]
// CHECK-DAG: memref.subview %{{.*}}[0, 0, %[[I]]] [1, 1, %[[N]]]
// CHECK: fa.gradient_keys ins({{.*}}) rows({{.*}}) outs(key = %[[DK]] : tensor<128x16xf32>) offsets(%{{.*}}, %{{.*}}, %[[I]], %{{.*}})
func.func @causal(%q: !q, %k: !k, %lse: !row, %delta: !row, %dk: !s, %j: index) -> !s {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %r = fa.gradient_keys ins(%q, %k, %k, %q : !q, !k, !k, !q) rows(%lse, %delta : !row, !row) outs(key = %dk : !s)
      offsets(%c0, %c0, %c0, %j) extents(%c512, %c512) mask causal {config = #fa.config<query_block = 64, key_block = 128>}
  return %r : !s
}

// -----

!q = memref<1x512x1x16xf32>
!k = memref<1x128x1x16xf32>
!row = memref<1x1x512xf32>
!s = tensor<128x16xf32>

// Without a mask every query sees every key, in blocks of 64.
// CHECK-LABEL: @full
// CHECK: fa.query_ranges {{.*}} = [full %c0 to %c512] step 64
func.func @full(%q: !q, %k: !k, %lse: !row, %delta: !row, %dk: !s) -> !s {
  %r = fa.gradient_keys ins(%q, %k, %k, %q : !q, !k, !k, !q) rows(%lse, %delta : !row, !row) outs(key = %dk : !s)
      {config = #fa.config<query_block = 64, key_block = 128>}
  return %r : !s
}

// -----

!q = memref<1x64x1x16xf32>
!k = memref<1x512x1x16xf32>
!row = memref<1x1x64xf32>

// A gradient of queries visits keys, as attention does. One that adds to memory
// alone carries nothing.
// CHECK-LABEL: @queries
// CHECK: fa.key_ranges (%{{.*}}, %{{.*}}) = [full %c0 to %{{.*}}, partial %{{.*}} to %{{.*}}] step 128 {
// CHECK: fa.gradient_queries {{.*}} outs(scale = %{{.*}} : memref<f32>)
func.func @queries(%q: !q, %k: !k, %lse: !row, %delta: !row, %ds: memref<f32>, %i: index) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  fa.gradient_queries ins(%q, %k, %k, %q : !q, !k, !k, !q) rows(%lse, %delta : !row, !row) outs(scale = %ds : memref<f32>)
      offsets(%c0, %c0, %i, %c0) extents(%c512, %c512) mask causal {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!q = memref<1x?x1x16xf16>
!k = memref<1x128x1x16xf16>
!row = memref<1x1x?xf32>
!sums = memref<1x1x?x16xf32>
!s = tensor<128x16xf32>

// Where blocks of keys add to queries, these have the weight 0 behind the last one: no mask is needed at the end of full ranges.
// CHECK-LABEL: @rest
// CHECK: fa.query_ranges {{.*}} = [partial %{{.*}} to %[[FULL:.*]], full %[[FULL]] to %{{[^,]*}}] step 64
func.func @rest(%q: !q, %k: !k, %lse: !row, %delta: !row, %dk: !s, %dq: !sums, %j: index, %n: index) -> !s {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %r = fa.gradient_keys ins(%q, %k, %k, %q : !q, !k, !k, !q) rows(%lse, %delta : !row, !row) outs(key = %dk : !s, query = %dq : !sums)
      offsets(%c0, %c0, %c0, %j) extents(%n, %c512) mask causal
      {config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass>, query_gradient_dims = #fa.dims<b, h, s, d>}
  return %r : !s
}
