// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_einsum_grouped_5d"}> ({
  "func.func"() <{function_type = (tensor<2x128x8x64xf32>, tensor<2x128x2x64xf32>, tensor<2x128x2x64xf32>) -> tensor<2x128x8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x128x8x64xf32>, %arg1: tensor<2x128x2x64xf32>, %arg2: tensor<2x128x2x64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.reshape"(%arg0) : (tensor<2x128x8x64xf32>) -> tensor<2x128x2x4x64xf32>
    %4 = "stablehlo.dot_general"(%arg1, %3) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [4]>}> : (tensor<2x128x2x64xf32>, tensor<2x128x2x4x64xf32>) -> tensor<2x2x128x128x4xf32>
    %5 = "stablehlo.transpose"(%4) <{permutation = array<i64: 0, 1, 4, 3, 2>}> : (tensor<2x2x128x128x4xf32>) -> tensor<2x2x4x128x128xf32>
    %6 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x4x128x128xf32>
    %7 = "stablehlo.multiply"(%5, %6) : (tensor<2x2x4x128x128xf32>, tensor<2x2x4x128x128xf32>) -> tensor<2x2x4x128x128xf32>
    %8 = "stablehlo.reduce"(%7, %1) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %23 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) : (tensor<2x2x4x128x128xf32>, tensor<f32>) -> tensor<2x2x4x128xf32>
    %9 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x4x128xf32>
    %10 = "stablehlo.maximum"(%9, %8) : (tensor<2x2x4x128xf32>, tensor<2x2x4x128xf32>) -> tensor<2x2x4x128xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x4x128xf32>) -> tensor<2x2x4x128x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x4x128x1xf32>) -> tensor<2x2x4x128x128xf32>
    %13 = "stablehlo.subtract"(%7, %12) : (tensor<2x2x4x128x128xf32>, tensor<2x2x4x128x128xf32>) -> tensor<2x2x4x128x128xf32>
    %14 = "stablehlo.exponential"(%13) : (tensor<2x2x4x128x128xf32>) -> tensor<2x2x4x128x128xf32>
    %15 = "stablehlo.reduce"(%14, %0) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %22 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%22) : (tensor<f32>) -> ()
    }) : (tensor<2x2x4x128x128xf32>, tensor<f32>) -> tensor<2x2x4x128xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x4x128xf32>) -> tensor<2x2x4x128x1xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<2x2x4x128x1xf32>) -> tensor<2x2x4x128x128xf32>
    %18 = "stablehlo.divide"(%14, %17) : (tensor<2x2x4x128x128xf32>, tensor<2x2x4x128x128xf32>) -> tensor<2x2x4x128x128xf32>
    %19 = "stablehlo.dot_general"(%arg2, %18) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x128x2x64xf32>, tensor<2x2x4x128x128xf32>) -> tensor<2x2x64x4x128xf32>
    %20 = "stablehlo.transpose"(%19) <{permutation = array<i64: 0, 4, 1, 3, 2>}> : (tensor<2x2x64x4x128xf32>) -> tensor<2x128x2x4x64xf32>
    %21 = "stablehlo.reshape"(%20) : (tensor<2x128x2x4x64xf32>) -> tensor<2x128x8x64xf32>
    "func.return"(%21) : (tensor<2x128x8x64xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

