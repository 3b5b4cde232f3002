// RUN: fa-opt %s -fa-tile -split-input-file -verify-diagnostics
// RUN: not fa-opt %s -fa-tile=combine-rows=0 -split-input-file 2>&1 | FileCheck %s

// CHECK: error: combine-rows is 0, expected at least 1

func.func @no_config(%q: memref<1x8x1x64xf32>) {
  // expected-error @below {{'fa.attention' op has no config, expected one that gives the query block; fa-select-config sets it}}
  fa.attention ins(%q, %q, %q : memref<1x8x1x64xf32>, memref<1x8x1x64xf32>, memref<1x8x1x64xf32>)
      outs(%q : memref<1x8x1x64xf32>)
  return
}

// -----

func.func @splits(%q: memref<1x8x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config has key_splits 4, expected 1: split the keys first, with fa-split-kv}}
  fa.attention ins(%q, %q, %q : memref<1x8x1x64xf32>, memref<1x8x1x64xf32>, memref<1x8x1x64xf32>)
      outs(%q : memref<1x8x1x64xf32>) {config = #fa.config<query_block = 64, key_block = 128, key_splits = 4>}
  return
}

// -----

func.func @parts(%q: tensor<1x8x1x64xf32>) -> tensor<1x8x1x64xf32> {
  // expected-error @below {{'fa.attention' op config has split_keys = 256, expected none: split the keys first, with fa-split-keys, which takes whole problems on memrefs}}
  %r = fa.attention ins(%q, %q, %q : tensor<1x8x1x64xf32>, tensor<1x8x1x64xf32>, tensor<1x8x1x64xf32>)
      outs(%q : tensor<1x8x1x64xf32>) {config = #fa.config<query_block = 64, key_block = 128, split_keys = 256>}
  return %r : tensor<1x8x1x64xf32>
}

// -----

func.func @longer(%q: memref<1x?x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config has a longer one from 4096 keys on, expected one for all lengths: choose by the keys first, with fa-version-lengths}}
  fa.attention ins(%q, %q, %q : memref<1x?x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>) outs(%q : memref<1x?x1x64xf32>)
      {config = #fa.config<query_block = 64, key_block = 128, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 4096>>}
  return
}
