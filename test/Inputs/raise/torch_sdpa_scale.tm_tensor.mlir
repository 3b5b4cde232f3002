// from torch-2.12.1+torch-mlir-20261001-keep-sdpa | fa.attention expected: 1
// same function: torch_sdpa_scale.linalg.mlir
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x4x128x64xf32>, tensor<2x4x128x64xf32>, tensor<2x4x128x64xf32>) -> tensor<2x4x128x64xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x4x128x64xf32>, %arg1: tensor<2x4x128x64xf32>, %arg2: tensor<2x4x128x64xf32>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %1 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %2 = "tensor.empty"() : () -> tensor<2x4x128x128xf32>
    %3 = "linalg.fill"(%0, %2) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg6: f32, %arg7: f32):
      "linalg.yield"(%arg6) : (f32) -> ()
    }) : (f32, tensor<2x4x128x128xf32>) -> tensor<2x4x128x128xf32>
    %4 = "linalg.generic"(%3) <{indexing_maps = [#map], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%arg5: f32):
      %13 = "linalg.index"() <{dim = 2 : i64}> : () -> index
      %14 = "linalg.index"() <{dim = 3 : i64}> : () -> index
      %15 = "arith.cmpi"(%13, %14) <{predicate = 5 : i64}> : (index, index) -> i1
      %16 = "arith.select"(%15, %0, %1) : (i1, f32, f32) -> f32
      "linalg.yield"(%16) : (f32) -> ()
    }) : (tensor<2x4x128x128xf32>) -> tensor<2x4x128x128xf32>
    %5 = "tensor.collapse_shape"(%arg0) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x128x64xf32>) -> tensor<8x128x64xf32>
    %6 = "tensor.collapse_shape"(%arg1) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x128x64xf32>) -> tensor<8x128x64xf32>
    %7 = "tensor.collapse_shape"(%arg2) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x128x64xf32>) -> tensor<8x128x64xf32>
    %8 = "tensor.collapse_shape"(%4) <{reassociation = [[0, 1], [2], [3]]}> : (tensor<2x4x128x128xf32>) -> tensor<8x128x128xf32>
    %9 = "tensor.empty"() : () -> tensor<8x128x64xf32>
    %10 = "linalg.fill"(%0, %9) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: f32, %arg4: f32):
      "linalg.yield"(%arg3) : (f32) -> ()
    }) : (f32, tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %11 = "tm_tensor.attention"(%5, %6, %7, %8, %10) <{operandSegmentSizes = array<i32: 4, 1>, scale = 2.000000e-01 : f64}> : (tensor<8x128x64xf32>, tensor<8x128x64xf32>, tensor<8x128x64xf32>, tensor<8x128x128xf32>, tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
    %12 = "tensor.expand_shape"(%11) <{reassociation = [[0, 1], [2], [3]], static_output_shape = array<i64: 2, 4, 128, 64>}> : (tensor<8x128x64xf32>) -> tensor<2x4x128x64xf32>
    "func.return"(%12) : (tensor<2x4x128x64xf32>) -> ()
  }) : () -> ()
}) : () -> ()
