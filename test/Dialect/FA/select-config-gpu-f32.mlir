// RUN: fa-opt %s -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: fa-opt %s -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SM90A

!odd_f32 = tensor<2x?x8x100xf32>

// Sums of f32 take the columns that a head dim is filled up to: on sm_90a, where
// groups split parts of the columns, to 128.
// SM80-LABEL: func.func @window_f32_100(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>, terms<common_stages, rolled>>>
// SM90A-LABEL: func.func @window_f32_100(
// SM90A: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>, terms<rolled>>>
func.func @window_f32_100(%q: !odd_f32, %o: !odd_f32, %left: index, %right: index) -> !odd_f32 {
  %r = fa.attention ins(%q, %q, %q : !odd_f32, !odd_f32, !odd_f32) outs(%o : !odd_f32) mask window(%left, %right)
  return %r : !odd_f32
}
