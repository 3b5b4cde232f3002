// RUN: fa-opt %s -fa-plan-work -canonicalize -cse -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-plan-work -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fa-plan-work 2>&1 | FileCheck %s --check-prefix=REMARK

!q = memref<?x4x64xbf16>
!all = memref<1x?x4x64xbf16>
!row = memref<1x?x1x64xbf16, strided<[?, 256, 64, 1], offset: ?>>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>
#config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>

// The host has room for rows / 128 + sequences blocks of each head, an item of eight words each.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: (%[[Q:[^:]*]]: memref<?x4x64xbf16>, %[[STARTS:[^:]*]]: memref<?xi32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[ROWS:.*]] = memref.dim %[[Q]], %[[C0]]
// CHECK-DAG: %[[SEQUENCES:.*]] = arith.subi
// CHECK: %[[WHOLE:.*]] = arith.divui %[[ROWS]], %c128
// CHECK: %[[BLOCKS:.*]] = arith.addi %{{.*}}, %[[SEQUENCES]]
// CHECK: %[[MOST:.*]] = arith.muli %[[BLOCKS]], %c4
// Up to 512 sequences look at all others. Of more, each 128 have 64 sums, one for each class of numbers of keys.
// CHECK-DAG: %[[ARE_FEW:.*]] = arith.cmpi ule, %[[SEQUENCES]], %c512
// CHECK-DAG: %[[HUNDREDS:.*]] = arith.ceildivui %[[SEQUENCES]], %c128
// CHECK-DAG: %[[GROUPS:.*]] = arith.select %[[ARE_FEW]], %[[C0]], %[[HUNDREDS]]
// CHECK-DAG: %[[FEW:.*]] = arith.select %[[ARE_FEW]], %[[SEQUENCES]], %[[C0]]
// CHECK-DAG: %[[SUMS:.*]] = arith.muli %[[GROUPS]], %c64
// CHECK-DAG: %[[MANY:.*]] = arith.select %[[ARE_FEW]], %[[C0]], %[[SEQUENCES]]
// CHECK: cf.assert %{{.*}}, "the list of query blocks has more than 2147483647 words
// CHECK: %[[LIST:.*]] = fagpu.workspace(%{{.*}}) : memref<?xi32>

// Items ahead are those of sequences with more keys; of as many, of earlier ones.
// CHECK: scf.forall (%[[B:.*]]) in (%[[FEW]]) {
// CHECK:   %[[START:.*]] = memref.load %[[STARTS]][%[[B]]]
// CHECK:   %[[SUM:.*]]:2 = scf.parallel (%[[OTHER:.*]]) = (%[[C0]]) to (%[[SEQUENCES]])
// CHECK:     memref.load %[[STARTS]][%[[OTHER]]]
// CHECK:     %[[EARLIER:.*]] = arith.cmpi slt, %[[OTHER]], %[[B]]
// CHECK:     %[[LONGER:.*]] = arith.cmpi sgt
// CHECK:     %[[EQUAL:.*]] = arith.cmpi eq
// CHECK:     scf.reduce

// Heads whose keys stay in the L2 cache are together, of 65536 keys here; the last block comes first.
// CHECK:   arith.divui %c65536, %
// CHECK:   scf.parallel (%[[ITEM:.*]]) =
// CHECK:     scf.if
// CHECK-COUNT-5: memref.store %{{.*}}, %[[LIST]]
// What is left are sequences without rows.
// CHECK:   scf.parallel
// CHECK-COUNT-5: memref.store %{{.*}}, %[[LIST]]
// The first word is the number of items.
// CHECK:   memref.store %{{.*}}, %[[LIST]][%[[C0]]]
// CHECK: }

// A sum is of the items of a group's sequences that have so many keys or more.
// CHECK: scf.forall (%[[NUMBER:.*]]) in (%[[SUMS]]) {
// CHECK:   arith.divui %[[NUMBER]], %[[GROUPS]]
// CHECK:   arith.remui %[[NUMBER]], %[[GROUPS]]
// CHECK:   %[[SUM:.*]] = scf.parallel
// CHECK:     memref.load %[[STARTS]]
// CHECK:     arith.cmpi sge
// CHECK:     scf.reduce
// CHECK:   memref.store %[[SUM]], %[[LIST]]

