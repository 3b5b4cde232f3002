// RUN: fa-opt %s --allow-unregistered-dialect --fa-import-stablehlo --split-input-file | FileCheck %s
// What is imported needs no unregistered dialect.
// RUN: fa-opt %s --allow-unregistered-dialect --fa-import-stablehlo --split-input-file | fa-opt --split-input-file -o /dev/null

// Products of bf16 with the sums that `algorithm` names; without it sums are of f32 and rounded.
// CHECK-DAG: #[[$Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[$K:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
// CHECK-DAG: #[[$S:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-LABEL: @dot_general
func.func @dot_general(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x32x4x16xbf16>) -> (tensor<2x4x8x32xf32>, tensor<2x4x8x32xbf16>) {
  // CHECK: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x4x8x32xf32>)
  // CHECK: %[[FIRST:.*]] = linalg.generic {indexing_maps = [#[[$Q]], #[[$K]], #[[$S]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
  // CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<2x8x4x16xbf16>, tensor<2x32x4x16xbf16>) outs(%[[ZEROS]] : tensor<2x4x8x32xf32>)
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.mulf
  // CHECK: arith.addf %{{.*}} : f32
  %0 = "stablehlo.dot_general"(%q, %k) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x8x4x16xbf16>, tensor<2x32x4x16xbf16>) -> tensor<2x4x8x32xf32>
  // CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x4x8x32xf32>)
  // CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<2x4x8x32xf32>) outs(%{{.*}} : tensor<2x4x8x32xbf16>)
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %1 = "stablehlo.dot_general"(%q, %k) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>} : (tensor<2x8x4x16xbf16>, tensor<2x32x4x16xbf16>) -> tensor<2x4x8x32xbf16>
  // CHECK: return %[[FIRST]], %[[SECOND]]
  return %0, %1 : tensor<2x4x8x32xf32>, tensor<2x4x8x32xbf16>
}

// Operands are rounded to the algorithm's types.
// CHECK-LABEL: @rounded_operands
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.truncf %[[A]] : f32 to bf16
// CHECK-NEXT: arith.extf
// CHECK-NEXT: arith.truncf %[[B]] : f32 to bf16
func.func @rounded_operands(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// A reduction begins with its initial value; several results are one generic.
// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  // CHECK: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[INIT:.*]] = linalg.fill ins(%[[LOWEST]] : f32)
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4x8xf32>) outs(%[[INIT]] : tensor<4xf32>)
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[MAX:.*]]: f32):
  // CHECK-NEXT: arith.maximumf %[[MAX]], %[[X]]
  %lowest = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %0 = "stablehlo.reduce"(%x, %lowest) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%3) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xi32>) outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi32>)
  // CHECK: arith.cmpf oge
  // CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, i32
  %1:2 = "stablehlo.reduce"(%x, %i, %lowest, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %m: tensor<i32>, %b: tensor<f32>, %n: tensor<i32>):
    %3 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = "stablehlo.select"(%3, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.select"(%3, %m, %n) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%4, %5) : (tensor<f32>, tensor<i32>) -> ()
  }) : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %0, %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK-LABEL: @broadcast
func.func @broadcast(%x: tensor<4x1xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xi1>) {
  // CHECK: linalg.generic {indexing_maps = [#[[$ROW]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel"]} ins(%{{.*}} : tensor<4x1xf32>) outs(%{{.*}} : tensor<2x4x8xf32>)
  // CHECK: %[[TRUE:.*]] = arith.constant true
  // CHECK: linalg.fill ins(%[[TRUE]] : i1) outs(%{{.*}} : tensor<2x4xi1>)
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<4x1xf32>) -> tensor<2x4x8xf32>
  %true = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %1 = "stablehlo.broadcast_in_dim"(%true) <{broadcast_dimensions = dense<> : tensor<0xi64>}> : (tensor<i1>) -> tensor<2x4xi1>
  return %0, %1 : tensor<2x4x8xf32>, tensor<2x4xi1>
}

// -----

