// RUN: not fa-opt %s -transform-interpreter -split-input-file 2>&1 | FileCheck %s

// The first error of each is ours; upstream's drivers add their own.
func.func @no_lse(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  // CHECK: partial-reduction-invalid.mlir:[[#@LINE+1]]:8: error: 'fa.attention' op has no lse, expected one: partial results are merged by it
  %r = fa.attention ins(%q, %q, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%q : tensor<1x4x2x8xf32>)
  return %r : tensor<1x4x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %init, %split, %combine, %loop = transform.structured.tile_reduction_using_forall %op
        by num_threads = [0, 0, 0, 2] tile_sizes = [] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @outer_loop(%q: tensor<1x4x2x8xf32>, %lse: tensor<1x2x4xf32>) -> tensor<1x4x2x8xf32> {
  // CHECK: partial-reduction-invalid.mlir:[[#@LINE+1]]:10: error: 'fa.attention' op has parts of keys that are computed on their own, expected a parallel outer loop
  %r:2 = fa.attention ins(%q, %q, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%q, %lse : tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return %r#0 : tensor<1x4x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %init:2, %split, %combine, %loop = transform.structured.tile_reduction_using_for %op
        by tile_sizes = [0, 0, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @one_part(%q: tensor<1x4x2x8xf32>, %lse: tensor<1x2x4xf32>) -> tensor<1x4x2x8xf32> {
  // CHECK: partial-reduction-invalid.mlir:[[#@LINE+1]]:10: error: 'fa.attention' op keys are in 1 parts, expected a static number of at least 2
  %r:2 = fa.attention ins(%q, %q, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%q, %lse : tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  return %r#0 : tensor<1x4x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %init:2, %split, %combine, %loop = transform.structured.tile_reduction_using_forall %op
        by num_threads = [0, 0, 0, 1] tile_sizes = [] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @memrefs(%q: memref<1x4x2x8xf32>, %lse: memref<1x2x4xf32>) {
  // CHECK: partial-reduction-invalid.mlir:[[#@LINE+1]]:3: error: 'fa.attention' op query has type 'memref<1x4x2x8xf32>', expected tensors for partial reduction; fa-split-kv splits memrefs
  fa.attention ins(%q, %q, %q : memref<1x4x2x8xf32>, memref<1x4x2x8xf32>, memref<1x4x2x8xf32>)
      outs(%q, %lse : memref<1x4x2x8xf32>, memref<1x2x4xf32>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %init:2, %split, %combine, %loop = transform.structured.tile_reduction_using_forall %op
        by num_threads = [0, 0, 0, 2] tile_sizes = [] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @packed(%q: tensor<8x2x8xf32>, %lse: tensor<2x8xf32>, %s: tensor<3xi32>) -> tensor<8x2x8xf32> {
  // CHECK: partial-reduction-invalid.mlir:[[#@LINE+1]]:10: error: 'fa.attention' op has packed sequences or pages, expected neither for partial reduction: parts of keys are slices
  %r:2 = fa.attention ins(%q, %q, %q : tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
      outs(%q, %lse : tensor<8x2x8xf32>, tensor<2x8xf32>) query_starts(%s : tensor<3xi32>) key_starts(%s : tensor<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return %r#0 : tensor<8x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %init:2, %split, %combine, %loop = transform.structured.tile_reduction_using_forall %op
        by num_threads = [0, 0, 0, 2] tile_sizes = [] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
