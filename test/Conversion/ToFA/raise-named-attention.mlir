// Attention operations of other projects, which are not registered here.

// RUN: fa-opt %s --fa-raise-attention --allow-unregistered-dialect --split-input-file | FileCheck %s
// RUN: fa-opt %s --fa-raise-attention --allow-unregistered-dialect --split-input-file --verify-diagnostics -o /dev/null

// CHECK-LABEL: func.func @torch_mlir
// CHECK:         %[[NUMBER:.*]] = arith.constant 1.250000e-01 : f64
// CHECK:         %[[SCALE:.*]] = arith.truncf %[[NUMBER]] : f64 to f32
// CHECK:         fa.attention {{.*}} scale(%[[SCALE]]) mask(%[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]]) captures(%[[T:.*]] = %{{.*}} : tensor<4x16x24xi1>)
// CHECK:           %[[V:.*]] = tensor.extract %[[T]][%[[H]], %[[I]], %[[J]]]
// CHECK:           fa.yield %[[V]]
// CHECK-NOT:     linalg
func.func @torch_mlir(%q: tensor<4x16x64xbf16>, %k: tensor<4x24x64xbf16>, %v: tensor<4x24x64xbf16>, %mask: tensor<4x16x24xi1>) -> tensor<4x16x64xbf16> {
  %e = tensor.empty() : tensor<4x16x64xbf16>
  %o = "tm_tensor.attention"(%q, %k, %v, %mask, %e) <{operandSegmentSizes = array<i32: 4, 1>}>
      : (tensor<4x16x64xbf16>, tensor<4x24x64xbf16>, tensor<4x24x64xbf16>, tensor<4x16x24xi1>, tensor<4x16x64xbf16>) -> tensor<4x16x64xbf16>
  return %o : tensor<4x16x64xbf16>
}

// -----

// CHECK-LABEL: func.func @torch_mlir_scale
// CHECK:         arith.constant 2.500000e-01 : f64
// CHECK:         fa.attention
func.func @torch_mlir_scale(%q: tensor<4x16x64xf32>, %k: tensor<4x24x64xf32>, %v: tensor<4x24x64xf32>) -> tensor<4x16x64xf32> {
  %e = tensor.empty() : tensor<4x16x64xf32>
  %o = "tm_tensor.attention"(%q, %k, %v, %e) <{scale = 0.25 : f64, operandSegmentSizes = array<i32: 3, 1>}>
      : (tensor<4x16x64xf32>, tensor<4x24x64xf32>, tensor<4x24x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}

// -----

// The values are transposed; the region bounds the score.

#q = affine_map<(b, i, e, d, j) -> (b, i, d)>
#k = affine_map<(b, i, e, d, j) -> (b, j, d)>
#v = affine_map<(b, i, e, d, j) -> (b, e, j)>
#s = affine_map<(b, i, e, d, j) -> ()>
#o = affine_map<(b, i, e, d, j) -> (b, i, e)>
// CHECK-LABEL: func.func @iree
// CHECK-SAME:    %[[SCALE:[^:]*]]: f32
// CHECK:         %[[VT:.*]] = linalg.transpose ins(%{{.*}} : tensor<4x64x24xf32>)
// CHECK:         expand_shape %[[VT]]
// CHECK:         fa.attention {{.*}} scale(%[[SCALE]]) score(%[[X:[^,]*]],
// CHECK:           %[[T:.*]] = math.tanh %[[X]]
// CHECK:           fa.yield %[[T]]
// CHECK:         value_dims = #fa.dims<b, h, s, d>
func.func @iree(%scale: f32, %q: tensor<4x16x64xf32>, %k: tensor<4x24x64xf32>, %v: tensor<4x64x24xf32>) -> tensor<4x16x64xf32> {
  %e = tensor.empty() : tensor<4x16x64xf32>
  %o = "iree_linalg_ext.attention"(%q, %k, %v, %scale, %e) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    "iree_linalg_ext.yield"(%t) : (f32) -> ()
  }) : (tensor<4x16x64xf32>, tensor<4x24x64xf32>, tensor<4x64x24xf32>, f32, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}

// -----

// CHECK-LABEL: func.func @half_scale
// CHECK:         iree_linalg_ext.attention
// CHECK-NOT:     fa.attention
#q = affine_map<(b, i, e, d, j) -> (b, i, d)>
#k = affine_map<(b, i, e, d, j) -> (b, j, d)>
#v = affine_map<(b, i, e, d, j) -> (b, j, e)>
#s = affine_map<(b, i, e, d, j) -> ()>
#o = affine_map<(b, i, e, d, j) -> (b, i, e)>
func.func @half_scale(%scale: f16, %q: tensor<4x16x64xf32>, %k: tensor<4x24x64xf32>, %v: tensor<4x24x64xf32>) -> tensor<4x16x64xf32> {
  %e = tensor.empty() : tensor<4x16x64xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: its scale is not f32}}
  %o = "iree_linalg_ext.attention"(%q, %k, %v, %scale, %e) <{indexing_maps = [#q, #k, #v, #s, #o]}> ({
  ^bb0(%x: f32):
    "iree_linalg_ext.yield"(%x) : (f32) -> ()
  }) : (tensor<4x16x64xf32>, tensor<4x24x64xf32>, tensor<4x24x64xf32>, f16, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}

// -----

// A head dim that cannot be raised: the operation stays, and nothing beside it.

// CHECK-LABEL: func.func @large
// CHECK-NEXT:    tensor.empty
// CHECK-NEXT:    tm_tensor.attention
// CHECK-NEXT:    return
func.func @large(%q: tensor<4x16x640xf32>, %k: tensor<4x24x640xf32>, %v: tensor<4x24x640xf32>) -> tensor<4x16x640xf32> {
  %e = tensor.empty() : tensor<4x16x640xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the query head dim is 640, at most 512 can be raised}}
  %o = "tm_tensor.attention"(%q, %k, %v, %e) <{operandSegmentSizes = array<i32: 3, 1>}>
      : (tensor<4x16x640xf32>, tensor<4x24x640xf32>, tensor<4x24x640xf32>, tensor<4x16x640xf32>) -> tensor<4x16x640xf32>
  return %o : tensor<4x16x640xf32>
}

// -----

// A mask of one query is for none of 16.

// CHECK-LABEL: func.func @broadcast_mask
// CHECK:         tm_tensor.attention
// CHECK-NOT:     fa.attention
func.func @broadcast_mask(%q: tensor<4x16x64xf32>, %k: tensor<4x24x64xf32>, %v: tensor<4x24x64xf32>, %mask: tensor<4x1x24xf32>) -> tensor<4x16x64xf32> {
  %e = tensor.empty() : tensor<4x16x64xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: the sizes of its operands do not agree}}
  %o = "tm_tensor.attention"(%q, %k, %v, %mask, %e) <{operandSegmentSizes = array<i32: 4, 1>}>
      : (tensor<4x16x64xf32>, tensor<4x24x64xf32>, tensor<4x24x64xf32>, tensor<4x1x24xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}
