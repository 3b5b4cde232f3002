// The gradient of attention in blocks: rows first, then keys, then queries.
// RUN: fa-opt %s --fa-tile-gradient --split-input-file | FileCheck %s

!t = memref<2x256x8x64xf32>
!k = memref<2x300x2x64xf32>
!row = memref<2x8x256xf32>

// delta and lse of each row, in memory of their own:
// CHECK-LABEL: @grouped
// CHECK-DAG: %[[DELTA:.*]] = memref.alloc() : memref<2x8x256xf32>
// CHECK-DAG: %[[LSE:.*]] = memref.alloc() : memref<2x8x256xf32>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = (0, 0, 0) to (2, 8, 256) step (1, 1, 64)
// CHECK: fa.prepare_gradient of({{.*}}) lse({{.*}}) outs({{.*}}) rows(%{{.*}})

// Blocks of keys. The four query heads of a key head come one after the other:
// CHECK: scf.forall (%{{.*}}, %[[KH:.*]], %[[J:.*]]) = (0, 0, 0) to (2, 2, 300) step (1, 1, 128)
// CHECK: %[[COUNT:.*]] = affine.min #{{.*}}()[%[[J]]]
// CHECK: %[[STATE:.*]]:2 = scf.for %[[MEMBER:.*]] = %{{.*}} to %[[FOUR:.*]] step %{{.*}} iter_args(%[[DK:.*]] = %{{.*}}, %[[DV:.*]] = %{{.*}}) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
// CHECK:   %[[FIRST:.*]] = arith.muli %[[KH]], %[[FOUR]]
// CHECK:   %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[MEMBER]]
// CHECK:   fa.gradient_keys ins({{.*}}) rows({{.*}}) outs(key = %[[DK]] : tensor<128x64xf32>, value = %[[DV]] : tensor<128x64xf32>)
// CHECK: fa.finalize_gradient ins(%[[STATE]]#0 : tensor<128x64xf32>) scale(%{{.*}}) outs({{.*}}) rows(%[[COUNT]])
// CHECK: fa.finalize_gradient ins(%[[STATE]]#1 : tensor<128x64xf32>) outs({{.*}}) rows(%[[COUNT]])

