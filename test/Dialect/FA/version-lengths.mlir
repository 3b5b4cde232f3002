// RUN: fa-opt %s -fa-version-lengths -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-version-lengths -split-input-file | fa-opt -fa-version-lengths -split-input-file | FileCheck %s
// RUN: fa-opt %s -fa-version-lengths -split-input-file -o /dev/null --remark-format=emitRemark --remarks-filter=fa-version-lengths 2>&1 | grep remark: | FileCheck %s --check-prefix=REMARK

!m = memref<1x?x8x64xf16>

// The number of keys chooses, not that of queries.
// CHECK-LABEL: func.func @two
// CHECK: %[[FROM:.*]] = arith.constant 4096 : index
// CHECK: %[[KEYS:.*]] = memref.dim %arg1, %{{.*}} : memref<1x?x8x64xf16>
// CHECK: %[[LONGER:.*]] = arith.cmpi uge, %[[KEYS]], %[[FROM]] : index
// CHECK: scf.if %[[LONGER]] {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 256>
// CHECK: } else {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 64>
// CHECK-NOT: fa.attention
func.func @two(%q: !m, %k: !m, %o: !m) {
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 4096>>}
  return
}

// -----

!t = tensor<1x8x?x64xf16>

// Of tensors, in another order of dimensions, with three lengths: the branches
// yield what the attention gave.
// CHECK-LABEL: func.func @three
// CHECK: %[[KEYS:.*]] = tensor.dim %arg1, %c2
// CHECK: %[[LONGEST:.*]] = arith.cmpi uge, %[[KEYS]], %c4096
// CHECK: %[[R:.*]]:2 = scf.if %[[LONGEST]] -> (tensor<1x8x?x64xf16>, tensor<1x8x?xf32>) {
// CHECK: %[[A:.*]]:2 = fa.attention {{.*}} mask(
// CHECK: config = #fa.config<query_block = 64, key_block = 256>
// CHECK: scf.yield %[[A]]#0, %[[A]]#1
// CHECK: } else {
// CHECK: %[[LONGER:.*]] = arith.cmpi uge, %[[KEYS]], %c1024
// CHECK: %[[INNER:.*]]:2 = scf.if %[[LONGER]]
// CHECK: fa.attention
// CHECK: config = #fa.config<query_block = 64, key_block = 128>
// CHECK: } else {
// CHECK: fa.attention
// CHECK: config = #fa.config<query_block = 32, key_block = 64>
// CHECK: scf.yield %[[INNER]]#0, %[[INNER]]#1
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @three(%q: !t, %k: !t, %o: !t, %l: tensor<1x8x?xf32>) -> (!t, tensor<1x8x?xf32>) {
  %r:2 = fa.attention ins(%q, %k, %k : !t, !t, !t)
      outs(%o, %l : !t, tensor<1x8x?xf32>) mask causal
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>, config = #fa.config<query_block = 32, key_block = 64, longer =
         #fa.config<query_block = 64, key_block = 128, from_keys = 1024, longer =
           #fa.config<query_block = 64, key_block = 256, from_keys = 4096>>>}
  return %r#0, %r#1 : !t, tensor<1x8x?xf32>
}

// -----

// As many keys as are known: the last one of which they are enough.
// CHECK-LABEL: func.func @known
// CHECK-NOT: scf.if
// CHECK: config = #fa.config<query_block = 64, key_block = 64>
// CHECK: config = #fa.config<query_block = 64, key_block = 128>
// CHECK: config = #fa.config<query_block = 64, key_block = 256>
func.func @known(%q: memref<1x8x8x64xf16>, %a: memref<1x1023x8x64xf16>, %b: memref<1x1024x8x64xf16>, %c: memref<1x9999x8x64xf16>) {
  fa.attention ins(%q, %a, %a : memref<1x8x8x64xf16>, memref<1x1023x8x64xf16>, memref<1x1023x8x64xf16>) outs(%q : memref<1x8x8x64xf16>)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 128, from_keys = 1024>>}
  fa.attention ins(%q, %b, %b : memref<1x8x8x64xf16>, memref<1x1024x8x64xf16>, memref<1x1024x8x64xf16>) outs(%q : memref<1x8x8x64xf16>)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 128, from_keys = 1024>>}
  fa.attention ins(%q, %c, %c : memref<1x8x8x64xf16>, memref<1x9999x8x64xf16>, memref<1x9999x8x64xf16>) outs(%q : memref<1x8x8x64xf16>)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 128, from_keys = 1024,
         longer = #fa.config<query_block = 64, key_block = 256, from_keys = 1025>>>}
  return
}

