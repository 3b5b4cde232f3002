// RUN: fa-opt %s --fa-decompose-step --canonicalize --cse --split-input-file | FileCheck %s

// The operations of the steps of gradients under the lines of their formulas.

!q = memref<1x?x1x16xf32, strided<[?, 16, 16, 1]>>
!k = memref<1x8x1x16xf32, strided<[128, 16, 16, 1]>>
!row = memref<1x1x?xf32, strided<[?, ?, 1]>>

// CHECK-LABEL: func @keys(
// CHECK-SAME:      %[[DK:[a-z0-9]+]]: tensor<8x16xf32>, %[[DV:[a-z0-9]+]]: tensor<8x16xf32>
func.func @keys(%q: !q, %k: !k, %v: !k, %do: !q, %lse: !row, %delta: !row, %dk: tensor<8x16xf32>, %dv: tensor<8x16xf32>,
                %scale: f32, %b: index, %h: index, %i0: index, %j0: index, %nq: index, %nk: index)
    -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // Rows are keys, columns are queries.
  // CHECK-DAG:  %[[K:.+]] = bufferization.to_tensor {{.+}} : memref<8x16xf32, strided<[16, 1]>> to tensor<8x16xf32>
  // CHECK-DAG:  bufferization.to_tensor {{.+}} to tensor<?x16xf32>
  //
  // x = score(scale * key * query^T) where visible, else -inf
  // CHECK:      %[[S:.+]] = linalg.contract {{.*}} ins(%[[K]], %[[Q:.+]] : tensor<8x16xf32>, tensor<?x16xf32>)
  // CHECK:      %[[SCALED:.+]] = arith.mulf %[[S]], %{{.+}} fastmath<reassoc,contract> : tensor<8x?xf32>
  // CHECK:      %[[Y:.+]] = fa.apply ins(%[[SCALED]] : tensor<8x?xf32>) {{.*}} rows(keys)
  // CHECK:        math.exp
  // CHECK:      %[[VISIBLE:.+]] = fa.apply sizes({{.+}}) {{.*}} rows(keys)
  // CHECK:        arith.cmpi
  // CHECK:      %[[X:.+]] = arith.select %[[VISIBLE]], %[[Y]], %{{.+}}
  //
  // p = exp(x - lse)
  // CHECK:      %[[LSES:.+]] = linalg.broadcast ins(%{{.+}} : tensor<?xf32>) {{.*}} dimensions = [0]
  // CHECK-NEXT: %[[D:.+]] = arith.subf %[[X]], %[[LSES]]
  // CHECK-NEXT: %[[P:.+]] = math.exp %[[D]] : tensor<8x?xf32>
  //
  // dx = p * (value * do^T - delta)
  // CHECK:      %[[DP:.+]] = linalg.contract {{.*}} ins(%{{.+}}, %[[DO:.+]] : tensor<8x16xf32>, tensor<?x16xf32>)
  // CHECK:      %[[DELTAS:.+]] = linalg.broadcast ins(%{{.+}} : tensor<?xf32>) {{.*}} dimensions = [0]
  // CHECK-NEXT: %[[CENTERED:.+]] = arith.subf %[[DP]], %[[DELTAS]]
  // CHECK-NEXT: %[[DX:.+]] = arith.mulf %[[P]], %[[CENTERED]]
  //
  // ds = score_gradient(dx), 0 where hidden
  // CHECK:      %[[DS0:.+]] = fa.apply ins(%[[DX]], %[[SCALED]] : tensor<8x?xf32>, tensor<8x?xf32>) {{.*}} rows(keys)
  // CHECK:      %[[DS:.+]] = arith.select %{{.+}}, %[[DS0]], %{{.+}}
  //
  // key = key + ds * query, value = value + p * do
  // CHECK:      %[[NEWDK:.+]] = linalg.contract {{.*}} ins(%[[DS]], %[[Q]] : tensor<8x?xf32>, tensor<?x16xf32>) outs(%[[DK]] : tensor<8x16xf32>)
  // CHECK-NEXT: %[[NEWDV:.+]] = linalg.contract {{.*}} ins(%[[P]], %[[DO]] : tensor<8x?xf32>, tensor<?x16xf32>) outs(%[[DV]] : tensor<8x16xf32>)
  // CHECK-NEXT: return %[[NEWDK]], %[[NEWDV]]
  %r:2 = fa.gradient_keys ins(%q, %k, %v, %do : !q, !k, !k, !q) rows(%lse, %delta : !row, !row)
      outs(key = %dk : tensor<8x16xf32>, value = %dv : tensor<8x16xf32>) scale(%scale)
      offsets(%b, %h, %i0, %j0) extents(%nq, %nk)
      score(%s, %bb, %hh, %i, %j) {
        %x = math.exp %s : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %bb, %hh, %i, %j) {
        %x = math.exp %s : f32
        %ds = arith.mulf %dx, %x : f32
        fa.yield %ds : f32
      } mask causal
  return %r#0, %r#1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

