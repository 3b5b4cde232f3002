// RUN: fa-opt %s --fa-scatter-to-loops --verify-diagnostics

func.func @tensor(%x: tensor<8x4xf32>, %total: memref<f32>, %b: index) {
  // expected-error @below {{reads a value of type 'tensor<8x4xf32>', expected memory: bufferize it first}}
  fa.scatter_add %x : tensor<8x4xf32> to %total : memref<f32> offsets(%b, %b, %b, %b) extents(%b, %b)
      pairs(%batch, %head, %query, %key) {
    fa.yield
  }
  return
}
