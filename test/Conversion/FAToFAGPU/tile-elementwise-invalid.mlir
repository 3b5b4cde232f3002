// RUN: fa-opt %s -fa-tile-elementwise -split-input-file -verify-diagnostics

// Each function has a loop over tiles, beside which it is looked at.

func.func @dims(%x: memref<2x2x2x2x8xf32>) {
  scf.forall (%tile) in (1) {
  }
  // expected-error @below {{'linalg.generic' op computes elements of 5 dimensions, expected 1 to 4 to compute them in a kernel; the nearest is to collapse two}}
  linalg.exp ins(%x : memref<2x2x2x2x8xf32>) outs(%x : memref<2x2x2x2x8xf32>)
  return
}

// -----

func.func @elements(%x: memref<8x64xi32>) {
  scf.forall (%tile) in (1) {
  }
  // expected-error @below {{'linalg.generic' op computes 'memref<8x64xi32>', expected f16, bf16 or f32 to compute it in a kernel}}
  linalg.add ins(%x, %x : memref<8x64xi32>, memref<8x64xi32>) outs(%x : memref<8x64xi32>)
  return
}

// -----

!t = memref<8x64xf32, strided<[200, 2]>>
func.func @steps(%x: !t) {
  scf.forall (%tile) in (1) {
  }
  // expected-error @below {{'linalg.generic' op computes 'memref<8x64xf32, strided<[200, 2]>>', expected a dimension of stride 1, of all results the same, to compute it in a kernel; the nearest has the last one}}
  linalg.exp ins(%x : !t) outs(%x : !t)
  return
}

// -----

func.func @order(%x: memref<8x64xf32>) {
  scf.forall (%tile) in (1) {
  }
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
  scf.forall (%tile) in (1) {
  }
  // expected-error @below {{'linalg.generic' op reads operand 0 at d0 + d1, expected dimensions alone to read it in a kernel}}
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r + c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<72xf32>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @effects(%x: memref<8x64xf32>, %y: memref<f32>) {
  scf.forall (%tile) in (1) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} outs(%x : memref<8x64xf32>) {
  ^bb0(%a: f32):
    // expected-error @below {{'memref.store' op is in the body of 'linalg.generic', expected operations of one result and without effects, and loads, to compute it in a kernel}}
    memref.store %a, %y[] : memref<f32>
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @divided(%x: memref<8x64xi32>, %y: memref<8x64xf32>) {
  scf.forall (%tile) in (1) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x64xi32>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: i32, %b: f32):
    %one = arith.constant 100 : i32
    // expected-error @below {{'arith.divsi' op divides by a number known at run time in the body of 'linalg.generic', expected a constant to compute it in a kernel; the nearest is 'arith.floordivsi'}}
    %q = arith.divsi %one, %a : i32
    %z = arith.sitofp %q : i32 to f32
    linalg.yield %z : f32
  }
  return
}

// -----

func.func @bits(%x: memref<8x64xbf16>, %y: memref<8x64xf32>) {
  scf.forall (%tile) in (1) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x64xbf16>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: bf16, %b: f32):
    // expected-error @below {{'arith.bitcast' op casts 'bf16' to 'i16' in the body of 'linalg.generic', expected 32 bits in a kernel}}
    %n = arith.bitcast %a : bf16 to i16
    linalg.yield %b : f32
  }
  return
}

// -----

func.func @short_integers(%x: memref<8x64xi16>, %y: memref<8x64xf32>) {
  scf.forall (%tile) in (1) {
  }
  // expected-error @below {{'linalg.generic' op reads operand 0 of 'i16', expected i1, i8, i32, i64, f16, bf16, f32 or f64 to read it in a kernel}}
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x64xi16>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: i16, %b: f32):
    linalg.yield %b : f32
  }
  return
}

// -----

func.func @short_floats(%x: memref<8x64xf32>, %y: memref<8x64xf32>) {
  scf.forall (%tile) in (1) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x64xf32>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    // expected-error @below {{'arith.truncf' op computes with 'f8E4M3FN' in the body of 'linalg.generic', expected index, i1, i8, i32, i64, f16, bf16, f32 or f64 in a kernel}}
    %n = arith.truncf %a : f32 to f8E4M3FN
    linalg.yield %b : f32
  }
  return
}

// -----

func.func @rounded(%x: memref<8x64xf64>, %y: memref<8x64xf32>) {
  scf.forall (%tile) in (1) {
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x64xf64>) outs(%y : memref<8x64xf32>) {
  ^bb0(%a: f64, %b: f32):
    %n = arith.truncf %a : f64 to f32
    // expected-error @below {{'arith.truncf' op rounds 'f64' to 'bf16' in the body of 'linalg.generic', expected f32 in a kernel}}
    %m = arith.truncf %a : f64 to bf16
    linalg.yield %n : f32
  }
  return
}