!q = memref<1x8x1x16xf32, strided<[128, 16, 16, 1]>>
!k = memref<1x?x1x16xf32, strided<[?, 16, 16, 1]>>
!row = memref<1x1x8xf32, strided<[8, 8, 1]>>

// Rows are queries. The gradient of a sum is the gradient itself. What is
// scattered is 0 in rows that see no key.
// CHECK-LABEL: func @queries(
// CHECK:      %[[S:.+]] = linalg.contract
// CHECK:      %[[LSES:.+]] = linalg.broadcast ins(%{{.+}} : tensor<8xf32>) {{.*}} dimensions = [1]
// CHECK:      %[[DS:.+]] = arith.mulf
// CHECK:      %[[EMPTY:.+]] = arith.cmpf oeq, %[[LSES]], %{{.+}} : tensor<8x?xf32>
// CHECK:      %[[ADDED:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[DS]]
// CHECK:      fa.scatter_add %[[ADDED]] : tensor<8x?xf32> to %{{.+}} : memref<4xf32> offsets({{.*}}) extents({{.*}}) pairs(%{{.+}}, %[[H:.+]], %{{.+}}, %{{.+}}) captures
// CHECK-NEXT:   fa.yield %[[H]] : index
//
// scale = scale + sum of ds * (query * key^T)
// CHECK:      arith.mulf %[[DS]], %[[S]] : tensor<8x?xf32>
// CHECK:      linalg.reduce { arith.addf } ins(%{{.+}} : tensor<8x?xf32>) {{.*}} dimensions = [1]
// CHECK:      linalg.reduce { arith.addf } ins(%{{.+}} : tensor<8xf32>) {{.*}} dimensions = [0]
// CHECK:      memref.store
//
// query = query + ds * key
// CHECK:      linalg.contract {{.*}} ins(%[[DS]], %{{.+}} : tensor<8x?xf32>, tensor<?x16xf32>)
func.func @queries(%q: !q, %k: !k, %v: !k, %do: !q, %lse: !row, %delta: !row, %dq: tensor<8x16xf32>, %table: memref<4xf32>,
                   %dt: memref<4xf32>, %ds: memref<f32>, %b: index) -> tensor<8x16xf32> {
  %r = fa.gradient_queries ins(%q, %k, %v, %do : !q, !k, !k, !q) rows(%lse, %delta : !row, !row)
      outs(query = %dq : tensor<8x16xf32>, capture[0] = %dt : memref<4xf32>, scale = %ds : memref<f32>)
      score(%s, %bb, %hh, %i, %j) captures(%t = %table : memref<4xf32>) {
        %w = memref.load %t[%hh] : memref<4xf32>
        %x = arith.addf %s, %w : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %bb, %hh, %i, %j, %t) {
        fa.scatter_gradient %dx to %t[%hh] : f32, memref<4xf32>
        fa.yield %dx : f32
      }
  return %r : tensor<8x16xf32>
}

// -----

!o = memref<1x8x1x16xbf16, strided<[128, 16, 16, 1]>>
!row = memref<1x1x8xf32, strided<[8, 8, 1]>>

