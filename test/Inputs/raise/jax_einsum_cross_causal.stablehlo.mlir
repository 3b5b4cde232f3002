// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_einsum_cross_causal"}> ({
  "func.func"() <{function_type = (tensor<2x96x4x64xf32>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x96x4x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<2x96x4x64xf32>, %arg4: tensor<2x128x4x64xf32>, %arg5: tensor<2x128x4x64xf32>):
    %4 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %8 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<96xi32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0>}> : (tensor<96xi32>) -> tensor<96x1xi32>
    %10 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<96x1xi32>
    %11 = "stablehlo.add"(%9, %10) : (tensor<96x1xi32>, tensor<96x1xi32>) -> tensor<96x1xi32>
    %12 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<128xi32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 1>}> : (tensor<128xi32>) -> tensor<1x128xi32>
    %14 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<96x1xi32>) -> tensor<96x128xi32>
    %15 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x128xi32>) -> tensor<96x128xi32>
    %16 = "stablehlo.compare"(%14, %15) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<96x128xi32>, tensor<96x128xi32>) -> tensor<96x128xi1>
    %17 = "stablehlo.dot_general"(%arg3, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x96x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x4x96x128xf32>
    %18 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x96x128xf32>
    %19 = "stablehlo.multiply"(%17, %18) : (tensor<2x4x96x128xf32>, tensor<2x4x96x128xf32>) -> tensor<2x4x96x128xf32>
    %20 = "func.call"(%16, %19, %5) <{callee = @_where}> : (tensor<96x128xi1>, tensor<2x4x96x128xf32>, tensor<f32>) -> tensor<2x4x96x128xf32>
    %21 = "stablehlo.reduce"(%20, %5) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %35 = "stablehlo.maximum"(%arg8, %arg9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }) : (tensor<2x4x96x128xf32>, tensor<f32>) -> tensor<2x4x96xf32>
    %22 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x96xf32>
    %23 = "stablehlo.maximum"(%22, %21) : (tensor<2x4x96xf32>, tensor<2x4x96xf32>) -> tensor<2x4x96xf32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x96xf32>) -> tensor<2x4x96x1xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x96x1xf32>) -> tensor<2x4x96x128xf32>
    %26 = "stablehlo.subtract"(%20, %25) : (tensor<2x4x96x128xf32>, tensor<2x4x96x128xf32>) -> tensor<2x4x96x128xf32>
    %27 = "stablehlo.exponential"(%26) : (tensor<2x4x96x128xf32>) -> tensor<2x4x96x128xf32>
    %28 = "stablehlo.reduce"(%27, %4) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %34 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%34) : (tensor<f32>) -> ()
    }) : (tensor<2x4x96x128xf32>, tensor<f32>) -> tensor<2x4x96xf32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x96xf32>) -> tensor<2x4x96x1xf32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x96x1xf32>) -> tensor<2x4x96x128xf32>
    %31 = "stablehlo.divide"(%27, %30) : (tensor<2x4x96x128xf32>, tensor<2x4x96x128xf32>) -> tensor<2x4x96x128xf32>
    %32 = "stablehlo.dot_general"(%arg5, %31) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x4x64xf32>, tensor<2x4x96x128xf32>) -> tensor<2x4x64x96xf32>
    %33 = "stablehlo.transpose"(%32) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x64x96xf32>) -> tensor<2x96x4x64xf32>
    "func.return"(%33) : (tensor<2x96x4x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<96x128xi1>, tensor<2x4x96x128xf32>, tensor<f32>) -> tensor<2x4x96x128xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<96x128xi1>, %arg1: tensor<2x4x96x128xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<96x128xi1>) -> tensor<2x4x96x128xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x96x128xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<2x4x96x128xi1>, tensor<2x4x96x128xf32>, tensor<2x4x96x128xf32>) -> tensor<2x4x96x128xf32>
    "func.return"(%3) : (tensor<2x4x96x128xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