// -----

// One configuration, or none, is for all lengths.
// CHECK-LABEL: func.func @one
// CHECK-NOT: scf.if
// CHECK-COUNT-2: fa.attention
func.func @one(%q: memref<1x?x8x64xf16>) {
  fa.attention ins(%q, %q, %q : memref<1x?x8x64xf16>, memref<1x?x8x64xf16>, memref<1x?x8x64xf16>) outs(%q : memref<1x?x8x64xf16>)
      {config = #fa.config<query_block = 64, key_block = 64>}
  fa.attention ins(%q, %q, %q : memref<1x?x8x64xf16>, memref<1x?x8x64xf16>, memref<1x?x8x64xf16>) outs(%q : memref<1x?x8x64xf16>)
  return
}

// -----

!m = memref<1x?x8x64xf16>

// The number of queries may have a say too.
// CHECK-LABEL: func.func @queries
// CHECK: %[[KEYS:.*]] = memref.dim %arg1, %{{.*}} : memref<1x?x8x64xf16>
// CHECK: %[[ENOUGH_KEYS:.*]] = arith.cmpi uge, %[[KEYS]], %c4096
// CHECK: %[[QUERIES:.*]] = memref.dim %arg0, %{{.*}} : memref<1x?x8x64xf16>
// CHECK: %[[ENOUGH_QUERIES:.*]] = arith.cmpi uge, %[[QUERIES]], %c512
// CHECK: %[[BOTH:.*]] = arith.andi %[[ENOUGH_KEYS]], %[[ENOUGH_QUERIES]] : i1
// CHECK: scf.if %[[BOTH]] {
// CHECK: config = #fa.config<query_block = 64, key_block = 256>
// CHECK: } else {
// CHECK: config = #fa.config<query_block = 64, key_block = 64>
func.func @queries(%q: !m, %k: !m, %o: !m) {
  fa.attention ins(%q, %k, %k : !m, !m, !m) outs(%o : !m)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 4096, from_queries = 512>>}
  return
}

// -----

!m = memref<1x?x8x64xf16>
!few = memref<1x300x8x64xf16>

// CHECK-LABEL: func.func @few_queries
// CHECK-NOT: scf.if
// CHECK: config = #fa.config<query_block = 64, key_block = 64>
func.func @few_queries(%q: !few, %k: !m, %o: !few) {
  fa.attention ins(%q, %k, %k : !few, !m, !m) outs(%o : !few)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 4096, from_queries = 512>>}
  return
}

// -----

!t = memref<?x?x?x64xf16>