// Blocks of queries:
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) = (0, 0, 0) to (2, 8, 256) step (1, 1, 64)
// CHECK: affine.apply #{{.*}}()[%[[H]]]
// CHECK: %[[DQ:.*]] = fa.gradient_queries ins({{.*}}) rows({{.*}}) outs(query = %{{.*}} : tensor<64x64xf32>)
// CHECK: fa.finalize_gradient ins(%[[DQ]] : tensor<64x64xf32>) scale(%{{.*}})
// CHECK-DAG: memref.dealloc %[[DELTA]]
// CHECK-DAG: memref.dealloc %[[LSE]]
func.func @grouped(%q: !t, %k: !k, %v: !k, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !k, %dv: !k) {
  fa.attention_gradient ins(%q, %k, %v : !t, !k, !k) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !k, value = %dv : !k) {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<2x256x8x64xf32>
!row = memref<2x8x256xf32>
!bias = memref<8x256x256xbf16>

// A subset: nothing is computed that nobody asked for. The bias has a dimension
// for heads and one for queries, which stay parallel; batches add up in order,
// in f32.
// CHECK-LABEL: @bias
// CHECK: %[[SUM:.*]] = memref.alloc() : memref<8x256x256xf32>
// CHECK: linalg.fill {{.*}} outs(%[[SUM]]
// CHECK: scf.forall (%[[H:.*]], %[[I:.*]]) = (0, 0) to (8, 256) step (1, 64)
// CHECK:   scf.for %[[B:.*]] =
// CHECK:     fa.gradient_queries {{.*}} outs(capture[0] = %[[SUM]] : memref<8x256x256xf32>) offsets(%[[B]], %[[H]], %[[I]], %{{.*}})
// CHECK-NOT: fa.gradient_keys
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : memref<8x256x256xf32>) outs(%{{.*}} : memref<8x256x256xbf16>)
// CHECK:   arith.truncf
// CHECK: memref.dealloc %[[SUM]]
func.func @bias(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %bias: !bias, %db: !bias) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t) outs(capture[0] = %db : !bias)
      score(%s, %b, %h, %i, %j) captures(%t = %bias : !bias) {
        %w = memref.load %t[%h, %i, %j] : !bias
        %e = arith.extf %w : bf16 to f32
        %x = arith.addf %s, %e : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        fa.scatter_gradient %dx to %t[%h, %i, %j] : f32, !bias
        fa.yield %dx : f32
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<2x256x8x64xf32>
!row = memref<2x8x256xf32>
!table = memref<2x256x8x64xf32>

// What has a dimension for each joins the loop of the queries.
// CHECK-LABEL: @joined
// CHECK: scf.forall {{.*}} to (2, 8, 256)
// CHECK: fa.prepare_gradient
// CHECK: scf.forall {{.*}} to (2, 8, 256)
// CHECK: fa.gradient_queries {{.*}} outs(query = %{{.*}} : tensor<64x64xf32>, capture[0] = %{{.*}} : memref<2x8x256xf32>)
// CHECK-NOT: fa.gradient_queries
func.func @joined(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %rows: !row, %dq: !t, %dr: !row) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, capture[0] = %dr : !row)
      score(%s, %b, %h, %i, %j) captures(%t = %rows : !row) {
        %w = memref.load %t[%b, %h, %i] : !row
        %x = arith.mulf %s, %w : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        %w = memref.load %t[%b, %h, %i] : !row
        %ds = arith.mulf %dx, %w : f32
        %dw = arith.mulf %dx, %s : f32
        fa.scatter_gradient %dw to %t[%b, %h, %i] : f32, !row
        fa.yield %ds : f32
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<2x?x8x64xf32>
!row = memref<2x8x?xf32>

// Two loads index by head in different dimensions: heads share elements, and so
// do all blocks in the gradient of the scale. Each has a table of its own; they
// are added up in order.
// CHECK-LABEL: @shared
// CHECK: fa.prepare_gradient
// CHECK: %[[TABLES:.*]] = memref.alloc(%{{.*}}) : memref<2x8x?x8x8xf32>
// CHECK: linalg.fill {{.*}} outs(%[[TABLES]]
// CHECK: %[[SCALES:.*]] = memref.alloc(%{{.*}}) : memref<2x8x?xf32>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[I:.*]]) = (0, 0, 0) to (2, 8, %{{.*}}) step (1, 1, 64)
// CHECK:   %[[BLOCK:.*]] = arith.divui %[[I]], %c64
// CHECK:   fa.gradient_queries {{.*}} outs(capture[0] = %{{.*}} : memref<8x8xf32, {{.*}}>, scale = %{{.*}} : memref<f32, {{.*}}>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "reduction", "parallel", "parallel"]} ins(%[[TABLES]]
// CHECK: memref.dealloc %[[TABLES]]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "reduction"]} ins(%[[SCALES]]
func.func @shared(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %table: memref<8x8xf32>, %dt: memref<8x8xf32>, %ds: memref<f32>) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(capture[0] = %dt : memref<8x8xf32>, scale = %ds : memref<f32>)
      score(%s, %b, %h, %i, %j) captures(%t = %table : memref<8x8xf32>) {
        %w = memref.load %t[%b, %h] : memref<8x8xf32>
        %u = memref.load %t[%h, %b] : memref<8x8xf32>
        %y = arith.addf %s, %w : f32
        %x = arith.addf %y, %u : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        fa.scatter_gradient %dx to %t[%b, %h] : f32, memref<8x8xf32>
        fa.scatter_gradient %dx to %t[%h, %b] : f32, memref<8x8xf32>
        fa.yield %dx : f32
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<2x?x8x64xf32>
!row = memref<2x8x?xf32>

// Rows past a length are not read; the ends of gradients write 0 there.
// CHECK-LABEL: @lengths
// CHECK: %[[LENGTH:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<2xi32>
// CHECK: %[[LEFT:.*]] = affine.max
// CHECK: %[[VALID:.*]] = affine.min #{{.*}}()[%{{.*}}, %[[LEFT]]]
// CHECK: fa.prepare_gradient {{.*}} rows(%[[VALID]])
// CHECK: scf.forall
// CHECK: memref.load %{{.*}}[%{{.*}}] : memref<2xi32>
// CHECK: fa.gradient_keys
// CHECK: fa.finalize_gradient
func.func @lengths(%q: !t, %k: !t, %v: !t, %lse: !row, %delta: !row, %do: !t, %n: memref<2xi32>, %dk: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !row) delta(%delta : !row) gradients(%do : !t) outs(key = %dk : !t)
      query_lengths(%n : memref<2xi32>) key_lengths(%n : memref<2xi32>) {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = memref<2x256x8x64xf32>
!k = memref<2x300x2x64xf32>
!row = memref<2x8x256xf32>

// One pass: a thread owns a key head, with memory for what its blocks of keys
// add to the gradients of the four query heads.
// CHECK-LABEL: @one_pass
// CHECK: fa.prepare_gradient
// CHECK: scf.forall (%[[B:.*]], %[[KH:.*]]) in (2, 2) {
// CHECK:   %[[SUMS:.*]] = memref.alloc() : memref<1x4x256x64xf32>
// CHECK:   linalg.fill ins(%{{.*}} : f32) outs(%[[SUMS]]
// CHECK:   scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:     scf.for %[[MEMBER:arg[0-9]+]] = %{{.*}} iter_args
// CHECK:       %[[DQ:.*]] = memref.subview %[[SUMS]][%{{.*}}, %[[MEMBER]], 0, 0] [1, 1, 256, 64]
// CHECK:       fa.gradient_keys {{.*}} outs(key = %{{.*}}, value = %{{.*}}, query = %[[DQ]] : {{.*}}) {{.*}} query_gradient_dims = #fa.dims<b, h, s, d>
// CHECK:   scf.for %{{.*}} = %{{.*}} {
// CHECK:     scf.for
// CHECK:       fa.finalize_gradient ins(%{{.*}} : memref<64x64xf32, {{.*}}>) scale(
// CHECK:   memref.dealloc %[[SUMS]]
// CHECK-NOT: fa.gradient_queries
func.func @one_pass(%q: !t, %k: !k, %v: !k, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !k, %dv: !k) {
  fa.attention_gradient ins(%q, %k, %v : !t, !k, !k) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !k, value = %dv : !k)
      {config = #fa.config<query_block = 64, key_block = 128, gradient_form = one_pass>}
  return
}

// -----

!t = memref<2x256x8x64xf32>
!row = memref<2x8x256xf32>

// CHECK-LABEL: @three_pass
// CHECK: fa.gradient_keys {{.*}} outs(key = %{{.*}} : tensor<128x64xf32>) offsets
// CHECK: fa.gradient_keys {{.*}} outs(value = %{{.*}} : tensor<128x64xf32>) offsets
// CHECK: fa.gradient_queries {{.*}} outs(query = %{{.*}} : tensor<64x64xf32>) offsets
func.func @three_pass(%q: !t, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 64, key_block = 128, gradient_form = three_pass>}
  return
}

// -----

!t = memref<2x?x8x64xbf16>
!row = memref<2x8x?xf32>

// On a GPU blocks of keys are parallel in one pass, too: they add to memory that the rows clear and another loop stores.
// CHECK-LABEL: @one_pass_on_gpu
// CHECK-COUNT-2: memref.alloc(
// CHECK: %[[SUMS:.*]] = memref.alloc(%{{.*}}) : memref<2x8x?xf32>
// CHECK: scf.forall
// CHECK: memref.expand_shape %[[SUMS]] {{\[\[}}0], [1], [2, 3]] {{.*}} : memref<2x8x?xf32> into memref<2x8x?x64xf32>
// CHECK: fa.prepare_gradient {{.*}} clears(%{{.*}})
// CHECK: scf.forall
// CHECK: memref.expand_shape %[[SUMS]]
// CHECK: fa.gradient_keys {{.*}} query = %{{.*}} : memref<
// CHECK: fa.finalize_gradient
// CHECK: fa.finalize_gradient
// CHECK: scf.forall
// CHECK: memref.expand_shape %[[SUMS]]
// CHECK: fa.finalize_gradient ins(%{{.*}} : memref<{{.*}}>) scale(%{{.*}}) {{.*}} {config = #fa.config<query_block = 128,
// CHECK: memref.dealloc %[[SUMS]]
func.func @one_pass_on_gpu(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 128, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass>}
  return
}

// -----

!t = memref<2x?x?x64xbf16>
!row = memref<2x?x?xf32>

// Where the numbers of heads come at run time, they choose between a loop through one query head and one through several.
// CHECK-LABEL: @one_pass_by_heads
// CHECK: fa.prepare_gradient
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[HEADS:.*]], %[[KEY_HEADS:[^ ]*]] : index
// CHECK: scf.if %[[SAME]] {
// CHECK:   scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = (0, 0, 0) to (2, %[[KEY_HEADS]], %{{.*}}) step (1, 1, 128)
// CHECK-NOT: scf.for %
// CHECK:     fa.gradient_keys
// CHECK: } else {
// CHECK:   scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = (0, 0, 0) to (2, %[[KEY_HEADS]], %{{.*}}) step (1, 1, 128)
// CHECK:     %[[GROUP:.*]] = arith.divui %[[HEADS]], %[[KEY_HEADS]] : index
// CHECK:     scf.for %{{.*}} = %{{.*}} to %[[GROUP]] step
// CHECK:       fa.gradient_keys
// CHECK: scf.forall
// CHECK: fa.finalize_gradient
// CHECK-NOT: scf.if
func.func @one_pass_by_heads(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 128, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass>}
  return
}

