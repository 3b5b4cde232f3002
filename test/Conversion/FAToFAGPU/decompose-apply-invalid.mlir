// RUN: fa-opt %s -fa-decompose-to-blocks -split-input-file -verify-diagnostics

func.func @kernel(%y: memref<64x64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'fa.apply' op stands outside of the roles of a kernel}}
  %x = fa.apply offsets(%c0, %c0, %c0, %c0) extents(%c0, %c0) pairs(%b, %h, %i, %j) {
    %one = arith.constant 1.0 : f32
    fa.yield %one : f32
  } -> tensor<64x64xf32>
  return
}

// -----

func.func @two_results(%y: memref<64x64xf32>, %c: index) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fa.apply' op has 2 results, the first of 'tensor<64x64xf32>', expected one of static shape}}
    %t:2 = fa.apply offsets(%c, %c, %c, %c) extents(%c, %c) pairs(%b, %h, %i, %j) {
      %one = arith.constant 1.0 : f32
      fa.yield %one, %one : f32, f32
    } -> (tensor<64x64xf32>, tensor<64x64xf32>)
  }
  return
}