// One value may be queries and keys, whose lengths are different dimensions of it.
// CHECK-LABEL: func.func @same
// CHECK: %[[KEYS:.*]] = memref.dim %arg0, %c2
// CHECK: arith.cmpi uge, %[[KEYS]], %c100
// CHECK: %[[QUERIES:.*]] = memref.dim %arg0, %c1
// CHECK: arith.cmpi uge, %[[QUERIES]], %c50
func.func @same(%x: !t, %o: !t) {
  fa.attention ins(%x, %x, %x : !t, !t, !t) outs(%o : !t)
      {key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>, config = #fa.config<query_block = 64, key_block = 64,
         longer = #fa.config<query_block = 64, key_block = 128, from_keys = 100, from_queries = 50>>}
  return
}

// -----

!q = memref<1x?x8x64xf16>
!k = memref<1x5000x8x64xf16>

// Of known keys, two of the chain are left, between which the queries alone choose.
// CHECK-LABEL: func.func @known_keys
// CHECK-NOT: memref.dim %arg1
// CHECK: %[[QUERIES:.*]] = memref.dim %arg0, %c1
// CHECK: %[[ENOUGH:.*]] = arith.cmpi uge, %[[QUERIES]], %c100
// CHECK: scf.if %[[ENOUGH]] {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 256>
// CHECK: } else {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 128>
// CHECK-NOT: fa.attention
// CHECK: return
func.func @known_keys(%q: !q, %k: !k, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q)
      {config = #fa.config<query_block = 64, key_block = 64, longer =
         #fa.config<query_block = 64, key_block = 128, from_keys = 100, longer =
           #fa.config<query_block = 64, key_block = 256, from_keys = 200, from_queries = 100, longer =
             #fa.config<query_block = 64, key_block = 512, from_keys = 9000, from_queries = 100>>>>}
  return
}

// -----

!q = memref<1x150x8x64xf16>
!k = memref<1x?x8x64xf16>

// Of known queries, three are left, between which the keys alone choose.
// CHECK-LABEL: func.func @known_queries
// CHECK-NOT: memref.dim %arg0
// CHECK: %[[KEYS:.*]] = memref.dim %arg1, %c1
// CHECK: %[[MANY:.*]] = arith.cmpi uge, %[[KEYS]], %c200
// CHECK: scf.if %[[MANY]] {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 256>
// CHECK: } else {
// CHECK: %[[SOME:.*]] = arith.cmpi uge, %[[KEYS]], %c100
// CHECK: scf.if %[[SOME]] {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 128>
// CHECK: } else {
// CHECK: fa.attention
// CHECK-SAME: config = #fa.config<query_block = 64, key_block = 64>
// CHECK-NOT: fa.attention
// CHECK: return
func.func @known_queries(%q: !q, %k: !k, %o: !q) {
  fa.attention ins(%q, %k, %k : !q, !k, !k) outs(%o : !q)
      {config = #fa.config<query_block = 64, key_block = 64, longer =
         #fa.config<query_block = 64, key_block = 128, from_keys = 100, longer =
           #fa.config<query_block = 64, key_block = 256, from_keys = 200, from_queries = 100, longer =
             #fa.config<query_block = 64, key_block = 512, from_keys = 9000, from_queries = 1000>>>>}
  return
}

// -----

!t = memref<1x?x4x128xbf16>
!row = memref<1x4x?xf32>

// A gradient, of which each version has its own form: one pass has no other
// configuration for its blocks of keys.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[KEYS:.*]] = memref.dim %arg1, %c1
// CHECK: %[[ENOUGH_KEYS:.*]] = arith.cmpi uge, %[[KEYS]], %c4096
// CHECK: %[[QUERIES:.*]] = memref.dim %arg0, %c1
// CHECK: %[[ENOUGH_QUERIES:.*]] = arith.cmpi uge, %[[QUERIES]], %c512
// CHECK: %[[BOTH:.*]] = arith.andi %[[ENOUGH_KEYS]], %[[ENOUGH_QUERIES]] : i1
// CHECK: scf.if %[[BOTH]] {
// CHECK: fa.attention_gradient
// CHECK-SAME: {config = #fa.config<query_block = 80, key_block = 128, deterministic = false, gradient_form = one_pass>}
// CHECK: } else {
// CHECK: fa.attention_gradient
// CHECK-SAME: {config = #fa.config<query_block = 128, key_block = 128, gradient_form = two_pass>, fa.gradient_keys = #fa.config<query_block = 64, key_block = 128>}
// CHECK-NOT: fa.attention_gradient
func.func @gradient(%q: !t, %k: !t, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !t, !t, !t) of(%q, %lse : !t, !row) gradients(%q : !t) outs(query = %q : !t, key = %k : !t, value = %k : !t)
      {config = #fa.config<query_block = 128, key_block = 128, gradient_form = two_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, gradient_form = one_pass, from_keys = 4096, from_queries = 512>>,
       fa.gradient_keys = #fa.config<query_block = 64, key_block = 128>}
  return
}

// -----

!t = tensor<1x?x4x128xbf16>
!few = tensor<1x100x4x128xbf16>
!row = tensor<1x4x?xf32>
!rows = tensor<1x4x100xf32>

// On tensors branches yield the gradients; of a number that is known one version remains.
// CHECK-LABEL: func.func @gradient_of_tensors
// CHECK: %[[R:.*]]:2 = scf.if %{{.*}} -> (tensor<1x?x4x128xbf16>, tensor<1x?x4x128xbf16>) {
// CHECK: %[[LONG:.*]]:2 = fa.attention_gradient
// CHECK: scf.yield %[[LONG]]#0, %[[LONG]]#1
// CHECK: } else {
// CHECK: %[[SHORT:.*]]:2 = fa.attention_gradient
// CHECK: scf.yield %[[SHORT]]#0, %[[SHORT]]#1
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @gradient_of_tensors(%q: !t, %k: !t, %lse: !row) -> (!t, !t) {
  %r:2 = fa.attention_gradient ins(%q, %k, %k : !t, !t, !t) of(%q, %lse : !t, !row) gradients(%q : !t) outs(query = %q : !t, key = %k : !t)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 80, key_block = 128, from_keys = 4096>>}
  return %r#0, %r#1 : !t, !t
}
// CHECK-LABEL: func.func @gradient_of_few
// CHECK-NOT: scf.if
// CHECK: config = #fa.config<query_block = 64, key_block = 64>
func.func @gradient_of_few(%q: !few, %k: !t, %lse: !rows) -> !few {
  %r = fa.attention_gradient ins(%q, %k, %k : !few, !t, !t) of(%q, %lse : !few, !rows) gradients(%q : !few) outs(query = %q : !few)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 80, key_block = 128, from_keys = 4096, from_queries = 101>>}
  return %r : !few
}

