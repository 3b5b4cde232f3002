// RUN: fa-opt %s -fagpu-share-operands -split-input-file -verify-diagnostics

#config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>
func.func @columns(%x: tensor<64x48xf32>, %q: tensor<64x48xbf16>) attributes {
    fagpu.kernel = "sm_90a", fa.config = #config} {
  fagpu.role @math(%g) groups(2) {
    // expected-error @below {{2 groups share a computed operand of 64 rows and 48 columns, expected a multiple of 128 rows or of 32 columns}}
    %k = arith.truncf %x : tensor<64x48xf32> to tensor<64x48xbf16>
    %s = fagpu.product nt %q, %k : tensor<64x48xbf16>, tensor<64x48xbf16> -> tensor<64x64xf32>
  }
  return
}

// -----

#config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>
func.func @carried(%x: tensor<64x128xf32>, %q: tensor<64x128xbf16>) attributes {
    fagpu.kernel = "sm_90a", fa.config = #config} {
  fagpu.role @math(%g) groups(2) {
    // expected-error @below {{several groups share an operand that is not made by elementwise operations alone, so none of them can make a part of it}}
    %k = arith.truncf %x : tensor<64x128xf32> to tensor<64x128xbf16>
    %s = fagpu.product nt %q, %k : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<64x64xf32>
  }
  return
}
