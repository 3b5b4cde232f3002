// RUN: fa-opt %s -fa-combine-to-state | FileCheck %s

!o = memref<1x40x1x128xf32, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<1x1x40xf32, strided<[?, ?, ?], offset: ?>>
!bf16 = memref<1x40x1x128xbf16, strided<[?, ?, ?, 1], offset: ?>>

// 40 rows are in a state of 48.

// CHECK-LABEL: func @merge(
// CHECK-SAME:      %[[A:[^ :,)]*]]: {{[^%]*}}, %[[LA:[^ :,)]*]]: {{[^%]*}}, %[[B:[^ :,)]*]]: {{[^%]*}}, %[[LB:[^ :,)]*]]: {{[^%]*}}, %[[O:[^ :,)]*]]:
// CHECK:         %[[ACC:[^ ,]*]], %[[MAX:[^ ,]*]], %[[SUM:[^ ,]*]] = fa.add_partial ins(%[[A]], %[[LA]] : {{.*}}) outs(%{{.*}} : tensor<48x128xf32>, tensor<48xf32>, tensor<48xf32>)
// CHECK:         %[[ACC2:[^ ,]*]], %[[MAX2:[^ ,]*]], %[[SUM2:[^ ,]*]] = fa.add_partial ins(%[[B]], %[[LB]] : {{.*}}) outs(%[[ACC]], %[[MAX]], %[[SUM]] :
// CHECK:         fa.finalize ins(%[[ACC2]], %[[MAX2]], %[[SUM2]] : {{.*}}) outs(%[[O]] :
// CHECK-NOT:     fa.combine
func.func @merge(%a: !o, %la: !lse, %b: !o, %lb: !lse, %out: !bf16) {
  fa.combine a(%a, %la : !o, !lse) b(%b, %lb : !o, !lse) outs(%out : !bf16)
  return
}

// Tiles whose number of rows is not known have at most 64.

// CHECK-LABEL: func @dynamic(
// CHECK:         fa.finalize ins(%{{.*}} : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>) outs(%{{.*}}, %{{.*}} :
func.func @dynamic(%a: memref<1x?x1x16xf32>, %la: memref<1x1x?xf32>, %out: memref<1x?x1x16xf32>, %l: memref<1x1x?xf32>) {
  fa.combine a(%a, %la : memref<1x?x1x16xf32>, memref<1x1x?xf32>) b(%a, %la : memref<1x?x1x16xf32>, memref<1x1x?xf32>)
      outs(%out, %l : memref<1x?x1x16xf32>, memref<1x1x?xf32>)
  return
}