// CHECK-LABEL: @reshape
func.func @reshape(%x: tensor<2x8x4x16xf32>, %y: tensor<6x4xf32>) -> (tensor<2x8x2x1x2x16xf32>, tensor<8x3xf32>, tensor<1x1xf32>, tensor<4x16x2x8xf32>) {
  // CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1], [2, 3, 4], [5]]
  %0 = "stablehlo.reshape"(%x) : (tensor<2x8x4x16xf32>) -> tensor<2x8x2x1x2x16xf32>
  // CHECK: %[[ALL:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  // CHECK: tensor.expand_shape %[[ALL]] {{\[}}[0, 1]] output_shape [8, 3]
  %1 = "stablehlo.reshape"(%y) : (tensor<6x4xf32>) -> tensor<8x3xf32>
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: tensor.expand_shape %{{.*}} [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %2 = "stablehlo.reshape"(%one) : (tensor<f32>) -> tensor<1x1xf32>
  // CHECK: linalg.transpose ins(%{{.*}} : tensor<2x8x4x16xf32>) outs(%{{.*}} : tensor<4x16x2x8xf32>) permutation = [2, 3, 0, 1]
  %3 = "stablehlo.transpose"(%x) <{permutation = array<i64: 2, 3, 0, 1>}> : (tensor<2x8x4x16xf32>) -> tensor<4x16x2x8xf32>
  return %0, %1, %2, %3 : tensor<2x8x2x1x2x16xf32>, tensor<8x3xf32>, tensor<1x1xf32>, tensor<4x16x2x8xf32>
}

// -----

// CHECK-LABEL: @slices
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>, %[[I:.*]]: tensor<i32>
func.func @slices(%x: tensor<8x4xf32>, %i: tensor<i32>) -> (tensor<3x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<11x4xf32>, tensor<9x7xf32>) {
  // CHECK: %[[INTEGER:.*]] = tensor.extract %[[I]][] : tensor<i32>
  // CHECK: %[[START:.*]] = arith.index_cast %[[INTEGER]] : i32 to index
  // CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][1, 0] [3, 4] [2, 1]
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 1, 0>, limit_indices = array<i64: 7, 4>, strides = array<i64: 2, 1>}> : (tensor<8x4xf32>) -> tensor<3x4xf32>
  // The start is moved into the tensor.
  // CHECK: %[[LOW:.*]] = arith.maxsi %[[START]], %c0{{.*}} : index
  // CHECK: %[[IN:.*]] = arith.minsi %[[LOW]], %c6{{.*}} : index
  // CHECK: %[[TWO:.*]] = tensor.extract_slice %[[X]][%[[IN]], 0] [2, 4] [1, 1]
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %1 = "stablehlo.dynamic_slice"(%x, %i, %zero) <{slice_sizes = array<i64: 2, 4>}> : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  // CHECK: tensor.insert_slice %[[TWO]] into %[[X]][%{{.*}}, 0] [2, 4] [1, 1]
  %2 = "stablehlo.dynamic_update_slice"(%x, %1, %i, %zero) : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  // CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[X]] into %{{.*}}[0, 0] [8, 4] [1, 1]
  // CHECK: tensor.insert_slice %[[PART]] into %[[FIRST]][8, 0] [3, 4] [1, 1]
  %3 = "stablehlo.concatenate"(%x, %0) <{dimension = 0 : i64}> : (tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<11x4xf32>
  // CHECK: tensor.pad %[[X]] low[0, 1] high[1, 2]
  %half = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %4 = "stablehlo.pad"(%x, %half) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 1, 2>, interior_padding = array<i64: 0, 0>}> : (tensor<8x4xf32>, tensor<f32>) -> tensor<9x7xf32>
  return %0, %1, %2, %3, %4 : tensor<3x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<11x4xf32>, tensor<9x7xf32>
}

// -----

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<4xf32>, %i: tensor<4xi32>, %m: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xi1>) {
  // CHECK: linalg.index 0
  // CHECK: arith.index_cast %{{.*}} : index to i32
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
  // CHECK: arith.cmpi slt
  %0 = "stablehlo.compare"(%iota, %i) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: arith.cmpi ult
  %1 = "stablehlo.compare"(%iota, %i) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // Sums of booleans are disjunctions.
  // CHECK: arith.ori %{{.*}} : i1
  %2 = "stablehlo.add"(%0, %m) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: arith.andi %{{.*}} : i1
  %3 = "stablehlo.and"(%1, %2) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: arith.uitofp %{{.*}} : i1 to f32
  %4 = "stablehlo.convert"(%3) : (tensor<4xi1>) -> tensor<4xf32>
  // CHECK: math.tanh
  %5 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: arith.mulf
  %6 = "stablehlo.multiply"(%4, %5) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: math.erf
  %7 = "chlo.erf"(%6) : (tensor<4xf32>) -> tensor<4xf32>
  // A divisor of 0 gives -1, and nothing traps.
  // CHECK: %[[SAFE:.*]] = arith.select
  // CHECK: arith.divsi %{{.*}}, %[[SAFE]] : i32
  %8 = "stablehlo.divide"(%iota, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: math.isfinite
  %9 = "stablehlo.is_finite"(%7) : (tensor<4xf32>) -> tensor<4xi1>
  return %7, %8, %9 : tensor<4xf32>, tensor<4xi32>, tensor<4xi1>
}

// -----

// Numbers of rank 0 are computed as scalars; a condition may be one of them.
// CHECK-LABEL: @scalars
// CHECK-SAME: %[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>
// CHECK-DAG: %[[X:.*]] = tensor.extract %[[A]][] : tensor<f32>
// CHECK-DAG: %[[Y:.*]] = tensor.extract %[[B]][] : tensor<f32>
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[X]], %[[Y]] : f32
// CHECK: %[[CONDITION:.*]] = tensor.from_elements %[[LESS]] : tensor<i1>
// CHECK: linalg.generic {{.*}} ins(%[[CONDITION]], %{{.*}}, %{{.*}} : tensor<i1>, tensor<4xf32>, tensor<4xf32>)
func.func @scalars(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %1 = "stablehlo.select"(%0, %x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Calls are inlined, private functions go, and so do attributes of other dialects.
// CHECK: module @calls {
// CHECK-NEXT: func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NOT: func.call
// CHECK: math.exp
// CHECK-NOT: @exponentials
module @calls attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<4xf32> {jax.arg_info = "x"}) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %0 = func.call @exponentials(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @exponentials(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.optimization_barrier"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: @counted
// CHECK: %[[RESULT:.*]] = scf.for %{{.*}} = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%[[X:.*]] = %{{.*}}) -> (tensor<4xf32>)
// CHECK: math.exp
// CHECK: return %[[RESULT]]
func.func @counted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %three = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
  %0:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %y: tensor<4xf32>):
    %1 = "stablehlo.compare"(%i, %three) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %y: tensor<4xf32>):
    %1 = "stablehlo.exponential"(%y) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%2, %1) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}

