// RUN: fa-opt %s -transform-interpreter -canonicalize -cse -split-input-file | FileCheck %s

// Upstream's transforms tile fa.attention on memrefs.
// CHECK-LABEL: func.func @memrefs
// CHECK: scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]]) in (2, 8, 3) {
// CHECK-DAG: %[[ROW:.+]] = affine.apply #{{.+}}(%[[I]])
// CHECK-DAG: %[[KH:.+]] = affine.apply #{{.+}}()[%[[H]]]
// CHECK-DAG: memref.subview %{{.+}}[%[[B]], %[[ROW]], %[[H]], 0] [1, %{{.+}}, 1, 64]
// CHECK-DAG: memref.subview %{{.+}}[%[[B]], 0, %[[KH]], 0] [1, 128, 1, 64]
// CHECK: fa.attention
// CHECK-SAME: offsets(%[[B]], %[[H]], %[[ROW]], %{{.+}}) extents(%{{.+}}, %{{.+}})
func.func @memrefs(%q: memref<2x150x8x64xf32>, %k: memref<2x128x2x64xf32>, %o: memref<2x150x8x64xf32>) {
  fa.attention ins(%q, %k, %k : memref<2x150x8x64xf32>, memref<2x128x2x64xf32>, memref<2x128x2x64xf32>)
      outs(%o : memref<2x150x8x64xf32>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1, 64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of 2 heads of a group of 4 reads one key head, a tile of 4 heads of groups of 2 reads two.
// CHECK-LABEL: func.func @within_group
// CHECK: scf.forall (%[[T:.+]]) in (4)
// CHECK-DAG: %[[H:.+]] = affine.apply #{{.+}}(%[[T]])
// CHECK-DAG: %[[KH:.+]] = affine.apply #{{.+}}(%[[T]])
// CHECK-DAG: tensor.extract_slice %{{.+}}[0, 0, %[[H]], 0] [1, 64, 2, 8]
// CHECK-DAG: tensor.extract_slice %{{.+}}[0, 0, %[[KH]], 0] [1, 64, 1, 8]
func.func @within_group(%q: tensor<1x64x8x8xf32>, %k: tensor<1x64x2x8xf32>) -> tensor<1x64x8x8xf32> {
  %o = fa.attention ins(%q, %k, %k : tensor<1x64x8x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      outs(%q : tensor<1x64x8x8xf32>) {tile2}
  return %o : tensor<1x64x8x8xf32>
}
// CHECK-LABEL: func.func @whole_groups
// CHECK: scf.forall (%[[T:.+]]) in (2)
// CHECK-DAG: %[[H:.+]] = affine.apply #{{.+}}(%[[T]])
// CHECK-DAG: %[[KH:.+]] = affine.apply #{{.+}}(%[[T]])
// CHECK-DAG: tensor.extract_slice %{{.+}}[0, 0, %[[H]], 0] [1, 64, 4, 8]
// CHECK-DAG: tensor.extract_slice %{{.+}}[0, 0, %[[KH]], 0] [1, 64, 2, 8]
func.func @whole_groups(%q: tensor<1x64x8x8xf32>, %k: tensor<1x64x4x8xf32>) -> tensor<1x64x8x8xf32> {
  %o = fa.attention ins(%q, %k, %k : tensor<1x64x8x8xf32>, tensor<1x64x4x8xf32>, tensor<1x64x4x8xf32>)
      outs(%q : tensor<1x64x8x8xf32>) {tile4}
  return %o : tensor<1x64x8x8xf32>
}
// One key head serves any tile of query heads.
// CHECK-LABEL: func.func @one_key_head
// CHECK-SAME: %{{.+}}: tensor<1x64x?x8xf32>, %[[K:.+]]: tensor<1x64x1x8xf32>)
// CHECK: fa.attention ins(%{{.+}}, %[[K]], %[[K]] : tensor<1x64x?x8xf32>,
func.func @one_key_head(%q: tensor<1x64x?x8xf32>, %k: tensor<1x64x1x8xf32>) -> tensor<1x64x?x8xf32> {
  %o = fa.attention ins(%q, %k, %k : tensor<1x64x?x8xf32>, tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>)
      outs(%q : tensor<1x64x?x8xf32>) {tile4}
  return %o : tensor<1x64x?x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %two = transform.structured.match ops{["fa.attention"]} attributes {tile2} in %module : (!transform.any_op) -> !transform.any_op
    %tiled2, %loop2 = transform.structured.tile_using_forall %two tile_sizes [0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %four = transform.structured.match ops{["fa.attention"]} attributes {tile4} in %module : (!transform.any_op) -> !transform.any_op
    %tiled4, %loop4 = transform.structured.tile_using_forall %four tile_sizes [0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The state makes keys a loop of their own; queries are parallel.
// CHECK-LABEL: func.func @online
// CHECK-SAME: %[[Q:.+]]: memref<1x?x1x8xf32>, %[[K:.+]]: memref<1x100x1x8xf32>, %[[A:.+]]: tensor<64x8xf32>, %[[M:.+]]: tensor<64xf32>, %[[B:.+]]: index, %[[N:.+]]: index)
// CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG: %[[C16:.+]] = arith.constant 16 : index
// CHECK-DAG: %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG: %[[C100:.+]] = arith.constant 100 : index
// CHECK-DAG: %[[ROWS:.+]] = memref.dim %[[Q]]
// CHECK: scf.for %[[I:.+]] = %[[C0]] to %[[ROWS]] step %[[C16]] iter_args(%[[A0:.+]] = %[[A]], %[[M0:.+]] = %[[M]], %[[S0:.+]] = %[[M]])
// CHECK: scf.for %[[J:.+]] = %[[C0]] to %[[C100]] step %[[C32]] iter_args(%[[A1:.+]] = %{{.+}}, %[[M1:.+]] = %{{.+}}, %[[S1:.+]] = %{{.+}})
// CHECK: memref.subview %[[Q]][0, %[[I]], 0, 0] [1, %[[R:.+]], 1, 8]
// CHECK: memref.subview %[[K]][0, %[[J]], 0, 0] [1, %{{.+}}, 1, 8]
// CHECK: tensor.extract_slice %{{.+}}[%[[I]], 0] [%[[R]], 8]
// CHECK: %[[I1:.+]] = affine.apply #{{.+}}()[%[[B]], %[[I]]]
// CHECK: %[[J1:.+]] = affine.apply #{{.+}}()[%[[B]], %[[J]]]
// CHECK: fa.online_attention {{.*}} offsets(%[[B]], %[[B]], %[[I1]], %[[J1]]) extents(%[[N]], %[[N]])
// CHECK: tensor.insert_slice
func.func @online(%q: memref<1x?x1x8xf32>, %k: memref<1x100x1x8xf32>, %a: tensor<64x8xf32>, %m: tensor<64xf32>, %b: index, %n: index)
    -> (tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>) {
  %r:3 = fa.online_attention ins(%q, %k, %k : memref<1x?x1x8xf32>, memref<1x100x1x8xf32>, memref<1x100x1x8xf32>)
      outs(%a, %m, %m : tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>) offsets(%b, %b, %b, %b) extents(%n, %n)
  return %r#0, %r#1, %r#2 : tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>
}
// Keys alone: the loop carries the whole state.
// CHECK-LABEL: func.func @online_keys
// CHECK: scf.for {{.*}} iter_args(%[[A:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
// CHECK-NOT: tensor.extract_slice
// CHECK: %[[R:.+]]:3 = fa.online_attention {{.*}} outs(%[[A]], %[[M]], %[[S]] : tensor<64x8xf32>
// CHECK: scf.yield %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @online_keys(%q: memref<1x?x1x8xf32>, %k: memref<1x?x1x8xf32>, %a: tensor<64x8xf32>, %m: tensor<64xf32>)
    -> (tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>) {
  %r:3 = fa.online_attention ins(%q, %k, %k : memref<1x?x1x8xf32>, memref<1x?x1x8xf32>, memref<1x?x1x8xf32>)
      outs(%a, %m, %m : tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>) {keys}
  return %r#0, %r#1, %r#2 : tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %keys = transform.structured.match ops{["fa.online_attention"]} attributes {keys} in %module : (!transform.any_op) -> !transform.any_op
    %all = transform.structured.match ops{["fa.online_attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %first, %second = transform.split_handle %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tiled, %loops:2 = transform.structured.tile_using_for %first tile_sizes [16, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tiled1, %loops1 = transform.structured.tile_using_for %keys tile_sizes [0, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// An attention is computed where a loop over its result needs a part of it.
// CHECK-LABEL: func.func @fused
// CHECK: scf.forall
// CHECK: fa.attention ins({{.*}} : tensor<1x16x2x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
// CHECK-NEXT: linalg.exp ins({{.*}} : tensor<1x16x2x8xf32>)
// CHECK-NOT: fa.attention
// CHECK: return
func.func @fused(%q: tensor<1x64x2x8xf32>) -> tensor<1x64x2x8xf32> {
  %init = tensor.empty() : tensor<1x64x2x8xf32>
  %o = fa.attention ins(%q, %q, %q : tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      outs(%init : tensor<1x64x2x8xf32>)
  %e = linalg.exp ins(%o : tensor<1x64x2x8xf32>) outs(%init : tensor<1x64x2x8xf32>) -> tensor<1x64x2x8xf32>
  return %e : tensor<1x64x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %exp = transform.structured.match ops{["linalg.exp"]} in %module : (!transform.any_op) -> !transform.any_op
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %exp tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fused, %new = transform.structured.fuse_into_containing_op %op into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
