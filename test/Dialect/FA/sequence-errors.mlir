// A check of sequences round-trips, and becomes a loop that writes a word for each of them.
// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s -mlir-print-op-generic | fa-opt | FileCheck %s
// RUN: fa-opt %s -fa-sequence-errors-to-loops -canonicalize -cse | FileCheck %s --check-prefix=LOOP

!q = memref<?x8x64xf16>
!pool = memref<?x16x2x64xf16>

// CHECK-LABEL: @pages
// CHECK: fa.sequence_errors ins(%{{[^:]*}}, %{{[^:]*}}, %{{[^:]*}} : memref<?x8x64xf16>, memref<?x16x2x64xf16>, memref<?x16x2x64xf16>)
// CHECK-SAME: outs(%{{[^:]*}} : memref<?xi32>) query_lengths(%{{[^:]*}} : memref<?xi32>) key_lengths(%{{[^:]*}} : memref<?xi32>)
// CHECK-SAME: query_starts(%{{[^:]*}} : memref<?xi32>) key_pages(%{{[^:]*}} : memref<?x?xi32>)

// LOOP-LABEL: @pages
// LOOP-SAME: %[[N:[^:]*]]: memref<?xi32>, %[[M:[^:]*]]: memref<?xi32>, %[[STARTS:[^:]*]]: memref<?xi32>, %[[TABLE:[^:]*]]: memref<?x?xi32>, %[[ERRORS:[^:]*]]: memref<?xi32>
// LOOP: %[[SEQUENCES:.*]] = memref.dim %[[ERRORS]], %c0
// LOOP: scf.forall (%[[B:.*]]) in (%[[SEQUENCES]]) {
// LOOP: memref.load %[[STARTS]][%[[B]]]
// LOOP: %[[OF_STARTS:.*]] = arith.extui %{{.*}} : i1 to i32
// LOOP: memref.load %[[N]][%[[B]]]
// LOOP: %[[OF_LENGTH:.*]] = arith.select %{{.*}}, %c2_i32, %c0_i32
// LOOP: arith.ori %[[OF_STARTS]], %[[OF_LENGTH]]
// LOOP: memref.load %[[M]][%[[B]]]
// LOOP: arith.select %{{.*}}, %c0_i32, %c8_i32
// LOOP: %[[NONE:.*]] = scf.parallel (%[[PAGE:.*]]) = (%c0) to (%{{.*}}) step (%c1) init (%c0_i32) -> i32 {
// LOOP:   memref.load %[[TABLE]][%[[B]], %[[PAGE]]]
// LOOP:   arith.cmpi uge
// LOOP: arith.cmpi ne, %[[NONE]], %c0_i32
// LOOP: arith.select %{{.*}}, %c16_i32, %c0_i32
// LOOP: memref.store %{{.*}}, %[[ERRORS]][%[[B]]]
func.func @pages(%q: !q, %k: !pool, %n: memref<?xi32>, %m: memref<?xi32>, %starts: memref<?xi32>, %table: memref<?x?xi32>, %errors: memref<?xi32>) {
  fa.sequence_errors ins(%q, %k, %k : !q, !pool, !pool) outs(%errors : memref<?xi32>)
      query_lengths(%n : memref<?xi32>) key_lengths(%m : memref<?xi32>) query_starts(%starts : memref<?xi32>) key_pages(%table : memref<?x?xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}

// Without starts and pages there are lengths alone.
// LOOP-LABEL: @lengths
// LOOP: scf.forall (%[[B:.*]]) in (2) {
// LOOP: memref.load
// LOOP: %[[WORD:.*]] = arith.select %{{.*}}, %c0_i32, %c8_i32
// LOOP-NOT: arith.ori
// LOOP: memref.store %[[WORD]]
func.func @lengths(%q: memref<2x4x8x64xf16>, %k: memref<2x9x8x64xf16>, %m: memref<2xi32>, %errors: memref<2xi32>) {
  fa.sequence_errors ins(%q, %k, %k : memref<2x4x8x64xf16>, memref<2x9x8x64xf16>, memref<2x9x8x64xf16>) outs(%errors : memref<2xi32>)
      key_lengths(%m : memref<2xi32>)
  return
}
