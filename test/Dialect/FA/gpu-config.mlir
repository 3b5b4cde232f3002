// RUN: fa-opt %s -split-input-file -verify-diagnostics | FileCheck %s

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @warp_groups
// CHECK: target = #fa.gpu<form = warp_groups, groups = 2, stages = 2, overlap = tiles, rescale = before_product, turns = true, tile_order = longest_first>
func.func @warp_groups(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<form = warp_groups, groups = 2, stages = 2, overlap = tiles, rescale = before_product, turns = true, tile_order = longest_first>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @warps
// CHECK: target = #fa.gpu<stages = 2>
func.func @warps(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<form = warps, stages = 2>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @copying
// CHECK: target = #fa.gpu<form = warp_groups, groups = 2, copying_registers = 40>
func.func @copying(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<form = warp_groups, groups = 2, copying_registers = 40>>}
  return %r : !t
}

// -----

// expected-error @below {{copying_registers is 42, expected 0 or a multiple of 8 from 32 to 96}}
func.func private @odd() attributes {a = #fa.gpu<form = warp_groups, copying_registers = 42>}

// -----

// expected-error @below {{copying_registers is 24, expected 0 or a multiple of 8 from 32 to 96}}
func.func private @few() attributes {a = #fa.gpu<form = warp_groups, copying_registers = 24>}

// -----

// expected-error @below {{copying_registers is for form = warp_groups}}
func.func private @warps_copy() attributes {a = #fa.gpu<copying_registers = 40>}

// -----

// expected-error @below {{groups is 4, expected 1 to 3}}
func.func private @groups() attributes {a = #fa.gpu<form = warp_groups, groups = 4>}

// -----

// expected-error @below {{stages is 0, expected at least 1}}
func.func private @stages() attributes {a = #fa.gpu<stages = 0>}

// -----

// expected-error @below {{groups is 2, but only form = warp_groups has more than 1}}
func.func private @warps_in_groups() attributes {a = #fa.gpu<groups = 2>}

// -----

// expected-error @below {{turns is for form = warp_groups}}
func.func private @turns_of_warps() attributes {a = #fa.gpu<turns = true>}

// -----

// expected-error @below {{captures = tiles is for form = warp_groups}}
func.func private @captures_of_warps() attributes {a = #fa.gpu<captures = tiles>}

// -----

// expected-error @below {{overlap is for form = warp_groups}}
func.func private @overlap_of_warps() attributes {a = #fa.gpu<overlap = keys>}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @rows(%q: !t) -> !t {
  // expected-error @below {{query_block is 192, but groups = 2 of form = warp_groups hold 128 rows; the nearest is 128}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<form = warp_groups, groups = 2>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x256xf32>
// CHECK-LABEL: func.func @columns
// CHECK: target = #fa.gpu<columns = 32>
func.func @columns(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<columns = 32>>}
  return %r : !t
}

// -----

// expected-error @below {{columns is 40, expected a multiple of 16; the nearest is 48}}
func.func private @odd_columns() attributes {a = #fa.gpu<columns = 40>}

// -----

// CHECK-LABEL: func.func private @columns_of_groups
// CHECK-SAME: #fa.gpu<form = warp_groups, columns = 32, keeps_queries = true>
func.func private @columns_of_groups() attributes {a = #fa.gpu<form = warp_groups, columns = 32, keeps_queries = true>}

// -----

// expected-error @below {{columns is for overlap = none, not for keys}}
func.func private @columns_with_overlap() attributes {a = #fa.gpu<form = warp_groups, overlap = keys, columns = 32>}

// -----

// expected-error @below {{stages above 1 is not for columns above 0}}
func.func private @columns_of_stages() attributes {a = #fa.gpu<form = warp_groups, stages = 2, columns = 32>}

// -----

// expected-error @below {{turns is not for columns above 0}}
func.func private @columns_in_turns() attributes {a = #fa.gpu<form = warp_groups, groups = 2, turns = true, columns = 32>}

// -----

// expected-error @below {{cluster above 1 is not for columns above 0}}
func.func private @columns_of_clusters() attributes {a = #fa.gpu<form = warp_groups, columns = 32, cluster = 2>}

// -----

// expected-error @below {{copying_registers is not for columns above 0}}
func.func private @columns_copied() attributes {a = #fa.gpu<form = warp_groups, copying_registers = 56, columns = 32>}

// -----

// expected-error @below {{keeps_queries is for columns above 0}}
func.func private @keeps_all_queries() attributes {a = #fa.gpu<keeps_queries = true>}

// -----

!t = tensor<1x?x1x256xf32>
func.func @columns_of_two_groups(%q: !t) -> !t {
  // expected-error @below {{columns is 48, expected a multiple of 32, as 2 groups share key_block = 64; the nearest is 64}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<form = warp_groups, groups = 2, columns = 48>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @columns_of_16_bits(%q: !t) -> !t {
  // expected-error @below {{columns is 32, but only f32 operands are split, not 'bf16'; the nearest is 0}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<columns = 32>>}
  return %r : !t
}

// -----

// CHECK-LABEL: func.func @rolled(
// CHECK: target = #fa.gpu<rolled = true>
!t = tensor<1x?x1x64xf32>
func.func @rolled(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<rolled = true>>}
  return %r : !t
}

// -----

// expected-error @below {{rolled is for overlap = none, not for keys}}
func.func private @rolled_overlap() attributes {a = #fa.gpu<form = warp_groups, overlap = keys, rolled = true>}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @rolled_of_16_bits(%q: !t) -> !t {
  // expected-error @below {{rolled is for f32 operands, not for 'bf16'; the nearest is false}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<rolled = true>>}
  return %r : !t
}

// -----

// CHECK-LABEL: func.func @common_stages(
// CHECK: target = #fa.gpu<common_stages = true>
!t = tensor<1x?x1x64xf32>
func.func @common_stages(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<common_stages = true>>}
  return %r : !t
}

// -----

// expected-error @below {{common_stages is for form = warps}}
func.func private @common_stages_of_groups() attributes {a = #fa.gpu<form = warp_groups, common_stages = true>}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @common_stages_of_16_bits(%q: !t) -> !t {
  // expected-error @below {{common_stages is for f32 operands, not for 'bf16'; the nearest is false}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<common_stages = true>>}
  return %r : !t
}
