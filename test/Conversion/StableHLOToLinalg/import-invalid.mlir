// RUN: fa-opt %s --allow-unregistered-dialect --fa-import-stablehlo --split-input-file --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>, %i: tensor<2xi32>) -> tensor<2xf32> {
  // expected-error @below {{'stablehlo.gather' is not imported, expected one of the operations that the description of fa-import-stablehlo lists}}
  %0 = "stablehlo.gather"(%x, %i) : (tensor<4xf32>, tensor<2xi32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unknown_chlo(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'chlo.erf_inv' is not imported}}
  %0 = "chlo.erf_inv"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.custom_call' of 'topk' is not imported, expected 'shape_assertion'}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "topk"}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_number(%x: tensor<4xi1>) {
  // expected-error @below {{'stablehlo.custom_call' has operand 0 of type 'tensor<4xi1>', expected a tensor of rank 0}}
  "stablehlo.custom_call"(%x) <{call_target_name = "shape_assertion"}> : (tensor<4xi1>) -> ()
  return
}

// -----

func.func @unsigned(%x: tensor<4xui32>) -> tensor<4xui32> {
  // expected-error @below {{'stablehlo.add' has type 'tensor<4xui32>', expected ranked tensors of floats or signless integers}}
  %0 = "stablehlo.add"(%x, %x) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}

// -----

