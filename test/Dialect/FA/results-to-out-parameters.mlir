// RUN: fa-opt %s -fa-results-to-out-parameters -canonicalize -cse -split-input-file | FileCheck %s

// The plain case: the attention writes to the out-parameters, nothing else.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x?x8x64xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<2x?x2x64xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<2x?x2x64xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME: %[[SLOPES:[a-z0-9]+]]: memref<8xf32, strided<[1], offset: ?>>,
// CHECK-SAME: %[[LENGTHS:[a-z0-9]+]]: memref<2xi32, strided<[1], offset: ?>>,
// CHECK-SAME: %[[N:[a-z0-9]+]]: index,
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<2x?x8x64xbf16, strided<[?, ?, ?, 1], offset: ?>> {test.name = "o"},
// CHECK-SAME: %[[LSE:[a-z0-9]+]]: memref<2x8x?xf32, strided<[?, ?, 1], offset: ?>>) {
// CHECK-NEXT: fa.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-SAME: outs(%[[O]], %[[LSE]] :
// CHECK-SAME: key_lengths(%[[LENGTHS]] :
// CHECK-SAME: captures(%[[CAPTURED:.+]] = %[[SLOPES]] : memref<8xf32, strided<[1], offset: ?>>)
// CHECK-NEXT: memref.load %[[CAPTURED]]
// CHECK-NOT: {{memref.alloc|copy|memref.dim}}
// CHECK: return
// CHECK-NEXT: }
func.func @plain(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>, %v: tensor<2x?x2x64xbf16>,
                 %slopes: tensor<8xf32>, %lengths: tensor<2xi32>, %n: index)
    -> (tensor<2x?x8x64xbf16> {test.name = "o"}, tensor<2x8x?xf32>) {
  %init = tensor.empty(%n) : tensor<2x?x8x64xbf16>
  %lse_init = tensor.empty(%n) : tensor<2x8x?xf32>
  %o:2 = fa.attention ins(%q, %k, %v : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
      outs(%init, %lse_init : tensor<2x?x8x64xbf16>, tensor<2x8x?xf32>)
      key_lengths(%lengths : tensor<2xi32>) score alibi(%slopes : tensor<8xf32>) mask causal
  return %o#0, %o#1 : tensor<2x?x8x64xbf16>, tensor<2x8x?xf32>
}

// -----

// What the destination held is overwritten, so it is not copied.
// CHECK-LABEL: func.func @overwritten(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<1x4x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[INIT:[a-z0-9]+]]: memref<1x4x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[O:[a-z0-9]+]]: memref<1x4x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>)
// CHECK-NEXT: fa.attention {{.*}} outs(%[[O]] :
// CHECK-NEXT: return
func.func @overwritten(%q: tensor<1x4x2x8xf32>, %init: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  %o = fa.attention ins(%q, %q, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%init : tensor<1x4x2x8xf32>)
  return %o : tensor<1x4x2x8xf32>
}

// -----

// Rows past a query length keep what the destination held: one copy of it.
// CHECK-LABEL: func.func @kept_rows(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<1x?x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[INIT:[a-z0-9]+]]: memref<1x?x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %{{.+}}: memref<1xi32, strided<[1], offset: ?>>, %[[O:[a-z0-9]+]]: memref<1x?x2x8xf32
// CHECK-NOT: memref.alloc
// CHECK: linalg.copy ins(%[[INIT]] : {{.*}}) outs(%[[O]] :
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.attention {{.*}} outs(%[[O]] :
// CHECK-NEXT: return
func.func @kept_rows(%q: tensor<1x?x2x8xf32>, %init: tensor<1x?x2x8xf32>, %lengths: tensor<1xi32>) -> tensor<1x?x2x8xf32> {
  %o = fa.attention ins(%q, %q, %q : tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>)
      outs(%init : tensor<1x?x2x8xf32>) query_lengths(%lengths : tensor<1xi32>)
  return %o : tensor<1x?x2x8xf32>
}

// -----

// The head dim is the contiguous one, wherever it stands.
// CHECK-LABEL: func.func @orders(
// CHECK-SAME: memref<1x2x8x4xf32, strided<[?, ?, 1, ?], offset: ?>>, %{{.+}}: memref<1x2x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %{{.+}}: memref<8x4x2x1xf32, strided<[1, ?, ?, ?], offset: ?>>)
func.func @orders(%q: tensor<1x2x8x4xf32>, %k: tensor<1x2x4x8xf32>) -> tensor<8x4x2x1xf32> {
  %init = tensor.empty() : tensor<8x4x2x1xf32>
  %o = fa.attention ins(%q, %k, %k : tensor<1x2x8x4xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%init : tensor<8x4x2x1xf32>)
      {query_dims = #fa.dims<b, h, d, s>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>,
       output_dims = #fa.dims<d, s, h, b>}
  return %o : tensor<8x4x2x1xf32>
}

// -----

// A result that feeds another attention lives in temporary memory; scalars stay results.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x16x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[O:[a-z0-9]+]]: memref<2x16x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>) -> f32
// CHECK: %[[TEMPORARY:.+]] = memref.alloc() {{.*}} : memref<2x16x8x64xf32>
// CHECK-NEXT: fa.attention ins(%[[Q]], {{.*}} outs(%[[TEMPORARY]] : memref<2x16x8x64xf32>)
// CHECK-NEXT: fa.attention ins(%[[TEMPORARY]], {{.*}} outs(%[[O]] :
// CHECK-NEXT: memref.dealloc %[[TEMPORARY]]
// CHECK-NEXT: return %{{.+}} : f32
func.func @chain(%q: tensor<2x16x8x64xf32>) -> (f32, tensor<2x16x8x64xf32>) {
  %one = arith.constant 1.0 : f32
  %init = tensor.empty() : tensor<2x16x8x64xf32>
  %o = fa.attention ins(%q, %q, %q : tensor<2x16x8x64xf32>, tensor<2x16x8x64xf32>, tensor<2x16x8x64xf32>)
      outs(%init : tensor<2x16x8x64xf32>)
  %r = fa.attention ins(%o, %q, %q : tensor<2x16x8x64xf32>, tensor<2x16x8x64xf32>, tensor<2x16x8x64xf32>)
      outs(%init : tensor<2x16x8x64xf32>)
  return %one, %r : f32, tensor<2x16x8x64xf32>
}

// -----

// Two results from one destination, a result twice, and an argument returned.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x4x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[A:[a-z0-9]+]]: {{[^%]*}}, %[[B:[a-z0-9]+]]: {{[^%]*}}, %[[A1:[a-z0-9]+]]: {{[^%]*}}, %[[Q1:[a-z0-9]+]]: {{[^%]*}})
// CHECK-DAG: fa.attention {{.*}} outs(%[[A]] : {{.*}} mask(
// CHECK-DAG: fa.attention {{.*}} outs(%[[B]] :
// CHECK-DAG: linalg.copy ins(%[[A]] : {{.*}}) outs(%[[A1]] :
// CHECK-DAG: linalg.copy ins(%[[Q]] : {{.*}}) outs(%[[Q1]] :
// CHECK: return
func.func @shared(%q: tensor<1x4x2x8xf32>)
    -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) {
  %init = tensor.empty() : tensor<1x4x2x8xf32>
  %a = fa.attention ins(%q, %q, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%init : tensor<1x4x2x8xf32>) mask causal
  %b = fa.attention ins(%q, %q, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      outs(%init : tensor<1x4x2x8xf32>)
  return %a, %b, %a, %q : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>
}

// -----

// Slices of a packed operand are views of it; other tensor computations come along.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %[[QKV:[a-z0-9]+]]: memref<2x16x3x8x64xf32, strided<[?, ?, ?, ?, 1], offset: ?>>, %[[O:[a-z0-9]+]]: memref<2x16x8x64xf32
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: %[[Q:.+]] = memref.subview %[[QKV]][0, 0, 0, 0, 0] [2, 16, 1, 8, 64]
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.attention {{.*}} outs(%[[O]] :
// CHECK-NEXT: linalg.exp ins(%[[O]] : {{.*}}) outs(%[[O]] :
// CHECK-NEXT: return
func.func @packed(%qkv: tensor<2x16x3x8x64xf32>) -> tensor<2x16x8x64xf32> {
  %q = tensor.extract_slice %qkv[0, 0, 0, 0, 0] [2, 16, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<2x16x3x8x64xf32> to tensor<2x16x8x64xf32>
  %k = tensor.extract_slice %qkv[0, 0, 1, 0, 0] [2, 16, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<2x16x3x8x64xf32> to tensor<2x16x8x64xf32>
  %v = tensor.extract_slice %qkv[0, 0, 2, 0, 0] [2, 16, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<2x16x3x8x64xf32> to tensor<2x16x8x64xf32>
  %init = tensor.empty() : tensor<2x16x8x64xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<2x16x8x64xf32>, tensor<2x16x8x64xf32>, tensor<2x16x8x64xf32>)
      outs(%init : tensor<2x16x8x64xf32>)
  %e = linalg.exp ins(%o : tensor<2x16x8x64xf32>) outs(%o : tensor<2x16x8x64xf32>) -> tensor<2x16x8x64xf32>
  return %e : tensor<2x16x8x64xf32>
}

// -----

// Functions without tensors and declarations stay as they are.
// CHECK: func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
// CHECK: func.func @scalar(%{{.+}}: memref<4xf32>) -> index
func.func @scalar(%m: memref<4xf32>) -> index {
  %c = arith.constant 1 : index
  return %c : index
}

// -----

// A loop over query blocks writes to the out-parameter too, and copies what must be kept once.
// CHECK-LABEL: func.func @tiled(
// CHECK-SAME: %[[INIT:[a-z0-9]+]]: memref<2x128x2x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %{{[a-z0-9]+}}: memref<2xi32, strided<[1], offset: ?>>, %[[O:[a-z0-9]+]]: memref<2x128x2x8xf32
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: linalg.copy ins(%[[INIT]] : {{.*}}) outs(%[[O]] :
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: scf.forall
// CHECK: memref.subview %[[O]]
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.attention
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: return
func.func @tiled(%q: tensor<2x128x2x8xf32>, %init: tensor<2x128x2x8xf32>, %lengths: tensor<2xi32>) -> tensor<2x128x2x8xf32> {
  %o = scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 2, 128) step (1, 1, 64) shared_outs(%d = %init) -> (tensor<2x128x2x8xf32>) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %q1 = tensor.extract_slice %q[%b, %i, %h, 0] [1, 64, 1, 8] [1, 1, 1, 1] : tensor<2x128x2x8xf32> to tensor<1x64x1x8xf32>
    %k1 = tensor.extract_slice %q[%b, 0, %h, 0] [1, 128, 1, 8] [1, 1, 1, 1] : tensor<2x128x2x8xf32> to tensor<1x128x1x8xf32>
    %d1 = tensor.extract_slice %d[%b, %i, %h, 0] [1, 64, 1, 8] [1, 1, 1, 1] : tensor<2x128x2x8xf32> to tensor<1x64x1x8xf32>
    %r = fa.attention ins(%q1, %k1, %k1 : tensor<1x64x1x8xf32>, tensor<1x128x1x8xf32>, tensor<1x128x1x8xf32>)
        outs(%d1 : tensor<1x64x1x8xf32>) query_lengths(%lengths : tensor<2xi32>)
        offsets(%b, %h, %i, %c0) extents(%c128, %c128)
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %d[%b, %i, %h, 0] [1, 64, 1, 8] [1, 1, 1, 1] : tensor<1x64x1x8xf32> into tensor<2x128x2x8xf32>
    }
  }
  return %o : tensor<2x128x2x8xf32>
}

// -----

// A loop updates in place what it carries: the attention, which reads it, writes to other memory.
// CHECK-LABEL: func.func @layers(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x16x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[K:[a-z0-9]+]]: memref<2x16x4x8xf32, {{.*}}, %[[O:[a-z0-9]+]]: memref<2x16x4x8xf32
// CHECK: linalg.copy ins(%[[Q]] : {{.*}}) outs(%[[X:.+]] :
// CHECK-NEXT: scf.for
// CHECK-NEXT: fa.attention ins(%[[X]], %[[K]], %[[K]] : {{.*}}) outs(%[[MADE:.+]] :
// CHECK-NEXT: linalg.copy ins(%[[MADE]] : {{.*}}) outs(%[[X]] :
// CHECK-NEXT: }
// CHECK-NEXT: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[O]] :
// CHECK-DAG: memref.dealloc %[[X]]
// CHECK-DAG: memref.dealloc %[[MADE]]
// CHECK: return
func.func @layers(%q: tensor<2x16x4x8xf32>, %k: tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %init = tensor.empty() : tensor<2x16x4x8xf32>
  %o = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %q) -> (tensor<2x16x4x8xf32>) {
    %n = fa.attention ins(%x, %k, %k : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
        outs(%init : tensor<2x16x4x8xf32>)
    scf.yield %n : tensor<2x16x4x8xf32>
  }
  return %o : tensor<2x16x4x8xf32>
}

// -----

// Branches whose tensor is returned write to the out-parameter.
// CHECK-LABEL: func.func @branches(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x16x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[C:[a-z0-9]+]]: i1, %[[O:[a-z0-9]+]]: memref<2x16x4x8xf32
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: scf.if %[[C]] {
// CHECK: fa.attention {{.*}} outs(%[[O]] :
// CHECK: } else {
// CHECK: fa.attention {{.*}} outs(%[[O]] :
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: return
func.func @branches(%q: tensor<2x16x4x8xf32>, %c: i1) -> tensor<2x16x4x8xf32> {
  %init = tensor.empty() : tensor<2x16x4x8xf32>
  %o = scf.if %c -> (tensor<2x16x4x8xf32>) {
    %n = fa.attention ins(%q, %q, %q : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
        outs(%init : tensor<2x16x4x8xf32>) mask causal
    scf.yield %n : tensor<2x16x4x8xf32>
  } else {
    %n = fa.attention ins(%q, %q, %q : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
        outs(%init : tensor<2x16x4x8xf32>)
    scf.yield %n : tensor<2x16x4x8xf32>
  }
  return %o : tensor<2x16x4x8xf32>
}

// -----

// Branches whose tensor is read later write to memory made and freed outside, of the size of the one taken.
// CHECK-LABEL: func.func @read(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x?x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[N:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: i1, %[[O:[a-z0-9]+]]: memref
// CHECK: %[[DIM:.+]] = memref.dim %[[Q]]
// CHECK: %[[SIZE:.+]] = arith.select %[[C]], %[[N]], %[[DIM]] : index
// CHECK: %[[THEN:.+]] = memref.alloc(%[[SIZE]])
// CHECK: %[[ELSE:.+]] = memref.alloc(%[[SIZE]])
// CHECK: %[[X:.+]] = arith.select %[[C]], %[[THEN]], %[[ELSE]] : memref
// CHECK: scf.if %[[C]] {
// CHECK: fa.attention {{.*}} outs(%[[THEN]] :
// CHECK: } else {
// CHECK-NEXT: linalg.copy ins(%[[Q]] : {{.*}}) outs(%[[ELSE]] :
// CHECK: linalg.exp ins(%[[X]] : {{.*}}) outs(%[[O]] :
// CHECK-DAG: memref.dealloc %[[THEN]]
// CHECK-DAG: memref.dealloc %[[ELSE]]
// CHECK: return
func.func @read(%q: tensor<1x?x4x8xf32>, %n: index, %c: i1) -> tensor<1x?x4x8xf32> {
  %x = scf.if %c -> (tensor<1x?x4x8xf32>) {
    %init = tensor.empty(%n) : tensor<1x?x4x8xf32>
    %p = tensor.extract_slice %q[0, 0, 0, 0] [1, %n, 4, 8] [1, 1, 1, 1] : tensor<1x?x4x8xf32> to tensor<1x?x4x8xf32>
    %a = fa.attention ins(%p, %q, %q : tensor<1x?x4x8xf32>, tensor<1x?x4x8xf32>, tensor<1x?x4x8xf32>)
        outs(%init : tensor<1x?x4x8xf32>)
    scf.yield %a : tensor<1x?x4x8xf32>
  } else {
    scf.yield %q : tensor<1x?x4x8xf32>
  }
  %c1 = arith.constant 1 : index
  %size = tensor.dim %x, %c1 : tensor<1x?x4x8xf32>
  %to = tensor.empty(%size) : tensor<1x?x4x8xf32>
  %e = linalg.exp ins(%x : tensor<1x?x4x8xf32>) outs(%to : tensor<1x?x4x8xf32>) -> tensor<1x?x4x8xf32>
  return %e : tensor<1x?x4x8xf32>
}

// -----

// Arithmetic on whole tensors.
// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x16x4x8xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[O:[a-z0-9]+]]: memref<2x16x4x8xf32
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.attention {{.*}} outs(%[[O]] :
// CHECK: linalg.generic {{.*}} ins(%[[O]], %[[Q]] : {{.*}}) outs(%[[O]] :
// CHECK: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: return
func.func @residual(%q: tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32> {
  %init = tensor.empty() : tensor<2x16x4x8xf32>
  %n = fa.attention ins(%q, %q, %q : tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>)
      outs(%init : tensor<2x16x4x8xf32>)
  %o = arith.addf %n, %q : tensor<2x16x4x8xf32>
  return %o : tensor<2x16x4x8xf32>
}

// -----

!t = tensor<1x8x2x16xf32>

// A promise about a gradient stays with it.
// CHECK-LABEL: @deterministic
// CHECK: fa.attention_gradient {{.*}} {deterministic}
func.func @deterministic(%q: !t, %o: !t, %lse: tensor<1x2x8xf32>, %do: !t) -> !t {
  %e = tensor.empty() : !t
  %0 = fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%o, %lse : !t, tensor<1x2x8xf32>) gradients(%do : !t)
      outs(query = %e : !t) {deterministic}
  return %0 : !t
}
