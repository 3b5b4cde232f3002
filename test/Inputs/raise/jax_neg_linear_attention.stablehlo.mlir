// from jax-0.10.2-generic | fa.attention expected: 0
"builtin.module"() <{sym_name = "jit_jax_neg_linear_attention"}> ({
  "func.func"() <{function_type = (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg7: tensor<2x128x4x64xf32>, %arg8: tensor<2x128x4x64xf32>, %arg9: tensor<2x128x4x64xf32>):
    %15 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %17 = "func.call"(%arg7) <{callee = @elu}> : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %18 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x128x4x64xf32>
    %19 = "stablehlo.add"(%17, %18) : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %20 = "func.call"(%arg8) <{callee = @elu}> : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %21 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x128x4x64xf32>
    %22 = "stablehlo.add"(%20, %21) : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %23 = "stablehlo.dot_general"(%19, %22) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x4x128x128xf32>
    %24 = "stablehlo.reduce"(%23, %15) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %30 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x128xf32>) -> tensor<2x4x128x1xf32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x128x1xf32>) -> tensor<2x4x128x128xf32>
    %27 = "stablehlo.divide"(%23, %26) : (tensor<2x4x128x128xf32>, tensor<2x4x128x128xf32>) -> tensor<2x4x128x128xf32>
    %28 = "stablehlo.dot_general"(%arg9, %27) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x4x64xf32>, tensor<2x4x128x128xf32>) -> tensor<2x4x64x128xf32>
    %29 = "stablehlo.transpose"(%28) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x64x128xf32>) -> tensor<2x128x4x64xf32>
    "func.return"(%29) : (tensor<2x128x4x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>, sym_name = "elu", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<2x128x4x64xf32>):
    %4 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x128x4x64xf32>
    %7 = "stablehlo.compare"(%arg6, %6) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xi1>
    %8 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x128x4x64xf32>
    %9 = "stablehlo.compare"(%arg6, %8) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xi1>
    %10 = "func.call"(%9, %5, %arg6) <{callee = @_where}> : (tensor<2x128x4x64xi1>, tensor<f32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %11 = "stablehlo.exponential_minus_one"(%10) : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %12 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x128x4x64xf32>
    %13 = "stablehlo.multiply"(%12, %11) : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    %14 = "func.call"(%7, %arg6, %13) <{callee = @_where_0}> : (tensor<2x128x4x64xi1>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    "func.return"(%14) : (tensor<2x128x4x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x128x4x64xi1>, tensor<f32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<2x128x4x64xi1>, %arg4: tensor<f32>, %arg5: tensor<2x128x4x64xf32>):
    %1 = "stablehlo.convert"(%arg4) : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x128x4x64xf32>
    %3 = "stablehlo.select"(%arg3, %2, %arg5) : (tensor<2x128x4x64xi1>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    "func.return"(%3) : (tensor<2x128x4x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x128x4x64xi1>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x128x4x64xi1>, %arg1: tensor<2x128x4x64xf32>, %arg2: tensor<2x128x4x64xf32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<2x128x4x64xi1>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    "func.return"(%0) : (tensor<2x128x4x64xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