// -----

// A loop whose bound it carries counts no known number of times.
// CHECK-LABEL: @carried_bound
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, i32) -> (i32, i32)
func.func @carried_bound(%n: tensor<i32>) -> tensor<i32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %0:2 = "stablehlo.while"(%zero, %n) ({
  ^bb0(%i: tensor<i32>, %m: tensor<i32>):
    %1 = "stablehlo.compare"(%i, %m) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %m: tensor<i32>):
    %1 = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = "stablehlo.subtract"(%m, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%1, %2) : (tensor<i32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %0#0 : tensor<i32>
}

// -----

// CHECK-LABEL: @until
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: scf.condition
func.func @until(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    %bound = "stablehlo.constant"() <{value = dense<9.0> : tensor<f32>}> : () -> tensor<f32>
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.reduce"(%y, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %3 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.compare"(%1, %bound) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%2) : (tensor<i1>) -> ()
  }, {
  ^bb0(%y: tensor<4xf32>):
    %1 = "stablehlo.exponential"(%y) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Sizes at run time: those of the operands, and the same ones where an assertion says so.
// CHECK-LABEL: @dynamic
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x1xf32>
func.func @dynamic(%x: tensor<?x8xf32>, %y: tensor<?x1xf32>) -> (tensor<?x2x4xf32>, tensor<?xf32>, tensor<?x8xi32>) {
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[Y]], %c0{{.*}}
  // CHECK-DAG: %[[N:.*]] = tensor.dim %[[X]], %c0{{.*}}
  // CHECK: %[[SAME:.*]] = arith.cmpi eq
  // CHECK: cf.assert %[[SAME]], "sizes differ"
  %n = "stablehlo.get_dimension_size"(%x) <{dimension = 0 : i64}> : (tensor<?x8xf32>) -> tensor<i32>
  %m = "stablehlo.get_dimension_size"(%y) <{dimension = 0 : i64}> : (tensor<?x1xf32>) -> tensor<i32>
  %same = "stablehlo.compare"(%n, %m) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%same, %n, %m) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "sizes differ"} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
  %rows = "stablehlo.reshape"(%n) : (tensor<i32>) -> tensor<1xi32>
  %eight = "stablehlo.constant"() <{value = dense<8> : tensor<1xi32>}> : () -> tensor<1xi32>
  %shape = "stablehlo.concatenate"(%rows, %eight) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<?x1xf32>) outs(%{{.*}} : tensor<?x8xf32>)
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%y, %shape) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  %1 = "stablehlo.add"(%x, %0) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %groups = "stablehlo.constant"() <{value = dense<[2, 4]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %grouped = "stablehlo.concatenate"(%rows, %groups) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
  // CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [%[[N]], 2, 4]
  %2 = "stablehlo.dynamic_reshape"(%1, %grouped) : (tensor<?x8xf32>, tensor<3xi32>) -> tensor<?x2x4xf32>
  %columns = "stablehlo.reshape"(%eight) : (tensor<1xi32>) -> tensor<i32>
  %count = "stablehlo.multiply"(%n, %columns) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %flat = "stablehlo.reshape"(%count) : (tensor<i32>) -> tensor<1xi32>
  // CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
  %3 = "stablehlo.dynamic_reshape"(%1, %flat) : (tensor<?x8xf32>, tensor<1xi32>) -> tensor<?xf32>
  %4 = "stablehlo.dynamic_iota"(%shape) <{iota_dimension = 0 : i64}> : (tensor<2xi32>) -> tensor<?x8xi32>
  return %2, %3, %4 : tensor<?x2x4xf32>, tensor<?xf32>, tensor<?x8xi32>
}

// -----

// What the sizes do not show to be groups is reshaped at run time; what a
// program says not to be repeated is not.
// CHECK-LABEL: @unknown_sizes
// CHECK: tensor.reshape %{{.*}}(%{{.*}}) : (tensor<?x6xf32>, tensor<2xindex>) -> tensor<?x4xf32>
// CHECK: linalg.generic
func.func @unknown_sizes(%x: tensor<?x6xf32>, %shape: tensor<2xi32>) -> tensor<?x4xf32> {
  %0 = "stablehlo.dynamic_reshape"(%x, %shape) : (tensor<?x6xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %1 = "stablehlo.dynamic_broadcast_in_dim"(%0, %shape) <{broadcast_dimensions = array<i64: 0, 1>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %2 = "stablehlo.negate"(%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
