// RUN: fa-opt %s -fa-specialize-mask -split-input-file -verify-diagnostics

func.func @no_config(%q: memref<1x64x1x64xf32>, %a: tensor<64x64xf32>, %m: tensor<64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{'fa.online_attention' op has no config, expected one that names key_block (fa-select-config sets it)}}
  %r:3 = fa.online_attention ins(%q, %q, %q : memref<1x64x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32>)
      outs(%a, %m, %m : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
  return %r#0 : tensor<64x64xf32>
}

// -----

func.func @state_in_memory(%q: memref<1x64x1x64xf32>, %a: memref<64x64xf32>, %m: memref<64xf32>) {
  // expected-error @below {{'fa.online_attention' op has its state in memory, expected tensors}}
  fa.online_attention ins(%q, %q, %q : memref<1x64x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32>)
      outs(%a, %m, %m : memref<64x64xf32>, memref<64xf32>, memref<64xf32>)
      {config = #fa.config<query_block = 64, key_block = 128>}
  return
}
