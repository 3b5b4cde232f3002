// RUN: not fa-opt %s -fa-gather-pages=chip=sm_90a 2>&1 | FileCheck %s
// RUN: fa-opt %s -fa-gather-pages=chip=sm_80 -o /dev/null

// Gathered pages are read by warps, and keys in another place by warp groups: their sums have other orders.
// CHECK: error: 'fa.attention' op is batch_invariant and has pages of 12 rows, which are gathered for warps and not read by warp groups as other keys are on sm_90a; the nearest is pages of 16 rows, or a config with target = #fa.gpu<warps>
#pages = #fa.dims<p, s, h, d>
!q = memref<3x1x8x64xbf16>
!k = memref<?x12x2x64xbf16>
func.func @invariant(%q: !q, %k: !k, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {batch_invariant, key_dims = #pages, value_dims = #pages}
  return
}