// -----

!q = memref<1x?x?x128xbf16>
!row = memref<1x?x?xf32>

// By groups of warps, of one query head of each key head: a condition where heads are not known, and no version of several.
// CHECK-LABEL: func.func @heads
// CHECK: %[[ENOUGH:.*]] = arith.cmpi uge
// CHECK: %[[HEADS:.*]] = memref.dim %arg0, %c2
// CHECK: %[[KEY_HEADS:.*]] = memref.dim %arg1, %c2
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[HEADS]], %[[KEY_HEADS]] : index
// CHECK: %[[BOTH:.*]] = arith.andi %[[ENOUGH]], %[[SAME]] : i1
// CHECK: scf.if %[[BOTH]] {
// CHECK: fa.attention_gradient
// CHECK-SAME: query_block = 80
// CHECK-SAME: fa.same_heads
// CHECK: } else {
// CHECK: fa.attention_gradient
// CHECK-SAME: query_block = 64
// CHECK-NOT: fa.same_heads
// CHECK: return
func.func @heads(%q: !q, %k: !q, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !q, !q, !q) of(%q, %lse : !q, !row) gradients(%q : !q) outs(query = %q : !q, key = %k : !q, value = %k : !q)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, from_keys = 4096>>}
  return
}

// -----

!q = memref<1x9999x?x128xbf16>
!row = memref<1x?x9999xf32>

// As many keys as are known, of any number of heads.
// CHECK-LABEL: func.func @long_of_any_heads
// CHECK-NOT: arith.cmpi uge
// CHECK: %[[SAME:.*]] = arith.cmpi eq
// CHECK: scf.if %[[SAME]] {
// CHECK: query_block = 80
// CHECK: } else {
// CHECK: query_block = 64
func.func @long_of_any_heads(%q: !q, %k: !q, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !q, !q, !q) of(%q, %lse : !q, !row) gradients(%q : !q) outs(query = %q : !q, key = %k : !q, value = %k : !q)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, from_keys = 4096>>}
  return
}

// -----

!q = memref<1x9999x8x128xbf16>
!k = memref<1x9999x2x128xbf16>
!row = memref<1x8x9999xf32>

// REMARK: no version of query_block = 80 and key_block = 128 from 4096 keys on: it is for as many key heads as query heads, and there are 2 for 8
// CHECK-LABEL: func.func @several_heads
// CHECK-NOT: scf.if
// CHECK: query_block = 64
// CHECK-LABEL: func.func @own_heads
// CHECK-NOT: scf.if
// CHECK: query_block = 80
// CHECK-NOT: fa.same_heads
func.func @several_heads(%q: !q, %k: !k, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !q, !k, !k) of(%q, %lse : !q, !row) gradients(%q : !q) outs(query = %q : !q, key = %k : !k, value = %k : !k)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, from_keys = 4096>>}
  return
}
func.func @own_heads(%q: !q, %k: !q, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !q, !q, !q) of(%q, %lse : !q, !row) gradients(%q : !q) outs(query = %q : !q, key = %k : !q, value = %k : !q)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, from_keys = 4096>>}
  return
}