func.func @counts(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.add' has 1 operands, 1 results and 0 regions, which are not those of StableHLO}}
  %0 = "stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.add' has operands of types 'tensor<4xf32>', 'tensor<4xi32>' for a result of type 'tensor<4xf32>'}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{'stablehlo.tanh' is not imported for elements of type 'i32'}}
  %0 = "stablehlo.tanh"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @shapes(%x: tensor<4xf32>, %y: tensor<1x4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.add' has an operand of type 'tensor<1x4xf32>' beside a result of type 'tensor<4xf32>'}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<1x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @only_numbers(%x: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.tanh' has no operand of the shape of its result, 'tensor<4xf32>'}}
  %0 = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @total_order(%x: tensor<4xf32>) -> tensor<4xi1> {
  // expected-error @below {{'stablehlo.compare' has 'compare_type' = TOTALORDER, expected FLOAT, SIGNED, UNSIGNED or none}}
  %0 = "stablehlo.compare"(%x, %x) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @direction(%x: tensor<4xf32>) -> tensor<4xi1> {
  // expected-error @below {{'stablehlo.compare' has 'comparison_direction' = '', expected EQ, NE, GE, GT, LE or LT}}
  %0 = "stablehlo.compare"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @components(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{'stablehlo.dot_general' has 'num_primitive_operations' = 3 in 'algorithm', expected 1}}
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @tf32(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{'stablehlo.dot_general' has 'lhs_precision_type' = tf32 in 'algorithm', expected bf16, f16, f32 or f64}}
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @contracted_twice(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{'stablehlo.dot_general' has dimension 1 of its lhs in 'dot_dimension_numbers', expected each of 2 once at most}}
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @rank_of_product(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{'stablehlo.dot_general' has 'dot_dimension_numbers' that do not fit its types}}
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @no_list(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{'stablehlo.dot_general' has 'x' in field 'lhs_contracting_dimensions' of 'dot_dimension_numbers', expected an integer}}
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [x], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @size_of_product(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x5xf32> {
  // expected-error @below {{inferred input/output operand #2 has shape's dimension #1 to be 3, but found 5}}
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @type_of_update(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<5xf32> {
  // expected-error @below {{'stablehlo.dynamic_update_slice' has a result of type 'tensor<5xf32>', but its operands give 'tensor<4xf32>'}}
  %0 = "stablehlo.dynamic_update_slice"(%x, %x, %i) : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @reduced_dims(%x: tensor<4x8xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.reduce' has dimension 2 in 'dimensions', expected 0 to 1}}
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reduce_operands(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.reduce' has 1 operands and 1 results, expected two operands for each result and one region of one block}}
  %0 = "stablehlo.reduce"(%x) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reduce_result(%x: tensor<4x8xf32>, %y: tensor<f32>) -> tensor<4x8xf32> {
  // expected-error @below {{'stablehlo.reduce' has a result of type 'tensor<4x8xf32>' for an operand of type 'tensor<4x8xf32>'}}
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @reduce_outside(%x: tensor<4x8xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @below {{'stablehlo.add' uses a value from outside of a reduction, expected its elements and constants}}
    %1 = "stablehlo.add"(%a, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reduce_tensors(%x: tensor<4x8xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @below {{'stablehlo.reshape' is not imported in a reduction, expected an operation on numbers}}
    %1 = "stablehlo.reshape"(%a) : (tensor<f32>) -> tensor<1xf32>
    "stablehlo.return"(%1) : (tensor<1xf32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reduce_reshape(%x: tensor<4x8xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @below {{'stablehlo.reshape' is not imported in a reduction, expected an elementwise operation}}
    %1 = "stablehlo.reshape"(%a) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @reduce_without_end(%x: tensor<4x8xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.reduce' has a region without stablehlo.return}}
  %0 = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_dims(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'stablehlo.broadcast_in_dim' has no attribute 'broadcast_dimensions', expected array<i64: ...>}}
  %0 = "stablehlo.broadcast_in_dim"(%x) : (tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @dims_of_text(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'stablehlo.broadcast_in_dim' has 'broadcast_dimensions' = "1", expected array<i64: ...>}}
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = "1"}> : (tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @places(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'stablehlo.broadcast_in_dim' has 'broadcast_dimensions' that do not place each dimension of 'tensor<4xf32>' in 'tensor<2x4xf32>'}}
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 2>}> : (tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @dynamic_result(%x: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'stablehlo.broadcast_in_dim' has a result of type 'tensor<?x4xf32>', expected a static shape}}
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @shape_operand(%x: tensor<4xf32>, %shape: tensor<3xi32>) -> tensor<?x4xf32> {
  // expected-error @below {{'stablehlo.dynamic_broadcast_in_dim' has operand 1 of type 'tensor<3xi32>', expected 2 integers, the sizes of its result}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %shape) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<3xi32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @may_repeat(%x: tensor<?xf32>, %shape: tensor<2xi32>) -> tensor<?x?xf32> {
  // expected-error @below {{'stablehlo.dynamic_broadcast_in_dim' may or may not repeat dimension 0 of its operand, by its size at run time; list it in 'known_nonexpanding_dimensions' or 'known_expanding_dimensions'}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %shape) <{broadcast_dimensions = array<i64: 1>}> : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

func.func @permutation(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.transpose' has a 'permutation' that is none of the 2 dimensions of its operand}}
  %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @constant() -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.constant' has no 'value' of its type, 'tensor<8x4xf32>'}}
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<4x8xf32>}> : () -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @iota_of_text() -> tensor<8x4xi32> {
  // expected-error @below {{'stablehlo.iota' has 'iota_dimension' = "x", expected an integer}}
  %0 = "stablehlo.iota"() <{iota_dimension = "x"}> : () -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}

// -----

func.func @iota_without_dim() -> tensor<8x4xi32> {
  // expected-error @below {{'stablehlo.iota' has no attribute 'iota_dimension', expected an integer}}
  %0 = "stablehlo.iota"() : () -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}

// -----

func.func @iota() -> tensor<8x4xi32> {
  // expected-error @below {{'stablehlo.iota' has 'iota_dimension' = 2, expected a dimension of 'tensor<8x4xi32>'}}
  %0 = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}

// -----

func.func @size_dim(%x: tensor<?xf32>) -> tensor<i32> {
  // expected-error @below {{'stablehlo.get_dimension_size' has 'dimension' = 1, expected a dimension of 'tensor<?xf32>'}}
  %0 = "stablehlo.get_dimension_size"(%x) <{dimension = 1 : i64}> : (tensor<?xf32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// -----

func.func @size_type(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @below {{'stablehlo.get_dimension_size' has a result of type 'tensor<f32>', expected an integer}}
  %0 = "stablehlo.get_dimension_size"(%x) <{dimension = 0 : i64}> : (tensor<?xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @barrier(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.optimization_barrier' has 2 operands and 1 results}}
  %0 = "stablehlo.optimization_barrier"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @elements(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @below {{'stablehlo.reshape' makes 'tensor<5xf32>' of 'tensor<4xf32>', expected as many elements}}
  %0 = "stablehlo.reshape"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @reshape_to_dynamic(%x: tensor<4xf32>) -> tensor<?xf32> {
  // expected-error @below {{'stablehlo.reshape' has a result of type 'tensor<?xf32>', expected a static shape}}
  %0 = "stablehlo.reshape"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @slice(%x: tensor<4x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'stablehlo.slice' has 1 numbers in 'start_indices', expected one for each dimension of 'tensor<4x4xf32>'}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2, 4>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @slice_result(%x: tensor<4x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'stablehlo.slice' has a result of type 'tensor<?x4xf32>', expected a static shape of rank 2}}
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 4>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @dynamic_slice(%x: tensor<4x4xf32>, %i: tensor<i32>) -> tensor<2x4xf32> {
  // expected-error @below {{'stablehlo.dynamic_slice' has 1 start indices for a result of type 'tensor<2x4xf32>'}}
  %0 = "stablehlo.dynamic_slice"(%x, %i) <{slice_sizes = array<i64: 2, 4>}> : (tensor<4x4xf32>, tensor<i32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @update(%x: tensor<4x4xf32>, %i: tensor<i32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.dynamic_update_slice' has 3 operands for an update of 'tensor<4x4xf32>'}}
  %0 = "stablehlo.dynamic_update_slice"(%x, %x, %i) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @concatenate_dim(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.concatenate' has 'dimension' = 2, expected a dimension of 'tensor<8x4xf32>'}}
  %0 = "stablehlo.concatenate"(%x, %x) <{dimension = 2 : i64}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @concatenate_ranks(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<5x4xf32> {
  // expected-error @below {{'stablehlo.concatenate' has an operand of type 'tensor<4xf32>' for a result of type 'tensor<5x4xf32>'}}
  %0 = "stablehlo.concatenate"(%x, %y) <{dimension = 0 : i64}> : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

func.func @pad(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<7xf32> {
  // expected-error @below {{'stablehlo.pad' has 1 in 'interior_padding', expected 0}}
  %0 = "stablehlo.pad"(%x, %y) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 1>}> : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @crop(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<3xf32> {
  // expected-error @below {{'stablehlo.pad' has -1 in 'edge_padding_low', expected 0 or more}}
  %0 = "stablehlo.pad"(%x, %y) <{edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.while' has results or regions of other types than its operands}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    "stablehlo.return"(%y) : (tensor<4xf32>) -> ()
  }, {
  ^bb0(%y: tensor<4xf32>):
    "stablehlo.return"(%y) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'recursive' calls itself, which fa-import-stablehlo cannot inline}}
func.func @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
