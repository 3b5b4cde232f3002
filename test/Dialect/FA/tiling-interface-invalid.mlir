// RUN: not fa-opt %s -transform-interpreter -split-input-file 2>&1 | FileCheck %s

// The first error of each is ours; upstream's drivers add their own.

func.func @keys(%q: tensor<1x64x2x8xf32>) -> tensor<1x64x2x8xf32> {
  // CHECK: tiling-interface-invalid.mlir:[[#@LINE+1]]:8: error: 'fa.attention' op cannot tile its keys: the softmax of a block of keys is not a part of the whole one; use fa-split-kv or partial reduction, or convert to fa.online_attention first
  %o = fa.attention ins(%q, %q, %q : tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      outs(%q : tensor<1x64x2x8xf32>)
  return %o : tensor<1x64x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @cut_groups(%q: tensor<1x64x12x8xf32>, %k: tensor<1x64x2x8xf32>) -> tensor<1x64x12x8xf32> {
  // CHECK: tiling-interface-invalid.mlir:[[#@LINE+1]]:8: error: 'fa.attention' op tile of 4 query heads cuts groups of 6 query heads, expected a divisor or a multiple of 6
  %o = fa.attention ins(%q, %k, %k : tensor<1x64x12x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      outs(%q : tensor<1x64x12x8xf32>)
  return %o : tensor<1x64x12x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @dynamic_groups(%q: tensor<1x64x?x8xf32>, %k: tensor<1x64x2x8xf32>) -> tensor<1x64x?x8xf32> {
  // CHECK: tiling-interface-invalid.mlir:[[#@LINE+1]]:8: error: 'fa.attention' op has a dynamic number of query heads for each key head or a dynamic tile of query heads, expected a tile of 1 query head
  %o = fa.attention ins(%q, %k, %k : tensor<1x64x?x8xf32>, tensor<1x64x2x8xf32>, tensor<1x64x2x8xf32>)
      outs(%q : tensor<1x64x?x8xf32>)
  return %o : tensor<1x64x?x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @packed(%q: tensor<64x2x8xf32>, %s: tensor<3xi32>) -> tensor<64x2x8xf32> {
  // CHECK: tiling-interface-invalid.mlir:[[#@LINE+1]]:8: error: 'fa.attention' op has packed sequences or pages, which no tile of its operands holds; use fa-tile
  %o = fa.attention ins(%q, %q, %q : tensor<64x2x8xf32>, tensor<64x2x8xf32>, tensor<64x2x8xf32>) outs(%q : tensor<64x2x8xf32>)
      query_starts(%s : tensor<3xi32>) key_starts(%s : tensor<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return %o : tensor<64x2x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
