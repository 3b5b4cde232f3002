// RUN: fa-opt %s -fagpu-form-channels -split-input-file -verify-diagnostics

!mem = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
func.func @kernel(%q: !mem, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.fetch' op is padded at the ends of 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>', which only bulk copies do; expected warp_groups}}
    %qt = fagpu.fetch %q[%c0, %c0, %c0, %c0] [1, 64, 1, 64] padded : !mem -> tensor<64x64xf16>
    %x = arith.extf %qt : tensor<64x64xf16> to tensor<64x64xf32>
  }
  return
}

// -----

!pool = memref<?x4x2x64xf16>
func.func @pages(%k: !pool, %table: memref<?x?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.fetch' op reads rows in pages, which only a role that copies for others does; expected warp_groups}}
    %kt = fagpu.fetch %k[%c0, %c0, %c0, %c0] [1, 64, 1, 64] pages(%table : memref<?x?xi32> at 0) rows(%n) : !pool -> tensor<64x64xf16>
    %x = arith.extf %kt : tensor<64x64xf16> to tensor<64x64xf32>
  }
  return
}
