// RUN: fa-opt %s -allow-unregistered-dialect -fa-list-blocks -canonicalize -cse -split-input-file | FileCheck %s
// RUN: fa-opt %s -allow-unregistered-dialect -fa-list-blocks -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fa-list-blocks 2>&1 | FileCheck %s --check-prefix=REMARK

!q = memref<?x?x?x64xbf16>
!row = memref<1x?x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>
#gpu = #fa.gpu<warps, block_table>
#config = #fa.config<query_block = 128, key_block = 64, target = #gpu>

// Documents: a table for each batch, and none for each head.
// CHECK-LABEL: func.func @documents
// CHECK-SAME: (%[[Q:[^:]*]]: memref<?x?x?x64xbf16>, %[[K:[^:]*]]: memref<?x?x?x64xbf16>, %[[IDS:[^:]*]]: memref<?x?xi32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[QUERIES:.*]] = memref.dim %[[Q]], %[[C1]]
// CHECK: %[[KEYS:.*]] = memref.dim %[[K]], %[[C1]]
// CHECK: %[[ROWS:.*]] = arith.ceildivui %{{.*}}, %{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[KEYS]], %[[C64]] : index
// CHECK: %[[ROOM:.*]] = arith.maxui %[[BLOCKS]], %[[C1]] : index
// CHECK: %[[WORDS:.*]] = arith.addi %[[ROOM]], %[[C2]] : index
// CHECK: cf.assert %{{.*}}, "the table of visited blocks has more than 2147483647 entries
// CHECK: %[[TABLE:.*]] = fagpu.workspace(%{{.*}}) : memref<?xi32>
// CHECK: scf.forall (%[[B:.*]], %[[I:.*]]) = (0, 0) to (%{{.*}}, %{{.*}}) step (1, 128) {
// CHECK:   memref.store %{{.*}}, %[[TABLE]]
// Groups of eight blocks that bounds leave nothing of are passed over.
// CHECK:   %[[N:.*]]:2 = fa.key_ranges (%[[FIRST:.*]], %{{.*}}) = [partial %[[C0]] to %[[KEYS]]] step 512 iter_args(%[[FULL0:.*]] = %[[C0]], %[[PARTIAL0:.*]] = %[[C0]])
// CHECK:     %[[MAYBE:.*]], %{{.*}} = fa.summarize_mask 128 by 512 by_bounds offsets(%[[B]], %[[C0]], %[[I]], %[[FIRST]]) extents(%[[QUERIES]], %[[KEYS]])
// CHECK:     %[[PAST:.*]] = arith.addi %[[FIRST]], %{{.*}} : index
// CHECK:     %[[END:.*]] = arith.minsi %[[PAST]], %[[KEYS]] : index
// CHECK:     %[[LISTED:.*]]:2 = scf.if %[[MAYBE]] -> (index, index) {
// CHECK:     fa.key_ranges (%[[KEY:.*]], %[[COUNT:.*]]) = [partial %[[FIRST]] to %[[END]]] step 64 iter_args(%[[FULL:.*]] = %[[FULL0]], %[[PARTIAL:.*]] = %[[PARTIAL0]])
// CHECK:     %[[SOME:.*]], %[[EVERY:.*]] = fa.summarize_mask 128 by 64 offsets(%[[B]], %[[C0]], %[[I]], %[[KEY]]) extents(%[[QUERIES]], %[[KEYS]]) captures(%[[IDS]] : memref<?x?xi32>) {
// CHECK:       arith.cmpi eq
// CHECK:     }
// CHECK:     %[[WHOLE:.*]] = arith.cmpi sge, %[[COUNT]], %[[C64]] : index
// CHECK:     %[[IS_FULL:.*]] = arith.andi %[[EVERY]], %[[WHOLE]] : i1
// CHECK:     %[[NOT_FULL:.*]] = arith.xori %[[IS_FULL]], %{{.*}} : i1
// CHECK:     %[[IS_PARTIAL:.*]] = arith.andi %[[SOME]], %[[NOT_FULL]] : i1
// CHECK:     %[[NUMBER:.*]] = arith.divui %[[KEY]], %[[C64]] : index
// CHECK:     %[[FRONT:.*]] = arith.addi %{{.*}}, %[[FULL]] : index
// CHECK:     scf.if %[[IS_FULL]] {
// CHECK:       memref.store %{{.*}}, %[[TABLE]][%[[FRONT]]]
// CHECK:     %[[BACK:.*]] = arith.subi %{{.*}}, %[[PARTIAL]] : index
// CHECK:     scf.if %[[IS_PARTIAL]] {
// CHECK:       memref.store %{{.*}}, %[[TABLE]][%[[BACK]]]
// CHECK:     } else {
// CHECK:       scf.yield %[[FULL0]], %[[PARTIAL0]] : index, index
// CHECK:   memref.store %{{.*}}, %[[TABLE]]
// CHECK:   memref.store %{{.*}}, %[[TABLE]]
// CHECK: }
// The ranges of the step are over places in the list, full ones first.
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) =
// CHECK:   %[[NUM_FULL:.*]] = arith.andi %{{.*}}, %{{.*}} : index
// CHECK:   %[[NUM_PARTIAL:.*]] = arith.andi %{{.*}}, %{{.*}} : index
// CHECK:   %[[FULL_END:.*]] = arith.muli %[[NUM_FULL]], %[[C64]] overflow<nsw> : index
// CHECK:   %[[ALL:.*]] = arith.addi %[[NUM_FULL]], %[[NUM_PARTIAL]] : index
// CHECK:   %[[END:.*]] = arith.muli %[[ALL]], %[[C64]] overflow<nsw> : index
// CHECK:   fa.key_ranges (%[[AT:.*]], %{{.*}}) = [full %[[C0]] to %[[FULL_END]], partial %[[FULL_END]] to %[[END]]] step 64
// CHECK:     %[[IN_LIST:.*]] = arith.maxsi %[[AT]], %[[C0]] : index
// CHECK:     %[[PLACE:.*]] = arith.divui %[[IN_LIST]], %[[C64]] : index
// CHECK:     %[[LATE:.*]] = arith.cmpi sge, %[[PLACE]], %[[NUM_FULL]] : index
// CHECK:     %[[WORD:.*]] = arith.select %[[LATE]]
// CHECK:     memref.load %[[TABLE]][%[[WORD]]]
// CHECK:     %[[LISTED:.*]] = arith.muli %{{.*}}, %[[C64]] overflow<nsw> : index
// CHECK:     %[[LEFT:.*]] = arith.subi %{{.*}}, %[[LISTED]] : index
// CHECK:     %[[SIZE:.*]] = arith.minsi %[[LEFT]], %[[C64]] : index
// CHECK:     memref.subview %{{.*}}[0, %[[LISTED]], 0, 0] [1, %[[SIZE]], 1, 64]
// CHECK:     fa.online_attention {{.*}} offsets(%{{.*}}, %{{.*}}, %{{.*}}, %[[LISTED]])
// REMARK: remark: [Passed] BlockTable {{.*}}"a table lists the key blocks that the mask leaves"
func.func @documents(%query: !q, %key: !q, %ids: memref<?x?xi32>, %a: !acc, %m: !vec, %s: !vec, %output: !q) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batches = memref.dim %query, %c0 : !q
  %queries = memref.dim %query, %c1 : !q
  %heads = memref.dim %query, %c2 : !q
  %keys = memref.dim %key, %c1 : !q
  scf.forall (%b, %h, %i) = (0, 0, 0) to (%batches, %heads, %queries) step (1, 1, 128) {
    %c128 = arith.constant 128 : index
    %left = arith.subi %queries, %i : index
    %rows = arith.minsi %left, %c128 : index
    %q = memref.subview %query[%b, %i, %h, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : !q to memref<1x?x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
    %k = memref.subview %key[%b, 0, %h, 0] [1, %keys, 1, 64] [1, 1, 1, 1] : !q to memref<1x?x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
    %o = memref.subview %output[%b, %i, %h, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : !q to memref<1x?x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
    %r:3 = fa.key_ranges (%j, %count) = [partial %c0 to %keys] step 64
        iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
      %kj = memref.subview %k[0, %j, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !row to !row
      %n:3 = fa.online_attention ins(%q, %kj, %kj : !row, !row, !row) outs(%a0, %m0, %s0 : !acc, !vec, !vec)
          offsets(%b, %h, %i, %j) extents(%queries, %keys)
          mask(%batch, %head, %qi, %kv) captures(%table = %ids : memref<?x?xi32>) {
            %x = memref.load %table[%batch, %qi] : memref<?x?xi32>
            %y = memref.load %table[%batch, %kv] : memref<?x?xi32>
            %same = arith.cmpi eq, %x, %y : i32
            fa.yield %same : i1
          } {config = #config}
      fa.yield %n#0, %n#1, %n#2 : !acc, !vec, !vec
    }
    fa.finalize ins(%r#0, %r#1, %r#2 : !acc, !vec, !vec) outs(%o : !row)
  }
  return
}

// -----

!row = memref<1x300x1x64xbf16>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>

// One query block has no loop to be listed for.
// CHECK-LABEL: func.func @one_block
// CHECK-NOT: fagpu.workspace
// CHECK: fa.key_ranges ({{.*}}) = [partial %{{.*}} to %{{.*}}] step 64
// REMARK: remark: [Missed] BlockTable {{.*}}"no table of visited blocks: there is one query block"
func.func @one_block(%q: !row, %k: !row, %ids: memref<300xi32>, %a: !acc, %m: !vec, %s: !vec) -> !acc {
  %c0 = arith.constant 0 : index
  %c300 = arith.constant 300 : index
  %r:3 = fa.key_ranges (%j, %count) = [partial %c0 to %c300] step 64
      iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
    %kj = memref.subview %k[0, %j, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !row to memref<1x?x1x64xbf16, strided<[19200, 64, 64, 1], offset: ?>>
    %qi = memref.subview %q[0, 0, 0, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !row to memref<1x128x1x64xbf16, strided<[19200, 64, 64, 1]>>
    %n:3 = fa.online_attention ins(%qi, %kj, %kj : memref<1x128x1x64xbf16, strided<[19200, 64, 64, 1]>>,
            memref<1x?x1x64xbf16, strided<[19200, 64, 64, 1], offset: ?>>, memref<1x?x1x64xbf16, strided<[19200, 64, 64, 1], offset: ?>>)
        outs(%a0, %m0, %s0 : !acc, !vec, !vec) offsets(%c0, %c0, %c0, %j) extents(%c300, %c300)
        mask(%batch, %head, %query, %key) captures(%table = %ids : memref<300xi32>) {
          %x = memref.load %table[%query] : memref<300xi32>
          %y = memref.load %table[%key] : memref<300xi32>
          %same = arith.cmpi eq, %x, %y : i32
          fa.yield %same : i1
        } {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps, block_table>>}
    fa.yield %n#0, %n#1, %n#2 : !acc, !vec, !vec
  }
  return %r#0 : !acc
}

// -----

!q = memref<1x1024x2x64xbf16>
!row = memref<1x?x1x64xbf16, strided<[131072, 128, 64, 1], offset: ?>>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>

// Nothing that a table could add: an affine mask is known ahead of time.
// CHECK-LABEL: func.func @affine
// CHECK-NOT: fagpu.workspace
// CHECK: fa.online_attention
func.func @affine(%query: !q, %a: !acc, %m: !vec, %s: !vec) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  scf.forall (%h, %i) = (0, 0) to (2, 1024) step (1, 128) {
    %end = arith.addi %i, %c0 : index
    %r:3 = fa.key_ranges (%j, %count) = [partial %c0 to %c1024] step 64
        iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
      %kj = memref.subview %query[0, %j, %h, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !q to !row
      %n:3 = fa.online_attention ins(%kj, %kj, %kj : !row, !row, !row) outs(%a0, %m0, %s0 : !acc, !vec, !vec)
          offsets(%c0, %h, %i, %j) extents(%c1024, %c1024)
          mask(%batch, %head, %qi, %key) {
            %seen = arith.cmpi sle, %key, %qi : index
            fa.yield %seen : i1
          } {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps, block_table>>}
      "use"(%n#0) : (!acc) -> ()
      fa.yield %n#0, %n#1, %n#2 : !acc, !vec, !vec
    }
  }
  return
}

// -----

!q = memref<1x1024x2x64xbf16>
!row = memref<1x?x1x64xbf16, strided<[131072, 128, 64, 1], offset: ?>>
!acc = tensor<128x64xf32>
!vec = tensor<128xf32>

// block_table = false visits all blocks.
// CHECK-LABEL: func.func @turned_off
// CHECK-NOT: fagpu.workspace
// CHECK: fa.online_attention
func.func @turned_off(%query: !q, %ids: memref<1024xi32>, %a: !acc, %m: !vec, %s: !vec) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  scf.forall (%h, %i) = (0, 0) to (2, 1024) step (1, 128) {
    %r:3 = fa.key_ranges (%j, %count) = [partial %c0 to %c1024] step 64
        iter_args(%a0 = %a, %m0 = %m, %s0 = %s) -> (!acc, !vec, !vec) {
      %kj = memref.subview %query[0, %j, %h, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !q to !row
      %n:3 = fa.online_attention ins(%kj, %kj, %kj : !row, !row, !row) outs(%a0, %m0, %s0 : !acc, !vec, !vec)
          offsets(%c0, %h, %i, %j) extents(%c1024, %c1024)
          mask(%batch, %head, %qi, %key) captures(%table = %ids : memref<1024xi32>) {
            %x = memref.load %table[%qi] : memref<1024xi32>
            %y = memref.load %table[%key] : memref<1024xi32>
            %same = arith.cmpi eq, %x, %y : i32
            fa.yield %same : i1
          } {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>}
      "use"(%n#0) : (!acc) -> ()
      fa.yield %n#0, %n#1, %n#2 : !acc, !vec, !vec
    }
  }
  return
}

// -----

!q = memref<?x?x?x64xbf16>
!rows = memref<?x?x?xf32>
!head = memref<1x?x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
!row = memref<1x1x?xf32, strided<[?, ?, 1], offset: ?>>
!acc = tensor<128x64xf32>
#config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps, block_table>>

// Gradients of keys: transposed, a row for each key block that lists query blocks. All query heads of a key head go by one list.
// CHECK-LABEL: func.func @keys
// CHECK-SAME: (%[[Q:[^:]*]]: memref<?x?x?x64xbf16>, %[[K:[^:]*]]: memref<?x?x?x64xbf16>, %{{.*}}: memref<?x?x?xf32>, %[[IDS:[^:]*]]: memref<?x?xi32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[QUERIES:.*]] = memref.dim %[[Q]], %[[C1]]
// CHECK: %[[KEYS:.*]] = memref.dim %[[K]], %[[C1]]
// CHECK: arith.ceildivui %[[KEYS]], %{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[QUERIES]], %[[C64]] : index
// CHECK: arith.maxui %[[BLOCKS]], %[[C1]] : index
// CHECK: %[[TABLE:.*]] = fagpu.workspace(%{{.*}}) : memref<?xi32>
// CHECK: scf.forall (%[[B:.*]], %[[J:.*]]) = (0, 0) to (%{{.*}}, %[[KEYS]]) step (1, 128) {
// CHECK:   fa.query_ranges (%[[FIRST:.*]], %{{.*}}) = [partial %[[C0]] to %[[QUERIES]]] step 512
// CHECK:     fa.summarize_mask 512 by 128 by_bounds offsets(%[[B]], %[[C0]], %[[FIRST]], %[[J]]) extents(%[[QUERIES]], %[[KEYS]])
// CHECK:     fa.query_ranges (%[[AT:.*]], %{{.*}}) = [partial %[[FIRST]] to %{{.*}}] step 64
// CHECK:       fa.summarize_mask 64 by 128 offsets(%[[B]], %[[C0]], %[[AT]], %[[J]]) extents(%[[QUERIES]], %[[KEYS]]) captures(%[[IDS]] : memref<?x?xi32>)
// CHECK:       arith.divui %[[AT]], %[[C64]] : index
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = {{.*}} step (1, 1, 128) {
// CHECK:   %[[FULL_END:.*]] = arith.muli %{{.*}}, %[[C64]] overflow<nsw> : index
// CHECK:   %[[END:.*]] = arith.muli %{{.*}}, %[[C64]] overflow<nsw> : index
// CHECK:   scf.for
// CHECK:     fa.query_ranges (%[[PLACE:.*]], %{{.*}}) = [full %[[C0]] to %[[FULL_END]], partial %[[FULL_END]] to %[[END]]] step 64
// CHECK:       arith.maxsi %[[PLACE]], %[[C0]] : index
// CHECK:       memref.load %[[TABLE]][%{{.*}}]
// CHECK:       %[[LISTED:.*]] = arith.muli %{{.*}}, %[[C64]] overflow<nsw> : index
// CHECK:       %[[LEFT:.*]] = arith.subi %[[QUERIES]], %[[LISTED]] : index
// CHECK:       %[[SIZE:.*]] = arith.minsi %[[LEFT]], %[[C64]] : index
// CHECK:       memref.subview %{{.*}}[0, %[[LISTED]], 0, 0] [1, %[[SIZE]], 1, 64]
// CHECK:       fa.gradient_keys {{.*}} offsets(%{{.*}}, %{{.*}}, %[[LISTED]], %{{.*}})
// REMARK: remark: [Passed] BlockTable {{.*}}"a table lists the query blocks that the mask leaves"
func.func @keys(%query: !q, %key: !q, %lse: !rows, %ids: memref<?x?xi32>, %zero: !acc, %dk: !q, %group: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %batches = memref.dim %query, %c0 : !q
  %queries = memref.dim %query, %c1 : !q
  %heads = memref.dim %key, %c2 : !q
  %keys = memref.dim %key, %c1 : !q
  scf.forall (%b, %h, %j) = (0, 0, 0) to (%batches, %heads, %keys) step (1, 1, 128) {
    %left = arith.subi %keys, %j : index
    %count = arith.minsi %left, %c128 : index
    %k = memref.subview %key[%b, %j, %h, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !q to !head
    %o = memref.subview %dk[%b, %j, %h, 0] [1, %count, 1, 64] [1, 1, 1, 1] : !q to !head
    %r = scf.for %member = %c0 to %group step %c1 iter_args(%a = %zero) -> (!acc) {
      %first = arith.muli %h, %group : index
      %head = arith.addi %first, %member : index
      %q = memref.subview %query[%b, 0, %head, 0] [1, %queries, 1, 64] [1, 1, 1, 1] : !q to !head
      %l = memref.subview %lse[%b, %head, 0] [1, 1, %queries] [1, 1, 1] : !rows to !row
      %s = fa.query_ranges (%i, %n) = [partial %c0 to %queries] step 64 iter_args(%a0 = %a) -> (!acc) {
        %qi = memref.subview %q[0, %i, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !head to !head
        %li = memref.subview %l[0, 0, %i] [1, 1, %n] [1, 1, 1] : !row to !row
        %a1 = fa.gradient_keys ins(%qi, %k, %k, %qi : !head, !head, !head, !head) rows(%li, %li : !row, !row) outs(key = %a0 : !acc)
            offsets(%b, %head, %i, %j) extents(%queries, %keys)
            mask(%batch, %hd, %at, %kv) captures(%table = %ids : memref<?x?xi32>) {
              %x = memref.load %table[%batch, %at] : memref<?x?xi32>
              %y = memref.load %table[%batch, %kv] : memref<?x?xi32>
              %same = arith.cmpi eq, %x, %y : i32
              fa.yield %same : i1
            } {config = #config}
        fa.yield %a1 : !acc
      }
      scf.yield %s : !acc
    }
    fa.finalize_gradient ins(%r : !acc) outs(%o : !head) rows(%count)
  }
  return
}

// -----

!q = memref<?x?x?x64xbf16>
!rows = memref<?x?x?xf32>
!head = memref<1x?x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
!row = memref<1x1x?xf32, strided<[?, ?, 1], offset: ?>>
!acc = tensor<128x64xf32>
#config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps, block_table>>

// A mask that differs between these would need a list of each.
// CHECK-LABEL: func.func @heads
// CHECK-NOT: fagpu.workspace
// CHECK: fa.query_ranges ({{.*}}) = [partial %{{.*}} to %{{.*}}] step 64
// REMARK: remark: [Missed] BlockTable {{.*}}"no table of visited blocks: its mask differs between the query heads of a key head"
func.func @heads(%query: !q, %key: !q, %lse: !rows, %ids: memref<?x?xi32>, %zero: !acc, %dk: !q, %group: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batches = memref.dim %query, %c0 : !q
  %queries = memref.dim %query, %c1 : !q
  %heads = memref.dim %key, %c2 : !q
  scf.forall (%b, %h, %j) = (0, 0, 0) to (%batches, %heads, 1024) step (1, 1, 128) {
    %k = memref.subview %key[%b, %j, %h, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to memref<1x128x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
    %o = memref.subview %dk[%b, %j, %h, 0] [1, 128, 1, 64] [1, 1, 1, 1] : !q to memref<1x128x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>
    %r = scf.for %member = %c0 to %group step %c1 iter_args(%a = %zero) -> (!acc) {
      %first = arith.muli %h, %group : index
      %head = arith.addi %first, %member : index
      %q = memref.subview %query[%b, 0, %head, 0] [1, %queries, 1, 64] [1, 1, 1, 1] : !q to !head
      %l = memref.subview %lse[%b, %head, 0] [1, 1, %queries] [1, 1, 1] : !rows to !row
      %s = fa.query_ranges (%i, %n) = [partial %c0 to %queries] step 64 iter_args(%a0 = %a) -> (!acc) {
        %qi = memref.subview %q[0, %i, 0, 0] [1, %n, 1, 64] [1, 1, 1, 1] : !head to !head
        %li = memref.subview %l[0, 0, %i] [1, 1, %n] [1, 1, 1] : !row to !row
        %a1 = fa.gradient_keys ins(%qi, %k, %k, %qi : !head, memref<1x128x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>,
                memref<1x128x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>, !head) rows(%li, %li : !row, !row) outs(key = %a0 : !acc)
            offsets(%b, %head, %i, %j) extents(%queries, %queries)
            mask(%batch, %hd, %at, %kv) captures(%table = %ids : memref<?x?xi32>) {
              %x = memref.load %table[%hd, %at] : memref<?x?xi32>
              %y = memref.load %table[%hd, %kv] : memref<?x?xi32>
              %same = arith.cmpi eq, %x, %y : i32
              fa.yield %same : i1
            } {config = #config}
        fa.yield %a1 : !acc
      }
      scf.yield %s : !acc
    }
    %c128 = arith.constant 128 : index
    fa.finalize_gradient ins(%r : !acc) outs(%o : memref<1x128x1x64xbf16, strided<[?, ?, 64, 1], offset: ?>>) rows(%c128)
  }
  return
}
