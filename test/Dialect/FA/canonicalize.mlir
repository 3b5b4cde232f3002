// RUN: fa-opt %s -canonicalize -split-input-file | FileCheck %s
// RUN: fa-opt %s -canonicalize -split-input-file | fa-opt -canonicalize -split-input-file | FileCheck %s

// Regions that do nothing disappear, with their captures.

!t = tensor<1x?x2x64xf32>

// CHECK-LABEL: func.func @trivial_regions(
// CHECK: fa.attention ins(
// CHECK-NOT: score
// CHECK-NOT: mask
// CHECK: return
func.func @trivial_regions(%q: !t, %x: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score(%s, %b, %h, %i, %j) captures(%unused = %x : index) { fa.yield %s : f32 }
      mask(%b, %h, %i, %j) captures(%unused = %x : index) {
        %true = arith.constant true
        fa.yield %true : i1
      }
  return %r : !t
}

// -----

// No key is below 0 or past the last one.

!t = tensor<1x?x2x64xf32>

// CHECK-LABEL: func.func @bounds_only(
// CHECK-NOT: mask
// CHECK: return
func.func @bounds_only(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
        %n = fa.key_length : index
        %c0 = arith.constant 0 : index
        %below = arith.cmpi slt, %j, %n : index
        %above = arith.cmpi sge, %j, %c0 : index
        %inside = arith.andi %below, %above : i1
        fa.yield %inside : i1
      }
  return %r : !t
}

// -----

// Captures: unused ones and repetitions go, constants move inside.

!t = tensor<1x?x2x64xf32>

// CHECK-LABEL: func.func @captures(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x?x2x64xf32>, %[[X:.+]]: index
// CHECK: fa.attention
// CHECK-SAME: score(%[[S:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) {
// CHECK:   %[[CAP:.+]] = arith.constant 3.000000e+01 : f32
// CHECK:   arith.divf %[[S]], %[[CAP]]
// CHECK: mask(%{{.+}}, %{{.+}}, %{{.+}}, %[[J:[a-z0-9]+]]) captures(%[[CAPTURE:.+]] = %[[X]] : index) {
// CHECK:   %[[TWICE:.+]] = arith.muli %[[CAPTURE]], %{{.+}}
// CHECK:   arith.cmpi sle, %[[J]], %[[TWICE]]
func.func @captures(%q: !t, %x: index) -> !t {
  %cap = arith.constant 30.0 : f32
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      score softcap(%cap)
      mask(%b, %h, %i, %j) captures(%unused = %q : !t, %x0 = %x : index, %x1 = %x : index) {
        %sum = arith.addi %x0, %x1 : index
        %visible = arith.cmpi sle, %j, %sum : index
        fa.yield %visible : i1
      }
  return %r : !t
}

// -----

// A transpose is an order of dimensions.

// CHECK-LABEL: func.func @transposes(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x8x?x64xf32>, %[[K:[a-z0-9]+]]: tensor<?x8x2x64xf32>
// CHECK-NOT: linalg.transpose
// CHECK: %[[INIT:.+]] = tensor.empty(%{{.+}}) : tensor<2x8x?x64xf32>
// CHECK: %[[R:.+]] = fa.attention ins(%[[Q]], %[[K]], %[[K]] :
// CHECK-SAME: outs(%[[INIT]] :
// CHECK-SAME: key_dims = #fa.dims<s, h, b, d>, output_dims = #fa.dims<b, h, s, d>, query_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<s, h, b, d>
// CHECK: return %[[R]]
func.func @transposes(%q: tensor<2x8x?x64xf32>, %k: tensor<?x8x2x64xf32>, %n: index, %m: index) -> tensor<2x8x?x64xf32> {
  %e0 = tensor.empty(%n) : tensor<2x?x8x64xf32>
  %qt = linalg.transpose ins(%q : tensor<2x8x?x64xf32>) outs(%e0 : tensor<2x?x8x64xf32>) permutation = [0, 2, 1, 3]
  %e1 = tensor.empty(%m) : tensor<2x?x8x64xf32>
  %kt = linalg.transpose ins(%k : tensor<?x8x2x64xf32>) outs(%e1 : tensor<2x?x8x64xf32>) permutation = [2, 0, 1, 3]
  %r = fa.attention ins(%qt, %kt, %kt : tensor<2x?x8x64xf32>, tensor<2x?x8x64xf32>, tensor<2x?x8x64xf32>) outs(%e0 : tensor<2x?x8x64xf32>)
  %e2 = tensor.empty(%n) : tensor<2x8x?x64xf32>
  %rt = linalg.transpose ins(%r : tensor<2x?x8x64xf32>) outs(%e2 : tensor<2x8x?x64xf32>) permutation = [0, 2, 1, 3]
  return %rt : tensor<2x8x?x64xf32>
}

