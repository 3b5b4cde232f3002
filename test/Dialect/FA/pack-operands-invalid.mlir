// RUN: fa-opt %s --fa-pack-operands -split-input-file -verify-diagnostics

func.func @tensors(%q: tensor<1x4x1x16xf32>, %acc: tensor<4x16xf32>, %row: tensor<4xf32>) -> tensor<4x16xf32> {
  // expected-error@+1 {{has tensor operands, expected memrefs: bufferize before packing}}
  %a, %m, %s = fa.online_attention
      ins(%q, %q, %q : tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>)
      outs(%acc, %row, %row : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
  return %a : tensor<4x16xf32>
}

// -----

func.func @unbounded(%q: memref<1x4x1x16xf32>, %k: memref<1x?x1x16xf32>, %acc: memref<4x16xf32>, %row: memref<4xf32>) {
  // expected-error@+1 {{has a number of keys without a constant bound, expected a block of keys}}
  fa.online_attention ins(%q, %k, %k : memref<1x4x1x16xf32>, memref<1x?x1x16xf32>, memref<1x?x1x16xf32>)
      outs(%acc, %row, %row : memref<4x16xf32>, memref<4xf32>, memref<4xf32>)
  return
}

// -----

func.func @dynamic_state(%q: memref<1x4x1x16xf32>, %acc: memref<?x16xf32>, %row: memref<?xf32>) {
  // expected-error@+1 {{has a state with a dynamic number of rows, expected a static one}}
  fa.online_attention ins(%q, %q, %q : memref<1x4x1x16xf32>, memref<1x4x1x16xf32>, memref<1x4x1x16xf32>)
      outs(%acc, %row, %row : memref<?x16xf32>, memref<?xf32>, memref<?xf32>)
  return
}
