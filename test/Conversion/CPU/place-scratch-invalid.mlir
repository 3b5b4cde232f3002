// RUN: fa-opt %s --fa-place-scratch -split-input-file -verify-diagnostics

func.func @matrix(%n: index) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    // expected-error@+1 {{'memref.alloc' op has a size 1 without a constant bound, expected a block: scratch is allocated for it}}
    %s = memref.alloc(%n) : memref<8x?xf32>
    linalg.fill ins(%zero : f32) outs(%s : memref<8x?xf32>)
  }
  return
}

// -----

func.func @row(%n: index) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'memref.alloc' op has a size 0 without a constant bound}}
  %s = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<?xf32>)
  return
}