// -----

// A head dim that is not contiguous is copied in any case: the transposes stay.

!t = tensor<2x16x8x64xf32>

// CHECK-LABEL: func.func @kept_head_dim(
// CHECK: %[[KT:.+]] = linalg.transpose
// CHECK: %[[R:.+]] = fa.attention ins(%{{.+}}, %[[KT]], %{{.+}} :
// CHECK-NOT: dims
// CHECK: linalg.transpose ins(%[[R]] :
func.func @kept_head_dim(%q: !t, %k: tensor<2x8x64x16xf32>, %e: tensor<2x8x64x16xf32>) -> tensor<2x8x64x16xf32> {
  %e0 = tensor.empty() : !t
  %kt = linalg.transpose ins(%k : tensor<2x8x64x16xf32>) outs(%e0 : !t) permutation = [0, 3, 1, 2]
  %r = fa.attention ins(%q, %kt, %q : !t, !t, !t) outs(%e0 : !t)
  %rt = linalg.transpose ins(%r : !t) outs(%e : tensor<2x8x64x16xf32>) permutation = [0, 2, 3, 1]
  return %rt : tensor<2x8x64x16xf32>
}

// -----

// Rows past a query length show the destination: the transpose must stay.

!t = tensor<2x?x8x64xf32>

// CHECK-LABEL: func.func @kept_transpose(
// CHECK: fa.attention
// CHECK: linalg.transpose
func.func @kept_transpose(%q: !t, %o: !t, %l: tensor<2xi32>, %e: tensor<2x8x?x64xf32>) -> tensor<2x8x?x64xf32> {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t) query_lengths(%l : tensor<2xi32>)
  %rt = linalg.transpose ins(%r : !t) outs(%e : tensor<2x8x?x64xf32>) permutation = [0, 2, 1, 3]
  return %rt : tensor<2x8x?x64xf32>
}

// -----

// So does one whose source has another user.

!t = tensor<2x16x8x64xf32>

// CHECK-LABEL: func.func @two_users(
// CHECK: fa.attention
// CHECK: linalg.transpose
func.func @two_users(%q: !t, %e: tensor<2x8x16x64xf32>) -> (!t, tensor<2x8x16x64xf32>) {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  %rt = linalg.transpose ins(%r : !t) outs(%e : tensor<2x8x16x64xf32>) permutation = [0, 2, 1, 3]
  return %r, %rt : !t, tensor<2x8x16x64xf32>
}

// -----

// In memory destinations too, and an order that is the default is not written.

!t = memref<2x8x?x64xf32>
!v = memref<2x?x8x64xf32, strided<[?, 64, ?, 1]>>

// CHECK-LABEL: func.func @memrefs(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x8x?x64xf32>, %[[K:[a-z0-9]+]]: memref<2x8x?x64xf32>, %[[O:[a-z0-9]+]]: memref<2x8x?x64xf32>
// CHECK-NEXT: fa.attention ins(%[[Q]], %[[K]], %[[K]] : memref<2x8x?x64xf32>, memref<2x8x?x64xf32>, memref<2x8x?x64xf32>) outs(%[[O]] : memref<2x8x?x64xf32>)
// CHECK-SAME: {output_dims = #fa.dims<b, h, s, d>, query_dims = #fa.dims<b, h, s, d>}
func.func @memrefs(%q: !t, %k: !t, %o: !t) {
  %qt = memref.transpose %q (b, h, s, d) -> (b, s, h, d) : !t to memref<2x?x8x64xf32, strided<[?, 64, ?, 1]>>
  %ot = memref.transpose %o (b, h, s, d) -> (b, s, h, d) : !t to memref<2x?x8x64xf32, strided<[?, 64, ?, 1]>>
  %kt = memref.transpose %k (b, h, s, d) -> (b, s, h, d) : !t to memref<2x?x8x64xf32, strided<[?, 64, ?, 1]>>
  fa.attention ins(%qt, %kt, %kt : !v, !v, !v) outs(%ot : !v)
      {key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>}
  return
}

