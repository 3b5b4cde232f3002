// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 -split-input-file -verify-diagnostics

func.func @f32(%q: tensor<1x256x1x64xf32>, %k: tensor<1x256x1x64xf32>, %v: tensor<1x256x1x64xf32>) -> tensor<1x256x1x64xf32> {
  %e = tensor.empty() : tensor<1x256x1x64xf32>
  // expected-error @below {{'fa.online_attention' op multiplies 'f32', expected f16 or bf16 on a GPU}}
  %o = fa.attention ins(%q, %k, %v : tensor<1x256x1x64xf32>, tensor<1x256x1x64xf32>, tensor<1x256x1x64xf32>)
      outs(%e : tensor<1x256x1x64xf32>)
  return %o : tensor<1x256x1x64xf32>
}

// -----

func.func @key_block(%q: tensor<1x256x1x64xf16>, %k: tensor<1x256x1x64xf16>, %v: tensor<1x256x1x64xf16>) -> tensor<1x256x1x64xf16> {
  %e = tensor.empty() : tensor<1x256x1x64xf16>
  // expected-error @below {{'fa.online_attention' op goes by blocks of 72 keys, expected a multiple of 16; nearest is 80}}
  %o = fa.attention ins(%q, %k, %v : tensor<1x256x1x64xf16>, tensor<1x256x1x64xf16>, tensor<1x256x1x64xf16>)
      outs(%e : tensor<1x256x1x64xf16>) {config = #fa.config<query_block = 128, key_block = 72>}
  return %o : tensor<1x256x1x64xf16>
}

// -----

!mem = memref<1x256x64x2xf16, strided<[?, ?, 1, ?], offset: ?>>
func.func @order(%q: !mem, %k: !mem, %v: !mem, %o: !mem) {
  // expected-error @below {{'fa.online_attention' op has dimensions in the order #fa.dims<b, s, d, h>, expected the head dim last on a GPU; the nearest is to pass a transposed view}}
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o : !mem)
      {query_dims = #fa.dims<b, s, d, h>, key_dims = #fa.dims<b, s, d, h>, value_dims = #fa.dims<b, s, d, h>, output_dims = #fa.dims<b, s, d, h>}
  return
}
