// RUN: fa-opt %s -transform-interpreter -split-input-file | FileCheck %s
// RUN: fa-opt %s -split-input-file | fa-opt -split-input-file | FileCheck %s --check-prefix=TEXT

// Our steps around upstream's tiling and clean-up, from level 0 to linalg.
// CHECK-LABEL: func.func @all_steps(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<1x64x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>) {
// CHECK: scf.forall
// CHECK: fa.key_ranges {{.*}} step 16
// CHECK: fa.online_attention
// CHECK: config = #fa.config<query_block = 32, key_block = 16>
// CHECK-NOT: fa.attention
// CHECK: return
func.func @all_steps(%q: tensor<1x64x2x8xf32>) -> tensor<1x64x2x8xf32> {
  %init = tensor.empty() : tensor<1x64x2x8xf32>
  %o = fa.attention ins(%q, %q, %q : tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      outs(%init : tensor<1x64x2x8xf32>) mask causal
  return %o : tensor<1x64x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %problem = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    // TEXT: transform.fa.results_to_out_parameters %{{.+}} : (!transform.any_op) -> !transform.any_op
    %function = transform.fa.results_to_out_parameters %problem : (!transform.any_op) -> !transform.any_op
    %op = transform.structured.match ops{["fa.attention"]} in %function : (!transform.any_op) -> !transform.any_op
    // TEXT: transform.fa.configure %{{.+}} with(#fa.config<query_block = 32, key_block = 16>) : !transform.any_op
    transform.fa.configure %op with(#fa.config<query_block = 32, key_block = 16>) : !transform.any_op
    %block, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // TEXT: transform.fa.convert_to_online %{{.+}} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %all_keys, %finalize = transform.fa.convert_to_online %block : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %online = transform.structured.match ops{["fa.online_attention"]} in %function : (!transform.any_op) -> !transform.any_op
    // TEXT: transform.fa.specialize_mask %{{.+}} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %ranges, %step = transform.fa.specialize_mask %online : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The handles that a step returns are those that the next one needs.
// CHECK-LABEL: func.func @handles
// CHECK: scf.forall {{.*}} in (2) {
// CHECK: scf.forall {{.*}} step (1, 1, 16) {
// CHECK: fa.online_attention
// CHECK: fa.finalize
// CHECK: } {inner}
// CHECK: } {outer}
// CHECK: fa.combine
func.func @handles(%q: memref<1x64x2x8xf32>, %o: memref<1x64x2x8xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x64x2x8xf32>, memref<1x64x2x8xf32>, memref<1x64x2x8xf32>)
      outs(%o : memref<1x64x2x8xf32>) {config = #fa.config<query_block = 16, key_block = 16, key_splits = 2>}
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    // TEXT: transform.fa.split_keys %{{.+}} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %part, %parts = transform.fa.split_keys %op : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %parts "outer" : !transform.any_op
    // TEXT: transform.fa.tile %{{.+}} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %block, %blocks = transform.fa.tile %part : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %blocks "inner" : !transform.any_op
    %online, %finalize = transform.fa.convert_to_online %block : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CHECK-LABEL: func.func @decomposed
// CHECK-NOT: fa.{{online_attention|finalize}}
// CHECK: linalg.contract
// CHECK-NOT: fa.{{online_attention|finalize}}
// CHECK: return
func.func @decomposed(%q: memref<1x16x1x8xf32>, %a: memref<16x8xf32>, %m: memref<16xf32>, %s: memref<16xf32>) {
  fa.online_attention ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
      outs(%a, %m, %s : memref<16x8xf32>, memref<16xf32>, memref<16xf32>)
      {config = #fa.config<query_block = 16, key_block = 16, target = #fa.cpu<lanes = 8>>}
  fa.finalize ins(%a, %m, %s : memref<16x8xf32>, memref<16xf32>, memref<16xf32>) outs(%q : memref<1x16x1x8xf32>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.online_attention", "fa.finalize"]} in %module : (!transform.any_op) -> !transform.any_op
    // TEXT: transform.fa.decompose %{{.+}} : !transform.any_op
    transform.fa.decompose %op : !transform.any_op
    transform.yield
  }
}
