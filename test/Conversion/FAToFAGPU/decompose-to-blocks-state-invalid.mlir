// RUN: fa-opt %s -fa-decompose-to-blocks -split-input-file -verify-diagnostics

!row = tensor<64xf32>
func.func @no_role(%a: tensor<64x64xf32>, %r: !row, %o: memref<1x64x1x64xbf16>) attributes {fagpu.kernel = "sm_80"} {
  // expected-error @below {{'fa.finalize' op stands outside of the roles of its kernel, expected it in a 'fagpu.role', as fa-outline-kernels makes it}}
  fa.finalize ins(%a, %r, %r : tensor<64x64xf32>, !row, !row) outs(%o : memref<1x64x1x64xbf16>)
  return
}

// -----

!row = tensor<?xf32>
func.func @dynamic(%o: memref<1x?x1x64xbf16>, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %zero = arith.constant 0.0 : f32
  fagpu.role @compute {
    %a0 = tensor.empty(%n) : tensor<?x64xf32>
    %r0 = tensor.empty(%n) : !row
    %a = linalg.fill ins(%zero : f32) outs(%a0 : tensor<?x64xf32>) -> tensor<?x64xf32>
    %r = linalg.fill ins(%zero : f32) outs(%r0 : !row) -> !row
    // expected-error @below {{'fa.finalize' op has a state of type 'tensor<?x64xf32>', expected static rows and columns, as fa-tile makes them}}
    fa.finalize ins(%a, %r, %r : tensor<?x64xf32>, !row, !row) outs(%o : memref<1x?x1x64xbf16>)
  }
  return
}

// -----

!acc = tensor<64x64xf32>
!row = tensor<64xf32>
func.func @no_partial(%o: memref<1x64x1x64xbf16>, %parts: index) attributes {fagpu.kernel = "sm_80"} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute {
    %a0 = tensor.empty() : !acc
    %r0 = tensor.empty() : !row
    %a = linalg.fill ins(%zero : f32) outs(%a0 : !acc) -> !acc
    %r = linalg.fill ins(%zero : f32) outs(%r0 : !row) -> !row
    // expected-error @below {{'scf.for' op holds 0 partial results and 3 values, expected one 'fa.add_partial' and its state}}
    %s:3 = scf.for %p = %c0 to %parts step %c1 iter_args(%x = %a, %y = %r, %z = %r) -> (!acc, !row, !row) {
      scf.yield %x, %z, %y : !acc, !row, !row
    }
    fa.finalize ins(%s#0, %s#1, %s#2 : !acc, !row, !row) outs(%o : memref<1x64x1x64xbf16>)
  }
  return
}