// -----

// Casts that say less about a shape.

// CHECK-LABEL: func.func @casts(
// CHECK: fa.attention ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>) outs(%{{.+}} : tensor<1x?x2x64xf32>)
func.func @casts(%q: tensor<1x16x2x64xf32>, %o: tensor<1x?x2x64xf32>) -> tensor<1x?x2x64xf32> {
  %c = tensor.cast %q : tensor<1x16x2x64xf32> to tensor<1x?x2x64xf32>
  %r = fa.attention ins(%c, %c, %c : tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>) outs(%o : tensor<1x?x2x64xf32>)
  return %r : tensor<1x?x2x64xf32>
}

// Of destinations and captures, too.

// CHECK-LABEL: func.func @cast_destination(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x16x2x64xf32>, %[[IDS:.+]]: tensor<1x16xi32>)
// CHECK: %[[R:.+]] = fa.attention ins(%[[Q]], %[[Q]], %[[Q]] : {{.+}}) outs(%[[Q]] : tensor<1x16x2x64xf32>)
// CHECK-SAME: = %[[IDS]] : tensor<1x16xi32>)
// CHECK: %[[CAST:.+]] = tensor.cast %[[R]] : tensor<1x16x2x64xf32> to tensor<1x?x2x64xf32>
// CHECK: return %[[CAST]]
func.func @cast_destination(%q: tensor<1x16x2x64xf32>, %ids: tensor<1x16xi32>) -> tensor<1x?x2x64xf32> {
  %c = tensor.cast %q : tensor<1x16x2x64xf32> to tensor<1x?x2x64xf32>
  %i = tensor.cast %ids : tensor<1x16xi32> to tensor<?x?xi32>
  %r = fa.attention ins(%q, %q, %q : tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>) outs(%c : tensor<1x?x2x64xf32>)
      mask documents(%i : tensor<?x?xi32>)
  return %r : tensor<1x?x2x64xf32>
}

// CHECK-LABEL: func.func @memref_casts(
// CHECK: fa.attention ins(%{{.+}}, %{{.+}}, %{{.+}} : memref<1x16x2x64xf32>, memref<1x16x2x64xf32>, memref<1x16x2x64xf32>) outs(%{{.+}} : memref<1x16x2x64xf32>)
func.func @memref_casts(%q: memref<1x16x2x64xf32>) {
  %c = memref.cast %q : memref<1x16x2x64xf32> to memref<1x?x2x64xf32, strided<[?, ?, ?, 1]>>
  fa.attention ins(%c, %c, %c : memref<1x?x2x64xf32, strided<[?, ?, ?, 1]>>, memref<1x?x2x64xf32, strided<[?, ?, ?, 1]>>, memref<1x?x2x64xf32, strided<[?, ?, ?, 1]>>)
      outs(%c : memref<1x?x2x64xf32, strided<[?, ?, ?, 1]>>)
  return
}

// -----

// Attention over nothing.

// CHECK-LABEL: func.func @no_queries(
// CHECK-SAME: %[[O:[a-z0-9]+]]: tensor<1x0x2x64xf32>, %[[L:[a-z0-9]+]]: tensor<1x2x0xf32>)
// CHECK-NEXT: return %[[O]], %[[L]]
func.func @no_queries(%k: tensor<1x?x2x64xf32>, %o: tensor<1x0x2x64xf32>, %l: tensor<1x2x0xf32>) -> (tensor<1x0x2x64xf32>, tensor<1x2x0xf32>) {
  %r:2 = fa.attention ins(%o, %k, %k : tensor<1x0x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      outs(%o, %l : tensor<1x0x2x64xf32>, tensor<1x2x0xf32>)
  return %r#0, %r#1 : tensor<1x0x2x64xf32>, tensor<1x2x0xf32>
}

// CHECK-LABEL: func.func @no_heads(
// CHECK-NEXT: return
func.func @no_heads(%q: memref<1x?x0x64xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x?x0x64xf32>, memref<1x?x0x64xf32>, memref<1x?x0x64xf32>)
      outs(%q : memref<1x?x0x64xf32>)
  return
}

