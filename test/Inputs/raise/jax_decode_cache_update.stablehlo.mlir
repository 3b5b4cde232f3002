// from jax-0.10.2-generic | fa.attention expected: 1
"builtin.module"() <{sym_name = "jit_jax_decode_cache_update"}> ({
  "func.func"() <{function_type = (tensor<1x1x8x64xf32>, tensor<1x256x8x64xf32>, tensor<1x256x8x64xf32>, tensor<1x1x8x64xf32>, tensor<1x1x8x64xf32>, tensor<i32>) -> tensor<1x1x8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<1x1x8x64xf32>, %arg4: tensor<1x256x8x64xf32>, %arg5: tensor<1x256x8x64xf32>, %arg6: tensor<1x1x8x64xf32>, %arg7: tensor<1x1x8x64xf32>, %arg8: tensor<i32>):
    %4 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.constant"() <{value = dense<-1.000000e+30> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.constant"() <{value = dense<256> : tensor<i32>}> : () -> tensor<i32>
    %9 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %10 = "stablehlo.compare"(%arg8, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = "stablehlo.add"(%arg8, %8) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %12 = "stablehlo.select"(%10, %11, %arg8) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %13 = "stablehlo.dynamic_update_slice"(%arg4, %arg6, %9, %12, %9, %9) : (tensor<1x256x8x64xf32>, tensor<1x1x8x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x8x64xf32>
    %14 = "stablehlo.compare"(%arg8, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %15 = "stablehlo.add"(%arg8, %8) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %16 = "stablehlo.select"(%14, %15, %arg8) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %17 = "stablehlo.dynamic_update_slice"(%arg5, %arg7, %9, %16, %9, %9) : (tensor<1x256x8x64xf32>, tensor<1x1x8x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x8x64xf32>
    %18 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<256xi32>
    %19 = "stablehlo.broadcast_in_dim"(%arg8) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<256xi32>
    %20 = "stablehlo.compare"(%18, %19) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<256xi32>, tensor<256xi32>) -> tensor<256xi1>
    %21 = "stablehlo.dot_general"(%arg3, %13) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<1x1x8x64xf32>, tensor<1x256x8x64xf32>) -> tensor<1x8x1x256xf32>
    %22 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x8x1x256xf32>
    %23 = "stablehlo.multiply"(%21, %22) : (tensor<1x8x1x256xf32>, tensor<1x8x1x256xf32>) -> tensor<1x8x1x256xf32>
    %24 = "func.call"(%20, %23, %6) <{callee = @_where}> : (tensor<256xi1>, tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1x256xf32>
    %25 = "stablehlo.reduce"(%24, %5) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %39 = "stablehlo.maximum"(%arg11, %arg12) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%39) : (tensor<f32>) -> ()
    }) : (tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1xf32>
    %26 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x8x1xf32>
    %27 = "stablehlo.maximum"(%26, %25) : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x1xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x8x1xf32>) -> tensor<1x8x1x1xf32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x256xf32>
    %30 = "stablehlo.subtract"(%24, %29) : (tensor<1x8x1x256xf32>, tensor<1x8x1x256xf32>) -> tensor<1x8x1x256xf32>
    %31 = "stablehlo.exponential"(%30) : (tensor<1x8x1x256xf32>) -> tensor<1x8x1x256xf32>
    %32 = "stablehlo.reduce"(%31, %4) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %38 = "stablehlo.add"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%38) : (tensor<f32>) -> ()
    }) : (tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1xf32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x8x1xf32>) -> tensor<1x8x1x1xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x256xf32>
    %35 = "stablehlo.divide"(%31, %34) : (tensor<1x8x1x256xf32>, tensor<1x8x1x256xf32>) -> tensor<1x8x1x256xf32>
    %36 = "stablehlo.dot_general"(%17, %35) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<1x256x8x64xf32>, tensor<1x8x1x256xf32>) -> tensor<1x8x64x1xf32>
    %37 = "stablehlo.transpose"(%36) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<1x8x64x1xf32>) -> tensor<1x1x8x64xf32>
    "func.return"(%37) : (tensor<1x1x8x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<256xi1>, tensor<1x8x1x256xf32>, tensor<f32>) -> tensor<1x8x1x256xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<256xi1>, %arg1: tensor<1x8x1x256xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 3>}> : (tensor<256xi1>) -> tensor<1x8x1x256xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x8x1x256xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<1x8x1x256xi1>, tensor<1x8x1x256xf32>, tensor<1x8x1x256xf32>) -> tensor<1x8x1x256xf32>
    "func.return"(%3) : (tensor<1x8x1x256xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

