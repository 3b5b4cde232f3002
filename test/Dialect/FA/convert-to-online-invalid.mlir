// RUN: fa-opt %s -fa-convert-to-online -split-input-file -verify-diagnostics

func.func @heads(%q: memref<1x8x4x64xf32>) {
  // expected-error @below {{'fa.attention' op query has 4 heads, expected 1: tile it first, with fa-tile}}
  fa.attention ins(%q, %q, %q : memref<1x8x4x64xf32>, memref<1x8x4x64xf32>, memref<1x8x4x64xf32>)
      outs(%q : memref<1x8x4x64xf32>)
  return
}

// -----

func.func @batches(%q: memref<?x8x1x64xf32>) {
  // expected-error @below {{'fa.attention' op query has ? batches, expected 1: tile it first, with fa-tile}}
  fa.attention ins(%q, %q, %q : memref<?x8x1x64xf32>, memref<?x8x1x64xf32>, memref<?x8x1x64xf32>)
      outs(%q : memref<?x8x1x64xf32>)
  return
}

// -----

func.func @rows(%q: memref<1x?x1x64xf32>) {
  // expected-error @below {{'fa.attention' op query may have more rows than the query_block 64 of its config: tile it first, with fa-tile}}
  fa.attention ins(%q, %q, %q : memref<1x?x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>)
      outs(%q : memref<1x?x1x64xf32>) {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

func.func @splits(%q: memref<1x8x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config has key_splits 4, expected 1: split the keys first, with fa-split-kv}}
  fa.attention ins(%q, %q, %q : memref<1x8x1x64xf32>, memref<1x8x1x64xf32>, memref<1x8x1x64xf32>)
      outs(%q : memref<1x8x1x64xf32>) {config = #fa.config<query_block = 64, key_block = 128, key_splits = 4>}
  return
}
