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

func.func @shared_with_host(%s: f32, %o: memref<8xf32>) {
  %m = memref.alloc() : memref<8xf32>
  scf.forall (%i) in (8) {
    memref.store %s, %m[%i] : memref<8xf32>
  }
  %view = memref.subview %m[0] [8] [1] : memref<8xf32> to memref<8xf32, strided<[1]>>
  // expected-error @below {{'linalg.exp' op is no kernel, but shares memory with one of 'shared_with_host', expected it in a function of its own}}
  linalg.exp ins(%view : memref<8xf32, strided<[1]>>) outs(%o : memref<8xf32>)
  return
}

// -----

func.func @own_memory(%s: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'memref.alloc' op makes memory for a kernel, expected an argument of 'own_memory' or a view of one}}
  %m = memref.alloc() : memref<8xf32>
  scf.for %step = %c0 to %n step %c1 {
    scf.forall (%i) in (8) {
      memref.store %s, %m[%i] : memref<8xf32>
    }
  }
  scf.forall (%i) in (8) {
    memref.store %s, %m[%i] : memref<8xf32>
  }
  return
}

// -----

!t = memref<1x64x1x64xbf16, strided<[4096, 64, 64, 1], offset: ?>>
!state = tensor<64x64xf32>
!row = tensor<64xf32>
func.func @two_steps(%q: memref<1x64x1x64xbf16>, %a: !state, %r: !row) {
  scf.forall (%i) in (1) {
    %t = memref.subview %q[%i, 0, 0, 0] [1, 64, 1, 64] [1, 1, 1, 1] : memref<1x64x1x64xbf16> to !t
    %s:3 = fa.online_attention ins(%t, %t, %t : !t, !t, !t) outs(%a, %r, %r : !state, !row, !row)
        {config = #fa.config<query_block = 64, key_block = 64>}
    // expected-error @below {{'fa.online_attention' op is configured by nothing, but another step of its kernel by #fa.config<query_block = 64, key_block = 64>}}
    %u:3 = fa.online_attention ins(%t, %t, %t : !t, !t, !t) outs(%a, %r, %r : !state, !row, !row)
  }
  return
}

// -----

func.func @returned(%q: memref<1x4x1x16xf32>, %acc: tensor<4x16xf32>, %row: tensor<4xf32>, %n: index) -> tensor<4x16xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'fa.key_ranges' op has a result of type 'tensor<4x16xf32>' that leaves its tile, expected one that is stored in it}}
  %a = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 8 iter_args(%a0 = %acc) -> (tensor<4x16xf32>) {
    fa.yield %a0 : tensor<4x16xf32>
  }
  return %a : tensor<4x16xf32>
}

// -----

!cached = memref<1x?x1x64xbf16, strided<[8192, 64, 64, 1], offset: ?>>
!view = memref<1x128x1x64xbf16, strided<[8192, 64, 64, 1], offset: ?>>
!block = tensor<128x64xf32>
!rows = tensor<128xf32>
func.func @keys(%q: memref<2x128x1x64xbf16>, %a: !block, %r: !rows) {
  scf.forall (%b, %i) = (0, 0) to (2, 128) step (1, 128) {
    %t = memref.subview %q[%b, %i, 0, 0] [1, 128, 1, 64] [1, 1, 1, 1] : memref<2x128x1x64xbf16> to !view
    %k = memref.reinterpret_cast %t to offset: [%b], sizes: [1, %i, 1, 64], strides: [8192, 64, 64, 1] : !view to !cached
    // expected-error @below {{'fa.online_attention' op has keys that are no argument of 'keys', expected them for tile_order = longest_first; in_order needs none}}
    %s:3 = fa.online_attention ins(%t, %k, %k : !view, !cached, !cached) outs(%a, %r, %r : !block, !rows, !rows)
        {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>>>}
  }
  return
}

// -----

// A kernel runs where its results are written, and reads its numbers there.
func.func @changed(%s: memref<f32>, %t: memref<f32>, %o: memref<1x4x1x16xf32>, %acc: tensor<4x16xf32>, %row: tensor<4xf32>) {
  // expected-error @below {{'memref.load' op reads memory that 'memref.copy' may write before the kernel that it is part of, expected it behind that}}
  %x = memref.load %s[] : memref<f32>
  memref.copy %t, %s : memref<f32> to memref<f32>
  %rows = tensor.splat %x : tensor<4xf32>
  fa.finalize ins(%acc, %row, %rows : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : memref<1x4x1x16xf32>)
  return
}

// -----

func.func @other_loop(%s: memref<f32>, %o: memref<1x4x1x16xf32>, %acc: tensor<4x16xf32>, %row: tensor<4xf32>, %m: memref<8xf32>) {
  // expected-error @below {{'memref.load' op has a result of type 'f32' that leaves its tile, expected one that is stored in it}}
  %x = memref.load %s[] : memref<f32>
  %rows = tensor.splat %x : tensor<4xf32>
  fa.finalize ins(%acc, %row, %rows : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) outs(%o : memref<1x4x1x16xf32>)
  scf.forall (%i) in (8) {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}
