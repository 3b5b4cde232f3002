// from onnx-1.23.2+torch-mlir-20261001 | fa.attention expected: 1
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (d1)>
#map3 = affine_map<(d0, d1) -> (d0, 0)>
#map4 = affine_map<(d0, d1) -> (0, d1)>
#map5 = affine_map<(d0, d1) -> (0)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (0)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map13 = affine_map<(d0, d1) -> (d0)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d2, 0)>
module {
  func.func @main(%arg0: tensor<2x8x128x64xf32>, %arg1: tensor<2x2x128x64xf32>, %arg2: tensor<2x2x128x64xf32>) -> tensor<2x8x128x64xf32> {
    %true = arith.constant true
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<false> : tensor<1xi1>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<1xf32>
    %cst_4 = arith.constant dense<0xFF800000> : tensor<1xf32>
    %cst_5 = arith.constant dense<1.000000e+00> : tensor<1xf32>
    %cst_6 = arith.constant dense<6.400000e+01> : tensor<1xf32>
    %c0_i64 = arith.constant 0 : i64
    %c2_i64 = arith.constant 2 : i64
    %c128_i64 = arith.constant 128 : i64
    %c64_i64 = arith.constant 64 : i64
    %cst_7 = arith.constant dense<0> : tensor<1xi64>
    %cst_8 = arith.constant dense<1> : tensor<1xi64>
    %cst_9 = arith.constant dense<2> : tensor<1xi64>
    %cst_10 = arith.constant dense<8> : tensor<1xi64>
    %cst_11 = arith.constant dense<128> : tensor<1xi64>
    %cst_12 = arith.constant dense<64> : tensor<1xi64>
    %0 = tensor.empty() : tensor<1xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%cst_6 : tensor<1xf32>) outs(%0 : tensor<1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = math.sqrt %in : f32
      linalg.yield %58 : f32
    } -> tensor<1xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%cst_5, %1 : tensor<1xf32>, tensor<1xf32>) outs(%0 : tensor<1xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.divf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<1xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%2 : tensor<1xf32>) outs(%0 : tensor<1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = math.sqrt %in : f32
      linalg.yield %58 : f32
    } -> tensor<1xf32>
    %4 = tensor.empty() : tensor<128xi64>
    %5 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%4 : tensor<128xi64>) {
    ^bb0(%out: i64):
      %58 = linalg.index 0 : index
      %59 = arith.index_cast %58 : index to i64
      linalg.yield %59 : i64
    } -> tensor<128xi64>
    %expanded = tensor.expand_shape %5 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %expanded_13 = tensor.expand_shape %5 [[0, 1]] output_shape [1, 128] : tensor<128xi64> into tensor<1x128xi64>
    %6 = tensor.empty() : tensor<128x1xi64>
    %7 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded, %cst_7 : tensor<128x1xi64>, tensor<1xi64>) outs(%6 : tensor<128x1xi64>) {
    ^bb0(%in: i64, %in_32: i64, %out: i64):
      %58 = arith.addi %in, %in_32 : i64
      linalg.yield %58 : i64
    } -> tensor<128x1xi64>
    %8 = tensor.empty() : tensor<128x128xi1>
    %9 = linalg.generic {indexing_maps = [#map3, #map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %expanded_13 : tensor<128x1xi64>, tensor<1x128xi64>) outs(%8 : tensor<128x128xi1>) {
    ^bb0(%in: i64, %in_32: i64, %out: i1):
      %58 = arith.cmpi slt, %in, %in_32 : i64
      linalg.yield %58 : i1
    } -> tensor<128x128xi1>
    %10 = tensor.empty() : tensor<128x128xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map5, #map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%9, %cst_4, %cst_3 : tensor<128x128xi1>, tensor<1xf32>, tensor<1xf32>) outs(%10 : tensor<128x128xf32>) {
    ^bb0(%in: i1, %in_32: f32, %in_33: f32, %out: f32):
      %58 = arith.select %in, %in_32, %in_33 : f32
      linalg.yield %58 : f32
    } -> tensor<128x128xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2, %11 : tensor<128x128xf32>, tensor<128x128xf32>) outs(%10 : tensor<128x128xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.addf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<128x128xf32>
    %13 = tensor.empty() : tensor<1xi1>
    %14 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%cst_1 : tensor<1xi1>) outs(%13 : tensor<1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %58 = arith.xori %in, %true : i1
      linalg.yield %58 : i1
    } -> tensor<1xi1>
    %15 = tensor.empty() : tensor<1xi64>
    %16 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%cst_10, %cst_9 : tensor<1xi64>, tensor<1xi64>) outs(%15 : tensor<1xi64>) {
    ^bb0(%in: i64, %in_32: i64, %out: i64):
      %58 = arith.divsi %in, %in_32 : i64
      linalg.yield %58 : i64
    } -> tensor<1xi64>
    %17 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%cst_10, %cst_9 : tensor<1xi64>, tensor<1xi64>) outs(%15 : tensor<1xi64>) {
    ^bb0(%in: i64, %in_32: i64, %out: i64):
      %58 = arith.remsi %in, %in_32 : i64
      %59 = arith.cmpi ne, %58, %c0_i64 : i64
      %60 = arith.cmpi slt, %in_32, %c0_i64 : i64
      %61 = arith.cmpi slt, %58, %c0_i64 : i64
      %62 = arith.xori %60, %61 : i1
      %63 = arith.andi %59, %62 : i1
      %64 = arith.addi %58, %in_32 : i64
      %65 = arith.select %63, %64, %58 : i64
      linalg.yield %65 : i64
    } -> tensor<1xi64>
    %18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%17, %cst_7 : tensor<1xi64>, tensor<1xi64>) outs(%13 : tensor<1xi1>) {
    ^bb0(%in: i64, %in_32: i64, %out: i1):
      %58 = arith.cmpi eq, %in, %in_32 : i64
      linalg.yield %58 : i1
    } -> tensor<1xi1>
    %19 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%14, %18 : tensor<1xi1>, tensor<1xi1>) outs(%13 : tensor<1xi1>) {
    ^bb0(%in: i1, %in_32: i1, %out: i1):
      %58 = arith.andi %in, %in_32 : i1
      linalg.yield %58 : i1
    } -> tensor<1xi1>
    %20 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]} ins(%19, %16, %cst_8 : tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) outs(%15 : tensor<1xi64>) {
    ^bb0(%in: i1, %in_32: i64, %in_33: i64, %out: i64):
      %58 = arith.select %in, %in_32, %in_33 : i64
      linalg.yield %58 : i64
    } -> tensor<1xi64>
    %concat = tensor.concat dim(0) %cst_9, %cst_9, %20, %cst_11, %cst_12 : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi64>
    %extracted_slice = tensor.extract_slice %concat[0] [1] [1] : tensor<5xi64> to tensor<1xi64>
    %collapsed = tensor.collapse_shape %extracted_slice [] : tensor<1xi64> into tensor<i64>
    %extracted = tensor.extract %collapsed[] : tensor<i64>
    %21 = arith.cmpi sle, %extracted, %c2_i64 : i64
    cf.assert %21, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    %extracted_slice_14 = tensor.extract_slice %concat[1] [1] [1] : tensor<5xi64> to tensor<1xi64>
    %collapsed_15 = tensor.collapse_shape %extracted_slice_14 [] : tensor<1xi64> into tensor<i64>
    %extracted_16 = tensor.extract %collapsed_15[] : tensor<i64>
    %22 = arith.cmpi sle, %extracted_16, %c2_i64 : i64
    cf.assert %22, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    %extracted_slice_17 = tensor.extract_slice %concat[3] [1] [1] : tensor<5xi64> to tensor<1xi64>
    %collapsed_18 = tensor.collapse_shape %extracted_slice_17 [] : tensor<1xi64> into tensor<i64>
    %extracted_19 = tensor.extract %collapsed_18[] : tensor<i64>
    %23 = arith.cmpi sle, %extracted_19, %c128_i64 : i64
    cf.assert %23, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    %extracted_slice_20 = tensor.extract_slice %concat[4] [1] [1] : tensor<5xi64> to tensor<1xi64>
    %collapsed_21 = tensor.collapse_shape %extracted_slice_20 [] : tensor<1xi64> into tensor<i64>
    %extracted_22 = tensor.extract %collapsed_21[] : tensor<i64>
    %24 = arith.cmpi sle, %extracted_22, %c64_i64 : i64
    cf.assert %24, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    %25 = tensor.empty() : tensor<2x2x4x128x64xf32>
    %26 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x128x64xf32>) outs(%25 : tensor<2x2x4x128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x4x128x64xf32>
    cf.assert %21, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    cf.assert %22, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    cf.assert %23, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    cf.assert %24, "onnx.Expand input has a dim that is not statically 1; expected this dim >= dim provided shape."
    %27 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x2x128x64xf32>) outs(%25 : tensor<2x2x4x128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x4x128x64xf32>
    %collapsed_23 = tensor.collapse_shape %26 [[0], [1, 2], [3], [4]] : tensor<2x2x4x128x64xf32> into tensor<2x8x128x64xf32>
    %28 = tensor.empty() : tensor<2x8x64x128xf32>
    %transposed = linalg.transpose ins(%collapsed_23 : tensor<2x8x128x64xf32>) outs(%28 : tensor<2x8x64x128xf32>) permutation = [0, 1, 3, 2] 
    %29 = tensor.empty() : tensor<2x8x128x64xf32>
    %30 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %3 : tensor<2x8x128x64xf32>, tensor<1xf32>) outs(%29 : tensor<2x8x128x64xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.mulf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x64xf32>
    %31 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed, %3 : tensor<2x8x64x128xf32>, tensor<1xf32>) outs(%28 : tensor<2x8x64x128xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.mulf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x64x128xf32>
    %collapsed_24 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<2x8x128x64xf32> into tensor<16x128x64xf32>
    %collapsed_25 = tensor.collapse_shape %31 [[0, 1], [2], [3]] : tensor<2x8x64x128xf32> into tensor<16x64x128xf32>
    %32 = tensor.empty() : tensor<16x128x128xf32>
    %33 = linalg.fill ins(%cst : f32) outs(%32 : tensor<16x128x128xf32>) -> tensor<16x128x128xf32>
    %34 = linalg.batch_matmul ins(%collapsed_24, %collapsed_25 : tensor<16x128x64xf32>, tensor<16x64x128xf32>) outs(%33 : tensor<16x128x128xf32>) -> tensor<16x128x128xf32>
    %expanded_26 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [2, 8, 128, 128] : tensor<16x128x128xf32> into tensor<2x8x128x128xf32>
    %35 = tensor.empty() : tensor<2x8x128x128xf32>
    %36 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_26, %12 : tensor<2x8x128x128xf32>, tensor<128x128xf32>) outs(%35 : tensor<2x8x128x128xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.addf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x128xf32>
    %37 = tensor.empty() : tensor<2x8x128xi64>
    %38 = linalg.fill ins(%c0_i64 : i64) outs(%37 : tensor<2x8x128xi64>) -> tensor<2x8x128xi64>
    %39 = tensor.empty() : tensor<2x8x128xf32>
    %40 = linalg.fill ins(%cst_0 : f32) outs(%39 : tensor<2x8x128xf32>) -> tensor<2x8x128xf32>
    %41:2 = linalg.generic {indexing_maps = [#map8, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x8x128x128xf32>) outs(%40, %38 : tensor<2x8x128xf32>, tensor<2x8x128xi64>) {
    ^bb0(%in: f32, %out: f32, %out_32: i64):
      %58 = linalg.index 3 : index
      %59 = arith.index_cast %58 : index to i64
      %60 = arith.maximumf %in, %out : f32
      %61 = arith.cmpf ogt, %in, %out : f32
      %62 = arith.select %61, %59, %out_32 : i64
      linalg.yield %60, %62 : f32, i64
    } -> (tensor<2x8x128xf32>, tensor<2x8x128xi64>)
    %expanded_27 = tensor.expand_shape %41#0 [[0], [1], [2, 3]] output_shape [2, 8, 128, 1] : tensor<2x8x128xf32> into tensor<2x8x128x1xf32>
    %42 = linalg.generic {indexing_maps = [#map8, #map12, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %expanded_27 : tensor<2x8x128x128xf32>, tensor<2x8x128x1xf32>) outs(%35 : tensor<2x8x128x128xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.subf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x128xf32>
    %43 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42 : tensor<2x8x128x128xf32>) outs(%35 : tensor<2x8x128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = math.exp %in : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x128xf32>
    %44 = tensor.empty() : tensor<2x8x128x1xf32>
    %45 = linalg.fill ins(%cst : f32) outs(%44 : tensor<2x8x128x1xf32>) -> tensor<2x8x128x1xf32>
    %46 = linalg.generic {indexing_maps = [#map8, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%43 : tensor<2x8x128x128xf32>) outs(%45 : tensor<2x8x128x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = arith.addf %in, %out : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x1xf32>
    %47 = linalg.generic {indexing_maps = [#map8, #map12, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%43, %46 : tensor<2x8x128x128xf32>, tensor<2x8x128x1xf32>) outs(%35 : tensor<2x8x128x128xf32>) {
    ^bb0(%in: f32, %in_32: f32, %out: f32):
      %58 = arith.divf %in, %in_32 : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x128xf32>
    %48 = linalg.fill ins(%c0_i64 : i64) outs(%4 : tensor<128xi64>) -> tensor<128xi64>
    %49 = tensor.empty() : tensor<128xf32>
    %50 = linalg.fill ins(%cst_0 : f32) outs(%49 : tensor<128xf32>) -> tensor<128xf32>
    %51:2 = linalg.generic {indexing_maps = [#map1, #map13, #map13], iterator_types = ["parallel", "reduction"]} ins(%12 : tensor<128x128xf32>) outs(%50, %48 : tensor<128xf32>, tensor<128xi64>) {
    ^bb0(%in: f32, %out: f32, %out_32: i64):
      %58 = linalg.index 1 : index
      %59 = arith.index_cast %58 : index to i64
      %60 = arith.maximumf %in, %out : f32
      %61 = arith.cmpf ogt, %in, %out : f32
      %62 = arith.select %61, %59, %out_32 : i64
      linalg.yield %60, %62 : f32, i64
    } -> (tensor<128xf32>, tensor<128xi64>)
    %expanded_28 = tensor.expand_shape %51#0 [[0, 1]] output_shape [128, 1] : tensor<128xf32> into tensor<128x1xf32>
    %52 = tensor.empty() : tensor<128x1xi1>
    %53 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded_28, %cst_4 : tensor<128x1xf32>, tensor<1xf32>) outs(%52 : tensor<128x1xi1>) {
    ^bb0(%in: f32, %in_32: f32, %out: i1):
      %58 = arith.cmpf oeq, %in, %in_32 : f32
      linalg.yield %58 : i1
    } -> tensor<128x1xi1>
    %54 = linalg.generic {indexing_maps = [#map14, #map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53, %cst_3, %47 : tensor<128x1xi1>, tensor<1xf32>, tensor<2x8x128x128xf32>) outs(%35 : tensor<2x8x128x128xf32>) {
    ^bb0(%in: i1, %in_32: f32, %in_33: f32, %out: f32):
      %58 = arith.select %in, %in_32, %in_33 : f32
      linalg.yield %58 : f32
    } -> tensor<2x8x128x128xf32>
    %collapsed_29 = tensor.collapse_shape %54 [[0, 1], [2], [3]] : tensor<2x8x128x128xf32> into tensor<16x128x128xf32>
    %collapsed_30 = tensor.collapse_shape %27 [[0, 1, 2], [3], [4]] : tensor<2x2x4x128x64xf32> into tensor<16x128x64xf32>
    %55 = tensor.empty() : tensor<16x128x64xf32>
    %56 = linalg.fill ins(%cst : f32) outs(%55 : tensor<16x128x64xf32>) -> tensor<16x128x64xf32>
    %57 = linalg.batch_matmul ins(%collapsed_29, %collapsed_30 : tensor<16x128x128xf32>, tensor<16x128x64xf32>) outs(%56 : tensor<16x128x64xf32>) -> tensor<16x128x64xf32>
    %expanded_31 = tensor.expand_shape %57 [[0, 1], [2], [3]] output_shape [2, 8, 128, 64] : tensor<16x128x64xf32> into tensor<2x8x128x64xf32>
    return %expanded_31 : tensor<2x8x128x64xf32>
  }
}
