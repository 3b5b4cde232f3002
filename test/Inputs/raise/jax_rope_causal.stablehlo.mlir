// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_rope_causal"}> ({
  "func.func"() <{function_type = (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<2x128x4x64xf32>, %arg5: tensor<2x128x4x64xf32>, %arg6: tensor<2x128x4x64xf32>):
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %17 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %18 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %19 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.constant"() <{value = dense<3.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %21 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<128xi32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0>}> : (tensor<128xi32>) -> tensor<128x1xi32>
    %23 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
    %24 = "stablehlo.convert"(%23) : (tensor<32xi32>) -> tensor<32xf32>
    %25 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %26 = "stablehlo.divide"(%24, %25) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %27 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %28 = "stablehlo.power"(%27, %26) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %29 = "stablehlo.convert"(%22) : (tensor<128x1xi32>) -> tensor<128x1xf32>
    %30 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<1x32xf32>
    %31 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<128x1xf32>) -> tensor<128x32xf32>
    %32 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<128x32xf32>
    %33 = "stablehlo.divide"(%31, %32) : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<128x32xf32>
    %34 = "stablehlo.cosine"(%33) : (tensor<128x32xf32>) -> tensor<128x32xf32>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<128x32xf32>) -> tensor<1x128x1x32xf32>
    %36 = "stablehlo.sine"(%33) : (tensor<128x32xf32>) -> tensor<128x32xf32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<128x32xf32>) -> tensor<1x128x1x32xf32>
    %38 = "stablehlo.slice"(%arg4) <{limit_indices = array<i64: 2, 128, 4, 32>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x32xf32>
    %39 = "stablehlo.slice"(%arg4) <{limit_indices = array<i64: 2, 128, 4, 64>, start_indices = array<i64: 0, 0, 0, 32>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x32xf32>
    %40 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %41 = "stablehlo.multiply"(%38, %40) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %42 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %43 = "stablehlo.multiply"(%39, %42) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %44 = "stablehlo.subtract"(%41, %43) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %45 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %46 = "stablehlo.multiply"(%39, %45) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %47 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %48 = "stablehlo.multiply"(%38, %47) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %49 = "stablehlo.add"(%46, %48) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %50 = "stablehlo.concatenate"(%44, %49) <{dimension = 3 : i64}> : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x64xf32>
    %51 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<128xi32>
    %52 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64: 0>}> : (tensor<128xi32>) -> tensor<128x1xi32>
    %53 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
    %54 = "stablehlo.convert"(%53) : (tensor<32xi32>) -> tensor<32xf32>
    %55 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %56 = "stablehlo.divide"(%54, %55) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %57 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %58 = "stablehlo.power"(%57, %56) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %59 = "stablehlo.convert"(%52) : (tensor<128x1xi32>) -> tensor<128x1xf32>
    %60 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<1x32xf32>
    %61 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<128x1xf32>) -> tensor<128x32xf32>
    %62 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<128x32xf32>
    %63 = "stablehlo.divide"(%61, %62) : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<128x32xf32>
    %64 = "stablehlo.cosine"(%63) : (tensor<128x32xf32>) -> tensor<128x32xf32>
    %65 = "stablehlo.broadcast_in_dim"(%64) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<128x32xf32>) -> tensor<1x128x1x32xf32>
    %66 = "stablehlo.sine"(%63) : (tensor<128x32xf32>) -> tensor<128x32xf32>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<128x32xf32>) -> tensor<1x128x1x32xf32>
    %68 = "stablehlo.slice"(%arg5) <{limit_indices = array<i64: 2, 128, 4, 32>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x32xf32>
    %69 = "stablehlo.slice"(%arg5) <{limit_indices = array<i64: 2, 128, 4, 64>, start_indices = array<i64: 0, 0, 0, 32>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x32xf32>
    %70 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %71 = "stablehlo.multiply"(%68, %70) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %72 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %73 = "stablehlo.multiply"(%69, %72) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %74 = "stablehlo.subtract"(%71, %73) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %75 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %76 = "stablehlo.multiply"(%69, %75) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %77 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x128x1x32xf32>) -> tensor<2x128x4x32xf32>
    %78 = "stablehlo.multiply"(%68, %77) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %79 = "stablehlo.add"(%76, %78) : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x32xf32>
    %80 = "stablehlo.concatenate"(%74, %79) <{dimension = 3 : i64}> : (tensor<2x128x4x32xf32>, tensor<2x128x4x32xf32>) -> tensor<2x128x4x64xf32>
    %81 = "stablehlo.reshape"(%50) : (tensor<2x128x4x64xf32>) -> tensor<2x128x4x1x64xf32>
    %82 = "stablehlo.dot_general"(%81, %80) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>}> : (tensor<2x128x4x1x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x4x128x1x128xf32>
    %83 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x128x1x128xf32>
    %84 = "stablehlo.multiply"(%82, %83) : (tensor<2x4x128x1x128xf32>, tensor<2x4x128x1x128xf32>) -> tensor<2x4x128x1x128xf32>
    %85 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x4x128x128xi1>
    %86 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<128x128xi1>
    %87 = "func.call"(%86) <{callee = @tril}> : (tensor<128x128xi1>) -> tensor<128x128xi1>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<128x128xi1>) -> tensor<1x1x128x128xi1>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x128x128xi1>) -> tensor<2x4x128x128xi1>
    %90 = "stablehlo.and"(%85, %89) : (tensor<2x4x128x128xi1>, tensor<2x4x128x128xi1>) -> tensor<2x4x128x128xi1>
    %91 = "func.call"(%90, %84, %16) <{callee = @_where}> : (tensor<2x4x128x128xi1>, tensor<2x4x128x1x128xf32>, tensor<f32>) -> tensor<1x2x4x128x128xf32>
    %92 = "stablehlo.reduce"(%91, %15) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %108 = "stablehlo.maximum"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%108) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x128x128xf32>, tensor<f32>) -> tensor<1x2x4x128xf32>
    %93 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x4x128xf32>
    %94 = "stablehlo.maximum"(%93, %92) : (tensor<1x2x4x128xf32>, tensor<1x2x4x128xf32>) -> tensor<1x2x4x128xf32>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x128xf32>) -> tensor<1x2x4x128x1xf32>
    %96 = "stablehlo.broadcast_in_dim"(%95) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x128x1xf32>) -> tensor<1x2x4x128x128xf32>
    %97 = "stablehlo.subtract"(%91, %96) : (tensor<1x2x4x128x128xf32>, tensor<1x2x4x128x128xf32>) -> tensor<1x2x4x128x128xf32>
    %98 = "stablehlo.exponential"(%97) : (tensor<1x2x4x128x128xf32>) -> tensor<1x2x4x128x128xf32>
    %99 = "stablehlo.reduce"(%98, %14) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %107 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%107) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x128x128xf32>, tensor<f32>) -> tensor<1x2x4x128xf32>
    %100 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x128xf32>) -> tensor<1x2x4x128x1xf32>
    %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x128x1xf32>) -> tensor<1x2x4x128x128xf32>
    %102 = "stablehlo.divide"(%98, %101) : (tensor<1x2x4x128x128xf32>, tensor<1x2x4x128x128xf32>) -> tensor<1x2x4x128x128xf32>
    %103 = "stablehlo.dot_general"(%arg6, %102) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>}> : (tensor<2x128x4x64xf32>, tensor<1x2x4x128x128xf32>) -> tensor<2x4x64x1x128xf32>
    %104 = "stablehlo.transpose"(%103) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x4x64x1x128xf32>) -> tensor<1x2x128x4x64xf32>
    %105 = "stablehlo.transpose"(%104) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x128x4x64xf32>) -> tensor<2x128x4x1x64xf32>
    %106 = "stablehlo.reshape"(%105) : (tensor<2x128x4x1x64xf32>) -> tensor<2x128x4x64xf32>
    "func.return"(%106) : (tensor<2x128x4x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<128x128xi1>) -> tensor<128x128xi1>, sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<128x128xi1>):
    %5 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<128x128xi32>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<128x128xi32>
    %9 = "stablehlo.add"(%7, %8) : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi32>
    %10 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<128x128xi32>
    %11 = "stablehlo.compare"(%9, %10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>
    %12 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<128x128xi1>
    %13 = "stablehlo.select"(%11, %arg3, %12) : (tensor<128x128xi1>, tensor<128x128xi1>, tensor<128x128xi1>) -> tensor<128x128xi1>
    "func.return"(%13) : (tensor<128x128xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x128x128xi1>, tensor<2x4x128x1x128xf32>, tensor<f32>) -> tensor<1x2x4x128x128xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x4x128x128xi1>, %arg1: tensor<2x4x128x1x128xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x128x128xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x4x128x128xi1>) -> tensor<1x2x4x128x128xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x4x128x128xf32>) -> tensor<1x2x4x128x128xf32>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x4x128x1x128xf32>) -> tensor<1x2x4x128x128xf32>
    %4 = "stablehlo.select"(%1, %3, %2) : (tensor<1x2x4x128x128xi1>, tensor<1x2x4x128x128xf32>, tensor<1x2x4x128x128xf32>) -> tensor<1x2x4x128x128xf32>
    "func.return"(%4) : (tensor<1x2x4x128x128xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

