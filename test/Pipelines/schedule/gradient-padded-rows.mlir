// 128 queries are whole blocks of the 32 rows whose numbers are prepared at once, but their numbers lie in blocks of 96, of
// queries and keys together: what is prepared behind the last row reads none.
// RUN: fa-run %s --entry=main --target=interpret --chip=sm_80 --seed=3 | FileCheck %s
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=BLOCKS
// CHECK: result 0: 128x1x2x24xf32
// BLOCKS-LABEL: func.func @main_rows
// BLOCKS: fagpu.channel cp_async : <32x64xbf16
// BLOCKS: memref<2x1x192xf32>

func.func @main(%query: tensor<128x2x1x24xbf16>, %key: tensor<1x2x68x24xbf16>, %value: tensor<1x2x68x128xbf16>, %output: tensor<128x1x2x128xbf16>, %output_gradient: tensor<1x2x128x128xbf16>, %lse: tensor<2x1x128xf32>, %delta: tensor<2x1x128xf32>, %dlse: tensor<2x1x128xf32>, %scale: f32, %capture: tensor<195xbf16>, %sinks: f32, %out0: tensor<128x1x2x24xf32>, %out1: tensor<1x2x68x24xf32>, %out2: tensor<68x2x1x128xf32>, %out3: tensor<195xf32>, %query_lengths: tensor<2xi32>, %key_lengths: tensor<2xi32>) -> (tensor<128x1x2x24xf32>, tensor<1x2x68x24xf32>, tensor<68x2x1x128xf32>, tensor<195xf32>) {
  %r:4 = fa.attention_gradient ins(%query, %key, %value : tensor<128x2x1x24xbf16>, tensor<1x2x68x24xbf16>, tensor<1x2x68x128xbf16>)
    of(%output, %lse : tensor<128x1x2x128xbf16>, tensor<2x1x128xf32>) gradients(%output_gradient : tensor<1x2x128x128xbf16>)
    outs(query = %out0 : tensor<128x1x2x24xf32>, key = %out1 : tensor<1x2x68x24xf32>, value = %out2 : tensor<68x2x1x128xf32>, capture[0] = %out3 : tensor<195xf32>)
    scale(%scale) score(%s, %b, %h, %i, %j) captures(%t = %capture : tensor<195xbf16>) {
 %c127 = arith.constant 127 : index
 %after = arith.addi %j, %c127 : index
 %d = arith.subi %after, %i : index
 %w = tensor.extract %t[%d] : tensor<195xbf16>
 %wf = arith.extf %w : bf16 to f32
 %scaled = arith.mulf %s, %wf : f32
 %x = arith.addf %s, %scaled : f32
 fa.yield %x : f32
 } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
 %c127 = arith.constant 127 : index
 %after = arith.addi %j, %c127 : index
 %d = arith.subi %after, %i : index
 %w = tensor.extract %t[%d] : tensor<195xbf16>
 %wf = arith.extf %w : bf16 to f32
 %scaled = arith.mulf %dx, %wf : f32
 %ds = arith.addf %dx, %scaled : f32
 %dt = arith.mulf %dx, %s : f32
 fa.scatter_gradient %dt to %t[%d] : f32, tensor<195xbf16>
 fa.yield %ds : f32
 }  {query_dims = #fa.dims<s, b, h, d>, key_dims = #fa.dims<h, b, s, d>, value_dims = #fa.dims<h, b, s, d>, output_dims = #fa.dims<s, h, b, d>, output_gradient_dims = #fa.dims<h, b, s, d>, config = #fa.config<query_block = 64, key_block = 16, gradient_form = three_pass, deterministic = false>, query_gradient_dims = #fa.dims<s, h, b, d>, key_gradient_dims = #fa.dims<h, b, s, d>, value_gradient_dims = #fa.dims<s, b, h, d>}
  return %r#0, %r#1, %r#2, %r#3 : tensor<128x1x2x24xf32>, tensor<1x2x68x24xf32>, tensor<68x2x1x128xf32>, tensor<195xf32>
}
