// RUN: fa-opt %s --fa-decompose-step --canonicalize --cse --split-input-file | FileCheck %s

// The operations of a step under the lines of its formula.

!q = memref<1x8x1x16xbf16, strided<[128, 16, 16, 1]>>
!k = memref<1x?x1x16xbf16, strided<[?, 16, 16, 1]>>

// CHECK-LABEL: func @step(
// CHECK-SAME:      %[[ACC:[a-z0-9]+]]: tensor<8x16xf32>, %[[MAX:[a-z0-9]+]]: tensor<8xf32>, %[[SUM:[a-z0-9]+]]: tensor<8xf32>
func.func @step(%q: !q, %k: !k, %v: !k, %acc: tensor<8x16xf32>, %max: tensor<8xf32>, %sum: tensor<8xf32>,
                %scale: f32, %cap: f32, %b: index, %h: index, %i0: index, %j0: index, %nq: index, %nk: index)
    -> (tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) {
  // The operands: matrices of the sequence and the head dim.
  // CHECK:      %[[QM:.+]] = memref.subview {{.+}} to memref<8x16xbf16, strided<[16, 1]>>
  // CHECK-NEXT: %[[Q:.+]] = bufferization.to_tensor %[[QM]] restrict
  // CHECK:      %[[K:.+]] = bufferization.to_tensor {{.+}} to tensor<?x16xbf16>
  // CHECK:      %[[V:.+]] = bufferization.to_tensor {{.+}} to tensor<?x16xbf16>
  //
  // x = score(scale * query * key^T) where visible, else -inf
  // CHECK:      %[[ZERO:.+]] = linalg.fill
  // CHECK-NEXT: %[[S:.+]] = linalg.contract {{.*}} {fa.config = #fa.config<{{.+}}>} ins(%[[Q]], %[[K]] : {{.+}}) outs(%[[ZERO]] : tensor<8x?xf32>) -> tensor<8x?xf32>
  // CHECK-NEXT: %[[SCALES:.+]] = tensor.splat %{{.+}} : tensor<8x?xf32>
  // CHECK-NEXT: %[[X:.+]] = arith.mulf %[[S]], %[[SCALES]] fastmath<reassoc,contract> : tensor<8x?xf32>
  // CHECK-NEXT: %[[Y:.+]] = fa.apply ins(%[[X]] : tensor<8x?xf32>) offsets({{.+}}) extents({{.+}}) pairs({{.+}}) captures({{.+}}) {
  // CHECK:        math.tanh
  // CHECK:      } -> tensor<8x?xf32>
  // CHECK-NEXT: %[[VISIBLE:.+]] = fa.apply sizes(%{{.+}}) offsets({{.+}}) extents({{.+}}) pairs({{.+}}) {
  // CHECK:        arith.cmpi
  // CHECK:      } -> tensor<8x?xi1>
  // CHECK-NEXT: %[[NONE:.+]] = tensor.splat
  // CHECK-NEXT: %[[HIDDEN:.+]] = arith.select %[[VISIBLE]], %[[Y]], %[[NONE]]
  //
  // m' = max(m, max over keys of x)
  // CHECK-NEXT: %[[NEWMAX:.+]] = linalg.reduce { arith.maxnumf } ins(%[[HIDDEN]] : tensor<8x?xf32>) outs(%[[MAX]] : tensor<8xf32>) dimensions = [1]
  //
  // p = exp(x - m')          0 where m' is -inf
  // CHECK-NEXT: %[[EMPTY:.+]] = arith.cmpf oeq, %[[NEWMAX]], %{{.+}} : tensor<8xf32>
  // CHECK-NEXT: %[[SHIFT:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[NEWMAX]]
  // CHECK:      %[[SHIFTS:.+]] = linalg.broadcast ins(%[[SHIFT]] : tensor<8xf32>) {{.*}} dimensions = [1]
  // CHECK-NEXT: %[[D:.+]] = arith.subf %[[HIDDEN]], %[[SHIFTS]]
  // CHECK-NEXT: %[[P:.+]] = math.exp %[[D]] : tensor<8x?xf32>
  //
  // s' = s * exp(m - m') + sum over keys of p
  // CHECK-NEXT: %[[FALL:.+]] = arith.subf %[[MAX]], %[[SHIFT]]
  // CHECK-NEXT: %[[CORRECTION:.+]] = math.exp %[[FALL]] : tensor<8xf32>
  // CHECK-NEXT: %[[ROWSUM:.+]] = linalg.reduce { arith.addf } ins(%[[P]] : tensor<8x?xf32>) {{.*}} dimensions = [1]
  // CHECK-NEXT: %[[NEWSUM:.+]] = math.fma %[[SUM]], %[[CORRECTION]], %[[ROWSUM]]
  //
  // acc' = acc * exp(m - m') + p * value
  // CHECK:      %[[CORRECTIONS:.+]] = linalg.broadcast ins(%[[CORRECTION]] : tensor<8xf32>)
  // CHECK-NEXT: %[[RESCALED:.+]] = arith.mulf %[[ACC]], %[[CORRECTIONS]]
  // CHECK-NEXT: %[[NEWACC:.+]] = linalg.contract {{.*}} ins(%[[P]], %[[V]] : tensor<8x?xf32>, tensor<?x16xbf16>) outs(%[[RESCALED]] : tensor<8x16xf32>)
  // CHECK-NEXT: return %[[NEWACC]], %[[NEWMAX]], %[[NEWSUM]]
  %r:3 = fa.online_attention ins(%q, %k, %v : !q, !k, !k)
      outs(%acc, %max, %sum : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) scale(%scale)
      offsets(%b, %h, %i0, %j0) extents(%nq, %nk) score softcap(%cap) mask causal
      {config = #fa.config<query_block = 8, key_block = 32, target = #fa.cpu<lanes = 8, register_vectors = 1>>}
  return %r#0, %r#1, %r#2 : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// In key ranges a mask hides nothing in full blocks, and the query block is
// read in front of them. Rows of the state without a query are 0.

!q = memref<1x?x1x16xf32, strided<[?, 16, 16, 1]>>
!k = memref<1x64x1x16xf32, strided<[1024, 16, 16, 1]>>
!kb = memref<1x?x1x16xf32, strided<[1024, 16, 16, 1], offset: ?>>

// CHECK-LABEL: func @ranges(
// CHECK:       %[[Q:.+]] = bufferization.to_tensor {{.+}} to tensor<?x16xf32>
// CHECK:       %[[PADDED:.+]] = tensor.pad %[[Q]] low[0, 0] high[%{{.+}}, 0]
// CHECK:       tensor.yield %{{.+}} : f32
// CHECK-NEXT:  } : tensor<?x16xf32> to tensor<8x16xf32>
// CHECK-NEXT:  fa.key_ranges
// CHECK:         %[[S:.+]] = linalg.contract {{.*}} ins(%[[PADDED]],
// CHECK:         %[[X:.+]] = arith.mulf %[[S]], %{{.+}} fastmath<reassoc,contract> {fa.default_scale}
// CHECK:         %[[PARTIAL:.+]] = fa.is_partial : i1
// CHECK-NEXT:    %[[H:.+]] = scf.if %[[PARTIAL]] -> (tensor<8x?xf32>) {
// CHECK:           %[[VISIBLE:.+]] = fa.apply sizes
// CHECK:           %[[Y:.+]] = arith.select %[[VISIBLE]], %[[X]],
// CHECK-NEXT:      scf.yield %[[Y]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[X]]
// CHECK-NEXT:    }
// CHECK-NEXT:    linalg.reduce { arith.maxnumf } ins(%[[H]]
func.func @ranges(%q: !q, %k: !k, %acc: tensor<8x16xf32>, %row: tensor<8xf32>, %mid: index, %end: index, %i: index)
    -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %r:3 = fa.key_ranges (%j, %count) = [full %c0 to %mid, partial %mid to %end] step 32
      iter_args(%a = %acc, %m = %row, %s = %row) -> (tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) {
    %kb = memref.subview %k[0, %j, 0, 0] [1, %count, 1, 16] [1, 1, 1, 1] : !k to !kb
    %x:3 = fa.online_attention ins(%q, %kb, %kb : !q, !kb, !kb)
        outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) offsets(%c0, %c0, %i, %j) extents(%end, %end)
        mask causal
    fa.yield %x#0, %x#1, %x#2 : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>
  }
  return %r#0 : tensor<8x16xf32>
}

