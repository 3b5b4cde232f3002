// What the options of fa-raise-attention let change.

// RUN: fa-opt %s --split-input-file --fa-raise-attention | FileCheck %s --check-prefixes=CHECK,EXCESS,EXACT
// RUN: fa-opt %s --split-input-file --fa-raise-attention=excess-precision=false --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,ROUNDED,EXACT
// RUN: fa-opt %s --split-input-file --fa-raise-attention=masks=assume-visible | FileCheck %s --check-prefixes=CHECK,EXCESS,VISIBLE
// RUN: not fa-opt %s --fa-raise-attention=masks=none 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: masks

// Scores that are rounded to bf16 and biased there: roundings stay if asked
// for. The bias may be -inf for all keys of a row; that is promised away, too.

#map = affine_map<(b, i, j) -> (b, i, j)>
// CHECK-LABEL: func.func @rounded_scores
// CHECK:         fa.attention {{.*}} score(%[[S:[^,]*]],
// EXCESS:          %[[B:.*]] = arith.extf %{{.*}} : bf16 to f32
// EXCESS-NEXT:     %[[X:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// EXCESS-NEXT:     fa.yield %[[X]]
// ROUNDED:         %[[N:.*]] = arith.truncf %[[S]] : f32 to bf16
// ROUNDED:         %[[X:.*]] = arith.addf %[[N]], %{{.*}} : bf16
// ROUNDED:         %[[W:.*]] = arith.extf %[[X]] : bf16 to f32
// ROUNDED-NEXT:    fa.yield %[[W]]
// EXACT:         arith.constant 0x7FC00000 : f32
// VISIBLE-NOT:   linalg.generic
// CHECK:         return
func.func @rounded_scores(%q: tensor<4x16x32xbf16>, %k: tensor<4x32x24xbf16>, %v: tensor<4x24x32xbf16>, %bias: tensor<4x16x24xbf16>) -> tensor<4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16x24xf32>
  %en = tensor.empty() : tensor<4x16x24xbf16>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x16x32xbf16>, tensor<4x32x24xbf16>) outs(%i : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %n = arith.truncf %s : tensor<4x16x24xf32> to tensor<4x16x24xbf16>
  %x = arith.addf %n, %bias : tensor<4x16x24xbf16>
  %w = arith.extf %x : tensor<4x16x24xbf16> to tensor<4x16x24xf32>
  %p = linalg.softmax dimension(2) ins(%w : tensor<4x16x24xf32>) outs(%e : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %oe = tensor.empty() : tensor<4x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %vw = arith.extf %v : tensor<4x24x32xbf16> to tensor<4x24x32xf32>
  %o = linalg.batch_matmul ins(%p, %vw : tensor<4x16x24xf32>, tensor<4x24x32xf32>) outs(%oi : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return %o : tensor<4x16x32xf32>
}

// -----

// A softmax that is rounded is none if roundings stay.

// CHECK-LABEL: func.func @rounded_softmax
// EXCESS:        fa.attention
// ROUNDED-NOT:   fa.attention
// CHECK:         return
func.func @rounded_softmax(%q: tensor<4x16x32xbf16>, %k: tensor<4x32x24xbf16>, %v: tensor<4x24x32xbf16>) -> tensor<4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x16x32xbf16>, tensor<4x32x24xbf16>) outs(%i : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x16x24xf32>) outs(%e : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the softmax is rounded, and 'excess-precision' is false}}
  %n = arith.truncf %p : tensor<4x16x24xf32> to tensor<4x16x24xbf16>
  %oe = tensor.empty() : tensor<4x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<4x16x24xbf16>, tensor<4x24x32xbf16>) outs(%oi : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return %o : tensor<4x16x32xf32>
}

// -----

// -1e9 is added where the mask says so. A row may be masked all over, and then
// gives the mean of the values: the addition stays in the score region.