// -----

!p = memref<512x8x64xf16>
!s = memref<?xi32>
#d = #fa.dims<s, h, d>

// Of packed sequences the mean counts, also where all of them have a known number of rows. Where there is none nothing is divided by 0.
// CHECK-LABEL: func.func @packed
// CHECK: %[[STARTS:.*]] = memref.dim %arg1, %{{.*}} : memref<?xi32>
// CHECK: %[[LESS:.*]] = arith.subi %[[STARTS]], %c1{{[_0-9]*}} : index
// CHECK: %[[SEQUENCES:.*]] = arith.maxsi %[[LESS]], %c1{{[_0-9]*}} : index
// CHECK: %[[MEAN:.*]] = arith.divui %{{.*}}, %[[SEQUENCES]] : index
// CHECK: %[[LONGER:.*]] = arith.cmpi uge, %[[MEAN]], %c100
// CHECK: scf.if %[[LONGER]] {
// CHECK: query_starts(%arg1 : memref<?xi32>)
// CHECK: config = #fa.config<query_block = 64, key_block = 128>
// CHECK: } else {
// CHECK: config = #fa.config<query_block = 64, key_block = 64>
func.func @packed(%q: !p, %starts: !s, %lse: memref<8x512xf32>, %dq: !p) {
  fa.attention_gradient ins(%q, %q, %q : !p, !p, !p) of(%q, %lse : !p, memref<8x512xf32>) gradients(%q : !p) outs(query = %dq : !p)
      query_starts(%starts : !s) key_starts(%starts : !s)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 128, from_keys = 100>>,
       query_dims = #d, key_dims = #d, value_dims = #d, output_dims = #d, output_gradient_dims = #d, query_gradient_dims = #d}
  return
}

// CHECK-LABEL: func.func @packed_forward
// CHECK: %[[MEAN:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK: %[[LONGER:.*]] = arith.cmpi uge, %[[MEAN]], %c100
// CHECK: scf.if %[[LONGER]] {
// CHECK: config = #fa.config<query_block = 64, key_block = 128>
// CHECK: } else {
// CHECK: config = #fa.config<query_block = 64, key_block = 64>
func.func @packed_forward(%q: !p, %starts: !s, %o: !p) {
  fa.attention ins(%q, %q, %q : !p, !p, !p) outs(%o : !p) query_starts(%starts : !s) key_starts(%starts : !s)
      {config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 64, key_block = 128, from_keys = 100>>,
       query_dims = #d, key_dims = #d, value_dims = #d, output_dims = #d}
  return
}

// -----

!q = memref<1x?x?x128xbf16>
!row = memref<1x?x?xf32>

// One pass in place of two is for any heads.
// CHECK-LABEL: func.func @passes
// CHECK: %[[ENOUGH:.*]] = arith.cmpi uge
// CHECK-NOT: arith.cmpi eq
// CHECK: scf.if %[[ENOUGH]] {
// CHECK: gradient_form = one_pass
// CHECK-NOT: fa.same_heads
// CHECK: } else {
// CHECK: gradient_form = two_pass
func.func @passes(%q: !q, %k: !q, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !q, !q, !q) of(%q, %lse : !q, !row) gradients(%q : !q) outs(query = %q : !q, key = %k : !q, value = %k : !q)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = two_pass, longer =
         #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>, gradient_form = one_pass, from_keys = 4096>>}
  return
}

// -----

#gpu = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>
!q = memref<1x?x?x128xbf16>
!row = memref<1x?x?xf32>
!q8 = memref<1x?x8x128xbf16>
!k2 = memref<1x?x2x128xbf16>
!row8 = memref<1x8x?xf32>
!long8 = memref<1x300x8x128xbf16>
!long2 = memref<1x300x2x128xbf16>
!longrow8 = memref<1x8x300xf32>

