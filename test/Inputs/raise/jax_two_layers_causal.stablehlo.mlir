// from jax-0.10.2-generic | fa.attention expected: 2
"builtin.module"() <{sym_name = "jit_jax_two_layers_causal"}> ({
  "func.func"() <{function_type = (tensor<2x64x32xf32>, tensor<32x96xf32>, tensor<32x32xf32>, tensor<32x96xf32>, tensor<32x32xf32>) -> tensor<2x64x32xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<2x64x32xf32>, %arg5: tensor<32x96xf32>, %arg6: tensor<32x32xf32>, %arg7: tensor<32x96xf32>, %arg8: tensor<32x32xf32>):
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %17 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %18 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %19 = "stablehlo.dot_general"(%arg4, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x64x32xf32>, tensor<32x96xf32>) -> tensor<2x64x96xf32>
    %20 = "stablehlo.reshape"(%19) : (tensor<2x64x96xf32>) -> tensor<2x64x3x2x16xf32>
    %21 = "stablehlo.slice"(%20) <{limit_indices = array<i64: 2, 64, 1, 2, 16>, start_indices = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x64x3x2x16xf32>) -> tensor<2x64x1x2x16xf32>
    %22 = "stablehlo.slice"(%20) <{limit_indices = array<i64: 2, 64, 2, 2, 16>, start_indices = array<i64: 0, 0, 1, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x64x3x2x16xf32>) -> tensor<2x64x1x2x16xf32>
    %23 = "stablehlo.slice"(%20) <{limit_indices = array<i64: 2, 64, 3, 2, 16>, start_indices = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x64x3x2x16xf32>) -> tensor<2x64x1x2x16xf32>
    %24 = "stablehlo.reshape"(%21) : (tensor<2x64x1x2x16xf32>) -> tensor<2x64x2x16xf32>
    %25 = "stablehlo.reshape"(%22) : (tensor<2x64x1x2x16xf32>) -> tensor<2x64x2x16xf32>
    %26 = "stablehlo.reshape"(%23) : (tensor<2x64x1x2x16xf32>) -> tensor<2x64x2x16xf32>
    %27 = "stablehlo.reshape"(%24) : (tensor<2x64x2x16xf32>) -> tensor<2x64x2x1x16xf32>
    %28 = "stablehlo.dot_general"(%27, %25) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<2x64x2x1x16xf32>, tensor<2x64x2x16xf32>) -> tensor<2x2x64x1x64xf32>
    %29 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x64x1x64xf32>
    %30 = "stablehlo.multiply"(%28, %29) : (tensor<2x2x64x1x64xf32>, tensor<2x2x64x1x64xf32>) -> tensor<2x2x64x1x64xf32>
    %31 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x2x64x64xi1>
    %32 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<64x64xi1>
    %33 = "func.call"(%32) <{callee = @tril}> : (tensor<64x64xi1>) -> tensor<64x64xi1>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<64x64xi1>) -> tensor<1x1x64x64xi1>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x64x64xi1>) -> tensor<2x2x64x64xi1>
    %36 = "stablehlo.and"(%31, %35) : (tensor<2x2x64x64xi1>, tensor<2x2x64x64xi1>) -> tensor<2x2x64x64xi1>
    %37 = "func.call"(%36, %30, %16) <{callee = @_where}> : (tensor<2x2x64x64xi1>, tensor<2x2x64x1x64xf32>, tensor<f32>) -> tensor<1x2x2x64x64xf32>
    %38 = "stablehlo.reduce"(%37, %15) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %96 = "stablehlo.maximum"(%arg15, %arg16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%96) : (tensor<f32>) -> ()
    }) : (tensor<1x2x2x64x64xf32>, tensor<f32>) -> tensor<1x2x2x64xf32>
    %39 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x2x64xf32>
    %40 = "stablehlo.maximum"(%39, %38) : (tensor<1x2x2x64xf32>, tensor<1x2x2x64xf32>) -> tensor<1x2x2x64xf32>
    %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x2x64xf32>) -> tensor<1x2x2x64x1xf32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x2x64x1xf32>) -> tensor<1x2x2x64x64xf32>
    %43 = "stablehlo.subtract"(%37, %42) : (tensor<1x2x2x64x64xf32>, tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %44 = "stablehlo.exponential"(%43) : (tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %45 = "stablehlo.reduce"(%44, %14) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %95 = "stablehlo.add"(%arg13, %arg14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%95) : (tensor<f32>) -> ()
    }) : (tensor<1x2x2x64x64xf32>, tensor<f32>) -> tensor<1x2x2x64xf32>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x2x64xf32>) -> tensor<1x2x2x64x1xf32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x2x64x1xf32>) -> tensor<1x2x2x64x64xf32>
    %48 = "stablehlo.divide"(%44, %47) : (tensor<1x2x2x64x64xf32>, tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %49 = "stablehlo.dot_general"(%26, %48) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x64x2x16xf32>, tensor<1x2x2x64x64xf32>) -> tensor<2x2x16x1x64xf32>
    %50 = "stablehlo.transpose"(%49) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x2x16x1x64xf32>) -> tensor<1x2x64x2x16xf32>
    %51 = "stablehlo.transpose"(%50) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x64x2x16xf32>) -> tensor<2x64x2x1x16xf32>
    %52 = "stablehlo.reshape"(%51) : (tensor<2x64x2x1x16xf32>) -> tensor<2x64x2x16xf32>
    %53 = "stablehlo.reshape"(%52) : (tensor<2x64x2x16xf32>) -> tensor<2x64x32xf32>
    %54 = "stablehlo.dot_general"(%53, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x64x32xf32>, tensor<32x32xf32>) -> tensor<2x64x32xf32>
    %55 = "stablehlo.add"(%arg4, %54) : (tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
    %56 = "stablehlo.dot_general"(%55, %arg7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x64x32xf32>, tensor<32x96xf32>) -> tensor<2x64x96xf32>
    %57 = "stablehlo.reshape"(%56) : (tensor<2x64x96xf32>) -> tensor<2x64x3x2x16xf32>
    %58 = "stablehlo.slice"(%57) <{limit_indices = array<i64: 2, 64, 1, 2, 16>, start_indices = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x64x3x2x16xf32>) -> tensor<2x64x1x2x16xf32>
    %59 = "stablehlo.slice"(%57) <{limit_indices = array<i64: 2, 64, 2, 2, 16>, start_indices = array<i64: 0, 0, 1, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x64x3x2x16xf32>) -> tensor<2x64x1x2x16xf32>
    %60 = "stablehlo.slice"(%57) <{limit_indices = array<i64: 2, 64, 3, 2, 16>, start_indices = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x64x3x2x16xf32>) -> tensor<2x64x1x2x16xf32>
    %61 = "stablehlo.reshape"(%58) : (tensor<2x64x1x2x16xf32>) -> tensor<2x64x2x16xf32>
    %62 = "stablehlo.reshape"(%59) : (tensor<2x64x1x2x16xf32>) -> tensor<2x64x2x16xf32>
    %63 = "stablehlo.reshape"(%60) : (tensor<2x64x1x2x16xf32>) -> tensor<2x64x2x16xf32>
    %64 = "stablehlo.reshape"(%61) : (tensor<2x64x2x16xf32>) -> tensor<2x64x2x1x16xf32>
    %65 = "stablehlo.dot_general"(%64, %62) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<2x64x2x1x16xf32>, tensor<2x64x2x16xf32>) -> tensor<2x2x64x1x64xf32>
    %66 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x64x1x64xf32>
    %67 = "stablehlo.multiply"(%65, %66) : (tensor<2x2x64x1x64xf32>, tensor<2x2x64x1x64xf32>) -> tensor<2x2x64x1x64xf32>
    %68 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x2x64x64xi1>
    %69 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<64x64xi1>
    %70 = "func.call"(%69) <{callee = @tril}> : (tensor<64x64xi1>) -> tensor<64x64xi1>
    %71 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<64x64xi1>) -> tensor<1x1x64x64xi1>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x64x64xi1>) -> tensor<2x2x64x64xi1>
    %73 = "stablehlo.and"(%68, %72) : (tensor<2x2x64x64xi1>, tensor<2x2x64x64xi1>) -> tensor<2x2x64x64xi1>
    %74 = "func.call"(%73, %67, %16) <{callee = @_where}> : (tensor<2x2x64x64xi1>, tensor<2x2x64x1x64xf32>, tensor<f32>) -> tensor<1x2x2x64x64xf32>
    %75 = "stablehlo.reduce"(%74, %15) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %94 = "stablehlo.maximum"(%arg11, %arg12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%94) : (tensor<f32>) -> ()
    }) : (tensor<1x2x2x64x64xf32>, tensor<f32>) -> tensor<1x2x2x64xf32>
    %76 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x2x64xf32>
    %77 = "stablehlo.maximum"(%76, %75) : (tensor<1x2x2x64xf32>, tensor<1x2x2x64xf32>) -> tensor<1x2x2x64xf32>
    %78 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x2x64xf32>) -> tensor<1x2x2x64x1xf32>
    %79 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x2x64x1xf32>) -> tensor<1x2x2x64x64xf32>
    %80 = "stablehlo.subtract"(%74, %79) : (tensor<1x2x2x64x64xf32>, tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %81 = "stablehlo.exponential"(%80) : (tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %82 = "stablehlo.reduce"(%81, %14) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %93 = "stablehlo.add"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%93) : (tensor<f32>) -> ()
    }) : (tensor<1x2x2x64x64xf32>, tensor<f32>) -> tensor<1x2x2x64xf32>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x2x64xf32>) -> tensor<1x2x2x64x1xf32>
    %84 = "stablehlo.broadcast_in_dim"(%83) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x2x64x1xf32>) -> tensor<1x2x2x64x64xf32>
    %85 = "stablehlo.divide"(%81, %84) : (tensor<1x2x2x64x64xf32>, tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %86 = "stablehlo.dot_general"(%63, %85) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x64x2x16xf32>, tensor<1x2x2x64x64xf32>) -> tensor<2x2x16x1x64xf32>
    %87 = "stablehlo.transpose"(%86) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x2x16x1x64xf32>) -> tensor<1x2x64x2x16xf32>
    %88 = "stablehlo.transpose"(%87) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x64x2x16xf32>) -> tensor<2x64x2x1x16xf32>
    %89 = "stablehlo.reshape"(%88) : (tensor<2x64x2x1x16xf32>) -> tensor<2x64x2x16xf32>
    %90 = "stablehlo.reshape"(%89) : (tensor<2x64x2x16xf32>) -> tensor<2x64x32xf32>
    %91 = "stablehlo.dot_general"(%90, %arg8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x64x32xf32>, tensor<32x32xf32>) -> tensor<2x64x32xf32>
    %92 = "stablehlo.add"(%55, %91) : (tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
    "func.return"(%92) : (tensor<2x64x32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<64x64xi1>) -> tensor<64x64xi1>, sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<64x64xi1>):
    %5 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<64x64xi32>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<64x64xi32>
    %9 = "stablehlo.add"(%7, %8) : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi32>
    %10 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<64x64xi32>
    %11 = "stablehlo.compare"(%9, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    %12 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<64x64xi1>
    %13 = "stablehlo.select"(%11, %arg3, %12) : (tensor<64x64xi1>, tensor<64x64xi1>, tensor<64x64xi1>) -> tensor<64x64xi1>
    "func.return"(%13) : (tensor<64x64xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x2x64x64xi1>, tensor<2x2x64x1x64xf32>, tensor<f32>) -> tensor<1x2x2x64x64xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x2x64x64xi1>, %arg1: tensor<2x2x64x1x64xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x64x64xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x64x64xi1>) -> tensor<1x2x2x64x64xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x2x64x1x64xf32>) -> tensor<1x2x2x64x64xf32>
    %4 = "stablehlo.select"(%1, %3, %2) : (tensor<1x2x2x64x64xi1>, tensor<1x2x2x64x64xf32>, tensor<1x2x2x64x64xf32>) -> tensor<1x2x2x64x64xf32>
    "func.return"(%4) : (tensor<1x2x2x64x64xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

