// from torch-2.12.1+torch-mlir-20261001 | fa.attention expected: 1
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0, d1) -> (0, d1)>
#map4 = affine_map<(d0, d1) -> (d0, 0)>
#map5 = affine_map<(d0, d1) -> (d0, d1)>
#map6 = affine_map<(d0, d1) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x128x64xf32>, %arg1: tensor<2x4x128x64xf32>, %arg2: tensor<2x4x128x64xf32>, %arg3: tensor<128x64xf32>, %arg4: tensor<128x64xf32>) -> tensor<2x4x128x64xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %true = arith.constant true
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<2x4x128x128xf32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_4 = arith.constant dense<true> : tensor<128x128xi1>
    %cst_5 = arith.constant 0xFFF0000000000000 : f64
    %cst_6 = arith.constant 0.35355339059327379 : f64
    %0 = tensor.empty() : tensor<2x4x128x64xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %arg3 : tensor<2x4x128x64xf32>, tensor<128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.mulf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x64xf32>
    %extracted_slice = tensor.extract_slice %arg0[0, 0, 0, 32] [2, 4, 128, 32] [1, 1, 1, 1] : tensor<2x4x128x64xf32> to tensor<2x4x128x32xf32>
    %2 = tensor.empty() : tensor<2x4x128x32xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<2x4x128x32xf32>) outs(%2 : tensor<2x4x128x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = arith.negf %in : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x32xf32>
    %extracted_slice_7 = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 4, 128, 32] [1, 1, 1, 1] : tensor<2x4x128x64xf32> to tensor<2x4x128x32xf32>
    %concat = tensor.concat dim(3) %3, %extracted_slice_7 : (tensor<2x4x128x32xf32>, tensor<2x4x128x32xf32>) -> tensor<2x4x128x64xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %arg4 : tensor<2x4x128x64xf32>, tensor<128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.mulf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x64xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1, %4 : tensor<2x4x128x64xf32>, tensor<2x4x128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.addf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x64xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %arg3 : tensor<2x4x128x64xf32>, tensor<128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.mulf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x64xf32>
    %extracted_slice_8 = tensor.extract_slice %arg1[0, 0, 0, 32] [2, 4, 128, 32] [1, 1, 1, 1] : tensor<2x4x128x64xf32> to tensor<2x4x128x32xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_8 : tensor<2x4x128x32xf32>) outs(%2 : tensor<2x4x128x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = arith.negf %in : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x32xf32>
    %extracted_slice_9 = tensor.extract_slice %arg1[0, 0, 0, 0] [2, 4, 128, 32] [1, 1, 1, 1] : tensor<2x4x128x64xf32> to tensor<2x4x128x32xf32>
    %concat_10 = tensor.concat dim(3) %7, %extracted_slice_9 : (tensor<2x4x128x32xf32>, tensor<2x4x128x32xf32>) -> tensor<2x4x128x64xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_10, %arg4 : tensor<2x4x128x64xf32>, tensor<128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.mulf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x64xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %8 : tensor<2x4x128x64xf32>, tensor<2x4x128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.addf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x64xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x4x128x64xf32>) outs(%0 : tensor<2x4x128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = arith.truncf %cst_6 : f64 to f32
      %48 = arith.mulf %in, %47 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x128x64xf32>
    %11 = tensor.empty() : tensor<128xi64>
    %12 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%11 : tensor<128xi64>) {
    ^bb0(%out: i64):
      %47 = linalg.index 0 : index
      %48 = arith.index_cast %47 : index to i64
      linalg.yield %48 : i64
    } -> tensor<128xi64>
    %expanded = tensor.expand_shape %12 [[0, 1]] output_shape [1, 128] : tensor<128xi64> into tensor<1x128xi64>
    %expanded_11 = tensor.expand_shape %12 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %13 = tensor.empty() : tensor<128x128xi64>
    %14 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel"]} ins(%expanded, %expanded_11 : tensor<1x128xi64>, tensor<128x1xi64>) outs(%13 : tensor<128x128xi64>) {
    ^bb0(%in: i64, %in_18: i64, %out: i64):
      %47 = arith.subi %in, %in_18 : i64
      linalg.yield %47 : i64
    } -> tensor<128x128xi64>
    %15 = tensor.empty() : tensor<128x128xi1>
    %16 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<128x128xi64>) outs(%15 : tensor<128x128xi1>) {
    ^bb0(%in: i64, %out: i1):
      %47 = arith.cmpi sle, %in, %c0_i64 : i64
      linalg.yield %47 : i1
    } -> tensor<128x128xi1>
    %17 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel"]} ins(%16, %cst_4 : tensor<128x128xi1>, tensor<128x128xi1>) outs(%15 : tensor<128x128xi1>) {
    ^bb0(%in: i1, %in_18: i1, %out: i1):
      %47 = arith.andi %in, %in_18 : i1
      linalg.yield %47 : i1
    } -> tensor<128x128xi1>
    %18 = tensor.empty() : tensor<128x128xf32>
    %19 = linalg.generic {indexing_maps = [#map5, #map6, #map6, #map5], iterator_types = ["parallel", "parallel"]} ins(%17, %cst_2, %cst_3 : tensor<128x128xi1>, tensor<f32>, tensor<f32>) outs(%18 : tensor<128x128xf32>) {
    ^bb0(%in: i1, %in_18: f32, %in_19: f32, %out: f32):
      %47 = arith.select %in, %in_18, %in_19 : f32
      linalg.yield %47 : f32
    } -> tensor<128x128xf32>
    %20 = tensor.empty() : tensor<2x4x64x128xf32>
    %transposed = linalg.transpose ins(%9 : tensor<2x4x128x64xf32>) outs(%20 : tensor<2x4x64x128xf32>) permutation = [0, 1, 3, 2] 
    %21 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<2x4x64x128xf32>) outs(%20 : tensor<2x4x64x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = arith.truncf %cst_6 : f64 to f32
      %48 = arith.mulf %in, %47 : f32
      linalg.yield %48 : f32
    } -> tensor<2x4x64x128xf32>
    %collapsed = tensor.collapse_shape %10 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %collapsed_12 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x4x64x128xf32> into tensor<8x64x128xf32>
    %22 = tensor.empty() : tensor<8x128x128xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %24 = linalg.batch_matmul ins(%collapsed, %collapsed_12 : tensor<8x128x64xf32>, tensor<8x64x128xf32>) outs(%23 : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
    %expanded_13 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 4, 128, 128] : tensor<8x128x128xf32> into tensor<2x4x128x128xf32>
    %25 = tensor.empty() : tensor<2x4x128x128xf32>
    %26 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_13, %19 : tensor<2x4x128x128xf32>, tensor<128x128xf32>) outs(%25 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.addf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x128xf32>
    %27 = tensor.empty() : tensor<2x4x128xi64>
    %28 = linalg.fill ins(%c0_i64 : i64) outs(%27 : tensor<2x4x128xi64>) -> tensor<2x4x128xi64>
    %29 = tensor.empty() : tensor<2x4x128xf32>
    %30 = linalg.fill ins(%cst_0 : f32) outs(%29 : tensor<2x4x128xf32>) -> tensor<2x4x128xf32>
    %31:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%26 : tensor<2x4x128x128xf32>) outs(%30, %28 : tensor<2x4x128xf32>, tensor<2x4x128xi64>) {
    ^bb0(%in: f32, %out: f32, %out_18: i64):
      %47 = linalg.index 3 : index
      %48 = arith.index_cast %47 : index to i64
      %49 = arith.maximumf %in, %out : f32
      %50 = arith.cmpf ogt, %in, %out : f32
      %51 = arith.select %50, %48, %out_18 : i64
      linalg.yield %49, %51 : f32, i64
    } -> (tensor<2x4x128xf32>, tensor<2x4x128xi64>)
    %expanded_14 = tensor.expand_shape %31#0 [[0], [1], [2, 3]] output_shape [2, 4, 128, 1] : tensor<2x4x128xf32> into tensor<2x4x128x1xf32>
    %32 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26, %expanded_14 : tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) outs(%25 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.subf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x128xf32>
    %33 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x4x128x128xf32>) outs(%25 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = math.exp %in : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x128xf32>
    %34 = tensor.empty() : tensor<2x4x128x1xf32>
    %35 = linalg.fill ins(%cst : f32) outs(%34 : tensor<2x4x128x1xf32>) -> tensor<2x4x128x1xf32>
    %36 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%33 : tensor<2x4x128x128xf32>) outs(%35 : tensor<2x4x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %47 = arith.addf %in, %out : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x1xf32>
    %37 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33, %36 : tensor<2x4x128x128xf32>, tensor<2x4x128x1xf32>) outs(%25 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %47 = arith.divf %in, %in_18 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x128xf32>
    %38 = tensor.empty() : tensor<2x4x128x128xi1>
    %39 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x128x128xf32>) outs(%38 : tensor<2x4x128x128xi1>) {
    ^bb0(%in: f32, %out: i1):
      %47 = arith.extf %in : f32 to f64
      %48 = arith.cmpf oeq, %47, %cst_5 : f64
      linalg.yield %48 : i1
    } -> tensor<2x4x128x128xi1>
    %40 = tensor.empty() : tensor<2x4x128x1xi1>
    %41 = linalg.fill ins(%true : i1) outs(%40 : tensor<2x4x128x1xi1>) -> tensor<2x4x128x1xi1>
    %42 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%39 : tensor<2x4x128x128xi1>) outs(%41 : tensor<2x4x128x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %47 = arith.andi %in, %out : i1
      linalg.yield %47 : i1
    } -> tensor<2x4x128x1xi1>
    %43 = linalg.generic {indexing_maps = [#map8, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42, %cst_1, %37 : tensor<2x4x128x1xi1>, tensor<2x4x128x128xf32>, tensor<2x4x128x128xf32>) outs(%25 : tensor<2x4x128x128xf32>) {
    ^bb0(%in: i1, %in_18: f32, %in_19: f32, %out: f32):
      %47 = arith.select %in, %in_18, %in_19 : f32
      linalg.yield %47 : f32
    } -> tensor<2x4x128x128xf32>
    %collapsed_15 = tensor.collapse_shape %43 [[0, 1], [2], [3]] : tensor<2x4x128x128xf32> into tensor<8x128x128xf32>
    %collapsed_16 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x128x64xf32> into tensor<8x128x64xf32>
    %44 = tensor.empty() : tensor<8x128x64xf32>
    %45 = linalg.fill ins(%cst : f32) outs(%44 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %46 = linalg.batch_matmul ins(%collapsed_15, %collapsed_16 : tensor<8x128x128xf32>, tensor<8x128x64xf32>) outs(%45 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %expanded_17 = tensor.expand_shape %46 [[0, 1], [2], [3]] output_shape [2, 4, 128, 64] : tensor<8x128x64xf32> into tensor<2x4x128x64xf32>
    return %expanded_17 : tensor<2x4x128x64xf32>
  }
}
