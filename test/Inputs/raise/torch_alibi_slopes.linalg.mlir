// from torch-2.12.1+torch-mlir-20261001 | fa.attention expected: 1
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map6 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x128x64xf32>, %arg1: tensor<2x4x128x64xf32>, %arg2: tensor<2x4x128x64xf32>, %arg3: tensor<4xf32>) -> tensor<2x4x128x64xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 8.000000e+00 : f32
    %0 = tensor.empty() : tensor<128xi64>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%0 : tensor<128xi64>) {
    ^bb0(%out: i64):
      %29 = linalg.index 0 : index
      %30 = arith.index_cast %29 : index to i64
      linalg.yield %30 : i64
    } -> tensor<128xi64>
    %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [1, 128] : tensor<128xi64> into tensor<1x128xi64>
    %expanded_2 = tensor.expand_shape %1 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %2 = tensor.empty() : tensor<128x128xi64>
    %3 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%expanded, %expanded_2 : tensor<1x128xi64>, tensor<128x1xi64>) outs(%2 : tensor<128x128xi64>) {
    ^bb0(%in: i64, %in_10: i64, %out: i64):
      %29 = arith.subi %in, %in_10 : i64
      linalg.yield %29 : i64
    } -> tensor<128x128xi64>
    %4 = tensor.empty() : tensor<128x128xf32>
    %5 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<128x128xi64>) outs(%4 : tensor<128x128xf32>) {
    ^bb0(%in: i64, %out: f32):
      %29 = arith.sitofp %in : i64 to f32
      linalg.yield %29 : f32
    } -> tensor<128x128xf32>
    %6 = tensor.empty() : tensor<2x4x64x128xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x128x64xf32>) outs(%6 : tensor<2x4x64x128xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %collapsed_3 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x64x128xf32> into tensor<8x64x128xf32>
    %7 = tensor.empty() : tensor<8x128x128xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %9 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x128x64xf32>, tensor<8x64x128xf32>) outs(%8 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %expanded_4 = tensor.expand_shape %9 [[0, 1], [2], [3]] output_shape [2, 4, 128, 128] : tensor<8x128x128xf32> into tensor<2x4x128x128xf32>
    %10 = tensor.empty() : tensor<2x4x128x128xf32>
    %11 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<2x4x128x128xf32>) outs(%10 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = arith.divf %in, %cst_1 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x128xf32>
    %expanded_5 = tensor.expand_shape %arg3 [[0, 1, 2]] output_shape [4, 1, 1] : tensor<4xf32> into tensor<4x1x1xf32>
    %12 = tensor.empty() : tensor<4x128x128xf32>
    %13 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_5, %5 : tensor<4x1x1xf32>, tensor<128x128xf32>) outs(%12 : tensor<4x128x128xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %29 = arith.mulf %in, %in_10 : f32
      linalg.yield %29 : f32
    } -> tensor<4x128x128xf32>
    %14 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %13 : tensor<2x4x128x128xf32>, tensor<4x128x128xf32>) outs(%10 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %29 = arith.addf %in, %in_10 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x128xf32>
    %15 = tensor.empty() : tensor<2x4x128xi64>
    %16 = linalg.fill ins(%c0_i64 : i64) outs(%15 : tensor<2x4x128xi64>) -> tensor<2x4x128xi64>
    %17 = tensor.empty() : tensor<2x4x128xf32>
    %18 = linalg.fill ins(%cst_0 : f32) outs(%17 : tensor<2x4x128xf32>) -> tensor<2x4x128xf32>
    %19:2 = linalg.generic {indexing_maps = [#map4, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x4x128x128xf32>) outs(%18, %16 : tensor<2x4x128xf32>, tensor<2x4x128xi64>) {
    ^bb0(%in: f32, %out: f32, %out_10: i64):
      %29 = linalg.index 3 : index
      %30 = arith.index_cast %29 : index to i64
      %31 = arith.maximumf %in, %out : f32
      %32 = arith.cmpf ogt, %in, %out : f32
      %33 = arith.select %32, %30, %out_10 : i64
      linalg.yield %31, %33 : f32, i64
    } -> (tensor<2x4x128xf32>, tensor<2x4x128xi64>)
    %expanded_6 = tensor.expand_shape %19#0 [[0], [1], [2, 3]] output_shape [2, 4, 128, 1] : tensor<2x4x128xf32> into tensor<2x4x128x1xf32>
    %20 = linalg.generic {indexing_maps = [#map4, #map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %expanded_6 : tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) outs(%10 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %29 = arith.subf %in, %in_10 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x128xf32>
    %21 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x128x128xf32>) outs(%10 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = math.exp %in : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x128xf32>
    %22 = tensor.empty() : tensor<2x4x128x1xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<2x4x128x1xf32>) -> tensor<2x4x128x1xf32>
    %24 = linalg.generic {indexing_maps = [#map4, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x4x128x128xf32>) outs(%23 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = arith.addf %in, %out : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x1xf32>
    %25 = linalg.generic {indexing_maps = [#map4, #map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %24 : tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) outs(%10 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %29 = arith.divf %in, %in_10 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x128xf32>
    %collapsed_7 = tensor.collapse_shape %25 [[0, 1], [2], [3]] : tensor<2x4x128x128xf32> into tensor<8x128x128xf32>
    %collapsed_8 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %26 = tensor.empty() : tensor<8x128x64xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %28 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x128x128xf32>, tensor<8x128x64xf32>) outs(%27 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %expanded_9 = tensor.expand_shape %28 [[0, 1], [2], [3]] output_shape [2, 4, 128, 64] : tensor<8x128x64xf32> into tensor<2x4x128x64xf32>
    return %expanded_9 : tensor<2x4x128x64xf32>
  }
}
