// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_image_keys"}> ({
  "func.func"() <{function_type = (tensor<2x64x4x32xf32>, tensor<2x6x8x4x32xf32>, tensor<2x6x8x4x32xf32>) -> tensor<2x64x4x32xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x64x4x32xf32>, %arg1: tensor<2x6x8x4x32xf32>, %arg2: tensor<2x6x8x4x32xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<5.65685415> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 3], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [4]>}> : (tensor<2x64x4x32xf32>, tensor<2x6x8x4x32xf32>) -> tensor<2x4x64x6x8xf32>
    %4 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x64x6x8xf32>
    %5 = "stablehlo.divide"(%3, %4) : (tensor<2x4x64x6x8xf32>, tensor<2x4x64x6x8xf32>) -> tensor<2x4x64x6x8xf32>
    %6 = "stablehlo.reduce"(%5, %1) <{dimensions = array<i64: 3, 4>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %20 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%20) : (tensor<f32>) -> ()
    }) : (tensor<2x4x64x6x8xf32>, tensor<f32>) -> tensor<2x4x64xf32>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x64xf32>
    %8 = "stablehlo.maximum"(%7, %6) : (tensor<2x4x64xf32>, tensor<2x4x64xf32>) -> tensor<2x4x64xf32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x64xf32>) -> tensor<2x4x64x1x1xf32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x4x64x1x1xf32>) -> tensor<2x4x64x6x8xf32>
    %11 = "stablehlo.subtract"(%5, %10) : (tensor<2x4x64x6x8xf32>, tensor<2x4x64x6x8xf32>) -> tensor<2x4x64x6x8xf32>
    %12 = "stablehlo.exponential"(%11) : (tensor<2x4x64x6x8xf32>) -> tensor<2x4x64x6x8xf32>
    %13 = "stablehlo.reduce"(%12, %0) <{dimensions = array<i64: 3, 4>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %19 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19) : (tensor<f32>) -> ()
    }) : (tensor<2x4x64x6x8xf32>, tensor<f32>) -> tensor<2x4x64xf32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x64xf32>) -> tensor<2x4x64x1x1xf32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x4x64x1x1xf32>) -> tensor<2x4x64x6x8xf32>
    %16 = "stablehlo.divide"(%12, %15) : (tensor<2x4x64x6x8xf32>, tensor<2x4x64x6x8xf32>) -> tensor<2x4x64x6x8xf32>
    %17 = "stablehlo.dot_general"(%arg2, %16) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 3], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [2, 1], rhs_contracting_dimensions = [4, 3]>}> : (tensor<2x6x8x4x32xf32>, tensor<2x4x64x6x8xf32>) -> tensor<2x4x32x64xf32>
    %18 = "stablehlo.transpose"(%17) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x32x64xf32>) -> tensor<2x64x4x32xf32>
    "func.return"(%18) : (tensor<2x64x4x32xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

