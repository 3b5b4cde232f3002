// from mlir-22.1 | fa.attention expected: 1
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<8x128x64xf32>, %arg1: tensor<8x64x96xf32>, %arg2: tensor<8x96x64xf32>, %arg3: tensor<8x128x96xf32>) -> tensor<8x128x64xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.250000e-01 : f32
    %0 = tensor.empty() : tensor<8x128x96xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x128x96xf32>) -> tensor<8x128x96xf32>
    %2 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<8x128x64xf32>, tensor<8x64x96xf32>) outs(%1 : tensor<8x128x96xf32>) -> tensor<8x128x96xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<8x128x96xf32>) -> tensor<8x128x96xf32>
    %4 = linalg.mul ins(%2, %3 : tensor<8x128x96xf32>, tensor<8x128x96xf32>) outs(%0 : tensor<8x128x96xf32>) -> tensor<8x128x96xf32>
    %5 = linalg.add ins(%4, %arg3 : tensor<8x128x96xf32>, tensor<8x128x96xf32>) outs(%0 : tensor<8x128x96xf32>) -> tensor<8x128x96xf32>
    %6 = tensor.empty() : tensor<8x128xf32>
    %cst_1 = arith.constant 0xFFC00000 : f32
    %7 = linalg.fill ins(%cst_1 : f32) outs(%6 : tensor<8x128xf32>) -> tensor<8x128xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%5 : tensor<8x128x96xf32>) outs(%7 : tensor<8x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = arith.maxnumf %in, %out : f32
      linalg.yield %16 : f32
    } -> tensor<8x128xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5, %8 : tensor<8x128x96xf32>, tensor<8x128xf32>) outs(%0 : tensor<8x128x96xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %16 = arith.subf %in, %in_3 : f32
      %17 = math.exp %16 : f32
      linalg.yield %17 : f32
    } -> tensor<8x128x96xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %10 = linalg.fill ins(%cst_2 : f32) outs(%6 : tensor<8x128xf32>) -> tensor<8x128xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%9 : tensor<8x128x96xf32>) outs(%10 : tensor<8x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = arith.addf %in, %out : f32
      linalg.yield %16 : f32
    } -> tensor<8x128xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %11 : tensor<8x128x96xf32>, tensor<8x128xf32>) outs(%0 : tensor<8x128x96xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %16 = arith.divf %in, %in_3 : f32
      linalg.yield %16 : f32
    } -> tensor<8x128x96xf32>
    %13 = tensor.empty() : tensor<8x128x64xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %15 = linalg.batch_matmul ins(%12, %arg2 : tensor<8x128x96xf32>, tensor<8x96x64xf32>) outs(%14 : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    return %15 : tensor<8x128x64xf32>
  }
}

