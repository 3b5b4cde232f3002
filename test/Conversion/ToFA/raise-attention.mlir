// softmax(Q K) V in the forms that front ends give it becomes fa.attention.

// RUN: fa-opt %s --fa-raise-attention --split-input-file | FileCheck %s
// RUN: fa-opt %s --fa-raise-attention --split-input-file -o %t.once
// RUN: fa-opt %t.once --fa-raise-attention --split-input-file | diff %t.once -

// Heads folded into the batch, the scale behind the product, K transposed.

// CHECK-LABEL: func.func @folded_heads
// CHECK-SAME:    %[[Q:.*]]: tensor<8x16x32xf32>, %[[K:.*]]: tensor<8x24x32xf32>, %[[V:.*]]: tensor<8x24x40xf32>
// CHECK-DAG:     %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[\[}}0, 1], [2], [3]]
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK:         %[[O:.*]] = fa.attention ins(%[[Q4]], {{.*}} scale(%[[SCALE]]) {
// CHECK-SAME:      key_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>
// CHECK:         %[[R:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0, 1], [2], [3]]
// CHECK-NOT:     linalg
// CHECK:         return %[[R]]
func.func @folded_heads(%q: tensor<8x16x32xf32>, %k: tensor<8x24x32xf32>, %v: tensor<8x24x40xf32>) -> tensor<8x16x40xf32> {
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 0.125 : f32
  %e0 = tensor.empty() : tensor<8x32x24xf32>
  %kt = linalg.transpose ins(%k : tensor<8x24x32xf32>) outs(%e0 : tensor<8x32x24xf32>) permutation = [0, 2, 1]
  %e = tensor.empty() : tensor<8x16x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %s = linalg.batch_matmul ins(%q, %kt : tensor<8x16x32xf32>, tensor<8x32x24xf32>) outs(%i : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %x = linalg.map ins(%s : tensor<8x16x24xf32>) outs(%e : tensor<8x16x24xf32>) (%in: f32, %out: f32) {
    %m = arith.mulf %in, %c : f32
    linalg.yield %m : f32
  }
  %p = linalg.softmax dimension(2) ins(%x : tensor<8x16x24xf32>) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %oe = tensor.empty() : tensor<8x16x40xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x40xf32>) -> tensor<8x16x40xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x24xf32>, tensor<8x24x40xf32>) outs(%oi : tensor<8x16x40xf32>) -> tensor<8x16x40xf32>
  return %o : tensor<8x16x40xf32>
}

// -----

// A causal mask by selection, computed from indices, with a finite number: as
// each row sees its first key, it becomes the mask. Softmax by single steps,
// the division behind the second product.

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @causal
// CHECK:         fa.attention
// CHECK-SAME:      mask(%[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]]) {
// CHECK:           %[[VISIBLE:.*]] = arith.cmpi sge, %[[I]], %[[J]] : index
// CHECK:           fa.yield %[[VISIBLE]]
// CHECK-NOT:     linalg
func.func @causal(%q: tensor<16x32xf32>, %k: tensor<16x32xf32>, %v: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -3.0e38 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %er = tensor.empty() : tensor<16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<16x32xf32>, tensor<16x32xf32>) outs(%i : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %out, %m : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %x = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %row = linalg.index 0 : index
    %key = linalg.index 1 : index
    %after = arith.cmpi slt, %row, %key : index
    %r = arith.select %after, %low, %a : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x16xf32>) outs(%mi : tensor<16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.maximumf %a, %out : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %w = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  %zi = linalg.fill ins(%zero : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %z = linalg.reduce ins(%w : tensor<16x16xf32>) outs(%zi : tensor<16xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %r = arith.addf %in, %out : f32
      linalg.yield %r : f32
    }
  %oe = tensor.empty() : tensor<16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<16x32xf32>) -> tensor<16x32xf32>
  %u = linalg.matmul ins(%w, %v : tensor<16x16xf32>, tensor<16x32xf32>) outs(%oi : tensor<16x32xf32>) -> tensor<16x32xf32>
  %o = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%u, %z : tensor<16x32xf32>, tensor<16xf32>) outs(%oe : tensor<16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  return %o : tensor<16x32xf32>
}

// -----

// Grouped heads by a broadcast, dynamic sequences, a bias. A row of the bias
// may be -inf everywhere: then the result is NaN, as before.

// CHECK-LABEL: func.func @grouped
// CHECK-SAME:    %[[Q:.*]]: tensor<2x8x?x32xbf16>, %[[K:.*]]: tensor<2x2x?x32xbf16>, %[[V:[^:]*]]: tensor<2x2x?x32xbf16>, %[[BIAS:[^:]*]]: tensor<8x?x?xf32>
// CHECK:         %[[O:.*]]:2 = fa.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-SAME:      score(%[[S:.*]], %{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]]) captures(%[[T:.*]] = %[[BIAS]]
// CHECK:           %[[B:.*]] = tensor.extract %[[T]][%[[H]], %[[I]], %[[J]]]
// CHECK:           %[[X:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:           fa.yield %[[X]]
// CHECK:         linalg.generic {{.*}} ins(%[[O]]#1 : {{.*}}) outs(%[[O]]#0
// CHECK:           arith.constant 0x7FC00000 : f32
func.func @grouped(%q: tensor<2x8x?x32xbf16>, %k: tensor<2x2x?x32xbf16>, %v: tensor<2x2x?x32xbf16>, %bias: tensor<8x?x?xf32>) -> tensor<2x8x?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x8x?x32xbf16>
  %m = tensor.dim %k, %c2 : tensor<2x2x?x32xbf16>
  %e5 = tensor.empty(%m) : tensor<2x2x4x?x32xbf16>
  %kb = linalg.broadcast ins(%k : tensor<2x2x?x32xbf16>) outs(%e5 : tensor<2x2x4x?x32xbf16>) dimensions = [2]
  %vb = linalg.broadcast ins(%v : tensor<2x2x?x32xbf16>) outs(%e5 : tensor<2x2x4x?x32xbf16>) dimensions = [2]
  %kr = tensor.collapse_shape %kb [[0], [1, 2], [3], [4]] : tensor<2x2x4x?x32xbf16> into tensor<2x8x?x32xbf16>
  %vr = tensor.collapse_shape %vb [[0], [1, 2], [3], [4]] : tensor<2x2x4x?x32xbf16> into tensor<2x8x?x32xbf16>
  %e = tensor.empty(%n, %m) : tensor<2x8x?x?xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x?x?xf32>) -> tensor<2x8x?x?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %kr : tensor<2x8x?x32xbf16>, tensor<2x8x?x32xbf16>) outs(%i : tensor<2x8x?x?xf32>) {
  ^bb0(%a: bf16, %b: bf16, %out: f32):
    %wa = arith.extf %a : bf16 to f32
    %wb = arith.extf %b : bf16 to f32
    %p = arith.mulf %wa, %wb : f32
    %r = arith.addf %out, %p : f32
    linalg.yield %r : f32
  } -> tensor<2x8x?x?xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<2x8x?x?xf32>, tensor<8x?x?xf32>) outs(%e : tensor<2x8x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x8x?x?xf32>
  %p = linalg.softmax dimension(3) ins(%x : tensor<2x8x?x?xf32>) outs(%e : tensor<2x8x?x?xf32>) -> tensor<2x8x?x?xf32>
  %oe = tensor.empty(%n) : tensor<2x8x?x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x8x?x32xf32>) -> tensor<2x8x?x32xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, h, i, e, j) -> (b, h, i, j)>, affine_map<(b, h, i, e, j) -> (b, h, j, e)>, affine_map<(b, h, i, e, j) -> (b, h, i, e)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %vr : tensor<2x8x?x?xf32>, tensor<2x8x?x32xbf16>) outs(%oi : tensor<2x8x?x32xf32>) {
  ^bb0(%a: f32, %b: bf16, %out: f32):
    %wb = arith.extf %b : bf16 to f32
    %m2 = arith.mulf %a, %wb : f32
    %r = arith.addf %out, %m2 : f32
    linalg.yield %r : f32
  } -> tensor<2x8x?x32xf32>
  return %o : tensor<2x8x?x32xf32>
}