// -----

// Only the valid rows are written; a row whose sum is 0 gives 0 and -infinity.

// CHECK-LABEL: func @finalize(
// CHECK-SAME:      %[[ACC:[a-z0-9]+]]: tensor<8x16xf32>, %[[MAX:[a-z0-9]+]]: tensor<8xf32>, %[[SUM:[a-z0-9]+]]: tensor<8xf32>
func.func @finalize(%acc: tensor<8x16xf32>, %max: tensor<8xf32>, %sum: tensor<8xf32>,
                    %o: memref<1x1x?x16xbf16>, %lse: memref<1x1x?xf32>, %rows: index) {
  // CHECK: %[[WRITTEN:.+]] = affine.min
  //
  // output = accumulator / sum          0 where sum is 0
  // CHECK-NEXT: %[[TARGET:.+]] = memref.subview %{{.+}}[0, 0, 0, 0] [1, 1, %[[WRITTEN]], 16]
  // CHECK-NEXT: %[[EMPTY:.+]] = arith.cmpf oeq, %[[SUM]],
  // CHECK-NEXT: %[[RECIPROCAL:.+]] = arith.divf %{{.+}}, %[[SUM]]
  // CHECK-NEXT: %[[INVERSE:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[RECIPROCAL]]
  // CHECK:      %[[INVERSES:.+]] = linalg.broadcast ins(%[[INVERSE]]
  // CHECK-NEXT: %[[OUT:.+]] = arith.mulf %[[ACC]], %[[INVERSES]]
  // CHECK-NEXT: %[[NARROW:.+]] = arith.truncf %[[OUT]] : tensor<8x16xf32> to tensor<8x16xbf16>
  // CHECK-NEXT: %[[VALID:.+]] = tensor.extract_slice %[[NARROW]][0, 0] [%[[WRITTEN]], 16]
  // CHECK-NEXT: bufferization.materialize_in_destination %[[VALID]] in restrict writable %[[TARGET]]
  //
  // lse    = maximum + log(sum)         -inf where sum is 0
  // CHECK:      %[[LOG:.+]] = math.log %[[SUM]]
  // CHECK-NEXT: %[[LSE:.+]] = arith.addf %[[MAX]], %[[LOG]]
  // CHECK-NEXT: arith.select %[[EMPTY]], %{{.+}}, %[[LSE]]
  // CHECK:      bufferization.materialize_in_destination
  // CHECK-NEXT: return
  fa.finalize ins(%acc, %max, %sum : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o, %lse : memref<1x1x?x16xbf16>, memref<1x1x?xf32>) rows(%rows)
      {output_dims = #fa.dims<b, h, s, d>}
  return
}

// -----

// Tensors instead of memory, in orders that have to be transposed.

// CHECK-LABEL: func @tensors(
// CHECK-SAME:      %[[Q:[a-z0-9]+]]: tensor<16x1x1x8xf32>
// CHECK:      %[[PART:.+]] = tensor.extract_slice %[[Q]]{{.+}} : tensor<16x1x1x8xf32> to tensor<16x8xf32>
// CHECK:      linalg.transpose ins(%[[PART]] : tensor<16x8xf32>) outs(%{{.+}} : tensor<8x16xf32>) permutation = [1, 0]
// CHECK:      linalg.contract
// CHECK:      linalg.transpose ins(%{{.+}} : tensor<8x16xf32>) outs(%{{.+}} : tensor<16x8xf32>) permutation = [1, 0]
// CHECK-NEXT: %[[O:.+]] = tensor.insert_slice %{{.+}} into %{{.+}} : tensor<16x8xf32> into tensor<16x1x1x8xf32>
// CHECK:      return %[[O]]
!t = tensor<16x1x1x8xf32>
func.func @tensors(%q: !t, %acc: tensor<8x16xf32>, %row: tensor<8xf32>) -> !t {
  %r:3 = fa.online_attention ins(%q, %q, %q : !t, !t, !t)
      outs(%acc, %row, %row : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      {query_dims = #fa.dims<d, b, h, s>, key_dims = #fa.dims<d, b, h, s>, value_dims = #fa.dims<d, b, h, s>}
  %o = fa.finalize ins(%r#0, %r#1, %r#2 : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) outs(%q : !t)
      {output_dims = #fa.dims<d, b, h, s>} -> !t
  return %o : !t
}

// -----

// CHECK-LABEL: func @combine(
// CHECK-SAME:      %[[OA:[a-z0-9]+]]: memref<1x8x1x16xf32>, %[[LA:[a-z0-9]+]]: memref<1x1x8xf32>
func.func @combine(%oa: memref<1x8x1x16xf32>, %la: memref<1x1x8xf32>, %ob: memref<1x8x1x16xf32>, %lb: memref<1x1x8xf32>,
                   %o: memref<1x8x1x16xf16>, %lse: memref<1x1x8xf32>, %n: memref<?xi32>, %b: index, %i: index) {
  // CHECK:      %[[LENGTH:.+]] = memref.load
  // CHECK:      %[[ROWS:.+]] = affine.min
  // CHECK:      %[[A:.+]] = bufferization.to_tensor {{.+}} to tensor<8xf32>
  // CHECK:      %[[B:.+]] = bufferization.to_tensor {{.+}} to tensor<8xf32>
  //
  // m      = max(lse_a, lse_b)                  0 where both are -inf
  // CHECK-NEXT: %[[M:.+]] = arith.maximumf %[[A]], %[[B]]
  // CHECK-NEXT: %[[EMPTY:.+]] = arith.cmpf oeq, %[[M]],
  // CHECK-NEXT: %[[SHIFT:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[M]]
  //
  // weight = exp(lse - m)
  // CHECK-NEXT: %[[DA:.+]] = arith.subf %[[A]], %[[SHIFT]]
  // CHECK-NEXT: %[[WA:.+]] = math.exp %[[DA]]
  // CHECK-NEXT: %[[DB:.+]] = arith.subf %[[B]], %[[SHIFT]]
  // CHECK-NEXT: %[[WB:.+]] = math.exp %[[DB]]
  // CHECK-NEXT: %[[TOTAL:.+]] = arith.addf %[[WA]], %[[WB]]
  //
  // output = (weight_a * o_a + weight_b * o_b) / (weight_a + weight_b), and a
  // part whose weight is 0 is not read into the sum
  // CHECK:      %[[WAS:.+]] = linalg.broadcast ins(%[[WA]]
  // CHECK:      %[[PA:.+]] = arith.mulf %{{.+}}, %[[WAS]]
  // CHECK:      %[[NA:.+]] = arith.cmpf oeq, %[[WAS]],
  // CHECK:      %[[TA:.+]] = arith.select %[[NA]], %{{.+}}, %[[PA]]
  // CHECK:      %[[PB:.+]] = arith.mulf
  // CHECK:      %[[TB:.+]] = arith.select %{{.+}}, %{{.+}}, %[[PB]]
  // CHECK:      %[[S:.+]] = arith.addf %[[TA]], %[[TB]]
  // CHECK:      arith.divf %[[S]],
  // CHECK:      arith.truncf
  // CHECK:      tensor.extract_slice %{{.+}}[0, 0] [%[[ROWS]], 16]
  // CHECK:      bufferization.materialize_in_destination
  //
  // lse    = m + log(weight_a + weight_b)
  // CHECK:      %[[LOG:.+]] = math.log %[[TOTAL]]
  // CHECK-NEXT: arith.addf %[[SHIFT]], %[[LOG]]
  // CHECK:      bufferization.materialize_in_destination
  // CHECK-NOT:  fa.
  fa.combine a(%oa, %la : memref<1x8x1x16xf32>, memref<1x1x8xf32>) b(%ob, %lb : memref<1x8x1x16xf32>, memref<1x1x8xf32>)
      outs(%o, %lse : memref<1x8x1x16xf16>, memref<1x1x8xf32>)
      query_lengths(%n : memref<?xi32>) batch_offset(%b) query_offset(%i)
  return
}

// -----

!o = memref<1x4x1x16xf32, strided<[64, 16, 16, 1]>>
!l = memref<1x1x4xf32, strided<[4, 4, 1]>>

// A result over other keys is a step with one score. What has the weight 0 is not read into the state.

// CHECK-LABEL: func @add_partial(
// CHECK-SAME:      %[[ACC:[a-z0-9]+]]: tensor<8x16xf32>, %[[MAX:[a-z0-9]+]]: tensor<8xf32>, %[[SUM:[a-z0-9]+]]: tensor<8xf32>
func.func @add_partial(%o: !o, %l: !l, %acc: tensor<8x16xf32>, %max: tensor<8xf32>, %sum: tensor<8xf32>)
    -> (tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK-DAG:  %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
  // CHECK-DAG:  %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<8x16xf32>
  // CHECK-DAG:  %[[NONE:.+]] = arith.constant dense<0xFF800000> : tensor<8xf32>
  // CHECK:      %[[O:.+]] = tensor.pad %{{.+}} low[0, 0] high[4, 0]
  // CHECK:      %[[L:.+]] = tensor.pad %{{.+}} low[0] high[4]
  //
  // m' = max(m, lse), 0 in place of it where both are -inf
  // CHECK:      %[[NEW:.+]] = arith.maximumf %[[MAX]], %[[L]]
  // CHECK-NEXT: %[[EMPTY:.+]] = arith.cmpf oeq, %[[NEW]], %[[NONE]]
  // CHECK-NEXT: %[[SHIFT:.+]] = arith.select %[[EMPTY]], %[[ZEROS]], %[[NEW]]
  //
  // s' = s * exp(m - m') + exp(lse - m')
  // CHECK:      %[[D:.+]] = arith.subf %[[MAX]], %[[SHIFT]]
  // CHECK-NEXT: %[[C:.+]] = math.exp %[[D]]
  // CHECK-NEXT: %[[E:.+]] = arith.subf %[[L]], %[[SHIFT]]
  // CHECK-NEXT: %[[W:.+]] = math.exp %[[E]]
  // CHECK-NEXT: %[[S:.+]] = math.fma %[[SUM]], %[[C]], %[[W]]
  //
  // acc' = acc * exp(m - m') + w * output
  // CHECK:      %[[WS:.+]] = linalg.broadcast ins(%[[W]]
  // CHECK:      %[[P:.+]] = arith.mulf %[[O]], %[[WS]]
  // CHECK:      %[[UNREAD:.+]] = arith.cmpf oeq, %[[WS]], %[[ZERO]]
  // CHECK:      %[[T:.+]] = arith.select %[[UNREAD]], %[[ZERO]], %[[P]]
  // CHECK:      %[[CS:.+]] = linalg.broadcast ins(%[[C]]
  // CHECK:      %[[A:.+]] = math.fma %[[ACC]], %[[CS]], %[[T]]
  // CHECK:      return %[[A]], %[[NEW]], %[[S]]
  %r:3 = fa.add_partial ins(%o, %l : !o, !l) outs(%acc, %max, %sum : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return %r#0, %r#1, %r#2 : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>
}
