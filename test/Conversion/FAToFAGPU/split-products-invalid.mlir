// RUN: fa-opt %s -fagpu-split-products -split-input-file -verify-diagnostics

func.func @rows(%p: tensor<64x48xf32>, %v: tensor<48x64xf32>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.product' op multiplies by an f32 operand of 48 rows, expected a multiple of 64, 16 for each of 4 warps; nearest is 64}}
    %o = fagpu.product nn %p, %v : tensor<64x48xf32>, tensor<48x64xf32> -> tensor<64x64xf32>
  }
  return
}

// -----

func.func @box(%p: tensor<64x64xf32>, %m: memref<?x?x?x64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.fetch' op reads 8 of dimension 1 and 8 of dimension 2 in f32, expected rows in one dimension}}
    %v = fagpu.fetch %m[%c0, %c0, %c0, %c0] [1, 8, 8, 64] : memref<?x?x?x64xf32> -> tensor<64x64xf32>
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  }
  return
}

// -----

!view = !fagpu.view<64x64xf32, #fagpu.smem<128>>
!channel = !fagpu.channel<64x64xf32, #fagpu.smem<128>, 1>
func.func @view(%p: tensor<64x64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c = fagpu.channel cp_async : !channel
  fagpu.role @compute groups(1) {
    %v = fagpu.acquire %c : !channel
    // expected-error @below {{'fagpu.product' op multiplies f32 of '!fagpu.view<64x64xf32, #fagpu.smem<128>>', expected a block value, which threads split into terms}}
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, !view -> tensor<64x64xf32>
    fagpu.release %v : !view
  }
  return
}

// -----

// What only bulk copies do.
func.func @pages(%p: tensor<64x64xf32>, %m: memref<?x?x64xf32>, %table: memref<?x?xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.fetch' op has 'pages(...)' and elements of f32, which threads load one by one and split; expected f16 or bf16, which bulk copies bring}}
    %v = fagpu.fetch %m[%c0, %c0, %c0] [1, 64, 64] pages(%table : memref<?x?xi32> at 0) rows(%c0) : memref<?x?x64xf32> -> tensor<64x64xf32>
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  }
  return
}

// -----

func.func @padded(%p: tensor<64x64xf32>, %m: memref<?x?x64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.fetch' op has 'padded' and elements of f32}}
    %v = fagpu.fetch %m[%c0, %c0, %c0] [1, 64, 64] padded : memref<?x?x64xf32> -> tensor<64x64xf32>
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  }
  return
}

// -----

func.func @nan(%p: tensor<64x64xf32>, %m: memref<?x?x64xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.fetch' op has 'fagpu.nan' and elements of f32}}
    %v = fagpu.fetch %m[%c0, %c0, %c0] [1, 64, 64] rows(%n) {fagpu.nan} : memref<?x?x64xf32> -> tensor<64x64xf32>
    %o = fagpu.product nn %p, %v : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  }
  return
}
