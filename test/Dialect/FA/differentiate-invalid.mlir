// RUN: fa-opt %s --fa-differentiate=function=f --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x4xf32>) -> tensor<5x5xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.pad' has no gradient in fa-differentiate; expected fa.attention, arith and math, linalg with sums, and slices, casts and shapes of tensors}}
  %y = tensor.pad %x low[0, 0] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<4x4xf32> to tensor<5x5xf32>
  return %y : tensor<5x5xf32>
}

// -----

// expected-error @below {{has an argument or result of type 'memref<4xf32>'; fa-differentiate expects tensors}}
func.func @f(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has a gradient already: @f_vjp}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @f_vjp(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{has control flow or no body; fa-differentiate expects one block}}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

#swap = affine_map<(i, j) -> (i + j)>
#id = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<8xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  // expected-error @below {{reads input 0 by}}
  %y = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

func.func @f(%q: tensor<2x8x2x16xf32>, %l: tensor<2xi32>, %t: tensor<2x4xi32>) -> tensor<2x8x2x16xf32> {
  %e = tensor.empty() : tensor<2x8x2x16xf32>
  // expected-error @below {{'fa.attention' op has pages, of which fa-differentiate makes no gradient; expected a batch or packed sequences}}
  %o = fa.attention ins(%q, %q, %q : tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>) outs(%e : tensor<2x8x2x16xf32>)
      key_lengths(%l : tensor<2xi32>) key_pages(%t : tensor<2x4xi32>) {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return %o : tensor<2x8x2x16xf32>
}
