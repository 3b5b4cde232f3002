// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" -split-input-file -verify-diagnostics

func.func @elements(%m: memref<64xi8>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    scf.parallel (%i) = (%c0) to (%end) step (%c1) {
      // expected-error @below {{'vector.load' op moves 'vector<8xi8>' in a kernel, expected elements of f16, bf16 or f32}}
      %x = vector.load %m[%i] : memref<64xi8>, vector<8xi8>
      scf.reduce
    }
  }
  return
}

// -----

func.func @size(%m: memref<64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    scf.parallel (%i) = (%c0) to (%end) step (%c1) {
      // expected-error @below {{'vector.load' op moves 'vector<3xf32>' in a kernel, expected one dimension of a power of two; the nearest is vector<2x'f32'>}}
      %x = vector.load %m[%i] : memref<64xf32>, vector<3xf32>
      scf.reduce
    }
  }
  return
}

// -----

func.func @outside(%m: memref<64xf32>, %n: i32) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'vector.load' op stands outside of scf.parallel, where all threads of a group would do the same; expected it in one}}
    %x = vector.load %m[%c0] : memref<64xf32>, vector<4xf32>
  }
  return
}