// CHECK-LABEL: func @ends(
// delta = sum over e of do(e) * o(e) - dlse, 0 where lse is -inf and behind the last row
// CHECK:      tensor.pad
// CHECK:      %[[EMPTY:.+]] = arith.cmpf oeq
// CHECK:      %[[PRODUCT:.+]] = arith.mulf %{{.+}}, %{{.+}} : tensor<8x16xf32>
// CHECK:      %[[SUM:.+]] = linalg.reduce { arith.addf } ins(%[[PRODUCT]] : tensor<8x16xf32>)
// CHECK:      %[[DELTA:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[SUM]]
// CHECK: %[[LARGE:.+]] = arith.cmpf ogt,
// CHECK: %[[REFERENCE:.+]] = arith.select %[[LARGE]],
// CHECK:      bufferization.materialize_in_destination %[[DELTA]] in
// CHECK:      bufferization.materialize_in_destination %[[REFERENCE]] in
// CHECK:      linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : memref<4x16xf32>)
// gradient = scale * accumulator, 0 behind the last row
// CHECK:      tensor.extract_slice
// CHECK:      %[[PADDED:.+]] = tensor.pad
// CHECK:      %[[SCALED:.+]] = arith.mulf %[[PADDED]],
// CHECK:      %[[OUT:.+]] = arith.truncf %[[SCALED]] : tensor<8x16xf32> to tensor<8x16xbf16>
// CHECK:      bufferization.materialize_in_destination %[[OUT]] in
func.func @ends(%o: !o, %do: !o, %lse: !row, %delta: !row, %reference: !row, %a: tensor<8x16xf32>, %out: !o, %scale: f32, %n: index, %sums: memref<4x16xf32>) {
  fa.prepare_gradient of(%o, %do : !o, !o) lse(%lse : !row) outs(%delta, %reference : !row, !row) clears(%sums : memref<4x16xf32>) rows(%n)
  fa.finalize_gradient ins(%a : tensor<8x16xf32>) scale(%scale) outs(%out : !o) rows(%n)
  return
}

// -----

!q = memref<1x8x1x16xf32, strided<[128, 16, 16, 1]>>
!k = memref<1x?x1x16xf32, strided<[?, 16, 16, 1]>>
!row = memref<1x1x8xf32, strided<[8, 8, 1]>>
!sums = memref<1x1x8x16xf32, strided<[?, ?, 16, 1], offset: ?>>

// query = query + ds^T * key, in memory and without rows of padding, whose
// weights may be infinite.
// CHECK-LABEL: func @query_sums(
// CHECK:      %[[P:.+]] = math.exp
// CHECK:      %[[DX:.+]] = arith.mulf %[[P]], %{{.+}} : tensor<4x8xf32>
// CHECK:      %[[DS:.+]] = tensor.extract_slice %[[DX]][0, 0] [%[[KEYS:.+]], 8] [1, 1]
// CHECK:      %[[K:.+]] = tensor.extract_slice %{{.+}}[0, 0] [%[[KEYS]], 16] [1, 1] : tensor<4x16xf32> to tensor<?x16xf32>
// CHECK:      %[[OLD:.+]] = bufferization.to_tensor %[[PLACE:.+]] restrict writable
// CHECK:      %[[NEW:.+]] = linalg.contract indexing_maps = [#[[A:.+]], #[[B:.+]], #{{.+}}] ins(%[[DS]], %[[K]] : {{.*}}) outs(%[[OLD]] : tensor<8x16xf32>)
// CHECK:      bufferization.materialize_in_destination %[[NEW]] in restrict writable %[[PLACE]]
func.func @query_sums(%q: !q, %k: !k, %v: !k, %do: !q, %lse: !row, %delta: !row, %dk: tensor<4x16xf32>, %sums: !sums,
                      %b: index, %h: index, %i0: index, %j0: index, %nq: index, %nk: index) -> tensor<4x16xf32> {
  %r = fa.gradient_keys ins(%q, %k, %v, %do : !q, !k, !k, !q) rows(%lse, %delta : !row, !row)
      outs(key = %dk : tensor<4x16xf32>, query = %sums : !sums) offsets(%b, %h, %i0, %j0) extents(%nq, %nk)
      {query_gradient_dims = #fa.dims<b, h, s, d>}
  return %r : tensor<4x16xf32>
}
