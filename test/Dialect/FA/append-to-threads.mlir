// Appending becomes blocks of new rows, whose threads move pieces of 16 bytes.
// RUN: fa-opt %s -fa-append-to-threads -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

!new = memref<3x100x2x64xf16>
!cache = memref<3x512x2x64xf16>

// CHECK-LABEL: @batch
// CHECK-SAME: %[[K:.*]]: memref<3x100x2x64xf16>, %[[V:.*]]: memref<3x100x2x64xf16>, %[[KEYS:.*]]: memref<3x512x2x64xf16>, %[[VALUES:.*]]: memref<3x512x2x64xf16>, %[[LENGTHS:.*]]: memref<3xi32>
// CHECK: scf.forall (%[[B:.*]], %[[I:.*]]) = (0, 0) to (3, 100) step (1, 8) {
// CHECK: %[[L:.*]] = memref.load %[[LENGTHS]][%[[B]]]
// CHECK: %[[LENGTH:.*]] = arith.index_cast %[[L]]
// CHECK: %[[BEFORE:.*]] = arith.subi %[[LENGTH]], %c100
// CHECK-DAG: arith.cmpi sge, %[[BEFORE]], %c0
// CHECK-DAG: arith.cmpi sle, %[[LENGTH]], %c512
// CHECK: scf.parallel (%[[N:.*]]) = (%c0)
// CHECK: %[[PIECE:.*]] = arith.remui %[[N]], %c8
// CHECK: %[[REST:.*]] = arith.divui %[[N]], %c8
// CHECK: %[[HEAD:.*]] = arith.remui %[[REST]], %c2
// CHECK: %[[AT:.*]] = arith.divui %[[REST]], %c2
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[AT]]
// CHECK: %[[POSITION:.*]] = arith.addi %[[BEFORE]], %[[ROW]]
// CHECK: %[[DIM:.*]] = arith.muli %[[PIECE]], %c8
// CHECK: %[[X:.*]] = vector.load %[[K]][%[[B]], %[[ROW]], %[[HEAD]], %[[DIM]]] : memref<3x100x2x64xf16>, vector<8xf16>
// CHECK: vector.store %[[X]], %[[KEYS]][%[[B]], %[[POSITION]], %[[HEAD]], %[[DIM]]] : memref<3x512x2x64xf16>, vector<8xf16>
// CHECK: scf.parallel
// CHECK: vector.load %[[V]]
// CHECK: vector.store %{{.*}}, %[[VALUES]]
// CHECK-NOT: scf.parallel
func.func @batch(%k: !new, %v: !new, %keys: !cache, %values: !cache, %lengths: memref<3xi32>) {
  fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !cache, !cache) key_lengths(%lengths : memref<3xi32>)
  return
}

// -----

!new = memref<?x2x64xf16>
!pool = memref<?x2x16x64xf16>
!angles = memref<4096x16xf32>

// Packed rows search their sequence; pages are looked at side by side, then halves of 16 pairs are turned and 32 dims copied. Heads come first in the pools.
// CHECK-LABEL: @pages
// CHECK-SAME: %[[K:[^:]*]]: memref<?x2x64xf16>
// CHECK: memref.transpose
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) {
// CHECK: scf.while
// CHECK: arith.cmpi sle, %{{.*}}, %c4096
// CHECK: scf.parallel
// CHECK:   arith.cmpi uge
// CHECK: scf.parallel
// CHECK-DAG: vector.load %{{.*}} : memref<4096x16xf32>, vector<8xf32>
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: arith.subf
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK-COUNT-2: vector.store %{{.*}} vector<8xf16>
// CHECK: scf.parallel
// CHECK: arith.addi %{{.*}}, %c32
// CHECK: scf.parallel
func.func @pages(%k: !new, %v: !new, %keys: !pool, %values: !pool, %starts: memref<?xi32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                 %cos: !angles, %sin: !angles) {
  fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !pool, !pool) key_lengths(%lengths : memref<?xi32>)
      key_starts(%starts : memref<?xi32>) key_pages(%table : memref<?x?xi32>) rotary halves(%cos, %sin : !angles, !angles)
      {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, key_cache_dims = #fa.dims<p, h, s, d>,
       value_cache_dims = #fa.dims<p, h, s, d>}
  return
}

// -----

!new = memref<1x1x1x16xbf16>
!angles = memref<9x6xf32>

// Interleaved pairs are taken apart in a thread; 12 dims are three pieces of 4.
// CHECK-LABEL: @interleaved
// CHECK: %[[BOTH:.*]] = vector.load %{{.*}} vector<4xbf16>
// CHECK: vector.shuffle %[[BOTH]], %[[BOTH]] [0, 2]
// CHECK: vector.shuffle %[[BOTH]], %[[BOTH]] [1, 3]
// CHECK: vector.load %{{.*}} vector<2xf32>
// CHECK: vector.interleave
// CHECK: vector.store %{{.*}} vector<4xbf16>
func.func @interleaved(%k: !new, %keys: memref<1x9x1x16xbf16>, %values: memref<1x9x1x16xbf16>, %lengths: memref<1xi32>, %cos: !angles, %sin: !angles) {
  fa.append ins(%k, %k : !new, !new) outs(%keys, %values : memref<1x9x1x16xbf16>, memref<1x9x1x16xbf16>)
      key_lengths(%lengths : memref<1xi32>) rotary interleaved(%cos, %sin : !angles, !angles)
  return
}

// -----

!new = memref<1x1x1x9xf32, strided<[?, ?, ?, 1], offset: ?>>

// Rows of 9 elements begin anywhere, and so do elements of rows 10 apart that a type says.
// CHECK-LABEL: @single
// CHECK: vector.load %{{.*}} vector<1xf32>
// CHECK: vector.load %{{.*}} vector<2xf32>
func.func @single(%k: !new, %v: memref<1x1x1x8xf32, strided<[10, 10, 10, 1]>>, %keys: memref<1x9x1x9xf32>, %values: memref<1x9x1x8xf32>, %lengths: memref<1xi32>) {
  fa.append ins(%k, %v : !new, memref<1x1x1x8xf32, strided<[10, 10, 10, 1]>>) outs(%keys, %values : memref<1x9x1x9xf32>, memref<1x9x1x8xf32>)
      key_lengths(%lengths : memref<1xi32>)
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
