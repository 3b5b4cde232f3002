// from jax-0.10.2-generic | fa.attention expected: 1
// arguments: 2x5x4x64xf32, 2x7x4x64xf32, 2x7x4x64xf32
"builtin.module"() <{sym_name = "jit_jax_dpa_dynamic_f32"}> ({
  "func.func"() <{function_type = (tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x?x4x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg10: tensor<?x?x4x64xf32>, %arg11: tensor<?x?x4x64xf32>, %arg12: tensor<?x?x4x64xf32>):
    %56 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %57 = "stablehlo.get_dimension_size"(%arg10) <{dimension = 0 : i64}> : (tensor<?x?x4x64xf32>) -> tensor<i32>
    %58 = "stablehlo.get_dimension_size"(%arg10) <{dimension = 1 : i64}> : (tensor<?x?x4x64xf32>) -> tensor<i32>
    %59 = "stablehlo.get_dimension_size"(%arg11) <{dimension = 0 : i64}> : (tensor<?x?x4x64xf32>) -> tensor<i32>
    %60 = "stablehlo.get_dimension_size"(%arg11) <{dimension = 1 : i64}> : (tensor<?x?x4x64xf32>) -> tensor<i32>
    %61 = "stablehlo.get_dimension_size"(%arg12) <{dimension = 0 : i64}> : (tensor<?x?x4x64xf32>) -> tensor<i32>
    %62 = "stablehlo.get_dimension_size"(%arg12) <{dimension = 1 : i64}> : (tensor<?x?x4x64xf32>) -> tensor<i32>
    %63 = "stablehlo.compare"(%57, %56) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.custom_call"(%63, %57) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, t, 4, 64),args[1].shape = (b, s, 4, 64),args[2].shape = (b, s, 4, 64). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>) -> ()
    %64 = "stablehlo.compare"(%58, %56) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.custom_call"(%64, %57, %58) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 't'. Using the following polymorphic shapes specifications: args[0].shape = (b, t, 4, 64),args[1].shape = (b, s, 4, 64),args[2].shape = (b, s, 4, 64). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 't' = {1} from specification 't' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %65 = "stablehlo.compare"(%59, %57) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.custom_call"(%65, %59, %57, %58) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[0] (= {0}) and the specification 'b' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (b, t, 4, 64),args[1].shape = (b, s, 4, 64),args[2].shape = (b, s, 4, 64). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 't' = {2} from specification 't' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %66 = "stablehlo.compare"(%60, %56) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.custom_call"(%66, %57, %58, %60) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 's'. Using the following polymorphic shapes specifications: args[0].shape = (b, t, 4, 64),args[1].shape = (b, s, 4, 64),args[2].shape = (b, s, 4, 64). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 't' = {1} from specification 't' for dimension args[0].shape[1] (= {1}), 's' = {2} from specification 's' for dimension args[1].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %67 = "stablehlo.compare"(%61, %57) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.custom_call"(%67, %61, %57, %58, %60) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[2].shape[0] (= {0}) and the specification 'b' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (b, t, 4, 64),args[1].shape = (b, s, 4, 64),args[2].shape = (b, s, 4, 64). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 't' = {2} from specification 't' for dimension args[0].shape[1] (= {2}), 's' = {3} from specification 's' for dimension args[1].shape[1] (= {3}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %68 = "stablehlo.compare"(%62, %60) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.custom_call"(%68, %62, %60, %57, %58) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[2].shape[1] (= {0}) and the specification 's' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (b, t, 4, 64),args[1].shape = (b, s, 4, 64),args[2].shape = (b, s, 4, 64). Obtained dimension variables: 'b' = {2} from specification 'b' for dimension args[0].shape[0] (= {2}), 't' = {3} from specification 't' for dimension args[0].shape[1] (= {3}), 's' = {1} from specification 's' for dimension args[1].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %69 = "func.call"(%57, %60, %58, %arg10, %arg11, %arg12) <{callee = @_wrapped_jax_export_main}> : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x?x4x64xf32>
    "func.return"(%69) : (tensor<?x?x4x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{jax.global_constant = "b"}, {jax.global_constant = "s"}, {jax.global_constant = "t"}, {}, {}, {}], function_type = (tensor<i32>, tensor<i32>, tensor<i32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x?x4x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "_wrapped_jax_export_main", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<?x?x4x64xf32>, %arg4: tensor<?x?x4x64xf32>, %arg5: tensor<?x?x4x64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.constant"() <{value = dense<64> : tensor<1xi32>}> : () -> tensor<1xi32>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
    %5 = "stablehlo.constant"() <{value = dense<4> : tensor<1xi32>}> : () -> tensor<1xi32>
    %6 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %7 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %8 = "stablehlo.concatenate"(%6, %7, %5, %4, %3) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xi32>
    %9 = "stablehlo.dynamic_reshape"(%arg3, %8) : (tensor<?x?x4x64xf32>, tensor<5xi32>) -> tensor<?x?x4x1x64xf32>
    %10 = "stablehlo.dot_general"(%9, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<?x?x4x1x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x4x?x1x?xf32>
    %11 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %12 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %13 = "stablehlo.reshape"(%arg1) : (tensor<i32>) -> tensor<1xi32>
    %14 = "stablehlo.concatenate"(%11, %5, %12, %4, %13) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xi32>
    %15 = "stablehlo.dynamic_broadcast_in_dim"(%2, %14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<5xi32>) -> tensor<?x4x?x1x?xf32>
    %16 = "stablehlo.multiply"(%10, %15) : (tensor<?x4x?x1x?xf32>, tensor<?x4x?x1x?xf32>) -> tensor<?x4x?x1x?xf32>
    %17 = "stablehlo.reduce"(%16, %1) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %55 = "stablehlo.maximum"(%arg8, %arg9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%55) : (tensor<f32>) -> ()
    }) : (tensor<?x4x?x1x?xf32>, tensor<f32>) -> tensor<?x4x?x1xf32>
    %18 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %19 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %20 = "stablehlo.concatenate"(%18, %5, %19, %4) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %21 = "stablehlo.dynamic_broadcast_in_dim"(%1, %20) <{broadcast_dimensions = array<i64>}> : (tensor<f32>, tensor<4xi32>) -> tensor<?x4x?x1xf32>
    %22 = "stablehlo.maximum"(%21, %17) : (tensor<?x4x?x1xf32>, tensor<?x4x?x1xf32>) -> tensor<?x4x?x1xf32>
    %23 = "stablehlo.transpose"(%22) <{permutation = array<i64: 3, 0, 1, 2>}> : (tensor<?x4x?x1xf32>) -> tensor<1x?x4x?xf32>
    %24 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %25 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %26 = "stablehlo.concatenate"(%4, %24, %5, %25, %4) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xi32>
    %27 = "stablehlo.dynamic_broadcast_in_dim"(%23, %26) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x?x4x?xf32>, tensor<5xi32>) -> tensor<1x?x4x?x1xf32>
    %28 = "stablehlo.transpose"(%16) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<?x4x?x1x?xf32>) -> tensor<1x?x4x?x?xf32>
    %29 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %30 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %31 = "stablehlo.reshape"(%arg1) : (tensor<i32>) -> tensor<1xi32>
    %32 = "stablehlo.concatenate"(%4, %29, %5, %30, %31) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xi32>
    %33 = "stablehlo.dynamic_broadcast_in_dim"(%27, %32) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x?x4x?x1xf32>, tensor<5xi32>) -> tensor<1x?x4x?x?xf32>
    %34 = "stablehlo.subtract"(%28, %33) : (tensor<1x?x4x?x?xf32>, tensor<1x?x4x?x?xf32>) -> tensor<1x?x4x?x?xf32>
    %35 = "stablehlo.exponential"(%34) : (tensor<1x?x4x?x?xf32>) -> tensor<1x?x4x?x?xf32>
    %36 = "stablehlo.reduce"(%35, %0) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %54 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%54) : (tensor<f32>) -> ()
    }) : (tensor<1x?x4x?x?xf32>, tensor<f32>) -> tensor<1x?x4x?xf32>
    %37 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %38 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %39 = "stablehlo.concatenate"(%4, %37, %5, %38, %4) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xi32>
    %40 = "stablehlo.dynamic_broadcast_in_dim"(%36, %39) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x?x4x?xf32>, tensor<5xi32>) -> tensor<1x?x4x?x1xf32>
    %41 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %42 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %43 = "stablehlo.reshape"(%arg1) : (tensor<i32>) -> tensor<1xi32>
    %44 = "stablehlo.concatenate"(%4, %41, %5, %42, %43) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xi32>
    %45 = "stablehlo.dynamic_broadcast_in_dim"(%40, %44) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x?x4x?x1xf32>, tensor<5xi32>) -> tensor<1x?x4x?x?xf32>
    %46 = "stablehlo.divide"(%35, %45) : (tensor<1x?x4x?x?xf32>, tensor<1x?x4x?x?xf32>) -> tensor<1x?x4x?x?xf32>
    %47 = "stablehlo.dot_general"(%arg5, %46) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<?x?x4x64xf32>, tensor<1x?x4x?x?xf32>) -> tensor<?x4x64x1x?xf32>
    %48 = "stablehlo.transpose"(%47) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<?x4x64x1x?xf32>) -> tensor<1x?x?x4x64xf32>
    %49 = "stablehlo.transpose"(%48) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x?x?x4x64xf32>) -> tensor<?x?x4x1x64xf32>
    %50 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32>
    %51 = "stablehlo.reshape"(%arg2) : (tensor<i32>) -> tensor<1xi32>
    %52 = "stablehlo.concatenate"(%50, %51, %5, %3) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %53 = "stablehlo.dynamic_reshape"(%49, %52) : (tensor<?x?x4x1x64xf32>, tensor<4xi32>) -> tensor<?x?x4x64xf32>
    "func.return"(%53) : (tensor<?x?x4x64xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

