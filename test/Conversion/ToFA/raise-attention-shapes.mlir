// Shapes that operands have before they are ones of four dims. Raised and
// compiled for the CPU, each function gives the source's numbers.

// RUN: fa-opt %s --fa-raise-attention -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: fa-opt %t.mlir --fa-raise-attention | diff %t.mlir -

// RUN: fa-opt %s --transform-interpreter -o %t.source.mlir
// RUN: fa-opt %t.source.mlir --fa-raise-attention -o %t.raised.mlir
// RUN: fa-run %t.raised.mlir --entry=transposed_key --against=%t.source.mlir --target=reference --bound=1e-10
// RUN: fa-run %t.raised.mlir --entry=transposed_result --against=%t.source.mlir --target=reference --bound=1e-10
// RUN: fa-run %t.raised.mlir --entry=two_key_indices --against=%t.source.mlir --target=reference --bound=1e-10
// RUN: fa-run %t.raised.mlir --entry=one_query_between --against=%t.source.mlir --target=reference --bound=1e-10
// RUN: fa-run %t.raised.mlir --entry=half --against=%t.source.mlir --target=reference --bound=1e-10
// RUN: fa-run %t.raised.mlir --entry=one_before_dynamic --against=%t.source.mlir --target=reference --bound=1e-10 --input=3x5x8xf32 --input=3x7x8xf32 --input=3x7x8xf32
// RUN: fa-run %t.raised.mlir --entry=equal_by_use --against=%t.source.mlir --target=reference --bound=1e-10 --input=3x5x8xf32 --input=3x7x8xf32 --input=3x7x8xf32 --input=1x3x5x7xf32

// RUN: sed -e '/named_sequence @/,/^  }/d' -e 's/attributes {.*} {/{/' %t.mlir | fa-opt --canonicalize --cse -o %t.clean.mlir
// RUN: fa-run %t.clean.mlir --entry=transposed_key --target=cpu --verify
// RUN: fa-run %t.clean.mlir --entry=transposed_result --target=cpu --verify
// RUN: fa-run %t.clean.mlir --entry=two_key_indices --target=cpu --verify
// RUN: fa-run %t.clean.mlir --entry=one_query_between --target=cpu --verify
// RUN: fa-run %t.clean.mlir --entry=half --target=cpu --verify
// RUN: fa-run %t.clean.mlir --entry=one_before_dynamic --target=cpu --verify --input=3x5x8xf32 --input=3x7x8xf32 --input=3x7x8xf32
// RUN: fa-run %t.clean.mlir --entry=equal_by_use --target=cpu --verify --input=3x5x8xf32 --input=3x7x8xf32 --input=3x7x8xf32 --input=1x3x5x7xf32

#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q4 = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#kt4 = affine_map<(b, h, i, j, d) -> (b, h, d, j)>
#s4 = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
#p4 = affine_map<(b, h, i, e, j) -> (b, h, i, j)>
#v4 = affine_map<(b, h, i, e, j) -> (b, h, j, e)>
#o4 = affine_map<(b, h, i, e, j) -> (b, h, i, e)>
#ot4 = affine_map<(b, h, i, e, j) -> (b, h, e, i)>
#q2 = affine_map<(i, y, x, d) -> (i, d)>
#k2 = affine_map<(i, y, x, d) -> (y, x, d)>
#s2 = affine_map<(i, y, x, d) -> (i, y, x)>
#of_row = affine_map<(i, y, x) -> (i)>
#p2 = affine_map<(i, d, y, x) -> (i, y, x)>
#v2 = affine_map<(i, d, y, x) -> (y, x, d)>
#o2 = affine_map<(i, d, y, x) -> (i, d)>
#qb = affine_map<(x, y, h, i, j, d) -> (x, i, y, h, d)>
#kb = affine_map<(x, y, h, i, j, d) -> (x, y, h, j, d)>
#sb = affine_map<(x, y, h, i, j, d) -> (x, y, h, i, j)>
#pb = affine_map<(x, y, h, i, d, j) -> (x, y, h, i, j)>
#vb = affine_map<(x, y, h, i, d, j) -> (x, y, h, j, d)>
#ob = affine_map<(x, y, h, i, d, j) -> (x, i, y, h, d)>
#qh = affine_map<(b, i, j, d) -> (b, i, d)>
#kh = affine_map<(b, i, j, d) -> (b, j, d)>
#sh = affine_map<(b, i, j, d) -> (b, i, j)>