// However heads are typed, a chain of three gives a call the same one: unequal heads pass over the second alone.
// CHECK-LABEL: func.func @any_heads_of_three
// CHECK: %[[LONG:.*]] = arith.cmpi uge, %{{.*}}, %c400
// CHECK-NOT: arith.andi
// CHECK: scf.if %[[LONG]] {
// CHECK: query_block = 128
// CHECK-NOT: fa.same_heads
// CHECK: } else {
// CHECK: %[[LONGER:.*]] = arith.cmpi uge, %{{.*}}, %c200
// CHECK: %[[SAME:.*]] = arith.cmpi eq
// CHECK: %[[BOTH:.*]] = arith.andi %[[LONGER]], %[[SAME]] : i1
// CHECK: scf.if %[[BOTH]] {
// CHECK: query_block = 80
// CHECK-SAME: fa.same_heads
// CHECK: } else {
// CHECK: query_block = 64
// CHECK-NOT: fa.attention_gradient
// CHECK: return
func.func @any_heads_of_three(%q: !q, %k: !q, %lse: !row) {
  fa.attention_gradient ins(%q, %k, %k : !q, !q, !q) of(%q, %lse : !q, !row) gradients(%q : !q) outs(query = %q : !q, key = %k : !q, value = %k : !q)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, from_keys = 200, longer =
           #fa.config<query_block = 128, key_block = 128, target = #gpu, gradient_form = two_pass, from_keys = 400>>>}
  return
}

// CHECK-LABEL: func.func @unequal_heads_of_three
// CHECK: %[[LONG:.*]] = arith.cmpi uge, %{{.*}}, %c400
// CHECK: scf.if %[[LONG]] {
// CHECK: query_block = 128
// CHECK: } else {
// CHECK-NOT: scf.if
// CHECK: query_block = 64
// CHECK-NOT: fa.attention_gradient
// CHECK: return
// REMARK-NEXT: no version of query_block = 80 and key_block = 128 from 200 keys on: {{.*}} and there are 2 for 8
func.func @unequal_heads_of_three(%q: !q8, %k: !k2, %lse: !row8) {
  fa.attention_gradient ins(%q, %k, %k : !q8, !k2, !k2) of(%q, %lse : !q8, !row8) gradients(%q : !q8) outs(query = %q : !q8, key = %k : !k2, value = %k : !k2)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, from_keys = 200, longer =
           #fa.config<query_block = 128, key_block = 128, target = #gpu, gradient_form = two_pass, from_keys = 400>>>}
  return
}

// CHECK-LABEL: func.func @equal_heads_of_three
// CHECK: %[[LONG:.*]] = arith.cmpi uge, %{{.*}}, %c400
// CHECK: scf.if %[[LONG]] {
// CHECK: query_block = 128
// CHECK: } else {
// CHECK: %[[LONGER:.*]] = arith.cmpi uge, %{{.*}}, %c200
// CHECK-NOT: arith.cmpi eq
// CHECK: scf.if %[[LONGER]] {
// CHECK: query_block = 80
// CHECK-NOT: fa.same_heads
// CHECK: } else {
// CHECK: query_block = 64
// CHECK: return
func.func @equal_heads_of_three(%q: !q8, %k: !q8, %lse: !row8) {
  fa.attention_gradient ins(%q, %k, %k : !q8, !q8, !q8) of(%q, %lse : !q8, !row8) gradients(%q : !q8) outs(query = %q : !q8, key = %k : !q8, value = %k : !q8)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, from_keys = 200, longer =
           #fa.config<query_block = 128, key_block = 128, target = #gpu, gradient_form = two_pass, from_keys = 400>>>}
  return
}

// Of known keys and unequal heads the first is left; lengths alone would have the second.
// CHECK-LABEL: func.func @known_keys_of_three
// CHECK-NOT: scf.if
// CHECK: query_block = 64
// CHECK: return
// REMARK-NEXT: no version of query_block = 80 and key_block = 128 from 200 keys on: {{.*}} and there are 2 for 8
// REMARK-NOT: remark:
func.func @known_keys_of_three(%q: !long8, %k: !long2, %lse: !longrow8) {
  fa.attention_gradient ins(%q, %k, %k : !long8, !long2, !long2) of(%q, %lse : !long8, !longrow8) gradients(%q : !long8) outs(query = %q : !long8, key = %k : !long2, value = %k : !long2)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, longer =
         #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #gpu, gradient_form = one_pass, from_keys = 200, longer =
           #fa.config<query_block = 128, key_block = 128, target = #gpu, gradient_form = two_pass, from_keys = 400>>>}
  return
}
