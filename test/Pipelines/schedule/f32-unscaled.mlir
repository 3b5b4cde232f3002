// Scores of f32 to which a bias is added and nothing else is done: the products
// of keys, whose stages values come to next, take it as what they add to.
// DEFINE: %{inputs} = --input=1x70x2x64xf32 --input=1x150x2x64xf32 --input=1x150x2x64xf32 --input=1x70x2x64xf32
// RUN: fa-run %s --entry=table --target=interpret --chip=sm_80 --verify %{inputs} --input=1x2x70x150xf32 | FileCheck %s
// RUN: fa-run %s --entry=table --target=interpret --chip=sm_90a --verify %{inputs} --input=1x2x70x150xf32 | FileCheck %s
// RUN: fa-run %s --entry=number --target=interpret --chip=sm_80 --verify %{inputs} --input=f32=0.5 | FileCheck %s
// CHECK: bound 2.0e-06 (relative): ok
// CHECK: verified all rows

!mem = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
func.func @table(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %table: memref<1x?x?x?xf32>) {
  %one = arith.constant 1.0 : f32
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) scale(%one)
    score bias(%table : memref<1x?x?x?xf32>)
  return
}
func.func @number(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %bias: f32) {
  %one = arith.constant 1.0 : f32
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) scale(%one)
    score(%s, %b, %h, %i, %j) captures(%c = %bias : f32) {
      %sum = arith.addf %s, %c : f32
      fa.yield %sum : f32
    }
  return
}
