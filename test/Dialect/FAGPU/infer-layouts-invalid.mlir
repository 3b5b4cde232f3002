// RUN: fa-opt %s -fagpu-infer-layouts -split-input-file -verify-diagnostics

func.func @ambiguous(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) {
    // expected-error @below {{'tensor.splat' op has a block value 'tensor<64xf32>' of which no use says whether it has rows or columns; expected #fagpu.row<4> or #fagpu.col<4> in the text}}
    %r = tensor.splat %x : tensor<64xf32>
    %w = fagpu.broadcast %r : tensor<64xf32> -> tensor<64x64xf32>
  }
  return
}

// -----

func.func @both(%m: memref<?xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math(%g) groups(1) {
    %i = fagpu.iota 0 : tensor<64xi32>
    %r = fagpu.gather %m[%i] : memref<?xi32>[tensor<64xi32>] -> tensor<64xi32>
    %rows = fagpu.broadcast %r : tensor<64xi32> -> tensor<64x128xi32>
    // expected-error @below {{'fagpu.broadcast' op joins block values of layout #fagpu.row<4> and #fagpu.col<4>; one needs a 'fagpu.convert'}}
    %columns = fagpu.broadcast %r : tensor<64xi32> -> tensor<128x64xi32>
  }
  return
}

// -----

func.func @shape(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) {
    // expected-error @below {{'tensor.splat' op layout #fagpu.acc<4> holds a shape of rank 2 of multiples of 64 x 8, got 32x64; nearest is 64x64}}
    %s = tensor.splat %x : tensor<32x64xf32>
  }
  return
}

// -----

func.func @rank(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) {
    // expected-error @below {{'tensor.splat' op has a block value 'tensor<2x64x64xf32>', expected rank 1 or 2}}
    %s = tensor.splat %x : tensor<2x64x64xf32>
  }
  return
}

// -----

func.func @outside(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %s = tensor.splat %x : tensor<64x64xf32>
  %t = arith.addf %s, %s : tensor<64x64xf32>
  fagpu.role @math(%g) groups(1) {
    // expected-error @below {{'arith.mulf' op uses a block value from outside of its role; its layout depends on the role}}
    %u = arith.mulf %t, %t : tensor<64x64xf32>
  }
  return
}
