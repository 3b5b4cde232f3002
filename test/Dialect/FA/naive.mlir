// RUN: fa-opt %s -fa-naive -canonicalize -cse | FileCheck %s
// RUN: fa-opt %s -fa-results-to-out-parameters -fa-naive-to-cpu | FileCheck %s --check-prefix=LLVM
// RUN: fa-opt %s -fa-naive-to-cpu=stock=true | FileCheck %s --check-prefix=LLVM

// Everything comes down to LLVM, by this project's passes and by upstream's.

// LLVM-NOT: fa.{{[a-z]}}
// LLVM-NOT: unrealized_conversion_cast
// LLVM: llvm.func @memory(
// LLVM: llvm.func @tensors(
// LLVM: llvm.func @stopped(

// In memory: scores of a head, in the order of the definition.

// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x?x8x64xbf16>, %[[K:[a-z0-9]+]]: memref<2x?x2x64xbf16>, %[[V:[a-z0-9]+]]: memref<2x?x2x32xbf16>, %[[O:[a-z0-9]+]]: memref<2x?x8x32xbf16>, %[[LSE:[a-z0-9]+]]: memref<2x8x?xf32>
// CHECK: scf.forall (%[[B:.+]], %[[H:.+]]) in (2, 8)
// CHECK: affine.apply #{{.+}}[%[[H]]]
// CHECK: %[[KT:.+]] = memref.alloc(%[[KEYS:.+]]) {{.*}} : memref<64x?xf32>
// CHECK: arith.extf
// CHECK: %[[S:.+]] = memref.alloc(%[[ROWS:.+]], %[[KEYS]]) {{.*}} : memref<?x?xf32>
// CHECK: linalg.fill ins(%{{.+}}) outs(%[[S]]
// CHECK: linalg.generic {{.*}}["parallel", "reduction", "parallel"]{{.*}} ins(%{{.+}}, %[[KT]] {{.*}} outs(%[[S]]
// CHECK: linalg.generic {{.*}} outs(%[[S]]
// CHECK:   linalg.index 0
// CHECK:   arith.cmpi sle
// CHECK:   arith.select
// CHECK: %[[MAX:.+]] = memref.alloc(%[[ROWS]])
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}} ins(%[[S]] {{.*}} outs(%[[MAX]]
// CHECK: linalg.generic {{.*}} ins(%[[MAX]] {{.*}} outs(%[[S]]
// CHECK:   math.exp
// CHECK: %[[SUM:.+]] = memref.alloc(%[[ROWS]])
// CHECK: linalg.generic {{.*}} ins(%[[S]] {{.*}} outs(%[[SUM]]
// CHECK: %[[ACC:.+]] = memref.alloc(%[[ROWS]]) {{.*}} : memref<?x32xf32>
// CHECK: linalg.generic {{.*}} ins(%[[S]], %{{.+}} outs(%[[ACC]]
// CHECK: linalg.generic {{.*}} ins(%[[ACC]], %[[SUM]]
// CHECK:   arith.divf
// CHECK:   arith.truncf
// CHECK: linalg.generic {{.*}} ins(%[[MAX]], %[[SUM]]
// CHECK:   math.log
// CHECK-COUNT-5: memref.dealloc
func.func @memory(%q: memref<2x?x8x64xbf16>, %k: memref<2x?x2x64xbf16>, %v: memref<2x?x2x32xbf16>, %o: memref<2x?x8x32xbf16>, %lse: memref<2x8x?xf32>) {
  fa.attention ins(%q, %k, %v : memref<2x?x8x64xbf16>, memref<2x?x2x64xbf16>, memref<2x?x2x32xbf16>)
      outs(%o, %lse : memref<2x?x8x32xbf16>, memref<2x8x?xf32>) mask causal
  return
}

// On tensors, with lengths: positions past them are not in the slices; rows
// past the query length stay. A captured load is guarded.

// CHECK-LABEL: func.func @tensors(
// CHECK-SAME: %[[QL:[a-z0-9]+]]: tensor<2xi32>, %[[KL:[a-z0-9]+]]: tensor<2xi32>, %[[IDS:[a-z0-9]+]]: tensor<2x?xi32>
// CHECK: scf.forall (%[[B:.+]], %[[H:.+]]) in (2, 4) shared_outs(%[[OUT:.+]] =
// CHECK: %[[TILE:.+]] = tensor.extract_slice %[[OUT]]
// CHECK: tensor.extract %[[QL]][%[[B]]]
// CHECK: tensor.extract %[[KL]][%[[B]]]
// CHECK: scf.if
// CHECK:   tensor.extract %[[IDS]]
// CHECK: %[[PART:.+]] = tensor.extract_slice %[[TILE]][0, 0, 0, 0] [1, 1, 16, %{{.+}}]
// CHECK: %[[NEW:.+]] = linalg.generic {{.*}} outs(%[[PART]]
// CHECK: tensor.insert_slice %[[NEW]] into %[[TILE]][0, 0, 0, 0] [1, 1, 16, %{{.+}}]
// CHECK: tensor.parallel_insert_slice
func.func @tensors(%q: tensor<2x4x16x?xf32>, %k: tensor<2x?x4x16xf32>, %o: tensor<2x4x16x?xf32>, %ql: tensor<2xi32>, %kl: tensor<2xi32>, %ids: tensor<2x?xi32>) -> tensor<2x4x16x?xf32> {
  %r = fa.attention ins(%q, %k, %k : tensor<2x4x16x?xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>)
      outs(%o : tensor<2x4x16x?xf32>) query_lengths(%ql : tensor<2xi32>) key_lengths(%kl : tensor<2xi32>)
      mask documents(%ids : tensor<2x?xi32>)
      {query_dims = #fa.dims<b, h, d, s>, output_dims = #fa.dims<b, h, d, s>}
  return %r : tensor<2x4x16x?xf32>
}

// A stopped gradient is its operand.
// CHECK-LABEL: func.func @stopped(
// CHECK: arith.mulf %[[S:.+]], %{{.+}} : f32
// CHECK: arith.addf %[[X:.+]], %[[X]] : f32
// CHECK-NOT: fa.
func.func @stopped(%q: memref<1x8x2x16xf32>, %o: memref<1x8x2x16xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x8x2x16xf32>, memref<1x8x2x16xf32>, memref<1x8x2x16xf32>)
      outs(%o : memref<1x8x2x16xf32>) score(%s, %b, %h, %i, %j) {
        %fixed = fa.stop_gradient %s : f32
        %x = arith.addf %fixed, %s : f32
        fa.yield %x : f32
      }
  return
}
