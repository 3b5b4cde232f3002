// Appending becomes loops over new rows, of which each block checks where its sequence is.
// RUN: fa-opt %s -fa-append-to-loops -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

!new = memref<3x100x2x64xf16>
!cache = memref<3x512x2x64xf16>

// CHECK-LABEL: @batch
// CHECK-SAME: %[[K:.*]]: memref<3x100x2x64xf16>, %[[V:.*]]: memref<3x100x2x64xf16>, %[[KEYS:.*]]: memref<3x512x2x64xf16>, %[[VALUES:.*]]: memref<3x512x2x64xf16>, %[[LENGTHS:.*]]: memref<3xi32>
// CHECK: scf.forall (%[[B:.*]], %[[I:.*]]) = (0, 0) to (3, 100) step (1, 64) {
// CHECK: %[[L:.*]] = memref.load %[[LENGTHS]][%[[B]]]
// CHECK: %[[LENGTH:.*]] = arith.index_cast %[[L]]
// CHECK: %[[BEFORE:.*]] = arith.subi %[[LENGTH]], %c100
// CHECK-DAG: arith.cmpi sge, %[[BEFORE]], %c0
// CHECK-DAG: arith.cmpi sle, %[[LENGTH]], %c512
// CHECK: scf.if
// CHECK: scf.for %[[ROW:.*]] = %[[I]] to
// CHECK: %[[POSITION:.*]] = arith.addi %[[BEFORE]], %[[ROW]]
// CHECK-DAG: memref.subview %[[K]][%[[B]], %[[ROW]], 0, 0] [1, 1, 2, 64] [1, 1, 1, 1]
// CHECK-DAG: memref.subview %[[KEYS]][%[[B]], %[[POSITION]], 0, 0] [1, 1, 2, 64] [1, 1, 1, 1]
// CHECK: linalg.generic
// CHECK-DAG: memref.subview %[[V]][%[[B]], %[[ROW]], 0, 0] [1, 1, 2, 64] [1, 1, 1, 1]
// CHECK-DAG: memref.subview %[[VALUES]][%[[B]], %[[POSITION]], 0, 0] [1, 1, 2, 64] [1, 1, 1, 1]
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @batch(%k: !new, %v: !new, %keys: !cache, %values: !cache, %lengths: memref<3xi32>) {
  fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !cache, !cache) key_lengths(%lengths : memref<3xi32>)
  return
}

// -----

!new = memref<?x2x64xf16>
!pool = memref<?x16x2x64xf16>
!angles = memref<4096x16xf32>

// Pages of new rows are looked up before anything is written; halves of 16 pairs leave 32 dims as they are.
// CHECK-LABEL: @pages
// CHECK: scf.forall
// CHECK: arith.cmpi sle, %{{.*}}, %c4096
// CHECK: %[[WRONG:.*]] = scf.parallel
// CHECK: arith.cmpi uge
// CHECK: scf.if
// CHECK: scf.for
// CHECK-DAG: memref.subview %{{.*}}[0, %{{.*}}, 0, 0] [1, 1, 2, 16] [1, 1, 1, 1]
// CHECK-DAG: memref.subview %{{.*}}[0, %{{.*}}, 0, 16] [1, 1, 2, 16] [1, 1, 1, 1]
// CHECK: linalg.generic
// CHECK: arith.extf
// CHECK: arith.subf
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK: memref.subview %{{.*}}[0, %{{.*}}, 0, 32] [1, 1, 2, 32] [1, 1, 1, 1]
func.func @pages(%k: !new, %v: !new, %keys: !pool, %values: !pool, %starts: memref<?xi32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                 %cos: !angles, %sin: !angles) {
  fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !pool, !pool) key_lengths(%lengths : memref<?xi32>)
      key_starts(%starts : memref<?xi32>) key_pages(%table : memref<?x?xi32>) rotary halves(%cos, %sin : !angles, !angles)
      {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, key_cache_dims = #fa.dims<p, s, h, d>,
       value_cache_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

!new = memref<1x1x1x8xf32>
!angles = memref<9x3xf32>

// CHECK-LABEL: @interleaved
// CHECK-DAG: memref.subview %{{.*}}[0, %{{.*}}, 0, 0] [1, 1, 1, 3] [1, 1, 1, 2]
// CHECK-DAG: memref.subview %{{.*}}[0, %{{.*}}, 0, 1] [1, 1, 1, 3] [1, 1, 1, 2]
// CHECK: linalg.generic
// CHECK-NOT: arith.extf
func.func @interleaved(%k: !new, %keys: memref<1x9x1x8xf32>, %values: memref<1x9x1x8xf32>, %lengths: memref<1xi32>, %cos: !angles, %sin: !angles) {
  fa.append ins(%k, %k : !new, !new) outs(%keys, %values : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      key_lengths(%lengths : memref<1xi32>) rotary interleaved(%cos, %sin : !angles, !angles)
  return
}

// -----

!new = tensor<1x1x1x8xf32>

func.func @on_tensors(%k: !new, %keys: tensor<1x9x1x8xf32>, %lengths: tensor<1xi32>) {
  // expected-error @below {{'fa.append' op is on tensors, expected memrefs: fa-results-to-out-parameters makes them}}
  %0:2 = fa.append ins(%k, %k : !new, !new) outs(%keys, %keys : tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>)
      key_lengths(%lengths : tensor<1xi32>) -> tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>
  return
}
