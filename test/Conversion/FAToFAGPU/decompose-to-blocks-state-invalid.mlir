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

// -----

// Results of one state have one sink.
!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!tile = memref<1x64x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>
func.func @two_sinks(%q: !mem, %k: !mem, %o: !mem, %n: index, %sink: f32) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  fagpu.role @compute groups(1) {
    %qt = memref.subview %q[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %kt = memref.subview %k[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %ot = memref.subview %o[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %e = tensor.empty() : !acc
    %a0 = linalg.fill ins(%zero : f32) outs(%e : !acc) -> !acc
    %er = tensor.empty() : !row
    %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
    %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
    %r:3 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0) -> (!acc, !row, !row) {
      %kb = memref.subview %kt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %t:3 = fa.online_attention ins(%qt, %kb, %kb : !tile, !keys, !keys)
          outs(%a, %m, %s : !acc, !row, !row) offsets(%c0, %c0, %n, %key) extents(%n, %n)
      fa.yield %t#0, %t#1, %t#2 : !acc, !row, !row
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile) sink(%sink : f32)
    // expected-error @below {{'fa.finalize' op has another sink than a result of the same accumulator, expected one for all results of a state}}
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile)
  }
  return
}

// -----

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!tile = memref<1x64x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>
func.func @two_maxima(%q: !mem, %k: !mem, %o: !mem, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  fagpu.role @compute groups(1) {
    %qt = memref.subview %q[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %kt = memref.subview %k[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %ot = memref.subview %o[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %e = tensor.empty() : !acc
    %a0 = linalg.fill ins(%zero : f32) outs(%e : !acc) -> !acc
    %er = tensor.empty() : !row
    %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
    %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
    %r:3 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0) -> (!acc, !row, !row) {
      %kb = memref.subview %kt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %t:3 = fa.online_attention ins(%qt, %kb, %kb : !tile, !keys, !keys)
          outs(%a, %m, %s : !acc, !row, !row) offsets(%c0, %c0, %n, %key) extents(%n, %n)
      fa.yield %t#0, %t#1, %t#2 : !acc, !row, !row
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile)
    // expected-error @below {{'fa.finalize' op has another maximum than a result of the same accumulator, expected one for all results of a state}}
    fa.finalize ins(%r#0, %r#2, %r#2 : !acc, !row, !row) outs(%ot : !tile)
  }
  return
}

// -----

!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!tile = memref<1x64x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>
func.func @two_sums(%q: !mem, %k: !mem, %o: !mem, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  fagpu.role @compute groups(1) {
    %qt = memref.subview %q[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %kt = memref.subview %k[0, 0, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !mem to !keys
    %ot = memref.subview %o[0, %n, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !mem to !tile
    %e = tensor.empty() : !acc
    %a0 = linalg.fill ins(%zero : f32) outs(%e : !acc) -> !acc
    %er = tensor.empty() : !row
    %m0 = linalg.fill ins(%none : f32) outs(%er : !row) -> !row
    %s0 = linalg.fill ins(%zero : f32) outs(%er : !row) -> !row
    %r:3 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0) -> (!acc, !row, !row) {
      %kb = memref.subview %kt[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !keys to !keys
      %t:3 = fa.online_attention ins(%qt, %kb, %kb : !tile, !keys, !keys)
          outs(%a, %m, %s : !acc, !row, !row) offsets(%c0, %c0, %n, %key) extents(%n, %n)
      fa.yield %t#0, %t#1, %t#2 : !acc, !row, !row
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !row, !row) outs(%ot : !tile)
    // expected-error @below {{'fa.finalize' op has another sum than a result of the same accumulator, expected one for all results of a state}}
    fa.finalize ins(%r#0, %r#1, %r#1 : !acc, !row, !row) outs(%ot : !tile)
  }
  return
}