// Of the own group, items ahead are those of sequences in a longer class, and of earlier ones in the same. Of other groups the sums tell.
// CHECK: scf.forall (%[[B:.*]]) in (%[[MANY]]) {
// CHECK:   %[[CLASS:.*]] = scf.parallel
// CHECK:   %[[GROUP:.*]] = arith.divui %[[B]], %c128
// CHECK:   %[[OWN:.*]]:2 = scf.parallel (%[[OTHER:.*]]) =
// CHECK:     memref.load %[[STARTS]][%[[OTHER]]]
// CHECK:     %[[EARLIER:.*]] = arith.cmpi slt, %[[OTHER]], %[[B]]
// CHECK:     %[[LONGER:.*]] = arith.cmpi sge
// CHECK:     %[[EQUAL:.*]] = arith.cmpi sge
// CHECK:     %[[BOTH:.*]] = arith.andi %[[EQUAL]], %[[EARLIER]]
// CHECK:     arith.ori %[[LONGER]], %[[BOTH]]
// CHECK:     scf.reduce
// CHECK:   %[[OTHERS:.*]]:2 = scf.parallel (%[[AT:.*]]) = (%[[C0]]) to (%[[GROUPS]])
// CHECK:     arith.cmpi slt, %[[AT]], %[[GROUP]]
// CHECK:     arith.cmpi ne, %[[AT]], %[[GROUP]]
// CHECK-COUNT-3: memref.load %[[LIST]]
// CHECK:     scf.reduce
// CHECK:   arith.addi %[[OWN]]#0, %[[OTHERS]]#0
// CHECK:   arith.addi %[[OWN]]#1, %[[OTHERS]]#1
// CHECK:   memref.store %{{.*}}, %[[LIST]][%[[C0]]]
// CHECK: }

// CHECK: %[[WORD:.*]] = memref.load %[[LIST]][%[[C0]]]
// CHECK: %[[LISTED:.*]] = arith.index_cast %[[WORD]]
// CHECK: %[[COUNT:.*]] = arith.minsi %[[LISTED]], %[[MOST]]
// CHECK: scf.forall (%[[T:.*]]) in (%[[COUNT]]) {
// CHECK:   memref.load %[[LIST]]
// CHECK-NOT: memref.load %[[STARTS]]
// CHECK:   fa.online_attention
// REMARK: remark: [Passed] Plan {{.*}}"a list of blocks of 128 queries, the longest sequences first"
func.func @packed(%query: !q, %starts: memref<?xi32>, %a: !acc, %m: !vec, %s: !vec) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %query, %c0 : !q
  %entries = memref.dim %starts, %c0 : memref<?xi32>
  %sequences = arith.subi %entries, %c1 : index
  %all = memref.expand_shape %query [[0, 1], [2], [3]] output_shape [1, %rows, 4, 64] : !q into !all
  scf.forall (%b, %h, %i) = (0, 0, 0) to (%sequences, 4, %rows) step (1, 1, 128) {
    %c128 = arith.constant 128 : index
    %next = arith.addi %b, %c1 : index
    %start = memref.load %starts[%b] : memref<?xi32>
    %end = memref.load %starts[%next] : memref<?xi32>
    %first = arith.index_cast %start : i32 to index
    %last = arith.index_cast %end : i32 to index
    %count = arith.subi %last, %first : index
    %at = arith.minsi %i, %count : index
    %left = arith.subi %count, %at : index
    %size = arith.minsi %left, %c128 : index
    %row = arith.addi %first, %at : index
    %q = memref.subview %all[0, %row, %h, 0] [1, %size, 1, 64] [1, 1, 1, 1] : !all to !row
    %r:3 = fa.key_ranges (%j, %n) = [partial %c0 to %count] step 64
        iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
      %key = arith.addi %first, %j : index
      %k = memref.subview %all[0, %key, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !all to !row
      %x:3 = fa.online_attention ins(%q, %k, %k : !row, !row, !row) outs(%a0, %m0, %s0 : !acc, !vec, !vec)
          offsets(%b, %h, %at, %j) extents(%count, %count) {config = #config}
      fa.yield %x#0, %x#1, %x#2 : !acc, !vec, !vec
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !vec, !vec) outs(%q : !row)
  }
  return
}

// -----

!q = memref<2x?x4x64xbf16>
!row = memref<1x?x1x64xbf16, strided<[?, 256, 64, 1], offset: ?>>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>
#config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>

// Sequences with rows of their own are as long as the host says.
// CHECK-LABEL: func.func @batch
// CHECK-NOT: fagpu.workspace
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) =
func.func @batch(%query: !q, %a: !acc, %m: !vec, %s: !vec) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %query, %c1 : !q
  scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 4, %rows) step (1, 1, 128) {
    %c128 = arith.constant 128 : index
    %left = arith.subi %rows, %i : index
    %size = arith.minsi %left, %c128 : index
    %q = memref.subview %query[%b, %i, %h, 0] [1, %size, 1, 64] [1, 1, 1, 1] : !q to !row
    %r:3 = fa.key_ranges (%j, %n) = [partial %c0 to %rows] step 64
        iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
      %k = memref.subview %query[%b, %j, %h, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !q to !row
      %x:3 = fa.online_attention ins(%q, %k, %k : !row, !row, !row) outs(%a0, %m0, %s0 : !acc, !vec, !vec)
          offsets(%b, %h, %i, %j) extents(%rows, %rows) {config = #config}
      fa.yield %x#0, %x#1, %x#2 : !acc, !vec, !vec
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !vec, !vec) outs(%q : !row)
  }
  return
}