// -----

!t = memref<2x?x8x64xbf16>
!k = memref<2x?x2x64xbf16>
!row = memref<2x8x?xf32>

// Known numbers leave no choice.
// CHECK-LABEL: @one_pass_of_known_heads
// CHECK-NOT: scf.if
// CHECK: scf.for %
// CHECK:   fa.gradient_keys
// CHECK-NOT: fa.gradient_keys
func.func @one_pass_of_known_heads(%q: !t, %k: !k, %v: !k, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !k, %dv: !k) {
  fa.attention_gradient ins(%q, %k, %v : !t, !k, !k) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !k, value = %dv : !k)
      {config = #fa.config<query_block = 128, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass>}
  return
}

// -----

!t = memref<2x?x8x128xbf16>
!row = memref<2x8x?xf32>

// Warps copy 16 rows in pairs: numbers of blocks of 80 queries are prepared in blocks of 32, of which memory has a whole number too.
// CHECK-LABEL: @one_pass_of_80
// CHECK: arith.ceildivui %{{.*}}, %c160 : index
// CHECK: scf.forall {{.*}} step (1, 1, 32)
// CHECK: fa.prepare_gradient {{.*}} clears(%{{.*}}) {{.*}} {config = #fa.config<query_block = 32,
func.func @one_pass_of_80(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %dq: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass>}
  return
}