// CHECK-LABEL: func.func @no_keys(
// CHECK-SAME: %[[O:[a-z0-9]+]]: tensor<1x?x2x64xbf16>, %[[L:[a-z0-9]+]]: tensor<1x2x?xf32>)
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : bf16
// CHECK-DAG: %[[NONE:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[R:.+]] = linalg.fill ins(%[[ZERO]] : bf16) outs(%[[O]]
// CHECK-DAG: %[[LSE:.+]] = linalg.fill ins(%[[NONE]] : f32) outs(%[[L]]
// CHECK: return %[[R]], %[[LSE]]
func.func @no_keys(%k: tensor<1x0x2x64xbf16>, %o: tensor<1x?x2x64xbf16>, %l: tensor<1x2x?xf32>) -> (tensor<1x?x2x64xbf16>, tensor<1x2x?xf32>) {
  %r:2 = fa.attention ins(%o, %k, %k : tensor<1x?x2x64xbf16>, tensor<1x0x2x64xbf16>, tensor<1x0x2x64xbf16>)
      outs(%o, %l : tensor<1x?x2x64xbf16>, tensor<1x2x?xf32>) mask causal
  return %r#0, %r#1 : tensor<1x?x2x64xbf16>, tensor<1x2x?xf32>
}

// CHECK-LABEL: func.func @no_keys_some_queries(
// CHECK: fa.attention
func.func @no_keys_some_queries(%k: tensor<1x0x2x64xbf16>, %o: tensor<1x?x2x64xbf16>, %l: tensor<1xi32>) -> tensor<1x?x2x64xbf16> {
  %r = fa.attention ins(%o, %k, %k : tensor<1x?x2x64xbf16>, tensor<1x0x2x64xbf16>, tensor<1x0x2x64xbf16>)
      outs(%o : tensor<1x?x2x64xbf16>) query_lengths(%l : tensor<1xi32>)
  return %r : tensor<1x?x2x64xbf16>
}

