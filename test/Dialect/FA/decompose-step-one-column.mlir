// A head dim of 1 has no place of its own among dimensions of size 1: what
// canonicalization learns of the rows does not contradict the view.

// RUN: fa-opt %s --fa-decompose-step --canonicalize | FileCheck %s

!all = memref<1x?x?x?xf32>
!keys = memref<1x?x1x1xf32, strided<[?, ?, ?, 1], offset: ?>>
!q = memref<1x8x1x1xf32>
!row = tensor<8xf32>

// CHECK-LABEL: func @step(
// CHECK: %[[K:.+]] = memref.subview %{{.+}}[0, %{{.+}}, 0, 0] [1, 2, 1, 1] {{.+}} to memref<1x2x1x1xf32,
// CHECK: %[[MATRIX:.+]] = memref.subview %[[K]][0, 0, 0, 0] [1, 2, 1, 1] {{.+}} to memref<2x1xf32,
// CHECK: bufferization.to_tensor %[[MATRIX]] restrict : memref<2x1xf32,
func.func @step(%q: !q, %k: !all, %i: index, %a: tensor<8x1xf32>, %r: !row) -> (tensor<8x1xf32>, !row, !row) {
  %n = arith.constant 2 : index
  %v = memref.subview %k[0, %i, 0, 0] [1, %n, 1, 1] [1, 1, 1, 1] : !all to !keys
  %s:3 = fa.online_attention ins(%q, %v, %v : !q, !keys, !keys) outs(%a, %r, %r : tensor<8x1xf32>, !row, !row)
      {key_dims = #fa.dims<d, s, b, h>, value_dims = #fa.dims<d, s, b, h>}
  return %s#0, %s#1, %s#2 : tensor<8x1xf32>, !row, !row
}
