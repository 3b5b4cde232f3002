// from mlir-22.1 | fa.attention expected: 1
// arguments: 3x5x64xf32, 3x64x7xf32, 3x7x64xf32, 3x5x7xf32
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<?x?x64xf32>, %arg1: tensor<?x64x?xf32>, %arg2: tensor<?x?x64xf32>, %arg3: tensor<?x?x?xf32>) -> tensor<?x?x64xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.250000e-01 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x?x64xf32>
    %dim_1 = tensor.dim %arg0, %c1 : tensor<?x?x64xf32>
    %dim_2 = tensor.dim %arg2, %c1 : tensor<?x?x64xf32>
    %0 = tensor.empty(%dim, %dim_1, %dim_2) : tensor<?x?x?xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %2 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<?x?x64xf32>, tensor<?x64x?xf32>) outs(%1 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %4 = linalg.mul ins(%2, %3 : tensor<?x?x?xf32>, tensor<?x?x?xf32>) outs(%0 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %5 = linalg.add ins(%4, %arg3 : tensor<?x?x?xf32>, tensor<?x?x?xf32>) outs(%0 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %c0_3 = arith.constant 0 : index
    %dim_4 = tensor.dim %5, %c0_3 : tensor<?x?x?xf32>
    %c1_5 = arith.constant 1 : index
    %dim_6 = tensor.dim %5, %c1_5 : tensor<?x?x?xf32>
    %c2 = arith.constant 2 : index
    %dim_7 = tensor.dim %5, %c2 : tensor<?x?x?xf32>
    %6 = tensor.empty(%dim_4, %dim_6) : tensor<?x?xf32>
    %cst_8 = arith.constant 0xFFC00000 : f32
    %7 = linalg.fill ins(%cst_8 : f32) outs(%6 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%5 : tensor<?x?x?xf32>) outs(%7 : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = arith.maxnumf %in, %out : f32
      linalg.yield %16 : f32
    } -> tensor<?x?xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5, %8 : tensor<?x?x?xf32>, tensor<?x?xf32>) outs(%0 : tensor<?x?x?xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %16 = arith.subf %in, %in_10 : f32
      %17 = math.exp %16 : f32
      linalg.yield %17 : f32
    } -> tensor<?x?x?xf32>
    %cst_9 = arith.constant 0.000000e+00 : f32
    %10 = linalg.fill ins(%cst_9 : f32) outs(%6 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%9 : tensor<?x?x?xf32>) outs(%10 : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = arith.addf %in, %out : f32
      linalg.yield %16 : f32
    } -> tensor<?x?xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %11 : tensor<?x?x?xf32>, tensor<?x?xf32>) outs(%0 : tensor<?x?x?xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %16 = arith.divf %in, %in_10 : f32
      linalg.yield %16 : f32
    } -> tensor<?x?x?xf32>
    %13 = tensor.empty(%dim, %dim_1) : tensor<?x?x64xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
    %15 = linalg.batch_matmul ins(%12, %arg2 : tensor<?x?x?xf32>, tensor<?x?x64xf32>) outs(%14 : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
    return %15 : tensor<?x?x64xf32>
  }
}

