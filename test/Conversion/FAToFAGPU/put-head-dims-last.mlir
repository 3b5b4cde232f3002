// RUN: fa-opt %s -fa-put-head-dims-last -split-input-file | FileCheck %s

!state = tensor<64x64xf32>
!row = tensor<64xf32>
#config = #fa.config<query_block = 64, key_block = 128>

// Slices are those of a transposed view; queries and values have one already.
// CHECK-LABEL: func.func @keys
// CHECK-SAME: (%[[Q:[^:]*]]: memref<2x200x4x64xf16>, %[[K:[^:]*]]: memref<2x4x64x300xf16, strided<[?, ?, 1, ?]>>,
// CHECK: %[[ROWS:.*]] = memref.transpose %[[K]] (d0, d1, d2, d3) -> (d0, d1, d3, d2) : {{.*}} to memref<2x4x300x64xf16, strided<[?, ?, ?, 1]>>
// CHECK-NOT: memref.transpose
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (2, 4, 3)
// CHECK:   %[[BLOCK:.*]] = memref.subview %[[Q]]
// CHECK:   %[[SLICE:.*]] = memref.subview %[[ROWS]][%[[B]], %[[H]], %[[I]], 0] [1, 1, 128, 64] [1, 1, 1, 1]
// CHECK-NOT: memref.subview %[[K]]
// CHECK:   fa.online_attention ins(%[[BLOCK]], %[[SLICE]], %[[SLICE]] :
// CHECK-SAME: key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>
!q = memref<2x200x4x64xf16>
!k = memref<2x4x64x300xf16, strided<[?, ?, 1, ?]>>
!tile = memref<1x1x64x128xf16, strided<[?, ?, 1, ?], offset: ?>>
!block = memref<1x64x1x64xf16, strided<[51200, 256, 64, 1], offset: ?>>
func.func @keys(%q: !q, %k: !k, %a: !state, %r: !row) {
  scf.forall (%b, %h, %i) in (2, 4, 3) {
    %block = memref.subview %q[%b, %i, %h, 0] [1, 64, 1, 64] [1, 1, 1, 1] : !q to !block
    %tile = memref.subview %k[%b, %h, 0, %i] [1, 1, 64, 128] [1, 1, 1, 1] : !k to !tile
    %s:3 = fa.online_attention ins(%block, %tile, %tile : !block, !tile, !tile) outs(%a, %r, %r : !state, !row, !row)
        {config = #config, key_dims = #fa.dims<b, h, d, s>, value_dims = #fa.dims<b, h, d, s>}
  }
  return
}

// -----

// A result is written by a view, too; the head dim comes from the first place.
// CHECK-LABEL: func.func @result
// CHECK-SAME: %[[O:[^:]*]]: memref<64x2x200x4xf32, strided<[1, ?, ?, ?]>>
// CHECK: %[[ROWS:.*]] = memref.transpose %[[O]] (d0, d1, d2, d3) -> (d1, d2, d3, d0)
// CHECK: %[[SLICE:.*]] = memref.subview %[[ROWS]][1, %{{.*}}, 2, 0] [1, 64, 1, 64]
// CHECK: fa.finalize ins({{.*}}) outs(%[[SLICE]] : {{.*}}) {output_dims = #fa.dims<b, s, h, d>}
!state = tensor<64x64xf32>
!row = tensor<64xf32>
!o = memref<64x2x200x4xf32, strided<[1, ?, ?, ?]>>
!slice = memref<64x1x64x1xf32, strided<[1, ?, ?, ?], offset: ?>>
func.func @result(%o: !o, %a: !state, %r: !row, %i: index) {
  %slice = memref.subview %o[0, 1, %i, 2] [64, 1, 64, 1] [1, 1, 1, 1] : !o to !slice
  fa.finalize ins(%a, %r, %r : !state, !row, !row) outs(%slice : !slice) {output_dims = #fa.dims<d, b, s, h>}
  return
}

// -----

// Nothing to do; kernels have what they are given.
// CHECK-LABEL: func.func @last
// CHECK-NOT: memref.transpose
// CHECK: fa.finalize {{.*}} {output_dims = #fa.dims<b, h, s, d>}
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: memref.transpose
// CHECK: fa.finalize {{.*}} {output_dims = #fa.dims<b, d, s, h>}
!state = tensor<64x64xf32>
!row = tensor<64xf32>
func.func @last(%o: memref<1x1x64x64xf32>, %a: !state, %r: !row) {
  fa.finalize ins(%a, %r, %r : !state, !row, !row) outs(%o : memref<1x1x64x64xf32>) {output_dims = #fa.dims<b, h, s, d>}
  return
}
!o = memref<1x64x64x1xf32, strided<[?, 1, ?, ?]>>
func.func @kernel(%o: !o, %a: !state, %r: !row) attributes {fagpu.kernel = "sm_80"} {
  fa.finalize ins(%a, %r, %r : !state, !row, !row) outs(%o : !o) {output_dims = #fa.dims<b, d, s, h>}
  return
}
