// RUN: fa-opt %s -fa-outline-kernels -split-input-file -verify-diagnostics

func.func @yields(%t: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'scf.forall' op yields 1 values, expected none in a loop that is to become a kernel}}
  %r = scf.forall (%i) in (8) shared_outs(%o = %t) -> (tensor<8xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %o into %o[0] [8] [1] : tensor<8xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}

// -----

func.func @own_memory(%s: f32) {
  // expected-error @below {{'memref.alloc' op makes memory for a kernel, expected an argument of 'own_memory'}}
  %m = memref.alloc() : memref<8xf32>
  scf.forall (%i) in (8) {
    memref.store %s, %m[%i] : memref<8xf32>
  }
  return
}
