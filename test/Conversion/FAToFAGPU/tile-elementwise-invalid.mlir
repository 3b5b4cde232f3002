// RUN: fa-opt %s -fa-tile-elementwise -split-input-file -verify-diagnostics

func.func @dims(%x: memref<2x2x2x2x8xf32>) {
  // expected-error @below {{'linalg.generic' op computes elements of 5 dimensions, expected 1 to 4 to compute them in a kernel}}
  linalg.exp ins(%x : memref<2x2x2x2x8xf32>) outs(%x : memref<2x2x2x2x8xf32>)
  return
}

// -----

func.func @elements(%x: memref<8x64xi32>) {
  // expected-error @below {{'linalg.generic' op computes 'memref<8x64xi32>', expected f16, bf16 or f32 to compute it in a kernel}}
  linalg.add ins(%x, %x : memref<8x64xi32>, memref<8x64xi32>) outs(%x : memref<8x64xi32>)
  return
}

// -----

!t = memref<8x64xf32, strided<[200, 2]>>
func.func @steps(%x: !t) {
  // expected-error @below {{'linalg.generic' op computes 'memref<8x64xf32, strided<[200, 2]>>', expected a dimension of stride 1, of all results the same, to compute it in a kernel}}
  linalg.exp ins(%x : !t) outs(%x : !t)
  return
}

// -----

func.func @order(%x: memref<8x64xf32>) {
  // expected-error @below {{'linalg.generic' op computes 'memref<8x64xf32>', expected an element for each iteration, in their order, to compute it in a kernel}}
  linalg.generic {indexing_maps = [affine_map<(c, r) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      outs(%x : memref<8x64xf32>) {
  ^bb0(%a: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @shifted(%x: memref<72xf32>, %y: memref<8x64xf32>) {
  // expected-error @below {{'linalg.generic' op reads an operand at d0 + d1, expected dimensions alone to read it in a kernel}}
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r + c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<72xf32>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @effects(%x: memref<8x64xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} outs(%x : memref<8x64xf32>) {
  ^bb0(%a: f32):
    // expected-error @below {{'memref.store' op is in the body of 'linalg.generic', expected operations of one result and without effects, and loads, to compute it in a kernel}}
    memref.store %a, %y[] : memref<f32>
    linalg.yield %a : f32
  }
  return
}