// CHECK-LABEL: func.func @no_keys_in_step(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8x64xf32>, %[[M:[a-z0-9]+]]: tensor<8xf32>, %[[S:[a-z0-9]+]]: tensor<8xf32>)
// CHECK-NEXT: return %[[A]], %[[M]], %[[S]]
func.func @no_keys_in_step(%q: memref<1x8x1x64xf32>, %k: memref<1x0x1x64xf32>, %a: tensor<8x64xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
  %r:3 = fa.online_attention ins(%q, %k, %k : memref<1x8x1x64xf32>, memref<1x0x1x64xf32>, memref<1x0x1x64xf32>)
      outs(%a, %m, %s : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
  return %r#0, %r#1, %r#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @empty_ranges(
// CHECK-SAME: %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index
// CHECK: fa.key_ranges (%{{.+}}, %{{.+}}) = [full %[[A]] to %[[B]]] step 64
func.func @empty_ranges(%a: index, %b: index, %x: f32) -> f32 {
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  %r = fa.key_ranges (%key, %n) = [partial %c8 to %c4, full %a to %b, partial %b to %b] step 64 iter_args(%i = %x) -> (f32) {
    %y = arith.addf %i, %i : f32
    fa.yield %y : f32
  }
  return %r : f32
}

// CHECK-LABEL: func.func @no_ranges(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK-NEXT: return %[[X]]
func.func @no_ranges(%a: index, %x: f32) -> f32 {
  %r = fa.key_ranges (%key, %n) = [partial %a to %a] step 64 iter_args(%i = %x) -> (f32) {
    %y = arith.addf %i, %i : f32
    fa.yield %y : f32
  }
  return %r : f32
}

// -----

!o = tensor<1x?x2x64xf32>
!l = tensor<1x2x?xf32>

// CHECK-LABEL: func.func @combine_with_nothing(
// CHECK-SAME: %[[OA:[a-z0-9]+]]: tensor<1x?x2x64xf32>, %[[OB:[a-z0-9]+]]: tensor<1x?x2x64xf32>, %[[LB:[a-z0-9]+]]: tensor<1x2x?xf32>
// CHECK-NEXT: return %[[OB]], %[[LB]]
func.func @combine_with_nothing(%oa: !o, %ob: !o, %lb: !l) -> (!o, !l) {
  %none = arith.constant 0xFF800000 : f32
  %la = linalg.fill ins(%none : f32) outs(%lb : !l) -> !l
  %r:2 = fa.combine a(%oa, %la : !o, !l) b(%ob, %lb : !o, !l) outs(%oa, %lb : !o, !l) -> !o, !l
  return %r#0, %r#1 : !o, !l
}

// CHECK-LABEL: func.func @combine_converts(
// CHECK: fa.combine
func.func @combine_converts(%oa: !o, %ob: !o, %lb: !l, %e: tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16> {
  %none = arith.constant 0xFF800000 : f32
  %la = linalg.fill ins(%none : f32) outs(%lb : !l) -> !l
  %r = fa.combine a(%oa, %la : !o, !l) b(%ob, %lb : !o, !l) outs(%e : tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16>
  return %r : tensor<1x?x2x64xbf16>
}

// -----

// An apply that returns its inputs, and captures of one that does not.

// CHECK-LABEL: func.func @identity_apply(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[Y:[a-z0-9]+]]: tensor<4x8xi1>
// CHECK-NEXT: return %[[Y]], %[[X]]
func.func @identity_apply(%x: tensor<4x8xf32>, %y: tensor<4x8xi1>, %i: index) -> (tensor<4x8xi1>, tensor<4x8xf32>) {
  %r:2 = fa.apply ins(%x, %y : tensor<4x8xf32>, tensor<4x8xi1>) offsets(%i, %i, %i, %i) extents(%i, %i)
      pairs(%a, %b, %batch, %head, %query, %key) {
    fa.yield %b, %a : i1, f32
  } -> (tensor<4x8xi1>, tensor<4x8xf32>)
  return %r#0, %r#1 : tensor<4x8xi1>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @captures_of_apply(
// CHECK-SAME: %[[T:[a-z0-9]+]]: memref<?xf32>
// CHECK: fa.apply {{.*}} captures(%[[C:.*]] = %[[T]] : memref<?xf32>) {
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: memref.load %[[C]]
// CHECK: memref.load %[[C]]
// CHECK: arith.mulf %{{.*}}, %[[TWO]]
func.func @captures_of_apply(%t: memref<?xf32>, %x: tensor<4x8xf32>, %i: index) -> tensor<4x8xf32> {
  %two = arith.constant 2.0 : f32
  %r = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i)
      pairs(%a, %batch, %head, %query, %key)
      captures(%unused = %i : index, %t0 = %t : memref<?xf32>, %t1 = %t : memref<?xf32>, %f = %two : f32) {
    %l = memref.load %t0[%key] : memref<?xf32>
    %m = memref.load %t1[%query] : memref<?xf32>
    %s = arith.addf %l, %m : f32
    %p = arith.mulf %s, %f : f32
    %z = arith.addf %a, %p : f32
    fa.yield %z : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// An apply whose result nobody reads disappears.

// CHECK-LABEL: func.func @unread_apply(
// CHECK-NEXT: return
func.func @unread_apply(%t: memref<?xf32>, %x: tensor<4x8xf32>, %i: index) {
  %r = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i)
      pairs(%a, %batch, %head, %query, %key) captures(%t0 = %t : memref<?xf32>) {
    %l = memref.load %t0[%key] : memref<?xf32>
    fa.yield %l : f32
  } -> tensor<4x8xf32>
  return
}

// Rows of no sequence show what the destination held, so it stays.

// CHECK-LABEL: func.func @destination_of_packed(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x4x16xf32>, %[[INIT:[a-z0-9]+]]: tensor<8x4x16xf32>, %{{[a-z0-9]+}}: tensor<3xi32>
// CHECK: fa.attention {{.*}} outs(%[[INIT]] : tensor<8x4x16xf32>)
// CHECK: linalg.transpose
func.func @destination_of_packed(%q: tensor<8x4x16xf32>, %init: tensor<8x4x16xf32>, %starts: tensor<3xi32>) -> tensor<4x8x16xf32> {
  %e = tensor.empty() : tensor<4x8x16xf32>
  %r = fa.attention ins(%q, %q, %q : tensor<8x4x16xf32>, tensor<8x4x16xf32>, tensor<8x4x16xf32>) outs(%init : tensor<8x4x16xf32>)
      query_starts(%starts : tensor<3xi32>) key_starts(%starts : tensor<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  %t = linalg.transpose ins(%r : tensor<8x4x16xf32>) outs(%e : tensor<4x8x16xf32>) permutation = [1, 0, 2]
  return %t : tensor<4x8x16xf32>
}

// A packed operand whose head dim is contiguous only as transposed is not read in another order.

// CHECK-LABEL: func.func @head_dim_of_packed(
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: fa.attention ins(%{{.*}}, %[[T]], %{{.*}} :
func.func @head_dim_of_packed(%q: tensor<8x4x16xf32>, %k: tensor<4x16x8xf32>, %starts: tensor<3xi32>) -> tensor<8x4x16xf32> {
  %e = tensor.empty() : tensor<8x4x16xf32>
  %kt = linalg.transpose ins(%k : tensor<4x16x8xf32>) outs(%e : tensor<8x4x16xf32>) permutation = [2, 0, 1]
  %r = fa.attention ins(%q, %kt, %q : tensor<8x4x16xf32>, tensor<8x4x16xf32>, tensor<8x4x16xf32>) outs(%e : tensor<8x4x16xf32>)
      query_starts(%starts : tensor<3xi32>) key_starts(%starts : tensor<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return %r : tensor<8x4x16xf32>
}

// Without pairs, gradients are 0.

// CHECK-LABEL: func.func @gradient_without_queries(
// CHECK-SAME: %[[DK:[a-z0-9]+]]: memref<1x13x1x16xf32>, %[[DV:[a-z0-9]+]]: memref<1x13x1x16xf32>)
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT: linalg.fill ins(%[[ZERO]] : f32) outs(%[[DK]]
// CHECK-NEXT: linalg.fill ins(%[[ZERO]] : f32) outs(%[[DV]]
// CHECK-NEXT: return
func.func @gradient_without_queries(%q: memref<1x0x2x16xf32>, %k: memref<1x13x1x16xf32>, %lse: memref<1x2x0xf32>, %dq: memref<1x0x2x16xf32>,
                                    %dk: memref<1x13x1x16xf32>, %dv: memref<1x13x1x16xf32>) {
  fa.attention_gradient ins(%q, %k, %k : memref<1x0x2x16xf32>, memref<1x13x1x16xf32>, memref<1x13x1x16xf32>)
      of(%q, %lse : memref<1x0x2x16xf32>, memref<1x2x0xf32>) gradients(%q : memref<1x0x2x16xf32>)
      outs(query = %dq : memref<1x0x2x16xf32>, key = %dk : memref<1x13x1x16xf32>, value = %dv : memref<1x13x1x16xf32>) mask causal
  return
}

// What is added to a gradient of a capture that nobody asks for disappears, with what only computes that.
// CHECK-LABEL: func.func @unasked_gradients(
// CHECK: score_gradient(%[[DX:[a-z]+]], {{.*}}) {
// CHECK-NEXT: fa.scatter_gradient %[[DX]] to %{{.*}}[%{{.*}}] : f32, memref<2xf32>
// CHECK-NEXT: fa.yield %[[DX]] : f32
// CHECK-NEXT: }
func.func @unasked_gradients(%q: memref<1x16x2x16xf32>, %lse: memref<1x2x16xf32>, %t: memref<2xf32>, %c: f32,
    %dq: memref<1x16x2x16xf32>, %dt: memref<2xf32>) {
  fa.attention_gradient ins(%q, %q, %q : memref<1x16x2x16xf32>, memref<1x16x2x16xf32>, memref<1x16x2x16xf32>)
      of(%q, %lse : memref<1x16x2x16xf32>, memref<1x2x16xf32>) gradients(%q : memref<1x16x2x16xf32>)
      outs(query = %dq : memref<1x16x2x16xf32>, capture[0] = %dt : memref<2xf32>)
      score(%s, %b, %h, %i, %j) captures(%table = %t : memref<2xf32>, %number = %c : f32) {
        %x = memref.load %table[%h] : memref<2xf32>
        %y = arith.addf %s, %x : f32
        %z = arith.addf %y, %number : f32
        fa.yield %z : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %table, %number) {
        fa.scatter_gradient %dx to %table[%h] : f32, memref<2xf32>
        %w = math.sin %dx : f32
        fa.scatter_gradient %w to %number[] : f32, f32
        fa.yield %dx : f32
      }
  return
}
