// DEFINE: %{few} = --input=2x4x1x16xf32 --input=4x2x1x16xf32 --input=4x2x1x16xf32 --input=2xi32=[4,4] --input=2x2xi32=[0,4,3,2]
// DEFINE: %{whole} = --input=2x4x1x16xf32 --input=4x2x1x16xf32 --input=4x2x1x16xf32 --input=2xi32=[4,4] --input=2x2xi32=[0,1,3,2]
// DEFINE: %{many} = --input=2x128x2x64xbf16 --input=5x64x2x64xbf16 --input=5x64x2x64xbf16 --input=2xi32=[192,150] --input=2x3xi32=[0,2,-1,1,3,4]

// RUN: fa-run %s --entry=few --target=reference %{few} | FileCheck %s --check-prefix=FEW
// RUN: fa-run %s --entry=few --target=cpu --verify %{few} | FileCheck %s
// RUN: fa-run %s --entry=few --target=cpu --verify %{whole} | FileCheck %s
// RUN: fa-run %s --entry=many --target=cpu --verify %{many} | FileCheck %s
// RUN: fa-run %s --entry=many --target=interpret --chip=sm_90a --verify %{many} | FileCheck %s
// RUN: fa-run %s --entry=many --target=interpret --chip=sm_80 --verify %{many} | FileCheck %s

// The second page of the first sequence is none. Rows that see a key of it are NaN; others have their result, or are NaN too.
// FEW: result 1: 2x1x4xf32 = [{{[-0-9.]+}}, {{[-0-9.]+}}, nan, nan, {{[-0-9.]+}}, {{[-0-9.]+}}, {{[-0-9.]+}}, {{[-0-9.]+}}]
// CHECK-COUNT-2: ok
// CHECK: verified all rows

#pages = #fa.dims<p, s, h, d>
!q = tensor<2x4x1x16xf32>
!k = tensor<4x2x1x16xf32>
!l = tensor<2x1x4xf32>
func.func @few(%q: !q, %k: !k, %v: !k, %lengths: tensor<2xi32>, %table: tensor<2x2xi32>) -> (!q, !l) {
  %o0 = tensor.empty() : !q
  %l0 = tensor.empty() : !l
  %o, %l = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o0, %l0 : !q, !l)
      key_lengths(%lengths : tensor<2xi32>) key_pages(%table : tensor<2x2xi32>) mask causal {key_dims = #pages, value_dims = #pages}
  return %o, %l : !q, !l
}

!mq = tensor<2x128x2x64xbf16>
!mk = tensor<5x64x2x64xbf16>
!ml = tensor<2x2x128xf32>
func.func @many(%q: !mq, %k: !mk, %v: !mk, %lengths: tensor<2xi32>, %table: tensor<2x3xi32>) -> (!mq, !ml) {
  %o0 = tensor.empty() : !mq
  %l0 = tensor.empty() : !ml
  %o, %l = fa.attention ins(%q, %k, %v : !mq, !mk, !mk) outs(%o0, %l0 : !mq, !ml)
      key_lengths(%lengths : tensor<2xi32>) key_pages(%table : tensor<2x3xi32>) mask causal {key_dims = #pages, value_dims = #pages}
  return %o, %l : !mq, !ml
}
