// Gradients of packed sequences are those of each sequence alone, and 0 for rows of
// no sequence; the score's slopes have the sum of all. The reference cuts the
// rows out and knows nothing of packed sequences. Values grow along the rows and
// gradients of the output are positive, so that terms of the slopes do not cancel;
// slopes are small, since the weight of a score of x errs by x times a rounding.

// RUN: split-file %s %t
// RUN: fa-run %t/packed.mlir --against=%t/alone.mlir --verify --target=cpu | FileCheck %s
// RUN: fa-run %t/packed.mlir --against=%t/alone.mlir --verify --target=reference | FileCheck %s
// CHECK: result 0: 40x4x16xf32 {{.*}}: ok
// CHECK: result 1: 40x2x16xf32 {{.*}}: ok
// CHECK: result 2: 40x2x16xf32 {{.*}}: ok
// CHECK: result 3: 4xf32 {{.*}}: ok

//--- packed.mlir
#same = affine_map<(s, h, d) -> (s, h, d)>
func.func @f(%q: tensor<40x4x16xf32>, %k: tensor<40x2x16xf32>, %v_drawn: tensor<40x2x16xf32>, %do_drawn: tensor<40x4x16xf32>, %slopes_drawn: tensor<4xf32>) -> (tensor<40x4x16xf32>, tensor<40x2x16xf32>, tensor<40x2x16xf32>, tensor<4xf32>) {
  %tenth = arith.constant dense<0.1> : tensor<4xf32>
  %slopes = arith.mulf %slopes_drawn, %tenth : tensor<4xf32>
  %do = math.absf %do_drawn : tensor<40x4x16xf32>
  %v = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v_drawn : tensor<40x2x16xf32>) outs(%v_drawn : tensor<40x2x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %row = linalg.index 0 : index
    %integer = arith.index_cast %row : index to i32
    %number = arith.sitofp %integer : i32 to f32
    %slope = arith.constant 0.0625 : f32
    %ramp = arith.mulf %number, %slope : f32
    %z = arith.addf %x, %ramp : f32
    linalg.yield %z : f32
  } -> tensor<40x2x16xf32>
  %starts = arith.constant dense<[2, 13, 13, 35]> : tensor<4xi32>
  %o0 = tensor.empty() : tensor<40x4x16xf32>
  %l0 = tensor.empty() : tensor<4x40xf32>
  %o, %l = fa.attention ins(%q, %k, %v : tensor<40x4x16xf32>, tensor<40x2x16xf32>, tensor<40x2x16xf32>) outs(%o0, %l0 : tensor<40x4x16xf32>, tensor<4x40xf32>)
      query_starts(%starts : tensor<4xi32>) key_starts(%starts : tensor<4xi32>)
      score alibi(%slopes : tensor<4xf32>) mask causal
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  %q0 = tensor.empty() : tensor<40x4x16xf32>
  %k0 = tensor.empty() : tensor<40x2x16xf32>
  %v0 = tensor.empty() : tensor<40x2x16xf32>
  %s0 = tensor.empty() : tensor<4xf32>
  %dq, %dk, %dv, %ds = fa.attention_gradient ins(%q, %k, %v : tensor<40x4x16xf32>, tensor<40x2x16xf32>, tensor<40x2x16xf32>) of(%o, %l : tensor<40x4x16xf32>, tensor<4x40xf32>)
      gradients(%do : tensor<40x4x16xf32>) outs(query = %q0 : tensor<40x4x16xf32>, key = %k0 : tensor<40x2x16xf32>, value = %v0 : tensor<40x2x16xf32>, capture[0] = %s0 : tensor<4xf32>)
      query_starts(%starts : tensor<4xi32>) key_starts(%starts : tensor<4xi32>)
      score alibi(%slopes : tensor<4xf32>) mask causal
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>,
       output_gradient_dims = #fa.dims<s, h, d>, query_gradient_dims = #fa.dims<s, h, d>, key_gradient_dims = #fa.dims<s, h, d>,
       value_gradient_dims = #fa.dims<s, h, d>}
  return %dq, %dk, %dv, %ds : tensor<40x4x16xf32>, tensor<40x2x16xf32>, tensor<40x2x16xf32>, tensor<4xf32>
}

