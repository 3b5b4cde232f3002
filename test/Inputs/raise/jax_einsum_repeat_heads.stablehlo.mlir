// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_einsum_repeat_heads"}> ({
  "func.func"() <{function_type = (tensor<2x128x8x64xf32>, tensor<2x128x2x64xf32>, tensor<2x128x2x64xf32>) -> tensor<2x128x8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x128x8x64xf32>, %arg1: tensor<2x128x2x64xf32>, %arg2: tensor<2x128x2x64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 0, 1, 2, 4>}> : (tensor<2x128x2x64xf32>) -> tensor<2x128x2x4x64xf32>
    %4 = "stablehlo.reshape"(%3) : (tensor<2x128x2x4x64xf32>) -> tensor<2x128x8x64xf32>
    %5 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 0, 1, 2, 4>}> : (tensor<2x128x2x64xf32>) -> tensor<2x128x2x4x64xf32>
    %6 = "stablehlo.reshape"(%5) : (tensor<2x128x2x4x64xf32>) -> tensor<2x128x8x64xf32>
    %7 = "stablehlo.dot_general"(%arg0, %4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x8x64xf32>, tensor<2x128x8x64xf32>) -> tensor<2x8x128x128xf32>
    %8 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x128x128xf32>
    %9 = "stablehlo.multiply"(%7, %8) : (tensor<2x8x128x128xf32>, tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
    %10 = "stablehlo.reduce"(%9, %1) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %24 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) : (tensor<2x8x128x128xf32>, tensor<f32>) -> tensor<2x8x128xf32>
    %11 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x128xf32>
    %12 = "stablehlo.maximum"(%11, %10) : (tensor<2x8x128xf32>, tensor<2x8x128xf32>) -> tensor<2x8x128xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x128xf32>) -> tensor<2x8x128x1xf32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x128x1xf32>) -> tensor<2x8x128x128xf32>
    %15 = "stablehlo.subtract"(%9, %14) : (tensor<2x8x128x128xf32>, tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
    %16 = "stablehlo.exponential"(%15) : (tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
    %17 = "stablehlo.reduce"(%16, %0) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %23 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) : (tensor<2x8x128x128xf32>, tensor<f32>) -> tensor<2x8x128xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x128xf32>) -> tensor<2x8x128x1xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x128x1xf32>) -> tensor<2x8x128x128xf32>
    %20 = "stablehlo.divide"(%16, %19) : (tensor<2x8x128x128xf32>, tensor<2x8x128x128xf32>) -> tensor<2x8x128x128xf32>
    %21 = "stablehlo.dot_general"(%6, %20) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x8x64xf32>, tensor<2x8x128x128xf32>) -> tensor<2x8x64x128xf32>
    %22 = "stablehlo.transpose"(%21) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x8x64x128xf32>) -> tensor<2x128x8x64xf32>
    "func.return"(%22) : (tensor<2x128x8x64xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

