// One query, or one key, beside other dimensions of size 1, the head dim before
// some of them.
// RUN: fa-run %s --entry=one_query --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --entry=one_key --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --entry=one_number --target=cpu --verify | FileCheck %s
// CHECK: bound 2.0e-06 (relative): ok
// CHECK: verified all rows

func.func @one_query(%q: tensor<1x80x1x2xbf16>, %k: tensor<2x5x1x80xbf16>, %o: tensor<2x1x1x80xf32>) -> tensor<2x1x1x80xf32> {
  %r = fa.attention ins(%q, %k, %k : tensor<1x80x1x2xbf16>, tensor<2x5x1x80xbf16>, tensor<2x5x1x80xbf16>)
      outs(%o : tensor<2x1x1x80xf32>) {query_dims = #fa.dims<s, d, h, b>}
  return %r : tensor<2x1x1x80xf32>
}

func.func @one_key(%q: tensor<2x5x2x16xf32>, %k: tensor<1x16x2x2xf32>, %v: tensor<16x1x2x2xf32>, %o: tensor<2x5x2x16xf32>) -> tensor<2x5x2x16xf32> {
  %r = fa.attention ins(%q, %k, %v : tensor<2x5x2x16xf32>, tensor<1x16x2x2xf32>, tensor<16x1x2x2xf32>)
      outs(%o : tensor<2x5x2x16xf32>) {key_dims = #fa.dims<s, d, h, b>, value_dims = #fa.dims<d, s, b, h>}
  return %r : tensor<2x5x2x16xf32>
}

func.func @one_number(%q: tensor<1x1x2x2xbf16>, %k: tensor<2x3x2x1xbf16>, %o: tensor<2x1x2x1xf32>) -> tensor<2x1x2x1xf32> {
  %r = fa.attention ins(%q, %k, %k : tensor<1x1x2x2xbf16>, tensor<2x3x2x1xbf16>, tensor<2x3x2x1xbf16>)
      outs(%o : tensor<2x1x2x1xf32>) {query_dims = #fa.dims<s, d, h, b>}
  return %r : tensor<2x1x2x1xf32>
}