// -----

!t = memref<?x4x64xbf16>
!row = memref<4x?xf32>
!s = memref<?xi32>
#d = #fa.dims<s, h, d>

// Loops of groups of warps go over lists that a loop ahead writes, of the blocks of queries and of keys that there are: place by
// place, the longest sequences first where they are not in the order of numbers. No tile searches its sequence.
// CHECK-LABEL: @packed_on_gpu
// CHECK: cf.assert %{{.*}}, "query_starts has no sequence, expected at least one for gradients on a GPU"
// CHECK: cf.assert %{{.*}}, "key_starts has no sequence, expected at least one for gradients on a GPU"
// CHECK: cf.assert %{{.*}}, "the list of blocks of a gradient has more than 2147483647 words, expected fewer rows or sequences"
// CHECK: %[[QUERIES:.*]] = fagpu.workspace(%{{.*}}) : memref<?xi32>
// CHECK: %[[KEYS:.*]] = fagpu.workspace(%{{.*}}) : memref<?xi32>
// CHECK: scf.forall (%[[SEQUENCE:[^,]*]]) in (%{{[^,]*}})
// CHECK:   scf.parallel (%[[OTHER:.*]]) =
// CHECK-NOT: arith.cmpi sgt
// CHECK:     arith.cmpi slt, %[[OTHER]], %[[SEQUENCE]] : index
// CHECK-NOT: arith.cmpi sgt
// CHECK:     scf.reduce
// CHECK:   scf.parallel
// CHECK-COUNT-9: memref.store %{{.*}}, %[[QUERIES]]
// CHECK:   scf.parallel
// CHECK-COUNT-9: memref.store %{{.*}}, %[[QUERIES]]
// CHECK:   scf.if
// CHECK:     memref.store %{{.*}}, %[[QUERIES]]
// CHECK:   scf.parallel (%[[OTHER:.*]]) =
// CHECK:     arith.cmpi slt, %[[OTHER]], %[[SEQUENCE]] : index
// CHECK:     arith.cmpi sgt
// CHECK:     scf.reduce
// CHECK:   memref.store %{{.*}}, %[[KEYS]]
// Of more than 512 sequences a loop adds up blocks of groups of them, and one looks at the own group and the sums of others.
// CHECK: scf.forall (%{{[^,]*}}) in (%{{[^,]*}})
// CHECK:   %[[SUM:.*]] = scf.parallel
// CHECK:     scf.reduce
// CHECK:   memref.store %[[SUM]], %[[QUERIES]]
// CHECK:   %[[SUM:.*]] = scf.parallel
// CHECK:     scf.reduce
// CHECK:   memref.store %[[SUM]], %[[KEYS]]
// CHECK: scf.forall (%[[SEQUENCE:[^,]*]]) in (%{{[^,]*}})
// CHECK:   scf.parallel (%[[OTHER:.*]]) =
// CHECK-NOT: arith.cmpi sge
// CHECK:     arith.cmpi slt, %[[OTHER]], %[[SEQUENCE]] : index
// CHECK-NOT: arith.cmpi sge
// CHECK:     scf.reduce
// CHECK:   scf.parallel
// CHECK-COUNT-3: memref.load %[[QUERIES]]
// CHECK:     scf.reduce
// Starts that fall are found by all lanes of a warp.
// CHECK:   %[[WRONG:.*]] = scf.parallel
// CHECK:     scf.reduce
// CHECK:   arith.cmpi eq, %[[WRONG]]
// CHECK-COUNT-9: memref.store %{{.*}}, %[[QUERIES]]
// CHECK:   scf.parallel (%[[OTHER:.*]]) =
// CHECK:     arith.cmpi slt, %[[OTHER]], %[[SEQUENCE]] : index
// CHECK-COUNT-2: arith.cmpi sge
// CHECK:     scf.reduce
// CHECK:   scf.parallel
// CHECK-COUNT-3: memref.load %[[KEYS]]
// CHECK:     scf.reduce
// CHECK:   memref.store %{{.*}}, %[[KEYS]]
// CHECK: memref.alloc(%{{.*}}) : memref<1x4x?xf32>
// CHECK: %[[WORD:.*]] = memref.load %[[QUERIES]]
// CHECK: %[[TILES:.*]] = arith.index_cast %[[WORD]]
// CHECK: %[[COUNT:.*]] = arith.minsi %[[TILES]], %{{.*}}
// CHECK: scf.forall (%{{[^,]*}}) in (%[[COUNT]])
// CHECK-NOT: scf.while
// CHECK:   fa.prepare_gradient
// CHECK: scf.forall
// CHECK-NOT: scf.while
// CHECK:   memref.load %[[KEYS]]
// CHECK:   fa.gradient_keys ins(%{{[^:]*}} : memref<1x?x1x64xbf16
// CHECK:   fa.finalize_gradient {{.*}} outs(%{{.*}} : memref<1x?x1x64xbf16
// CHECK: scf.forall
// CHECK-NOT: scf.while
// CHECK:   memref.load %[[QUERIES]]
// CHECK:   fa.gradient_queries ins(%{{[^:]*}} : memref<1x?x1x64xbf16
// CHECK:   %[[SCALE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NAN:.*]] : f32
// CHECK:   fa.finalize_gradient ins(%{{.*}}) scale(%[[SCALE]])
// CHECK-NOT: fa.attention_gradient
func.func @packed_on_gpu(%q: !t, %o: !t, %lse: !row, %do: !t, %qs: !s, %ks: !s, %dq: !t, %dk: !t) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t) outs(query = %dq : !t, key = %dk : !t)
      query_starts(%qs : !s) key_starts(%ks : !s)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = two_pass>,
       query_dims = #d, key_dims = #d, value_dims = #d, output_dims = #d, output_gradient_dims = #d, query_gradient_dims = #d, key_gradient_dims = #d}
  return
}