module attributes {transform.with_named_sequence} {
// Keys with a head dim that is not contiguous are transposed.

// CHECK-LABEL: func.func @transposed_key
// CHECK-SAME:    %{{.*}}: tensor<2x8x16x32xf32>, %[[K:.*]]: tensor<2x8x32x16xf32>
// CHECK:         %[[KT:.*]] = linalg.transpose ins(%[[K]] : tensor<2x8x32x16xf32>)
// CHECK:         fa.attention ins(%{{.*}}, %[[KT]], %{{.*}} : {{.*}}key_dims = #fa.dims<b, h, s, d>
  func.func @transposed_key(%q: tensor<2x8x16x32xf32>, %k: tensor<2x8x32x16xf32>, %v: tensor<2x8x16x32xf32>) -> tensor<2x8x16x32xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x8x16x16xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %s = linalg.contract indexing_maps = [#q4, #kt4, #s4] ins(%q, %k : tensor<2x8x16x32xf32>, tensor<2x8x32x16xf32>) outs(%i : tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %p = linalg.softmax dimension(3) ins(%s : tensor<2x8x16x16xf32>) outs(%e : tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %oe = tensor.empty() : tensor<2x8x16x32xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x8x16x32xf32>) -> tensor<2x8x16x32xf32>
    %o = linalg.contract indexing_maps = [#p4, #v4, #o4] ins(%p, %v : tensor<2x8x16x16xf32>, tensor<2x8x16x32xf32>) outs(%oi : tensor<2x8x16x32xf32>) -> tensor<2x8x16x32xf32>
    return %o : tensor<2x8x16x32xf32>
  }

// So is such a result, which is read on here.

// CHECK-LABEL: func.func @transposed_result
// CHECK:         %[[O:.*]] = fa.attention {{.*}}output_dims = #fa.dims<b, h, s, d>
// CHECK:         linalg.transpose ins(%[[O]]
// CHECK:         arith.addf
  func.func @transposed_result(%q: tensor<2x8x16x32xf32>, %k: tensor<2x8x32x16xf32>, %v: tensor<2x8x16x32xf32>) -> tensor<2x8x32x16xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x8x16x16xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %s = linalg.contract indexing_maps = [#q4, #kt4, #s4] ins(%q, %k : tensor<2x8x16x32xf32>, tensor<2x8x32x16xf32>) outs(%i : tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %p = linalg.softmax dimension(3) ins(%s : tensor<2x8x16x16xf32>) outs(%e : tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %oe = tensor.empty() : tensor<2x8x32x16xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x8x32x16xf32>) -> tensor<2x8x32x16xf32>
    %o = linalg.contract indexing_maps = [#p4, #v4, #ot4] ins(%p, %v : tensor<2x8x16x16xf32>, tensor<2x8x16x32xf32>) outs(%oi : tensor<2x8x32x16xf32>) -> tensor<2x8x32x16xf32>
    %r = arith.addf %o, %k : tensor<2x8x32x16xf32>
    return %r : tensor<2x8x32x16xf32>
  }

// Keys in rows and columns, as of an image, are one sequence.

// CHECK-LABEL: func.func @two_key_indices
// CHECK:         %[[K:.*]] = tensor.collapse_shape %arg1 {{.*}} into tensor<24x32xf32>
// CHECK:         fa.attention
// CHECK-NOT:     linalg.generic
  func.func @two_key_indices(%q: tensor<16x32xf32>, %k: tensor<4x6x32xf32>, %v: tensor<4x6x32xf32>) -> tensor<16x32xf32> {
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<16x4x6xf32>
    %er = tensor.empty() : tensor<16xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<16x4x6xf32>) -> tensor<16x4x6xf32>
    %s = linalg.contract indexing_maps = [#q2, #k2, #s2] ins(%q, %k : tensor<16x32xf32>, tensor<4x6x32xf32>) outs(%i : tensor<16x4x6xf32>) -> tensor<16x4x6xf32>
    %mi = linalg.fill ins(%least : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
    %m = linalg.reduce ins(%s : tensor<16x4x6xf32>) outs(%mi : tensor<16xf32>) dimensions = [1, 2]
      (%a: f32, %out: f32) {
        %r = arith.maximumf %a, %out : f32
        linalg.yield %r : f32
      }
    %p = linalg.generic {indexing_maps = [#id, #of_row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%s, %m : tensor<16x4x6xf32>, tensor<16xf32>) outs(%e : tensor<16x4x6xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %d = arith.subf %a, %b : f32
      %r = math.exp %d : f32
      linalg.yield %r : f32
    } -> tensor<16x4x6xf32>
    %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
    %t = linalg.reduce { arith.addf } ins(%p : tensor<16x4x6xf32>) outs(%ti : tensor<16xf32>) dimensions = [1, 2]
    %n = linalg.generic {indexing_maps = [#id, #of_row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%p, %t : tensor<16x4x6xf32>, tensor<16xf32>) outs(%e : tensor<16x4x6xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %r = arith.divf %a, %b : f32
      linalg.yield %r : f32
    } -> tensor<16x4x6xf32>
    %oe = tensor.empty() : tensor<16x32xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<16x32xf32>) -> tensor<16x32xf32>
    %o = linalg.contract indexing_maps = [#p2, #v2, #o2] ins(%n, %v : tensor<16x4x6xf32>, tensor<4x6x32xf32>) outs(%oi : tensor<16x32xf32>) -> tensor<16x32xf32>
    return %o : tensor<16x32xf32>
  }

// The dim of the one query stands between dims that are one batch.

// CHECK-LABEL: func.func @one_query_between
// CHECK:         fa.attention
  func.func @one_query_between(%q: tensor<2x1x3x4x8xf32>, %k: tensor<2x3x4x7x8xf32>, %v: tensor<2x3x4x7x8xf32>) -> tensor<2x1x3x4x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x3x4x1x7xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x4x1x7xf32>) -> tensor<2x3x4x1x7xf32>
    %s = linalg.contract indexing_maps = [#qb, #kb, #sb] ins(%q, %k : tensor<2x1x3x4x8xf32>, tensor<2x3x4x7x8xf32>) outs(%i : tensor<2x3x4x1x7xf32>) -> tensor<2x3x4x1x7xf32>
    %p = linalg.softmax dimension(4) ins(%s : tensor<2x3x4x1x7xf32>) outs(%e : tensor<2x3x4x1x7xf32>) -> tensor<2x3x4x1x7xf32>
    %oe = tensor.empty() : tensor<2x1x3x4x8xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x1x3x4x8xf32>) -> tensor<2x1x3x4x8xf32>
    %o = linalg.contract indexing_maps = [#pb, #vb, #ob] ins(%p, %v : tensor<2x3x4x1x7xf32>, tensor<2x3x4x7x8xf32>) outs(%oi : tensor<2x1x3x4x8xf32>) -> tensor<2x1x3x4x8xf32>
    return %o : tensor<2x1x3x4x8xf32>
  }

// A maximum in f16 starts from that type's least number.

// CHECK-LABEL: func.func @half
// CHECK:         fa.attention
  func.func @half(%q: tensor<4x16x32xf16>, %k: tensor<4x24x32xf16>, %v: tensor<4x24x32xf16>) -> tensor<4x16x32xf16> {
    %zero = arith.constant 0.0 : f16
    %least = arith.constant -65504.0 : f16
    %e = tensor.empty() : tensor<4x16x24xf16>
    %er = tensor.empty() : tensor<4x16xf16>
    %i = linalg.fill ins(%zero : f16) outs(%e : tensor<4x16x24xf16>) -> tensor<4x16x24xf16>
    %products = linalg.batch_matmul indexing_maps = [#qh, #kh, #sh] ins(%q, %k : tensor<4x16x32xf16>, tensor<4x24x32xf16>) outs(%i : tensor<4x16x24xf16>) -> tensor<4x16x24xf16>
    %factor = arith.constant 0.17677 : f16
    %s = linalg.map ins(%products : tensor<4x16x24xf16>) outs(%e : tensor<4x16x24xf16>) (%in: f16, %out: f16) {
      %r = arith.mulf %in, %factor : f16
      linalg.yield %r : f16
    }
    %mi = linalg.fill ins(%least : f16) outs(%er : tensor<4x16xf16>) -> tensor<4x16xf16>
    %m = linalg.reduce ins(%s : tensor<4x16x24xf16>) outs(%mi : tensor<4x16xf16>) dimensions = [2]
      (%a: f16, %out: f16) {
        %r = arith.maximumf %a, %out : f16
        linalg.yield %r : f16
      }
    %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%s, %m : tensor<4x16x24xf16>, tensor<4x16xf16>) outs(%e : tensor<4x16x24xf16>) {
    ^bb0(%a: f16, %b: f16, %out: f16):
      %d = arith.subf %a, %b : f16
      %r = math.exp %d : f16
      linalg.yield %r : f16
    } -> tensor<4x16x24xf16>
    %ti = linalg.fill ins(%zero : f16) outs(%er : tensor<4x16xf16>) -> tensor<4x16xf16>
    %t = linalg.reduce { arith.addf } ins(%p : tensor<4x16x24xf16>) outs(%ti : tensor<4x16xf16>) dimensions = [2]
    %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%p, %t : tensor<4x16x24xf16>, tensor<4x16xf16>) outs(%e : tensor<4x16x24xf16>) {
    ^bb0(%a: f16, %b: f16, %out: f16):
      %r = arith.divf %a, %b : f16
      linalg.yield %r : f16
    } -> tensor<4x16x24xf16>
    %oe = tensor.empty() : tensor<4x16x32xf16>
    %oi = linalg.fill ins(%zero : f16) outs(%oe : tensor<4x16x32xf16>) -> tensor<4x16x32xf16>
    %o = linalg.batch_matmul ins(%n, %v : tensor<4x16x24xf16>, tensor<4x24x32xf16>) outs(%oi : tensor<4x16x32xf16>) -> tensor<4x16x32xf16>
    return %o : tensor<4x16x32xf16>
  }
// A one before a size known at run time makes that size no one.

// CHECK-LABEL: func.func @one_before_dynamic
// CHECK-NOT:     tensor.cast
// CHECK:         fa.attention ins({{.*}} : tensor<1x?x?x8xf32>, tensor<1x?x?x8xf32>, tensor<1x?x?x8xf32>)
// CHECK-NOT:     tensor.cast
// CHECK:         return
  func.func @one_before_dynamic(%q: tensor<?x?x8xf32>, %k: tensor<?x?x8xf32>, %v: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %b = tensor.dim %q, %c0 : tensor<?x?x8xf32>
    %m = tensor.dim %q, %c1 : tensor<?x?x8xf32>
    %n = tensor.dim %k, %c1 : tensor<?x?x8xf32>
    %e = tensor.empty(%b, %m, %n) : tensor<?x?x?xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %s = linalg.batch_matmul indexing_maps = [#qh, #kh, #sh] ins(%q, %k : tensor<?x?x8xf32>, tensor<?x?x8xf32>) outs(%i : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, %b, %m, %n] : tensor<?x?x?xf32> into tensor<1x?x?x?xf32>
    %e4 = tensor.empty(%b, %m, %n) : tensor<1x?x?x?xf32>
    %p4 = linalg.softmax dimension(3) ins(%s4 : tensor<1x?x?x?xf32>) outs(%e4 : tensor<1x?x?x?xf32>) -> tensor<1x?x?x?xf32>
    %p = tensor.collapse_shape %p4 [[0, 1], [2], [3]] : tensor<1x?x?x?xf32> into tensor<?x?x?xf32>
    %oe = tensor.empty(%b, %m) : tensor<?x?x8xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %o = linalg.batch_matmul ins(%p, %v : tensor<?x?x?xf32>, tensor<?x?x8xf32>) outs(%oi : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    return %o : tensor<?x?x8xf32>
  }
// Sizes that only an expansion, or arithmetic on whole tensors, has equal. No
// operand is cut to the other one.

// CHECK-LABEL: func.func @equal_by_use
// CHECK-NOT:     tensor.extract_slice
// CHECK:         fa.attention
// CHECK:         return
  func.func @equal_by_use(%q: tensor<?x?x8xf32>, %k: tensor<?x?x8xf32>, %v: tensor<?x?x8xf32>, %bias: tensor<1x?x?x?xf32>) -> tensor<?x?x8xf32> {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %b = tensor.dim %q, %c0 : tensor<?x?x8xf32>
    %m = tensor.dim %q, %c1 : tensor<?x?x8xf32>
    %n = tensor.dim %k, %c1 : tensor<?x?x8xf32>
    %e = tensor.empty(%b, %m, %n) : tensor<?x?x?xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %s = linalg.batch_matmul indexing_maps = [#qh, #kh, #sh] ins(%q, %k : tensor<?x?x8xf32>, tensor<?x?x8xf32>) outs(%i : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %b_v = tensor.dim %v, %c0 : tensor<?x?x8xf32>
    %n_v = tensor.dim %v, %c1 : tensor<?x?x8xf32>
    %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, %b_v, %m, %n_v] : tensor<?x?x?xf32> into tensor<1x?x?x?xf32>
    %a4 = arith.addf %bias, %s4 : tensor<1x?x?x?xf32>
    %e4 = tensor.empty(%b, %m, %n) : tensor<1x?x?x?xf32>
    %p4 = linalg.softmax dimension(3) ins(%a4 : tensor<1x?x?x?xf32>) outs(%e4 : tensor<1x?x?x?xf32>) -> tensor<1x?x?x?xf32>
    %p = tensor.collapse_shape %p4 [[0, 1], [2], [3]] : tensor<1x?x?x?xf32> into tensor<?x?x?xf32>
    %oe = tensor.empty(%b, %m) : tensor<?x?x8xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %o = linalg.batch_matmul ins(%p, %v : tensor<?x?x?xf32>, tensor<?x?x8xf32>) outs(%oi : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    return %o : tensor<?x?x8xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %steps = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
