// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm)" -split-input-file -verify-diagnostics

func.func @elected(%m: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @one elect {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    // expected-error @below {{'scf.parallel' op stands outside of a role of whole warps, expected threads that share it}}
    scf.parallel (%i) = (%c0) to (%end) step (%c1) {
      memref.store %n, %m[%i] : memref<?xi32>
      scf.reduce
    }
  }
  return
}

// -----

func.func @two(%m: memref<?x?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    // expected-error @below {{'scf.parallel' op has 2 dimensions, expected 1 in a kernel}}
    scf.parallel (%i, %j) = (%c0, %c0) to (%end, %end) step (%c1, %c1) {
      memref.store %n, %m[%i, %j] : memref<?x?xi32>
      scf.reduce
    }
  }
  return
}

// -----

func.func @greatest(%m: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    // expected-error @below {{'scf.parallel' op reduces result 0 by another operation than arith.addi on i32, expected that in a kernel}}
    %most = scf.parallel (%i) = (%c0) to (%end) step (%c1) init (%n) -> i32 {
      %x = memref.load %m[%i] : memref<?xi32>
      scf.reduce(%x : i32) {
      ^bb0(%a: i32, %b: i32):
        %more = arith.maxsi %a, %b : i32
        scf.reduce.return %more : i32
      }
    }
    memref.store %most, %m[%c0] : memref<?xi32>
  }
  return
}

// -----

func.func @parted(%m: memref<?xi32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @all {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = arith.index_cast %n : i32 to index
    scf.parallel (%i) = (%c0) to (%end) step (%c1) {
      // expected-error @below {{'scf.parallel' op has results inside of another scf.parallel, whose threads part; expected none there}}
      %sum = scf.parallel (%j) = (%c0) to (%end) step (%c1) init (%n) -> i32 {
        %x = memref.load %m[%j] : memref<?xi32>
        scf.reduce(%x : i32) {
        ^bb0(%a: i32, %b: i32):
          %more = arith.addi %a, %b : i32
          scf.reduce.return %more : i32
        }
      }
      memref.store %sum, %m[%i] : memref<?xi32>
      scf.reduce
    }
  }
  return
}
