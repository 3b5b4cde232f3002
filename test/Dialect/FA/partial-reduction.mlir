// RUN: fa-opt %s -transform-interpreter -canonicalize -cse -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x4x2x8xbf16>, %[[K:[a-z0-9]+]]: tensor<1x1000x2x8xbf16>, %[[O:[a-z0-9]+]]: tensor<1x4x2x8xbf16>, %[[LSE:[a-z0-9]+]]: tensor<1x2x4xf32>
// CHECK-DAG: %[[OS:.+]] = tensor.empty() : tensor<3x1x4x2x8xf32>
// CHECK-DAG: %[[LSES:.+]] = tensor.empty() : tensor<3x1x2x4xf32>
// CHECK: %[[R:.+]]:2 = scf.forall (%[[S:.+]]) in (3) shared_outs(%[[OS1:.+]] = %[[OS]], %[[LSES1:.+]] = %[[LSES]])
// CHECK: tensor.extract_slice %[[K]][0, %[[BEGIN:.+]], 0, 0] [1, %{{.+}}, 2, 8]
// CHECK: %[[PART:.+]]:2 = fa.attention {{.*}} offsets(%{{.+}}, %{{.+}}, %{{.+}}, %[[BEGIN]])
// CHECK: tensor.parallel_insert_slice %[[PART]]#0 into %[[OS1]][%[[S]], 0, 0, 0, 0] [1, 1, 4, 2, 8]
// CHECK: tensor.parallel_insert_slice %[[PART]]#1 into %[[LSES1]][%[[S]], 0, 0, 0] [1, 1, 2, 4]
// CHECK: fa.combine
// CHECK: %[[C:.+]]:2 = fa.combine {{.*}} outs(%[[O]], %[[LSE]] : tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>)
// CHECK: return %[[C]]#0, %[[C]]#1
func.func @parts(%q: tensor<1x4x2x8xbf16>, %k: tensor<1x1000x2x8xbf16>, %o: tensor<1x4x2x8xbf16>, %lse: tensor<1x2x4xf32>)
    -> (tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>) {
  %r:2 = fa.attention ins(%q, %k, %k : tensor<1x4x2x8xbf16>, tensor<1x1000x2x8xbf16>, tensor<1x1000x2x8xbf16>)
      outs(%o, %lse : tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>)
  return %r#0, %r#1 : tensor<1x4x2x8xbf16>, tensor<1x2x4xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %init:2, %split, %combine, %loop = transform.structured.tile_reduction_using_forall %op
        by num_threads = [0, 0, 0, 3] tile_sizes = [] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
