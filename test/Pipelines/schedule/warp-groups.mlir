// Schedules for groups of warps, of every overlap and both places to rescale,
// compute what the evaluation in float64 does: in program order and pipelined,
// roles and groups interleaved at random.
//
// RUN: split-file %s %t

// DEFINE: %{name} =
// DEFINE: %{check} = \
// DEFINE:   fa-opt %t/%{name}.mlir -fa-results-to-out-parameters -o %t/%{name}.problem.mlir && \
// DEFINE:   fa-opt %t/%{name}.mlir -fa-to-schedule=chip=sm_90a -o %t/%{name}.schedule.mlir && \
// DEFINE:   FileCheck %s --check-prefix=FORM --input-file=%t/%{name}.schedule.mlir && \
// DEFINE:   fa-opt %t/%{name}.schedule.mlir --pass-pipeline="builtin.module(fagpu-plan)" -o %t/%{name}.planned.mlir && \
// DEFINE:   fa-run %t/%{name}.schedule.mlir --target=interpret --verify --against=%t/%{name}.problem.mlir --entry=attention | FileCheck %s && \
// DEFINE:   fa-run %t/%{name}.planned.mlir --target=interpret --verify --against=%t/%{name}.problem.mlir --entry=attention | FileCheck %s

// REDEFINE: %{name} = tiles
// RUN: %{check}
// REDEFINE: %{name} = keys
// RUN: %{check}
// REDEFINE: %{name} = none
// RUN: %{check}
// REDEFINE: %{name} = before_product
// RUN: %{check}
// REDEFINE: %{name} = three_groups
// RUN: %{check}
// REDEFINE: %{name} = slopes
// RUN: %{check}

// FORM: fagpu.role @load groups(1) regs({{[0-9]+}}) elect
// FORM: fagpu.role @math
// FORM: fagpu.mma_async

// CHECK: ok
// CHECK: ok
// CHECK: verified all rows

//--- tiles.mlir
!q = tensor<2x200x4x128xbf16>
!k = tensor<2x333x2x128xbf16>
!l = tensor<2x4x200xf32>
func.func @attention(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l) mask causal
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>}
  return %output, %lse : !q, !l
}

//--- keys.mlir
!q = tensor<2x200x4x128xf16>
!k = tensor<2x333x2x128xf16>
!l = tensor<2x4x200xf32>
func.func @attention(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l)
      {config = #fa.config<query_block = 128, key_block = 176, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>}
  return %output, %lse : !q, !l
}

//--- none.mlir
!q = tensor<1x130x2x64xbf16>
!k = tensor<1x300x2x64xbf16>
!l = tensor<1x2x130xf32>
func.func @attention(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l) mask causal
      {config = #fa.config<query_block = 64, key_block = 96, target = #fa.gpu<warp_groups>>}
  return %output, %lse : !q, !l
}

//--- before_product.mlir
!q = tensor<1x150x2x256xbf16>
!k = tensor<1x250x1x256xbf16>
!l = tensor<1x2x150xf32>
func.func @attention(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l) mask causal
      {config = #fa.config<query_block = 128, key_block = 80, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<rescale = before_product>>, stages = 2>>}
  return %output, %lse : !q, !l
}

//--- three_groups.mlir
!q = tensor<2x200x4x64xbf16>
!k = tensor<2x333x2x64xbf16>
!l = tensor<2x4x200xf32>
func.func @attention(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l)
      {config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<warp_groups<groups = 3, overlap = tiles<turns>>, stages = 2>>}
  return %output, %lse : !q, !l
}

// A real number of each head travels by mail; tiles are of equal length.
//--- slopes.mlir
!q = tensor<2x200x4x128xbf16>
!k = tensor<2x300x2x128xbf16>
!l = tensor<2x4x200xf32>
func.func @attention(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %slopes = arith.constant dense<[0.5, 0.25, 0.125, 0.0625]> : tensor<4xf32>
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l) score alibi(%slopes : tensor<4xf32>)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>>, stages = 2>>}
  return %output, %lse : !q, !l
}
