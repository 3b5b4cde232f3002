// from torch-2.12.1+torch-mlir-20261001 | fa.attention expected: 0
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<2x4x128x64xf32>, %arg1: tensor<2x4x128x64xf32>, %arg2: tensor<2x4x128x64xf32>) -> tensor<2x4x128x64xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant 8.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x64x128xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x128x64xf32>) outs(%0 : tensor<2x4x64x128xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %collapsed_2 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x64x128xf32> into tensor<8x64x128xf32>
    %1 = tensor.empty() : tensor<8x128x128xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %3 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x128x64xf32>, tensor<8x64x128xf32>) outs(%2 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %expanded = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [2, 4, 128, 128] : tensor<8x128x128xf32> into tensor<2x4x128x128xf32>
    %4 = tensor.empty() : tensor<2x4x128x128xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x128x128xf32>) outs(%4 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.divf %in, %cst_1 : f32
      linalg.yield %10 : f32
    } -> tensor<2x4x128x128xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x4x128x128xf32>) outs(%4 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.negf %in : f32
      %11 = math.exp %10 : f32
      %12 = arith.addf %11, %cst_0 : f32
      %13 = arith.divf %cst_0, %12 : f32
      linalg.yield %13 : f32
    } -> tensor<2x4x128x128xf32>
    %collapsed_3 = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<2x4x128x128xf32> into tensor<8x128x128xf32>
    %collapsed_4 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %7 = tensor.empty() : tensor<8x128x64xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %9 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x128x128xf32>, tensor<8x128x64xf32>) outs(%8 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %expanded_5 = tensor.expand_shape %9 [[0, 1], [2], [3]] output_shape [2, 4, 128, 64] : tensor<8x128x64xf32> into tensor<2x4x128x64xf32>
    return %expanded_5 : tensor<2x4x128x64xf32>
  }
}
