// RUN: fa-opt %s -fa-split-kv -split-input-file -verify-diagnostics

func.func @order(%q: memref<1x4x2x8xf32>, %o: memref<8x1x4x2xf32, strided<[1, 64, 16, 8]>>) {
  // expected-error @below {{'fa.attention' op output has its head dim at position 0, expected 3 to split the keys on memrefs: partial results are contiguous}}
  fa.attention ins(%q, %q, %q : memref<1x4x2x8xf32>, memref<1x4x2x8xf32>, memref<1x4x2x8xf32>)
      outs(%o : memref<8x1x4x2xf32, strided<[1, 64, 16, 8]>>)
      {output_dims = #fa.dims<d, b, s, h>, config = #fa.config<query_block = 16, key_block = 128, key_splits = 2>}
  return
}

// -----

func.func @longer(%q: memref<1x?x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config has a longer one from 4096 keys on, expected one for all lengths: choose by the keys first, with fa-version-lengths}}
  fa.attention ins(%q, %q, %q : memref<1x?x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>) outs(%q : memref<1x?x1x64xf32>)
      {config = #fa.config<query_block = 64, key_block = 128, key_splits = 2, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 4096>>}
  return
}
