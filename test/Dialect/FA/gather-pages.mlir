// Pages of a size that warps have no copies of are gathered; warp groups find rows in any.
// RUN: fa-opt %s -fa-gather-pages=chip=sm_80 -canonicalize -cse | FileCheck %s
// RUN: fa-opt %s -fa-gather-pages=chip=sm_90a -canonicalize -cse | FileCheck %s --check-prefix=GROUPS
// RUN: fa-opt %s -fa-gather-pages=chip=sm_80 -o /dev/null --remark-format=emitRemark --remarks-filter=fa-gather-pages 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fa-opt %s -fa-gather-pages=chip=z80 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: chip is 'z80', expected one of

#pages = #fa.dims<p, s, h, d>
!q = memref<3x1x8x64xbf16>

// CHECK-LABEL: func.func @one
// CHECK-SAME: %[[Q:[^:]*]]: memref<3x1x8x64xbf16>, %[[K:[^:]*]]: memref<?x1x2x64xbf16>, %[[LENGTHS:[^:]*]]: memref<3xi32>, %[[TABLE:[^:]*]]: memref<3x?xi32>
// CHECK: %[[COLUMNS:.*]] = memref.dim %[[TABLE]], %c1
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[COLUMNS]], %c128
// CHECK: %[[PAGES:.*]] = arith.muli %[[BLOCKS]], %c3
// CHECK: %[[NEW:.*]] = memref.alloc(%[[PAGES]]) : memref<?x128x2x64xbf16>
// CHECK: %[[VALUES:.*]] = memref.alloc(%[[PAGES]]) : memref<?x128x2x64xbf16>
// CHECK: %[[NUMBERS:.*]] = memref.alloc(%{{.*}}) : memref<3x?xi32>
// CHECK: scf.forall (%[[B:.*]], %[[I:.*]]) in (3, %[[BLOCKS]]) {
// CHECK:   memref.load %[[LENGTHS]][%[[B]]]
// CHECK:   scf.parallel
// CHECK:     arith.cmpi uge
// CHECK:   memref.store %{{.*}}, %[[NUMBERS]][%[[B]], %[[I]]]
// CHECK:   scf.parallel
// CHECK:     memref.load %[[TABLE]][%[[B]], %{{.*}}]
// CHECK:     %[[X:.*]] = vector.load %[[K]][%{{.*}}] : memref<?x1x2x64xbf16>, vector<8xbf16>
// CHECK:     vector.store %[[X]], %[[NEW]]
// CHECK:   scf.parallel
// CHECK:     vector.store %{{.*}}, %[[VALUES]]
// CHECK: fa.attention ins(%[[Q]], %[[NEW]], %[[VALUES]] : {{.*}}key_lengths(%[[LENGTHS]] : memref<3xi32>) key_pages(%{{.*}} : memref<{{.*}}xi32>)
// CHECK-COUNT-3: memref.dealloc
// GROUPS-LABEL: func.func @one
// GROUPS-NOT: memref.alloc
// REMARK: remark: [Passed] Pages {{.*}}"a kernel of its own gathers pages, of a size that sm_80 has no copies of, into pages of 128 rows"
func.func @one(%q: !q, %k: memref<?x1x2x64xbf16>, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, memref<?x1x2x64xbf16>, memref<?x1x2x64xbf16>) outs(%o : !q)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return
}

// Copies of threads take sixteen rows.
// CHECK-LABEL: func.func @eight
// CHECK: memref.alloc
// GROUPS-LABEL: func.func @eight
// GROUPS-NOT: memref.alloc
// GROUPS: return
func.func @eight(%q: !q, %k: memref<?x8x2x64xbf16>, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, memref<?x8x2x64xbf16>, memref<?x8x2x64xbf16>) outs(%o : !q)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return
}

// CHECK-LABEL: func.func @sixteen
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @sixteen(%q: !q, %k: memref<?x16x2x64xbf16>, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>) outs(%o : !q)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return
}

// A batch_invariant attention keeps its warp groups.
// GROUPS-LABEL: func.func @invariant
// GROUPS-NOT: memref.alloc
// CHECK-LABEL: func.func @invariant
// CHECK: memref.alloc
func.func @invariant(%q: !q, %k: memref<?x12x2x64xbf16>, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, memref<?x12x2x64xbf16>, memref<?x12x2x64xbf16>) outs(%o : !q)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {batch_invariant, key_dims = #pages, value_dims = #pages}
  return
}

// Rows that are no multiples of 16 bytes apart are for warps, and so gathered.
// GROUPS-LABEL: func.func @apart
// GROUPS: memref.alloc
// CHECK-LABEL: func.func @apart
!apart = memref<?x4x2x64xbf16, strided<[528, 132, 66, 1]>>
func.func @apart(%q: !q, %k: !apart, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, !apart, !apart) outs(%o : !q)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return
}

// Products of f32 have 64 keys at least.
// CHECK-LABEL: func.func @sixteen_f32
// CHECK: memref.alloc({{.*}}) : memref<?x128x2x64xf32>
// CHECK-LABEL: func.func @sixty_four_f32
// CHECK-NOT: memref.alloc
// GROUPS-LABEL: func.func @sixteen_f32
// GROUPS: memref.alloc({{.*}}) : memref<?x128x2x64xf32>
!f = memref<3x1x8x64xf32>
func.func @sixteen_f32(%q: !f, %k: memref<?x16x2x64xf32>, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !f) {
  fa.attention ins(%q, %k, %k : !f, memref<?x16x2x64xf32>, memref<?x16x2x64xf32>) outs(%o : !f)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return
}
func.func @sixty_four_f32(%q: !f, %k: memref<?x64x2x64xf32>, %lengths: memref<3xi32>, %table: memref<3x?xi32>, %o: !f) {
  fa.attention ins(%q, %k, %k : !f, memref<?x64x2x64xf32>, memref<?x64x2x64xf32>) outs(%o : !f)
      key_lengths(%lengths : memref<3xi32>) key_pages(%table : memref<3x?xi32>) {key_dims = #pages, value_dims = #pages}
  return
}
