// Written by hand: every operation that fa-import-stablehlo takes and NumPy defines too, returned one by one.
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<2xi32>, tensor<i32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xbf16>, tensor<3x5xi64>, tensor<3x5xi8>, tensor<3x5xi32>, tensor<3x5xf32>, tensor<5x3xf32>, tensor<1x3x1x5x1xf32>, tensor<15xf32>, tensor<5x3xf32>, tensor<3x2x5xf32>, tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x5xf32>, tensor<3x15xf32>, tensor<4xi32>, tensor<6x7xf32>, tensor<3x3xf32>, tensor<5x3x3xf32>, tensor<i32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i32>, tensor<3x5xf32>), sym_name = "main"}> ({
  ^bb0(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>, %i: tensor<3x5xi32>, %j: tensor<3x5xi32>, %m: tensor<3x5xi1>, %n: tensor<3x5xi1>, %v: tensor<2xi32>, %k: tensor<i32>):
  %h = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %u = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
  %w = "stablehlo.constant"() <{value = dense<20> : tensor<i32>}> : () -> tensor<i32>
  %0 = "stablehlo.abs"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = "stablehlo.cbrt"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = "stablehlo.ceil"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %3 = "stablehlo.cosine"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %4 = "stablehlo.exponential"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %5 = "stablehlo.exponential_minus_one"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %6 = "stablehlo.floor"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %7 = "stablehlo.is_finite"(%x) : (tensor<3x5xf32>) -> tensor<3x5xi1>
  %8 = "stablehlo.log"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %9 = "stablehlo.log_plus_one"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %10 = "stablehlo.logistic"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %11 = "stablehlo.negate"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %12 = "stablehlo.round_nearest_afz"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %13 = "stablehlo.round_nearest_even"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %14 = "stablehlo.rsqrt"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %15 = "stablehlo.sign"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %16 = "stablehlo.sine"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %17 = "stablehlo.sqrt"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %18 = "stablehlo.tan"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %19 = "stablehlo.tanh"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %20 = "stablehlo.add"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %21 = "stablehlo.atan2"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %22 = "stablehlo.divide"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %23 = "stablehlo.maximum"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %24 = "stablehlo.minimum"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %25 = "stablehlo.multiply"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %26 = "stablehlo.power"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %27 = "stablehlo.remainder"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %28 = "stablehlo.subtract"(%x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %29 = "stablehlo.add"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %30 = "stablehlo.and"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %31 = "stablehlo.divide"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %32 = "stablehlo.maximum"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %33 = "stablehlo.minimum"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %34 = "stablehlo.multiply"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %35 = "stablehlo.or"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %36 = "stablehlo.remainder"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %37 = "stablehlo.shift_left"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %38 = "stablehlo.shift_right_arithmetic"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %39 = "stablehlo.subtract"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %40 = "stablehlo.xor"(%i, %j) : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi32>
  %41 = "stablehlo.abs"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi32>
  %42 = "stablehlo.negate"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi32>
  %43 = "stablehlo.not"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi32>
  %44 = "stablehlo.sign"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi32>
  %45 = "stablehlo.add"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %46 = "stablehlo.and"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %47 = "stablehlo.maximum"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %48 = "stablehlo.minimum"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %49 = "stablehlo.multiply"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %50 = "stablehlo.or"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %51 = "stablehlo.xor"(%m, %n) : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %52 = "stablehlo.not"(%m) : (tensor<3x5xi1>) -> tensor<3x5xi1>
  %53 = "chlo.erf"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %54 = "chlo.square"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %55 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
  %56 = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %57 = "stablehlo.compare"(%m, %n) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %58 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
  %59 = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %60 = "stablehlo.compare"(%m, %n) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %61 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
  %62 = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %63 = "stablehlo.compare"(%m, %n) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %64 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
  %65 = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %66 = "stablehlo.compare"(%m, %n) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %67 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
  %68 = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %69 = "stablehlo.compare"(%m, %n) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %70 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
  %71 = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
  %72 = "stablehlo.compare"(%m, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<3x5xi1>, tensor<3x5xi1>) -> tensor<3x5xi1>
  %73 = "stablehlo.select"(%m, %x, %y) : (tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %74 = "stablehlo.clamp"(%y, %x, %y) : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %75 = "stablehlo.convert"(%x) : (tensor<3x5xf32>) -> tensor<3x5xi32>
  %76 = "stablehlo.convert"(%i) : (tensor<3x5xi32>) -> tensor<3x5xf32>
  %77 = "stablehlo.convert"(%m) : (tensor<3x5xi1>) -> tensor<3x5xf32>
  %78 = "stablehlo.convert"(%m) : (tensor<3x5xi1>) -> tensor<3x5xi32>
  %79 = "stablehlo.convert"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi1>
  %80 = "stablehlo.convert"(%x) : (tensor<3x5xf32>) -> tensor<3x5xi1>
  %81 = "stablehlo.convert"(%x) : (tensor<3x5xf32>) -> tensor<3x5xbf16>
  %82 = "stablehlo.convert"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi64>
  %83 = "stablehlo.convert"(%i) : (tensor<3x5xi32>) -> tensor<3x5xi8>
  %84 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x5xi32>
  %85 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3x5xf32>
  %86 = "stablehlo.reshape"(%x) : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %87 = "stablehlo.reshape"(%x) : (tensor<3x5xf32>) -> tensor<1x3x1x5x1xf32>
  %88 = "stablehlo.reshape"(%x) : (tensor<3x5xf32>) -> tensor<15xf32>
  %89 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %90 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<3x5xf32>) -> tensor<3x2x5xf32>
  %91 = "stablehlo.slice"(%x) <{start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 4>, strides = array<i64: 1, 2>}> : (tensor<3x5xf32>) -> tensor<2x2xf32>
  %92 = "stablehlo.dynamic_slice"(%x, %k, %k) <{slice_sizes = array<i64: 2, 3>}> : (tensor<3x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %93 = "stablehlo.dynamic_update_slice"(%y, %92, %k, %k) : (tensor<3x5xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<3x5xf32>
  %94 = "stablehlo.concatenate"(%x, %y, %x) <{dimension = 1 : i64}> : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x15xf32>
  %95 = "stablehlo.concatenate"(%v, %v) <{dimension = 0 : i64}> : (tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
  %96 = "stablehlo.pad"(%x, %h) <{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 2, 2>, interior_padding = array<i64: 0, 0>}> : (tensor<3x5xf32>, tensor<f32>) -> tensor<6x7xf32>
  %97 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x3xf32>
  %98 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [1]>}> : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<5x3x3xf32>
  %99 = "stablehlo.dot_general"(%i, %j) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>}> : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<i32>
  %100 = "stablehlo.reduce"(%x, %h) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<5xf32>
  %101 = "stablehlo.reduce"(%x, %h) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.multiply"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<5xf32>
  %102 = "stablehlo.reduce"(%x, %h) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<5xf32>
  %103 = "stablehlo.reduce"(%x, %h) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.minimum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<5xf32>
  %104:2 = "stablehlo.while"(%k, %x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<3x5xf32>):
    %c = "stablehlo.compare"(%a, %w) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<3x5xf32>):
    %c = "stablehlo.add"(%a, %u) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %d = "stablehlo.add"(%b, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    "stablehlo.return"(%c, %d) : (tensor<i32>, tensor<3x5xf32>) -> ()
  }) : (tensor<i32>, tensor<3x5xf32>) -> (tensor<i32>, tensor<3x5xf32>)
  "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104#0, %104#1) : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xi1>, tensor<3x5xi1>, tensor<3x5xbf16>, tensor<3x5xi64>, tensor<3x5xi8>, tensor<3x5xi32>, tensor<3x5xf32>, tensor<5x3xf32>, tensor<1x3x1x5x1xf32>, tensor<15xf32>, tensor<5x3xf32>, tensor<3x2x5xf32>, tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x5xf32>, tensor<3x15xf32>, tensor<4xi32>, tensor<6x7xf32>, tensor<3x3xf32>, tensor<5x3x3xf32>, tensor<i32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i32>, tensor<3x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