#map = affine_map<(b, i, j) -> (b, i, j)>
// CHECK-LABEL: func.func @added_number
// CHECK:         fa.attention
// EXACT-SAME:      score(
// EXACT:           arith.constant -1.000000e+09 : f32
// EXACT:           arith.select
// EXACT:           arith.addf
// VISIBLE-SAME:    mask(%{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]]) captures(%[[T:.*]] = %{{.*}} : tensor<4x16x24xi1>)
// VISIBLE-NOT:     arith.select
// VISIBLE:         %[[C:.*]] = tensor.extract %[[T]][%[[H]], %[[I]], %[[J]]]
// VISIBLE:         fa.yield %[[C]]
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @added_number(%q: tensor<4x16x32xf32>, %k: tensor<4x32x24xf32>, %v: tensor<4x24x32xf32>, %mask: tensor<4x16x24xi1>) -> tensor<4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e9 : f32
  %e = tensor.empty() : tensor<4x16x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x16x32xf32>, tensor<4x32x24xf32>) outs(%i : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %x = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<4x16x24xf32>, tensor<4x16x24xi1>) outs(%e : tensor<4x16x24xf32>) {
  ^bb0(%a: f32, %c: i1, %out: f32):
    %f = arith.select %c, %zero, %low : f32
    %r = arith.addf %a, %f : f32
    linalg.yield %r : f32
  } -> tensor<4x16x24xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x16x24xf32>) outs(%e : tensor<4x16x24xf32>) -> tensor<4x16x24xf32>
  %oe = tensor.empty() : tensor<4x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x16x24xf32>, tensor<4x24x32xf32>) outs(%oi : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return %o : tensor<4x16x32xf32>
}

// -----

// Positions in bf16 are even above 256, which is what the mask compares: their
// roundings stay whatever goes of the scores'.

#map = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @rounded_positions
// CHECK:         fa.attention
// CHECK-SAME:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]])
// CHECK-NOT:       arith.sitofp {{.*}} to f32
// CHECK-COUNT-2:   arith.sitofp {{.*}} : i64 to bf16
// CHECK:           arith.cmpf oge
// VISIBLE-NOT:   linalg.generic
// CHECK:         return
func.func @rounded_positions(%q: tensor<300x32xf32>, %k: tensor<32x300xf32>, %v: tensor<300x32xf32>) -> tensor<300x32xf32> {
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<300x300xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<300x300xf32>) -> tensor<300x300xf32>
  %s = linalg.matmul ins(%q, %k : tensor<300x32xf32>, tensor<32x300xf32>) outs(%i : tensor<300x300xf32>) -> tensor<300x300xf32>
  %en = tensor.empty() : tensor<300xbf16>
  %at = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%en : tensor<300xbf16>) {
  ^bb0(%out: bf16):
    %p = linalg.index 0 : index
    %n = arith.index_cast %p : index to i64
    %r = arith.sitofp %n : i64 to bf16
    linalg.yield %r : bf16
  } -> tensor<300xbf16>
  %x = linalg.generic {indexing_maps = [#map, #row, #col, #map], iterator_types = ["parallel", "parallel"]}
      ins(%s, %at, %at : tensor<300x300xf32>, tensor<300xbf16>, tensor<300xbf16>) outs(%e : tensor<300x300xf32>) {
  ^bb0(%a: f32, %pi: bf16, %pj: bf16, %out: f32):
    %c = arith.cmpf oge, %pi, %pj : bf16
    %r = arith.select %c, %a, %infinity : f32
    linalg.yield %r : f32
  } -> tensor<300x300xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<300x300xf32>) outs(%e : tensor<300x300xf32>) -> tensor<300x300xf32>
  %oe = tensor.empty() : tensor<300x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<300x32xf32>) -> tensor<300x32xf32>
  %o = linalg.matmul ins(%p, %v : tensor<300x300xf32>, tensor<300x32xf32>) outs(%oi : tensor<300x32xf32>) -> tensor<300x32xf32>
  return %o : tensor<300x32xf32>
}
