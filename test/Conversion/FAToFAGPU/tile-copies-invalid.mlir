// RUN: fa-opt %s -fa-tile-copies -split-input-file -verify-diagnostics

func.func @elements(%a: memref<8x64xi32>, %b: memref<8x64xi32>) {
  // expected-error @below {{'linalg.copy' op copies 'memref<8x64xi32>', expected memory of f16, bf16 or f32 to write it in a kernel}}
  linalg.copy ins(%a : memref<8x64xi32>) outs(%b : memref<8x64xi32>)
  return
}

// -----

func.func @types(%a: memref<8x64xf16>, %b: memref<8x64xf32>) {
  // expected-error @below {{'linalg.copy' op copies 'memref<8x64xf16>' to 'memref<8x64xf32>', expected the same elements, or f32}}
  linalg.copy ins(%a : memref<8x64xf16>) outs(%b : memref<8x64xf32>)
  return
}

// -----

func.func @filled_elements(%number: i32, %b: memref<8x64xi32>) {
  // expected-error @below {{'linalg.fill' op fills 'memref<8x64xi32>', expected memory of f16, bf16 or f32 to write it in a kernel}}
  linalg.fill ins(%number : i32) outs(%b : memref<8x64xi32>)
  return
}

// -----

!t = memref<8x64xf16, strided<[200, 2]>>
func.func @steps(%a: !t, %b: !t) {
  // expected-error @below {{'linalg.copy' op writes 'memref<8x64xf16, strided<[200, 2]>>', expected a dimension of stride 1, or elements of f32, to write it in a kernel}}
  linalg.copy ins(%a : !t) outs(%b : !t)
  return
}

// -----

func.func @filled_steps(%number: bf16, %b: memref<?xbf16, strided<[?]>>) {
  // expected-error @below {{'linalg.fill' op writes 'memref<?xbf16, strided<[?]>>', expected a dimension of stride 1, or elements of f32, to write it in a kernel}}
  linalg.fill ins(%number : bf16) outs(%b : memref<?xbf16, strided<[?]>>)
  return
}

// -----

func.func @sums_of_anything(%to: memref<4xf32>) {
  %parts = fagpu.workspace() : memref<8x4xf32>
  // expected-error @below {{'linalg.generic' op adds parts of 'memref<8x4xf32>' to 'memref<4xf32>', expected memory of the device, and sums that a 'linalg.fill' ahead sets to 0}}
  linalg.generic {indexing_maps = [affine_map<(k, e) -> (k, e)>, affine_map<(k, e) -> (e)>], iterator_types = ["reduction", "parallel"]}
      ins(%parts : memref<8x4xf32>) outs(%to : memref<4xf32>) {
  ^bb0(%part: f32, %sum: f32):
    %next = arith.addf %sum, %part : f32
    linalg.yield %next : f32
  }
  return
}
