// What makes the queries or the values has been fused into their product. It
// becomes a tensor again, but only if the rest is an attention.

// RUN: fa-opt %s --fa-raise-attention --verify-diagnostics | FileCheck %s

// RUN: fa-opt %s -o %t.source.mlir
// RUN: fa-opt %s --fa-raise-attention -o %t.raised.mlir
// RUN: fa-run %t.raised.mlir --entry=biased_values --against=%t.source.mlir --target=reference --bound=1e-10 --input=3x5x32xf32 --input=3x7x32xf32 --input=3x7x32xf32 --input=32xf32

#q = affine_map<(b, i, j, d) -> (b, i, d)>
#c = affine_map<(b, i, j, d) -> (i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#pair = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#p = affine_map<(b, i, d, j) -> (b, i, j)>
#l = affine_map<(b, i, d, j) -> (b, i)>
#v = affine_map<(b, i, d, j) -> (b, j, d)>
#f = affine_map<(b, i, d, j) -> (d)>
#o = affine_map<(b, i, d, j) -> (b, i, d)>

// CHECK-LABEL: func.func @rotated
// CHECK-SAME:    %[[Q:.*]]: tensor<8x16x32xf32>, %[[R:.*]]: tensor<8x16x32xf32>, %[[C:.*]]: tensor<16x32xf32>
// CHECK:         %[[X:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[C]], %[[R]] : {{.*}}
// CHECK:           arith.addf
// CHECK:         %[[X4:.*]] = tensor.expand_shape %[[X]]
// CHECK:         fa.attention ins(%[[X4]],
func.func @rotated(%q: tensor<8x16x32xf32>, %r: tensor<8x16x32xf32>, %c: tensor<16x32xf32>, %k: tensor<8x24x32xf32>, %v: tensor<8x24x32xf32>) -> tensor<8x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %s = linalg.generic {indexing_maps = [#q, #c, #q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %c, %r, %k : tensor<8x16x32xf32>, tensor<16x32xf32>, tensor<8x16x32xf32>, tensor<8x24x32xf32>) outs(%i : tensor<8x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %f: f32, %out: f32):
    %ab = arith.mulf %a, %b : f32
    %x = arith.addf %ab, %d : f32
    %m = arith.mulf %x, %f : f32
    %sum = arith.addf %out, %m : f32
    linalg.yield %sum : f32
  } -> tensor<8x16x24xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x24xf32>) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %oe = tensor.empty() : tensor<8x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x24xf32>, tensor<8x24x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o : tensor<8x16x32xf32>
}

// Values of dynamic sizes get a bias in their product, where the softmax is divided.

// CHECK-LABEL: func.func @biased_values
// CHECK-SAME:    %{{.*}}: tensor<?x?x32xf32>, %{{.*}}: tensor<?x?x32xf32>, %[[V:.*]]: tensor<?x?x32xf32>, %[[C:.*]]: tensor<32xf32>
// CHECK:         %[[X:.*]] = linalg.generic {{.*}} ins(%[[V]], %[[C]] : {{.*}}
// CHECK:           arith.addf
// CHECK:         %[[X4:.*]] = tensor.expand_shape %[[X]]
// CHECK:         fa.attention ins({{.*}}, {{.*}}, %[[X4]] :
func.func @biased_values(%q: tensor<?x?x32xf32>, %k: tensor<?x?x32xf32>, %v: tensor<?x?x32xf32>, %c: tensor<32xf32>) -> tensor<?x?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x32xf32>
  %m = tensor.dim %q, %c1 : tensor<?x?x32xf32>
  %n = tensor.dim %k, %c1 : tensor<?x?x32xf32>
  %e = tensor.empty(%b, %m, %n) : tensor<?x?x?xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<?x?x32xf32>, tensor<?x?x32xf32>) outs(%i : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %re = tensor.empty(%b, %m) : tensor<?x?xf32>
  %ri = linalg.fill ins(%infinity : f32) outs(%re : tensor<?x?xf32>) -> tensor<?x?xf32>
  %max = linalg.generic {indexing_maps = [#pair, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<?x?x?xf32>) outs(%ri : tensor<?x?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %x = arith.maximumf %a, %out : f32
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  %p = linalg.generic {indexing_maps = [#pair, #row, #pair], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %max : tensor<?x?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?x?xf32>) {
  ^bb0(%a: f32, %d: f32, %out: f32):
    %x = arith.subf %a, %d : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  %rz = linalg.fill ins(%zero : f32) outs(%re : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sum = linalg.generic {indexing_maps = [#pair, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : tensor<?x?x?xf32>) outs(%rz : tensor<?x?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %x = arith.addf %a, %out : f32
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  %oe = tensor.empty(%b, %m) : tensor<?x?x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %o = linalg.generic {indexing_maps = [#p, #l, #v, #f, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %sum, %v, %c : tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?x32xf32>, tensor<32xf32>) outs(%oi : tensor<?x?x32xf32>) {
  ^bb0(%w: f32, %l: f32, %a: f32, %d: f32, %out: f32):
    %x = arith.addf %a, %d : f32
    %y = arith.divf %w, %l : f32
    %z = arith.mulf %y, %x : f32
    %r = arith.addf %out, %z : f32
    linalg.yield %r : f32
  } -> tensor<?x?x32xf32>
  return %o : tensor<?x?x32xf32>
}

// The softmax is returned: nothing changes.

// CHECK-LABEL: func.func @returned
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     {{linalg.generic|fa.attention}}
func.func @returned(%q: tensor<8x16x32xf32>, %r: tensor<8x16x32xf32>, %c: tensor<16x32xf32>, %k: tensor<8x24x32xf32>, %v: tensor<8x24x32xf32>) -> (tensor<8x16x32xf32>, tensor<8x16x24xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the first product is not of two tensors}}
  %s = linalg.generic {indexing_maps = [#q, #c, #q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %c, %r, %k : tensor<8x16x32xf32>, tensor<16x32xf32>, tensor<8x16x32xf32>, tensor<8x24x32xf32>) outs(%i : tensor<8x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %f: f32, %out: f32):
    %ab = arith.mulf %a, %b : f32
    %x = arith.addf %ab, %d : f32
    %m = arith.mulf %x, %f : f32
    %sum = arith.addf %out, %m : f32
    linalg.yield %sum : f32
  } -> tensor<8x16x24xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x24xf32>) outs(%e : tensor<8x16x24xf32>) -> tensor<8x16x24xf32>
  %oe = tensor.empty() : tensor<8x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x16x24xf32>, tensor<8x24x32xf32>) outs(%oi : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o, %p : tensor<8x16x32xf32>, tensor<8x16x24xf32>
}