// -----

!t = memref<?x4x64xbf16>
!row = memref<4x?xf32>
!s = memref<?xi32>
#d = #fa.dims<s, h, d>

// On a GPU loops of warps go over slots of the rows of all packed sequences, and of those of none. Numbers of query rows begin with
// a slot for each sequence; rows of others are neither read nor stored, and a broken sequence has gradients of NaN.
// CHECK-LABEL: @packed_by_warps
// CHECK: cf.assert %{{.*}}, "query_starts has no sequence, expected at least one for gradients on a GPU"
// CHECK: cf.assert %{{.*}}, "key_starts has no sequence, expected at least one for gradients on a GPU"
// CHECK: memref.alloc(%{{.*}}) : memref<1x4x?xf32>
// CHECK: scf.forall (%{{[^,]*}}) in (%{{[^,]*}})
// CHECK:   scf.while
// CHECK:   fa.prepare_gradient
// CHECK: scf.forall
// CHECK:   scf.while
// CHECK:   fa.gradient_keys ins(%{{[^:]*}} : memref<1x?x1x64xbf16
// CHECK:   fa.finalize_gradient {{.*}} outs(%{{.*}} : memref<1x?x1x64xbf16
// CHECK: scf.forall
// CHECK:   scf.while
// CHECK:   fa.gradient_queries ins(%{{[^:]*}} : memref<1x?x1x64xbf16
// CHECK:   %[[SCALE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NAN:.*]] : f32
// CHECK:   fa.finalize_gradient ins(%{{.*}}) scale(%[[SCALE]])
// CHECK-NOT: fa.attention_gradient
func.func @packed_by_warps(%q: !t, %o: !t, %lse: !row, %do: !t, %qs: !s, %ks: !s, %dq: !t, %dk: !t) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t) outs(query = %dq : !t, key = %dk : !t)
      query_starts(%qs : !s) key_starts(%ks : !s)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>, gradient_form = two_pass>,
       query_dims = #d, key_dims = #d, value_dims = #d, output_dims = #d, output_gradient_dims = #d, query_gradient_dims = #d, key_gradient_dims = #d}
  return
}