//--- alone.mlir
#same = affine_map<(s, h, d) -> (s, h, d)>
func.func @f(%q: tensor<40x4x16xf32>, %k: tensor<40x2x16xf32>, %v_drawn: tensor<40x2x16xf32>, %do_drawn: tensor<40x4x16xf32>, %slopes_drawn: tensor<4xf32>) -> (tensor<40x4x16xf32>, tensor<40x2x16xf32>, tensor<40x2x16xf32>, tensor<4xf32>) {
  %tenth = arith.constant dense<0.1> : tensor<4xf32>
  %slopes = arith.mulf %slopes_drawn, %tenth : tensor<4xf32>
  %do = math.absf %do_drawn : tensor<40x4x16xf32>
  %v = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v_drawn : tensor<40x2x16xf32>) outs(%v_drawn : tensor<40x2x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %row = linalg.index 0 : index
    %integer = arith.index_cast %row : index to i32
    %number = arith.sitofp %integer : i32 to f32
    %slope = arith.constant 0.0625 : f32
    %ramp = arith.mulf %number, %slope : f32
    %z = arith.addf %x, %ramp : f32
    linalg.yield %z : f32
  } -> tensor<40x2x16xf32>
  %q_0 = arith.constant dense<0.0> : tensor<40x4x16xf32>
  %k_0 = arith.constant dense<0.0> : tensor<40x2x16xf32>
  %v_0 = arith.constant dense<0.0> : tensor<40x2x16xf32>
  %qs1 = tensor.extract_slice %q[2, 0, 0] [11, 4, 16] [1, 1, 1] : tensor<40x4x16xf32> to tensor<11x4x16xf32>
  %qe1 = tensor.expand_shape %qs1 [[0, 1], [2], [3]] output_shape [1, 11, 4, 16] : tensor<11x4x16xf32> into tensor<1x11x4x16xf32>
  %ks1 = tensor.extract_slice %k[2, 0, 0] [11, 2, 16] [1, 1, 1] : tensor<40x2x16xf32> to tensor<11x2x16xf32>
  %ke1 = tensor.expand_shape %ks1 [[0, 1], [2], [3]] output_shape [1, 11, 2, 16] : tensor<11x2x16xf32> into tensor<1x11x2x16xf32>
  %vs1 = tensor.extract_slice %v[2, 0, 0] [11, 2, 16] [1, 1, 1] : tensor<40x2x16xf32> to tensor<11x2x16xf32>
  %ve1 = tensor.expand_shape %vs1 [[0, 1], [2], [3]] output_shape [1, 11, 2, 16] : tensor<11x2x16xf32> into tensor<1x11x2x16xf32>
  %dos1 = tensor.extract_slice %do[2, 0, 0] [11, 4, 16] [1, 1, 1] : tensor<40x4x16xf32> to tensor<11x4x16xf32>
  %doe1 = tensor.expand_shape %dos1 [[0, 1], [2], [3]] output_shape [1, 11, 4, 16] : tensor<11x4x16xf32> into tensor<1x11x4x16xf32>
  %oi1 = tensor.empty() : tensor<1x11x4x16xf32>
  %li1 = tensor.empty() : tensor<1x4x11xf32>
  %ki1 = tensor.empty() : tensor<1x11x2x16xf32>
  %si1 = tensor.empty() : tensor<4xf32>
  %o1, %l1 = fa.attention ins(%qe1, %ke1, %ve1 : tensor<1x11x4x16xf32>, tensor<1x11x2x16xf32>, tensor<1x11x2x16xf32>) outs(%oi1, %li1 : tensor<1x11x4x16xf32>, tensor<1x4x11xf32>)
      score alibi(%slopes : tensor<4xf32>) mask causal
  %dq1, %dk1, %dv1, %ds1 = fa.attention_gradient ins(%qe1, %ke1, %ve1 : tensor<1x11x4x16xf32>, tensor<1x11x2x16xf32>, tensor<1x11x2x16xf32>) of(%o1, %l1 : tensor<1x11x4x16xf32>, tensor<1x4x11xf32>)
      gradients(%doe1 : tensor<1x11x4x16xf32>) outs(query = %oi1 : tensor<1x11x4x16xf32>, key = %ki1 : tensor<1x11x2x16xf32>, value = %ki1 : tensor<1x11x2x16xf32>, capture[0] = %si1 : tensor<4xf32>)
      score alibi(%slopes : tensor<4xf32>) mask causal
  %cq1 = tensor.collapse_shape %dq1 [[0, 1], [2], [3]] : tensor<1x11x4x16xf32> into tensor<11x4x16xf32>
  %q_1 = tensor.insert_slice %cq1 into %q_0[2, 0, 0] [11, 4, 16] [1, 1, 1] : tensor<11x4x16xf32> into tensor<40x4x16xf32>
  %ck1 = tensor.collapse_shape %dk1 [[0, 1], [2], [3]] : tensor<1x11x2x16xf32> into tensor<11x2x16xf32>
  %k_1 = tensor.insert_slice %ck1 into %k_0[2, 0, 0] [11, 2, 16] [1, 1, 1] : tensor<11x2x16xf32> into tensor<40x2x16xf32>
  %cv1 = tensor.collapse_shape %dv1 [[0, 1], [2], [3]] : tensor<1x11x2x16xf32> into tensor<11x2x16xf32>
  %v_1 = tensor.insert_slice %cv1 into %v_0[2, 0, 0] [11, 2, 16] [1, 1, 1] : tensor<11x2x16xf32> into tensor<40x2x16xf32>
  %qs2 = tensor.extract_slice %q[13, 0, 0] [22, 4, 16] [1, 1, 1] : tensor<40x4x16xf32> to tensor<22x4x16xf32>
  %qe2 = tensor.expand_shape %qs2 [[0, 1], [2], [3]] output_shape [1, 22, 4, 16] : tensor<22x4x16xf32> into tensor<1x22x4x16xf32>
  %ks2 = tensor.extract_slice %k[13, 0, 0] [22, 2, 16] [1, 1, 1] : tensor<40x2x16xf32> to tensor<22x2x16xf32>
  %ke2 = tensor.expand_shape %ks2 [[0, 1], [2], [3]] output_shape [1, 22, 2, 16] : tensor<22x2x16xf32> into tensor<1x22x2x16xf32>
  %vs2 = tensor.extract_slice %v[13, 0, 0] [22, 2, 16] [1, 1, 1] : tensor<40x2x16xf32> to tensor<22x2x16xf32>
  %ve2 = tensor.expand_shape %vs2 [[0, 1], [2], [3]] output_shape [1, 22, 2, 16] : tensor<22x2x16xf32> into tensor<1x22x2x16xf32>
  %dos2 = tensor.extract_slice %do[13, 0, 0] [22, 4, 16] [1, 1, 1] : tensor<40x4x16xf32> to tensor<22x4x16xf32>
  %doe2 = tensor.expand_shape %dos2 [[0, 1], [2], [3]] output_shape [1, 22, 4, 16] : tensor<22x4x16xf32> into tensor<1x22x4x16xf32>
  %oi2 = tensor.empty() : tensor<1x22x4x16xf32>
  %li2 = tensor.empty() : tensor<1x4x22xf32>
  %ki2 = tensor.empty() : tensor<1x22x2x16xf32>
  %si2 = tensor.empty() : tensor<4xf32>
  %o2, %l2 = fa.attention ins(%qe2, %ke2, %ve2 : tensor<1x22x4x16xf32>, tensor<1x22x2x16xf32>, tensor<1x22x2x16xf32>) outs(%oi2, %li2 : tensor<1x22x4x16xf32>, tensor<1x4x22xf32>)
      score alibi(%slopes : tensor<4xf32>) mask causal
  %dq2, %dk2, %dv2, %ds2 = fa.attention_gradient ins(%qe2, %ke2, %ve2 : tensor<1x22x4x16xf32>, tensor<1x22x2x16xf32>, tensor<1x22x2x16xf32>) of(%o2, %l2 : tensor<1x22x4x16xf32>, tensor<1x4x22xf32>)
      gradients(%doe2 : tensor<1x22x4x16xf32>) outs(query = %oi2 : tensor<1x22x4x16xf32>, key = %ki2 : tensor<1x22x2x16xf32>, value = %ki2 : tensor<1x22x2x16xf32>, capture[0] = %si2 : tensor<4xf32>)
      score alibi(%slopes : tensor<4xf32>) mask causal
  %cq2 = tensor.collapse_shape %dq2 [[0, 1], [2], [3]] : tensor<1x22x4x16xf32> into tensor<22x4x16xf32>
  %q_2 = tensor.insert_slice %cq2 into %q_1[13, 0, 0] [22, 4, 16] [1, 1, 1] : tensor<22x4x16xf32> into tensor<40x4x16xf32>
  %ck2 = tensor.collapse_shape %dk2 [[0, 1], [2], [3]] : tensor<1x22x2x16xf32> into tensor<22x2x16xf32>
  %k_2 = tensor.insert_slice %ck2 into %k_1[13, 0, 0] [22, 2, 16] [1, 1, 1] : tensor<22x2x16xf32> into tensor<40x2x16xf32>
  %cv2 = tensor.collapse_shape %dv2 [[0, 1], [2], [3]] : tensor<1x22x2x16xf32> into tensor<22x2x16xf32>
  %v_2 = tensor.insert_slice %cv2 into %v_1[13, 0, 0] [22, 2, 16] [1, 1, 1] : tensor<22x2x16xf32> into tensor<40x2x16xf32>
  %ds = arith.addf %ds1, %ds2 : tensor<4xf32>
  return %q_2, %k_2, %v_2, %ds : tensor<40x4x16xf32>, tensor<40x2x16xf32>, tensor<40x2x16xf32>, tensor<4xf32>
}
