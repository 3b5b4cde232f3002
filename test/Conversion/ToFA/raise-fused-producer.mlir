// What makes the queries has been fused into their product. It becomes a tensor
// again, but only if the rest is an attention.

// RUN: fa-opt %s --fa-raise-attention --verify-diagnostics | FileCheck %s

#q = affine_map<(b, i, j, d) -> (b, i, d)>
#c = affine_map<(b, i, j, d) -> (i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>

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