// -----

!t = memref<2x?x4x64xbf16>
!row = memref<2x4x?xf32>
!rows = memref<4x?xf32>
#of_queries = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = two_pass>
#of_keys = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>>

// In one order on a GPU: of the slopes and of the scale each of 8 warps has a part in each block of queries; rows of
// queries, and of keys, have elements of their own in each batch. Parts are added up behind.
// CHECK-LABEL: @ordered
// CHECK: fa.prepare_gradient
// CHECK: %[[SLOPES:.*]] = memref.alloc(%{{.*}}) : memref<8x2x?x4xf32>
// CHECK: %[[QUERIES:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?xf32>
// CHECK: %[[KEYS:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?xf32>
// CHECK: %[[SCALE:.*]] = memref.alloc(%{{.*}}) : memref<8x2x4x?xf32>
// CHECK: scf.forall
// CHECK:   fa.gradient_keys {{.*}} outs(key = %{{[^,]*}}, value = %{{[^,]*}}, capture[2] = %{{.*}} : {{.*}}memref<4x?xf32, {{.*}}>) scale(
// CHECK:   config = {{.*}}fa.ordered_sums}
// CHECK: scf.forall
// CHECK:   fa.gradient_queries {{.*}} outs(query = %{{.*}}, capture[0] = %{{.*}} : memref<4xf32, {{.*}}>, capture[1] = %{{.*}} : memref<4x?xf32, {{.*}}>, scale = %{{.*}} : memref<f32, {{.*}}>) scale(
// CHECK:   config = {{.*}}fa.ordered_sums}
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%[[SLOPES]] : {{.*}}) outs(%[[SUM:.*]] : memref<4xf32>)
// CHECK: linalg.copy ins(%[[SUM]] : memref<4xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[QUERIES]]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[KEYS]]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "reduction", "reduction"]} ins(%[[SCALE]]
func.func @ordered(%q: !t, %o: !t, %lse: !row, %do: !t, %slopes: memref<4xf32>, %of_queries: !rows, %of_keys: !rows, %scale: f32,
                   %dq: !t, %dk: !t, %dv: !t, %ds: memref<4xf32>, %di: !rows, %dj: !rows, %df: memref<f32>) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t, capture[0] = %ds : memref<4xf32>, capture[1] = %di : !rows, capture[2] = %dj : !rows, scale = %df : memref<f32>)
      scale(%scale)
      score(%s, %b, %h, %i, %j) captures(%a = %slopes : memref<4xf32>, %c = %of_queries : !rows, %d = %of_keys : !rows) {
        %x0 = memref.load %a[%h] : memref<4xf32>
        %x1 = memref.load %c[%h, %i] : !rows
        %x2 = memref.load %d[%h, %j] : !rows
        %y0 = arith.addf %s, %x0 : f32
        %y1 = arith.addf %y0, %x1 : f32
        %y2 = arith.addf %y1, %x2 : f32
        fa.yield %y2 : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %a, %c, %d) {
        fa.scatter_gradient %dx to %a[%h] : f32, memref<4xf32>
        fa.scatter_gradient %dx to %c[%h, %i] : f32, !rows
        fa.scatter_gradient %dx to %d[%h, %j] : f32, !rows
        fa.yield %dx : f32
      } {config = #of_queries, fa.gradient_keys = #of_keys}
  return
}

