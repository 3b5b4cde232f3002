// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-tile='combine-rows=64'
// RUN: not fa-opt %S/Inputs/packed.mlir -fa-convert-to-online 2>&1 | FileCheck %s --check-prefix=ONLINE
// RUN: not fa-opt %S/Inputs/packed.mlir -fa-naive 2>&1 | FileCheck %s --check-prefix=NAIVE
// RUN: not fa-opt %S/Inputs/drops.mlir -fa-naive 2>&1 | FileCheck %s --check-prefix=DROPS
// RUN: not fa-opt %S/Inputs/packed.mlir -fa-split-kv 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: not fa-opt %S/Inputs/whole_rows.mlir -fa-place-pages 2>&1 | FileCheck %s --check-prefix=PAGES
// RUN: not fa-opt %S/Inputs/parts_of_rows.mlir -fa-place-pages -allow-unregistered-dialect 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not fa-opt %S/Inputs/rows_alone.mlir -fa-place-pages -allow-unregistered-dialect 2>&1 | FileCheck %s --check-prefix=ALONE

// ONLINE: 'fa.attention' op has packed sequences or pages, expected one sequence: tile it first, with fa-tile
// NAIVE: 'fa.attention' op has packed sequences or pages, of which fa-naive has no form; expected a batch without
// DROPS: 'fa.attention' op has dropout, of which fa-naive has no form; run fa-expand-dropout before
// SPLIT: 'fa.attention' op has packed sequences or pages and key_splits = 2, expected 1 before it is tiled: fa-split-keys splits these as it tiles them
// PARTS: 'fa.paged_rows' op is read by 'memref.subview', expected slices of a bounded number of whole rows
// ALONE: 'fa.paged_rows' op stands in no function, which holds its scratch memory
// PAGES: 'fa.paged_rows' op is read by 'func.return', expected slices of a bounded number of whole rows, as fa-specialize-mask makes them

func.func @on_tensors(%q: tensor<30x2x16xf32>, %s: tensor<3xi32>) -> tensor<30x2x16xf32> {
  // expected-error @+1 {{'fa.attention' op query has type 'tensor<30x2x16xf32>', expected memrefs to tile packed sequences or pages; fa-results-to-out-parameters makes them}}
  %r = fa.attention ins(%q, %q, %q : tensor<30x2x16xf32>, tensor<30x2x16xf32>, tensor<30x2x16xf32>) outs(%q : tensor<30x2x16xf32>)
      query_starts(%s : tensor<3xi32>) key_starts(%s : tensor<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>,
       config = #fa.config<query_block = 16, key_block = 32>}
  return %r : tensor<30x2x16xf32>
}
