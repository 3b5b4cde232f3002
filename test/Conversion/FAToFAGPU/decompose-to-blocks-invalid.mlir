// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 -split-input-file -verify-diagnostics

func.func @f32(%q: tensor<1x256x1x64xf32>, %k: tensor<1x256x1x64xf32>, %v: tensor<1x256x1x64xf32>) -> tensor<1x256x1x64xf32> {
  %e = tensor.empty() : tensor<1x256x1x64xf32>
  // expected-error @below {{'fa.online_attention' op multiplies 'f32', expected f16 or bf16 on a GPU}}
  %o = fa.attention ins(%q, %k, %v : tensor<1x256x1x64xf32>, tensor<1x256x1x64xf32>, tensor<1x256x1x64xf32>)
      outs(%e : tensor<1x256x1x64xf32>)
  return %o : tensor<1x256x1x64xf32>
}

// -----

func.func @head_dim(%q: tensor<1x256x1x72xf16>, %k: tensor<1x256x1x72xf16>, %v: tensor<1x256x1x72xf16>) -> tensor<1x256x1x72xf16> {
  %e = tensor.empty() : tensor<1x256x1x72xf16>
  // expected-error @below {{'fa.online_attention' op sums over a head dim of 72 and blocks of 64 keys, expected multiples of 16; nearest are 80 and 64}}
  %o = fa.attention ins(%q, %k, %v : tensor<1x256x1x72xf16>, tensor<1x256x1x72xf16>, tensor<1x256x1x72xf16>)
      outs(%e : tensor<1x256x1x72xf16>)
  return %o : tensor<1x256x1x72xf16>
}

// -----

func.func @order(%q: tensor<1x1x256x64xf16>, %k: tensor<1x1x256x64xf16>, %v: tensor<1x1x256x64xf16>) -> tensor<1x1x256x64xf16> {
  %e = tensor.empty() : tensor<1x1x256x64xf16>
  // expected-error @below {{'fa.online_attention' op has dimensions in the order #fa.dims<b, h, s, d>, expected (batch, sequence, heads, head dim)}}
  %o = fa.attention ins(%q, %k, %v : tensor<1x1x256x64xf16>, tensor<1x1x256x64xf16>, tensor<1x1x256x64xf16>)
      outs(%e : tensor<1x1x256x64xf16>)
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
  return %o : tensor<1x1x256x64xf16>
}