// -----

!t = memref<2x?x8x64xf32>
!row = memref<2x8x?xf32>
!two = memref<2x256x8x64xf32>
!two_rows = memref<2x8x256xf32>

// Of the last block of keys a CPU computes those that there are, up to whole
// register tiles: 96 keys are three tiles, not four. Blocks that are whole, or no
// whole tiles, are static.
// CHECK: #[[TILES:.+]] = affine_map<()[s0] -> (128, (s0 ceildiv 32) * 32)>
// CHECK-LABEL: @last_block
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[J:.*]]) = (0, 0, 0) to (2, 8, %{{.*}}) step (1, 1, 128)
// CHECK:   %[[COUNT:.*]] = affine.min #{{.*}}()[%[[J]], %{{.*}}]
// CHECK:   %[[ROWS:.*]] = affine.min #[[TILES]]()[%[[COUNT]]]
// CHECK:   tensor.empty(%[[ROWS]]) : tensor<?x64xf32>
// CHECK:   fa.gradient_keys {{.*}} outs(key = %{{.*}} : tensor<?x64xf32>, value = %{{.*}} : tensor<?x64xf32>)
func.func @last_block(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.cpu<lanes = 16, register_rows = 12>>}
  return
}

// CHECK-LABEL: @parts_of_tiles
// CHECK:   fa.gradient_keys {{.*}} outs(key = %{{.*}} : tensor<80x64xf32>, value = %{{.*}} : tensor<80x64xf32>)
func.func @parts_of_tiles(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(key = %dk : !t, value = %dv : !t)
      {config = #fa.config<query_block = 128, key_block = 80, target = #fa.cpu<lanes = 16, register_rows = 12>>}
  return
}

// CHECK-LABEL: @whole_blocks
// CHECK:   fa.gradient_keys {{.*}} outs(key = %{{.*}} : tensor<128x64xf32>, value = %{{.*}} : tensor<128x64xf32>)
func.func @whole_blocks(%q: !two, %k: !two, %v: !two, %o: !two, %lse: !two_rows, %do: !two, %dk: !two, %dv: !two) {
  fa.attention_gradient ins(%q, %k, %v : !two, !two, !two) of(%o, %lse : !two, !two_rows) gradients(%do : !two)
      outs(key = %dk : !two, value = %dv : !two)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.cpu<lanes = 16, register_rows = 12>>}
  return
}
