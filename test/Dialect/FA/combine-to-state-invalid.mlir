// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-combine-to-state

func.func @half(%a: memref<1x16x1x64xf16>, %l: memref<1x1x16xf32>, %o: memref<1x16x1x64xf16>) {
  // expected-error@+1 {{merges a result of 'f16', expected f32 on a GPU}}
  fa.combine a(%a, %l : memref<1x16x1x64xf16>, memref<1x1x16xf32>) b(%a, %l : memref<1x16x1x64xf16>, memref<1x1x16xf32>)
      outs(%o : memref<1x16x1x64xf16>)
  return
}

// -----

func.func @lengths(%a: memref<1x16x1x64xf32>, %l: memref<1x1x16xf32>, %lengths: memref<4xi32>, %o: memref<1x16x1x64xf16>) {
  // expected-error@+1 {{has query_lengths, expected none on a GPU; the nearest is to merge all rows}}
  fa.combine a(%a, %l : memref<1x16x1x64xf32>, memref<1x1x16xf32>) b(%a, %l : memref<1x16x1x64xf32>, memref<1x1x16xf32>)
      outs(%o : memref<1x16x1x64xf16>) query_lengths(%lengths : memref<4xi32>)
  return
}

// -----

func.func @order(%a: memref<1x1x16x64xf32>, %l: memref<1x1x16xf32>, %o: memref<1x1x16x64xf16>) {
  // expected-error@+1 {{has dims #fa.dims<b, h, s, d>, expected #fa.dims<b, s, h, d> on a GPU; the nearest is to pass transposed views}}
  fa.combine a(%a, %l : memref<1x1x16x64xf32>, memref<1x1x16xf32>) b(%a, %l : memref<1x1x16x64xf32>, memref<1x1x16xf32>)
      outs(%o : memref<1x1x16x64xf16>) {dims = #fa.dims<b, h, s, d>}
  return
}

// -----

func.func @rows(%a: memref<1x65x1x64xf32>, %l: memref<1x1x65xf32>, %o: memref<1x65x1x64xf16>) {
  // expected-error@+1 {{has 65 rows, expected a tile of at most 64}}
  fa.combine a(%a, %l : memref<1x65x1x64xf32>, memref<1x1x65xf32>) b(%a, %l : memref<1x65x1x64xf32>, memref<1x1x65xf32>)
      outs(%o : memref<1x65x1x64xf16>)
  return
}
