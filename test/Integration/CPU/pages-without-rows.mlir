// A pool whose pages have no rows at run time holds no keys: results are 0, and nothing is divided by 0.
// RUN: fa-run %s --target=cpu --verify --input=1x4x8x64xf16 --input=3x0x2x64xf16 --input=1xi32=[0] --input=1x2xi32=[0,1] --input=1x4x8x64xf16 | FileCheck %s
// CHECK: argument 4: 1x4x8x64xf16 {{.*}}: ok
func.func @main(%q: memref<?x4x8x64xf16>, %k: memref<?x?x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %o: memref<?x4x8x64xf16>) {
  fa.attention ins(%q, %k, %k : memref<?x4x8x64xf16>, memref<?x?x2x64xf16>, memref<?x?x2x64xf16>) outs(%o : memref<?x4x8x64xf16>)
      key_lengths(%lengths : memref<?xi32>) key_pages(%table : memref<?x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}
