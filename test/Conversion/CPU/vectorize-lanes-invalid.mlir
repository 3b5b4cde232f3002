// RUN: fa-opt %s --fa-vectorize-lanes -split-input-file -verify-diagnostics
// RUN: not fa-opt %s --fa-vectorize-lanes=lanes=0 2>&1 | FileCheck %s

// CHECK: error: lanes, register-rows and register-vectors are 0, 6 and 2, expected at least 1

func.func @tensors(%a: tensor<4xf32>, %zero: f32) -> tensor<4xf32> {
  // expected-error@+1 {{has tensor operands, expected memrefs: bufferize before vectorizing}}
  %r = linalg.fill ins(%zero : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @sum_of_loops(%a: memref<9xf32>, %b: memref<4x6xf32>) {
  // expected-error@+1 {{is indexed by affine_map<(d0, d1) -> (d0 + d1)>, expected loops and constants alone}}
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<9xf32>) outs(%b : memref<4x6xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
  }
  return
}
