// RUN: fa-opt %s --fa-decompose-step -split-input-file -verify-diagnostics

func.func @batches(%o: memref<2x4x1x16xf32>, %l: memref<2x1x4xf32>) {
  // expected-error@+1 {{'fa.combine' op has 2 batches, expected 1: tile before decomposing (fa-tile)}}
  fa.combine a(%o, %l : memref<2x4x1x16xf32>, memref<2x1x4xf32>) b(%o, %l : memref<2x4x1x16xf32>, memref<2x1x4xf32>)
      outs(%o : memref<2x4x1x16xf32>)
  return
}

// -----

func.func @heads(%o: memref<1x4x?x16xf32>, %l: memref<1x?x4xf32>) {
  // expected-error@+1 {{'fa.combine' op has ? heads, expected 1: tile before decomposing (fa-tile)}}
  fa.combine a(%o, %l : memref<1x4x?x16xf32>, memref<1x?x4xf32>) b(%o, %l : memref<1x4x?x16xf32>, memref<1x?x4xf32>)
      outs(%o : memref<1x4x?x16xf32>)
  return
}
