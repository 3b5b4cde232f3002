// Tensors whose head dim is not the last one, and that are neither arguments
// nor results: they are copied into an order in which it is contiguous.

// RUN: fa-opt %s --fa-results-to-out-parameters | FileCheck %s
// RUN: fa-run %s --entry=made --target=cpu --verify
// RUN: fa-run %s --entry=view_of_argument --target=cpu --verify
// RUN: fa-run %s --entry=two_orders --target=cpu --verify
// RUN: fa-run %s --entry=output_is_read --target=cpu --verify --input=2x7x4x16xf32 --input=2x9x4x16xf32 --input=2x9x4x16xf32 --input=2xi32=[7,5]
// RUN: fa-run %s --entry=hidden --target=cpu --verify
// RUN: fa-run %s --entry=gradients --target=cpu --verify --bound=1e-5

#bhds = #fa.dims<b, h, d, s>

// CHECK-LABEL: func.func @made(
// CHECK-SAME:    %{{.*}}: memref<1x16x8x32xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[K:.*]]: memref<1x8x32x16xf32
// CHECK:         linalg.transpose ins(%{{.*}} : memref<1x8x32x16xf32>) outs(%[[COPY:.*]] : memref<1x8x16x32xf32>) permutation = [0, 1, 3, 2]
// CHECK:         fa.attention ins(%{{.*}}, %[[COPY]], %{{.*}} {key_dims = #fa.dims<b, h, s, d>}
func.func @made(%q: tensor<1x16x8x32xf32>, %k: tensor<1x8x32x16xf32>, %v: tensor<1x16x8x32xf32>) -> tensor<1x16x8x32xf32> {
  %made = math.tanh %k : tensor<1x8x32x16xf32>
  %e = tensor.empty() : tensor<1x16x8x32xf32>
  %o = fa.attention ins(%q, %made, %v : tensor<1x16x8x32xf32>, tensor<1x8x32x16xf32>, tensor<1x16x8x32xf32>)
      outs(%e : tensor<1x16x8x32xf32>) {key_dims = #bhds}
  return %o : tensor<1x16x8x32xf32>
}

func.func @view_of_argument(%q: tensor<1x16x8x32xf32>, %k: tensor<8x32x16xf32>, %v: tensor<1x16x8x32xf32>) -> tensor<1x16x8x32xf32> {
  %view = tensor.expand_shape %k [[0, 1], [2], [3]] output_shape [1, 8, 32, 16] : tensor<8x32x16xf32> into tensor<1x8x32x16xf32>
  %e = tensor.empty() : tensor<1x16x8x32xf32>
  %o = fa.attention ins(%q, %view, %v : tensor<1x16x8x32xf32>, tensor<1x8x32x16xf32>, tensor<1x16x8x32xf32>)
      outs(%e : tensor<1x16x8x32xf32>) {key_dims = #bhds}
  return %o : tensor<1x16x8x32xf32>
}

// An argument that is read in two orders has the head dim of one of them
// contiguous. The other use has a copy.
// CHECK-LABEL: func.func @two_orders(
// CHECK:         linalg.transpose
// CHECK-NOT:     linalg.transpose
func.func @two_orders(%q: tensor<1x16x16x16xf32>, %k: tensor<1x16x16x16xf32>) -> (tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>) {
  %e = tensor.empty() : tensor<1x16x16x16xf32>
  %a = fa.attention ins(%q, %k, %q : tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>)
      outs(%e : tensor<1x16x16x16xf32>) {key_dims = #fa.dims<b, s, d, h>}
  %b = fa.attention ins(%q, %k, %q : tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>)
      outs(%e : tensor<1x16x16x16xf32>)
  return %a, %b : tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>
}

// Rows past a length keep what the destination has there.
// CHECK-LABEL: func.func @output_is_read(
func.func @output_is_read(%q: tensor<2x?x4x16xf32>, %k: tensor<2x?x4x16xf32>, %v: tensor<2x?x4x16xf32>, %lengths: tensor<2xi32>) -> tensor<2x4x16x?xf32> {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %q, %c1 : tensor<2x?x4x16xf32>
  %e = tensor.empty(%n) : tensor<2x4x16x?xf32>
  %filled = linalg.fill ins(%one : f32) outs(%e : tensor<2x4x16x?xf32>) -> tensor<2x4x16x?xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>)
      outs(%filled : tensor<2x4x16x?xf32>) query_lengths(%lengths : tensor<2xi32>) {output_dims = #bhds}
  %more = math.tanh %o : tensor<2x4x16x?xf32>
  return %more : tensor<2x4x16x?xf32>
}

// What a gradient reads and makes, too.
// CHECK-LABEL: func.func @gradients(
// CHECK:         fa.attention_gradient {{.*}} {key_dims = #fa.dims<b, h, s, d>, key_gradient_dims = #fa.dims<b, h, s, d>}
func.func @gradients(%q: tensor<1x16x2x32xf32>, %k: tensor<1x2x32x16xf32>, %v: tensor<1x16x2x32xf32>, %do: tensor<1x16x2x32xf32>)
    -> (tensor<1x16x2x32xf32>, tensor<1x2x32x16xf32>, tensor<1x16x2x32xf32>) {
  %made = math.tanh %k : tensor<1x2x32x16xf32>
  %e = tensor.empty() : tensor<1x16x2x32xf32>
  %ek = tensor.empty() : tensor<1x2x32x16xf32>
  %le = tensor.empty() : tensor<1x2x16xf32>
  %o, %lse = fa.attention ins(%q, %made, %v : tensor<1x16x2x32xf32>, tensor<1x2x32x16xf32>, tensor<1x16x2x32xf32>)
      outs(%e, %le : tensor<1x16x2x32xf32>, tensor<1x2x16xf32>) {key_dims = #bhds}
  %g:3 = fa.attention_gradient ins(%q, %made, %v : tensor<1x16x2x32xf32>, tensor<1x2x32x16xf32>, tensor<1x16x2x32xf32>)
      of(%o, %lse : tensor<1x16x2x32xf32>, tensor<1x2x16xf32>) gradients(%do : tensor<1x16x2x32xf32>)
      outs(query = %e : tensor<1x16x2x32xf32>, key = %ek : tensor<1x2x32x16xf32>, value = %e : tensor<1x16x2x32xf32>)
      {key_dims = #bhds, key_gradient_dims = #bhds}
  %dk = arith.mulf %g#1, %made : tensor<1x2x32x16xf32>
  return %g#0, %dk, %g#2 : tensor<1x16x2x32xf32>, tensor<1x2x32x16xf32>, tensor<1x16x2x32xf32>
}

// Where no query sees a key, only sizes are left of blocks of keys.
!front = memref<1x33x1x20xf32, strided<[?, 1, ?, ?], offset: ?>>
func.func @hidden(%q: memref<1x5x1x33xf32>, %k: !front, %v: memref<1x20x1x8xf32>, %o: memref<1x5x1x8xf32>) {
  fa.attention ins(%q, %k, %v : memref<1x5x1x33xf32>, !front, memref<1x20x1x8xf32>) outs(%o : memref<1x5x1x8xf32>)
      mask(%b, %h, %i, %j) {
        %visible = arith.cmpi slt, %h, %b : index
        fa.yield %visible : i1
      } {key_dims = #fa.dims<h, d, b, s>, config = #fa.config<query_block = 4, key_block = 8, target = #fa.cpu<lanes = 4, register_vectors = 1>>}
  return
}
