// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_flax_linen_dpa_mask_bf16"}> ({
  "func.func"() <{function_type = (tensor<2x128x4x64xbf16>, tensor<2x128x4x64xbf16>, tensor<2x128x4x64xbf16>, tensor<2x1x1x128xi1>) -> tensor<2x128x4x64xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<2x128x4x64xbf16>, %arg4: tensor<2x128x4x64xbf16>, %arg5: tensor<2x128x4x64xbf16>, %arg6: tensor<2x1x1x128xi1>):
    %3 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.constant"() <{value = dense<0xFF80> : tensor<bf16>}> : () -> tensor<bf16>
    %5 = "stablehlo.constant"() <{value = dense<-3.389530e+38> : tensor<bf16>}> : () -> tensor<bf16>
    %6 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.sqrt"(%6) : (tensor<f32>) -> tensor<f32>
    %8 = "stablehlo.convert"(%7) : (tensor<f32>) -> tensor<bf16>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x128x4x64xbf16>
    %10 = "stablehlo.divide"(%arg3, %9) : (tensor<2x128x4x64xbf16>, tensor<2x128x4x64xbf16>) -> tensor<2x128x4x64xbf16>
    %11 = "stablehlo.dot_general"(%10, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x4x64xbf16>, tensor<2x128x4x64xbf16>) -> tensor<2x4x128x128xbf16>
    %12 = "func.call"(%arg6, %11, %5) <{callee = @_where}> : (tensor<2x1x1x128xi1>, tensor<2x4x128x128xbf16>, tensor<bf16>) -> tensor<2x4x128x128xbf16>
    %13 = "stablehlo.reduce"(%12, %4) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg9: tensor<bf16>, %arg10: tensor<bf16>):
      %29 = "stablehlo.maximum"(%arg9, %arg10) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
      "stablehlo.return"(%29) : (tensor<bf16>) -> ()
    }) : (tensor<2x4x128x128xbf16>, tensor<bf16>) -> tensor<2x4x128xbf16>
    %14 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x4x128xbf16>
    %15 = "stablehlo.maximum"(%14, %13) : (tensor<2x4x128xbf16>, tensor<2x4x128xbf16>) -> tensor<2x4x128xbf16>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x128xbf16>) -> tensor<2x4x128x1xbf16>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x128x1xbf16>) -> tensor<2x4x128x128xbf16>
    %18 = "stablehlo.subtract"(%12, %17) : (tensor<2x4x128x128xbf16>, tensor<2x4x128x128xbf16>) -> tensor<2x4x128x128xbf16>
    %19 = "stablehlo.exponential"(%18) : (tensor<2x4x128x128xbf16>) -> tensor<2x4x128x128xbf16>
    %20 = "stablehlo.convert"(%19) : (tensor<2x4x128x128xbf16>) -> tensor<2x4x128x128xf32>
    %21 = "stablehlo.reduce"(%20, %3) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %28 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%28) : (tensor<f32>) -> ()
    }) : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128xf32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x128xf32>) -> tensor<2x4x128x1xf32>
    %23 = "stablehlo.convert"(%22) : (tensor<2x4x128x1xf32>) -> tensor<2x4x128x1xbf16>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x128x1xbf16>) -> tensor<2x4x128x128xbf16>
    %25 = "stablehlo.divide"(%19, %24) : (tensor<2x4x128x128xbf16>, tensor<2x4x128x128xbf16>) -> tensor<2x4x128x128xbf16>
    %26 = "stablehlo.dot_general"(%arg5, %25) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x4x64xbf16>, tensor<2x4x128x128xbf16>) -> tensor<2x4x64x128xbf16>
    %27 = "stablehlo.transpose"(%26) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x64x128xbf16>) -> tensor<2x128x4x64xbf16>
    "func.return"(%27) : (tensor<2x128x4x64xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x1x1x128xi1>, tensor<2x4x128x128xbf16>, tensor<bf16>) -> tensor<2x4x128x128xbf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x1x1x128xi1>, %arg1: tensor<2x4x128x128xbf16>, %arg2: tensor<bf16>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x1x128xi1>) -> tensor<2x4x128x128xi1>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x4x128x128xbf16>
    %2 = "stablehlo.select"(%0, %arg1, %1) : (tensor<2x4x128x128xi1>, tensor<2x4x128x128xbf16>, tensor<2x4x128x128xbf16>) -> tensor<2x4x128x128xbf16>
    "func.return"(%2) : (tensor<2x4x128x128xbf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

