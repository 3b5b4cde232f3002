// Appending to caches round-trips in its own form and in the generic one.
// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s -mlir-print-op-generic | fa-opt | FileCheck %s
// RUN: fa-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @plain
// CHECK: fa.append ins(%{{.*}}, %{{.*}} : tensor<2x3x4x64xf16>, tensor<2x3x4x32xf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>)
// CHECK-SAME: key_lengths(%{{.*}} : tensor<2xi32>) -> tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>
func.func @plain(%k: tensor<2x3x4x64xf16>, %v: tensor<2x3x4x32xf16>, %keys: tensor<2x?x4x64xf16>, %values: tensor<2x?x4x32xf16>,
                 %lengths: tensor<2xi32>) -> (tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>) {
  %0:2 = fa.append ins(%k, %v : tensor<2x3x4x64xf16>, tensor<2x3x4x32xf16>) outs(%keys, %values : tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>)
      key_lengths(%lengths : tensor<2xi32>) -> tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>
  return %0#0, %0#1 : tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>
}

!new = memref<?x2x64xbf16>
!pool = memref<?x16x2x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!heads_first = memref<?x2x16x64xbf16>
!angles = memref<4096x32xf32>

// Everything that says where rows are, in memory.
// CHECK-LABEL: @everything
// CHECK: key_lengths(%{{.*}} : memref<?xi32>) new_lengths(%{{.*}} : memref<?xi32>) key_starts(%{{.*}} : memref<?xi32>) key_pages(%{{.*}} : memref<?x?xi32>)
// CHECK-SAME: rotary halves(%{{.*}}, %{{.*}} : memref<4096x32xf32>, memref<4096x32xf32>)
// CHECK-SAME: {key_cache_dims = #fa.dims<p, s, h, d>, key_dims = #fa.dims<s, h, d>, value_cache_dims = #fa.dims<p, h, s, d>, value_dims = #fa.dims<s, h, d>}
// CHECK: fa.append
// CHECK-SAME: rotary interleaved(
func.func @everything(%k: !new, %keys: !pool, %values: !heads_first, %starts: memref<?xi32>, %lengths: memref<?xi32>,
                      %table: memref<?x?xi32>, %cos: !angles, %sin: !angles) {
  fa.append ins(%k, %k : !new, !new) outs(%keys, %values : !pool, !heads_first) key_lengths(%lengths : memref<?xi32>)
      new_lengths(%lengths : memref<?xi32>) key_starts(%starts : memref<?xi32>) key_pages(%table : memref<?x?xi32>)
      rotary halves(%cos, %sin : !angles, !angles)
      {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, key_cache_dims = #fa.dims<p, s, h, d>,
       value_cache_dims = #fa.dims<p, h, s, d>}
  fa.append ins(%k, %k : !new, !new) outs(%keys, %values : !pool, !heads_first) key_lengths(%lengths : memref<?xi32>)
      key_starts(%starts : memref<?xi32>) key_pages(%table : memref<?x?xi32>)
      rotary interleaved(%cos, %sin : !angles, !angles)
      {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, key_cache_dims = #fa.dims<p, s, h, d>,
       value_cache_dims = #fa.dims<p, h, s, d>}
  return
}
