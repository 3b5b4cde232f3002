// RUN: fa-opt %s --fa-to-cpu | FileCheck %s

// The head dim may stand anywhere, as long as it is contiguous: here the keys
// come as (head dim, batch, sequence, heads).

// CHECK: llvm.func @head_dim_first
func.func @head_dim_first(%query: tensor<2x?x1x16xf32>, %key: tensor<16x2x?x1xf32>, %value: tensor<2x?x1x16xf32>,
                          %init: tensor<2x?x1x16xf32>) -> tensor<2x?x1x16xf32> {
  %output = fa.attention
      ins(%query, %key, %value : tensor<2x?x1x16xf32>, tensor<16x2x?x1xf32>, tensor<2x?x1x16xf32>)
      outs(%init : tensor<2x?x1x16xf32>)
      {key_dims = #fa.dims<d, b, s, h>}
  return %output : tensor<2x?x1x16xf32>
}
