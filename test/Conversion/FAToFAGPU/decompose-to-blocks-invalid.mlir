// RUN: fa-opt %s -fa-to-level2=chip=sm_80 -lower-affine -canonicalize -cse -fa-outline-kernels=chip=sm_80 -canonicalize -cse \
// RUN:   -fa-decompose-to-blocks -split-input-file -verify-diagnostics

// Key blocks of a text of its own, which no configuration has checked.
// RUN: %mutate %S/decompose-to-blocks.mlir every change 'step 128' to 'step 72' | not fa-opt -fa-decompose-to-blocks 2>&1 | FileCheck %s
// CHECK: error: 'fa.online_attention' op goes by blocks of 72 keys, expected a multiple of 16; nearest is 80

// fa-results-to-out-parameters would have come before.
// RUN: not fa-opt %fa_src_root/test/Integration/CPU/memory-and-tables.mlir -fa-select-config=chip=sm_80 -fa-tile -fa-convert-to-online -canonicalize \
// RUN:   -fa-specialize-mask -fa-outline-kernels=chip=sm_80 -fa-decompose-to-blocks 2>&1 | FileCheck %s --check-prefix=TENSOR --implicit-check-not=error:
// TENSOR: error: 'fa.online_attention' op captures 'tensor<70xi32>', expected memory (fa-results-to-out-parameters)

// fa-put-head-dims-last would have come before.
!mem = memref<1x256x64x2xf16, strided<[?, ?, 1, ?], offset: ?>>
func.func @order(%q: !mem, %k: !mem, %v: !mem, %o: !mem) {
  // expected-error @below {{'fa.online_attention' op has dimensions in the order #fa.dims<b, s, d, h>, expected the head dim last on a GPU; the nearest is to pass a transposed view}}
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o : !mem)
      {query_dims = #fa.dims<b, s, d, h>, key_dims = #fa.dims<b, s, d, h>, value_dims = #fa.dims<b, s, d, h>, output_dims = #fa.dims<b, s, d, h>}
  return
}

// -----

// fa-separate-results would have come before.
!t = memref<1x256x2x64xf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @pair(%q: !t, %k: !t, %v: !t, %o: !t) {
  fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) {
        // expected-error @below {{'math.sincos' op has 2 results, which block values have not; expected one (fa-separate-results)}}
        %sine, %cosine = math.sincos %s : f32
        %y = arith.addf %sine, %cosine : f32
        fa.yield %y : f32
      }
  return
}

// -----

!t = memref<1x256x2x64xf16>
func.func @sink_of_rows(%q: !t, %o: !t, %table: memref<256xf32>) {
  // expected-error @below {{'fa.finalize' op has a sink of each row, expected one number on a GPU: a sink region that does not use the query}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      sink(%b, %h, %i) captures(%sinks = %table : memref<256xf32>) {
        %x = memref.load %sinks[%i] : memref<256xf32>
        fa.yield %x : f32
      }
  return
}
