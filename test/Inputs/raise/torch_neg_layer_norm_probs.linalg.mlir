// from torch-2.12.1+torch-mlir-20261001 | fa.attention expected: 0
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x128x64xf32>, %arg1: tensor<2x4x128x64xf32>, %arg2: tensor<2x4x128x64xf32>) -> tensor<2x4x128x64xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0.000000e+00 : f64
    %cst_1 = arith.constant 1.000000e-05 : f64
    %cst_2 = arith.constant 8.000000e+00 : f32
    %cst_3 = arith.constant 1.280000e+02 : f64
    %cst_4 = arith.constant 1.280000e+02 : f32
    %0 = tensor.empty() : tensor<2x4x64x128xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x128x64xf32>) outs(%0 : tensor<2x4x64x128xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %collapsed_5 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x64x128xf32> into tensor<8x64x128xf32>
    %1 = tensor.empty() : tensor<8x128x128xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %3 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<8x128x64xf32>, tensor<8x64x128xf32>) outs(%2 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %expanded = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [2, 4, 128, 128] : tensor<8x128x128xf32> into tensor<2x4x128x128xf32>
    %4 = tensor.empty() : tensor<2x4x128x128xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x128x128xf32>) outs(%4 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.divf %in, %cst_2 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x128xf32>
    %6 = tensor.empty() : tensor<2x4x128x128xf64>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x4x128x128xf32>) outs(%6 : tensor<2x4x128x128xf64>) {
    ^bb0(%in: f32, %out: f64):
      %28 = arith.extf %in : f32 to f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x128xf64>
    %8 = tensor.empty() : tensor<2x4x128x1xf64>
    %9 = linalg.fill ins(%cst_0 : f64) outs(%8 : tensor<2x4x128x1xf64>) -> tensor<2x4x128x1xf64>
    %10 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%7 : tensor<2x4x128x128xf64>) outs(%9 : tensor<2x4x128x1xf64>) {
    ^bb0(%in: f64, %out: f64):
      %28 = arith.addf %in, %out : f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x1xf64>
    %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x4x128x1xf64>) outs(%8 : tensor<2x4x128x1xf64>) {
    ^bb0(%in: f64, %out: f64):
      %28 = arith.divf %in, %cst_3 : f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x1xf64>
    %12 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %11 : tensor<2x4x128x128xf64>, tensor<2x4x128x1xf64>) outs(%6 : tensor<2x4x128x128xf64>) {
    ^bb0(%in: f64, %in_9: f64, %out: f64):
      %28 = arith.subf %in, %in_9 : f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x128xf64>
    %13 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %12 : tensor<2x4x128x128xf64>, tensor<2x4x128x128xf64>) outs(%6 : tensor<2x4x128x128xf64>) {
    ^bb0(%in: f64, %in_9: f64, %out: f64):
      %28 = arith.mulf %in, %in_9 : f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x128xf64>
    %14 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x4x128x128xf64>) outs(%9 : tensor<2x4x128x1xf64>) {
    ^bb0(%in: f64, %out: f64):
      %28 = arith.addf %in, %out : f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x1xf64>
    %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x4x128x1xf64>) outs(%8 : tensor<2x4x128x1xf64>) {
    ^bb0(%in: f64, %out: f64):
      %28 = arith.divf %in, %cst_3 : f64
      linalg.yield %28 : f64
    } -> tensor<2x4x128x1xf64>
    %16 = tensor.empty() : tensor<2x4x128x1xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x128x1xf64>) outs(%16 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f64, %out: f32):
      %28 = arith.truncf %in : f64 to f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x1xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%16 : tensor<2x4x128x1xf32>) -> tensor<2x4x128x1xf32>
    %19 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%5 : tensor<2x4x128x128xf32>) outs(%18 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x1xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x4x128x1xf32>) outs(%16 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.divf %in, %cst_4 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x1xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x128x1xf32>) outs(%16 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.truncf %cst_1 : f64 to f32
      %29 = arith.addf %in, %28 : f32
      linalg.yield %29 : f32
    } -> tensor<2x4x128x1xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x128x1xf32>) outs(%16 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.rsqrt %in : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x1xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %20 : tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) outs(%4 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %28 = arith.subf %in, %in_9 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x128xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %22 : tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) outs(%4 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_9: f32, %out: f32):
      %28 = arith.mulf %in, %in_9 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x128x128xf32>
    %collapsed_6 = tensor.collapse_shape %24 [[0, 1], [2], [3]] : tensor<2x4x128x128xf32> into tensor<8x128x128xf32>
    %collapsed_7 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %25 = tensor.empty() : tensor<8x128x64xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %27 = linalg.batch_matmul ins(%collapsed_6, %collapsed_7 : tensor<8x128x128xf32>, tensor<8x128x64xf32>) outs(%26 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %expanded_8 = tensor.expand_shape %27 [[0, 1], [2], [3]] output_shape [2, 4, 128, 64] : tensor<8x128x64xf32> into tensor<2x4x128x64xf32>
    return %expanded_8 : tensor<2x4x128x64xf32>
  }
}
