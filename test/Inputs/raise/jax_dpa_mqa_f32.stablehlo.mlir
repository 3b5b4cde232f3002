// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_dpa_mqa_f32"}> ({
  "func.func"() <{function_type = (tensor<2x128x4x64xf32>, tensor<2x128x1x64xf32>, tensor<2x128x1x64xf32>) -> tensor<2x128x4x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x128x4x64xf32>, %arg1: tensor<2x128x1x64xf32>, %arg2: tensor<2x128x1x64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.reshape"(%arg0) : (tensor<2x128x4x64xf32>) -> tensor<2x128x1x4x64xf32>
    %4 = "stablehlo.dot_general"(%3, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x1x4x64xf32>, tensor<2x128x1x64xf32>) -> tensor<2x1x128x4x128xf32>
    %5 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x128x4x128xf32>
    %6 = "stablehlo.multiply"(%4, %5) : (tensor<2x1x128x4x128xf32>, tensor<2x1x128x4x128xf32>) -> tensor<2x1x128x4x128xf32>
    %7 = "stablehlo.reduce"(%6, %1) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %25 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%25) : (tensor<f32>) -> ()
    }) : (tensor<2x1x128x4x128xf32>, tensor<f32>) -> tensor<2x1x128x4xf32>
    %8 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x128x4xf32>
    %9 = "stablehlo.maximum"(%8, %7) : (tensor<2x1x128x4xf32>, tensor<2x1x128x4xf32>) -> tensor<2x1x128x4xf32>
    %10 = "stablehlo.transpose"(%9) <{permutation = array<i64: 3, 0, 1, 2>}> : (tensor<2x1x128x4xf32>) -> tensor<4x2x1x128xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x2x1x128xf32>) -> tensor<4x2x1x128x1xf32>
    %12 = "stablehlo.transpose"(%6) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x1x128x4x128xf32>) -> tensor<4x2x1x128x128xf32>
    %13 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<4x2x1x128x1xf32>) -> tensor<4x2x1x128x128xf32>
    %14 = "stablehlo.subtract"(%12, %13) : (tensor<4x2x1x128x128xf32>, tensor<4x2x1x128x128xf32>) -> tensor<4x2x1x128x128xf32>
    %15 = "stablehlo.exponential"(%14) : (tensor<4x2x1x128x128xf32>) -> tensor<4x2x1x128x128xf32>
    %16 = "stablehlo.reduce"(%15, %0) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %24 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) : (tensor<4x2x1x128x128xf32>, tensor<f32>) -> tensor<4x2x1x128xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x2x1x128xf32>) -> tensor<4x2x1x128x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<4x2x1x128x1xf32>) -> tensor<4x2x1x128x128xf32>
    %19 = "stablehlo.divide"(%15, %18) : (tensor<4x2x1x128x128xf32>, tensor<4x2x1x128x128xf32>) -> tensor<4x2x1x128x128xf32>
    %20 = "stablehlo.dot_general"(%arg2, %19) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x128x1x64xf32>, tensor<4x2x1x128x128xf32>) -> tensor<2x1x64x4x128xf32>
    %21 = "stablehlo.transpose"(%20) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x1x64x4x128xf32>) -> tensor<4x2x128x1x64xf32>
    %22 = "stablehlo.transpose"(%21) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<4x2x128x1x64xf32>) -> tensor<2x128x1x4x64xf32>
    %23 = "stablehlo.reshape"(%22) : (tensor<2x128x1x4x64xf32>) -> tensor<2x128x4x64xf32>
    "func.return"(%23) : (tensor<2x128x4x64xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

