// RUN: fa-opt %s --fa-outline-parallel -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{parallel loop returns 1 tensors, expected none: bufferize before outlining}}
  %r = scf.forall (%i) in (4) shared_outs(%y = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %y[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %y[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}

// -----

func.func @reads(%x: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error@+1 {{parallel loop reads a value of type 'tensor<4xf32>', expected numbers and memory: bufferize before outlining}}
  scf.forall (%i) in (4) {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    memref.store %v, %m[%i] : memref<4xf32>
  }
  return
}
