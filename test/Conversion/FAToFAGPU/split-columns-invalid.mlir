// RUN: fa-opt %s -fagpu-split-columns -split-input-file -verify-diagnostics

#config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 32>>>

func.func @reduced(%m: memref<?x?x?x80xf32>, %p: tensor<64x64xf32>)
    attributes {fa.config = #config, fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    %v = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 64, 1, 80] : memref<?x?x?x80xf32> -> tensor<64x80xf32>
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, tensor<64x80xf32> -> tensor<64x80xf32>
    // expected-error @below {{'fagpu.reduce' op has a part of its columns at once, expected only elementwise operations, broadcasts of rows, splats, loops and stores of what products add to}}
    %max = fagpu.reduce max %o : tensor<64x80xf32> -> tensor<64xf32, #fagpu.row<4>>
  }
  return
}

// -----

#config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 32>>>

func.func @made(%p: tensor<64x64xf32>, %v: tensor<64x80xf32>)
    attributes {fa.config = #config, fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.product' op has a part of its columns at once, expected only}}
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, tensor<64x80xf32> -> tensor<64x80xf32>
  }
  return
}
