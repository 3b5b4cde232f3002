// RUN: fa-opt %s -split-input-file -verify-diagnostics | FileCheck %s

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @warp_groups
// CHECK: target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns, rescale = before_product>, tile_order = longest_first>, stages = 2>
func.func @warp_groups(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns, rescale = before_product>, tile_order = longest_first>, stages = 2>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @warps
// CHECK: target = #fa.gpu<warps, stages = 2>
func.func @warps(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps, stages = 2>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @column_groups
// CHECK: target = #fa.gpu<warps<column_groups = 2, tile_order = longest_first>, stages = 2>
func.func @column_groups(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps<tile_order = longest_first, column_groups = 2>, stages = 2>>}
  return %r : !t
}

// -----

// CHECK-LABEL: func.func private @blocks_per_sm
// CHECK-SAME: #fa.gpu<warps<tile_order = longest_first, blocks_per_sm = 2>>
func.func private @blocks_per_sm() attributes {a = #fa.gpu<warps<blocks_per_sm = 2, tile_order = longest_first>>}

// -----

// expected-error @below {{blocks_per_sm is 0, expected 1 to 32}}
func.func private @no_block_per_sm() attributes {a = #fa.gpu<warps<blocks_per_sm = 0>>}

// -----

// expected-error @below {{blocks_per_sm is 33, expected 1 to 32}}
func.func private @many_blocks_per_sm() attributes {a = #fa.gpu<warps<blocks_per_sm = 33>>}

// -----

// expected-error @below {{column_groups is 3, expected 1 or 2}}
func.func private @column_groups_of_three() attributes {a = #fa.gpu<warps<column_groups = 3>>}

// -----

// expected-error @below {{unknown field 'column_groups' of warp_groups, expected groups, overlap, tile_order, cluster, captures or copying_registers; 'column_groups' is a field of warps}}
func.func private @column_groups_of_groups() attributes {a = #fa.gpu<warp_groups<column_groups = 2>>}

// -----

!t = tensor<1x?x1x64xbf16>
// CHECK-LABEL: func.func @copying
// CHECK: target = #fa.gpu<warp_groups<groups = 2, copying_registers = 40>>
func.func @copying(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, copying_registers = 40>>>}
  return %r : !t
}

// -----

// expected-error @below {{copying_registers is 42, expected 0 or a multiple of 8 from 24 to 96}}
func.func private @odd() attributes {a = #fa.gpu<warp_groups<copying_registers = 42>>}

// -----

// expected-error @below {{copying_registers is 16, expected 0 or a multiple of 8 from 24 to 96}}
func.func private @few() attributes {a = #fa.gpu<warp_groups<copying_registers = 16>>}

// -----

// expected-error @below {{unknown field 'copying_registers' of warps, expected column_groups, tile_order or blocks_per_sm; 'copying_registers' is a field of warp_groups}}
func.func private @warps_copy() attributes {a = #fa.gpu<warps<copying_registers = 40>>}

// -----

// expected-error @below {{groups is 4, expected 1 to 3}}
func.func private @groups() attributes {a = #fa.gpu<warp_groups<groups = 4>>}

// -----

// expected-error @below {{stages is 0, expected at least 1}}
func.func private @stages() attributes {a = #fa.gpu<warps, stages = 0>}

// -----

// expected-error @below {{unknown field 'groups' of warps, expected column_groups, tile_order or blocks_per_sm; 'groups' is a field of warp_groups}}
func.func private @warps_in_groups() attributes {a = #fa.gpu<warps<groups = 2>>}

// -----

// expected-error @below {{turns is a field of overlap = keys, tiles or stores, not of none}}
func.func private @turns_without_overlap() attributes {a = #fa.gpu<warp_groups<groups = 2, overlap = none<turns>>>}

// -----

// expected-error @below {{unknown field 'captures' of warps, expected column_groups, tile_order or blocks_per_sm; 'captures' is a field of warp_groups}}
func.func private @captures_of_warps() attributes {a = #fa.gpu<warps<captures = tiles>>}

// -----

// expected-error @below {{unknown field 'overlap' of warps, expected column_groups, tile_order or blocks_per_sm; 'overlap' is a field of warp_groups}}
func.func private @overlap_of_warps() attributes {a = #fa.gpu<warps<overlap = keys>>}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @rows(%q: !t) -> !t {
  // expected-error @below {{query_block is 192, but warp_groups<groups = 2> holds 128 rows; the nearest is 128}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<warp_groups<groups = 2>>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x256xf32>
// CHECK-LABEL: func.func @columns
// CHECK: target = #fa.gpu<warps, terms<columns = 32>>
func.func @columns(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 32>>>}
  return %r : !t
}

// -----

// expected-error @below {{columns is 40, expected a multiple of 16; the nearest is 48}}
func.func private @odd_columns() attributes {a = #fa.gpu<warps, terms<columns = 40>>}

// -----

// CHECK-LABEL: func.func private @columns_of_groups
// CHECK-SAME: #fa.gpu<warp_groups, terms<columns = 32, keep_queries>>
func.func private @columns_of_groups() attributes {a = #fa.gpu<warp_groups, terms<columns = 32, keep_queries>>}

// -----

// expected-error @below {{terms is for overlap = none, not for keys}}
func.func private @columns_with_overlap() attributes {a = #fa.gpu<warp_groups<overlap = keys>, terms<columns = 32>>}

// -----

// expected-error @below {{stages above 1 is not for columns above 0}}
func.func private @columns_of_stages() attributes {a = #fa.gpu<warp_groups, stages = 2, terms<columns = 32>>}

// -----

// expected-error @below {{cluster above 1 is not for columns above 0}}
func.func private @columns_of_clusters() attributes {a = #fa.gpu<warp_groups<cluster = 2>, terms<columns = 32>>}

// -----

// expected-error @below {{copying_registers is not for columns above 0}}
func.func private @columns_copied() attributes {a = #fa.gpu<warp_groups<copying_registers = 56>, terms<columns = 32>>}

// -----

// expected-error @below {{keep_queries is for columns above 0}}
func.func private @keeps_all_queries() attributes {a = #fa.gpu<warps, terms<keep_queries>>}

// -----

!t = tensor<1x?x1x256xf32>
func.func @columns_of_two_groups(%q: !t) -> !t {
  // expected-error @below {{columns is 48, expected a multiple of 32, as 2 groups share key_block = 64; the nearest is 64}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>, terms<columns = 48>>>}
  return %r : !t
}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @columns_of_16_bits(%q: !t) -> !t {
  // expected-error @below {{terms is for f32 operands, not for 'bf16'; expected none}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 32>>>}
  return %r : !t
}

// -----

// CHECK-LABEL: func.func @rolled(
// CHECK: target = #fa.gpu<warps, terms<rolled>>
!t = tensor<1x?x1x64xf32>
func.func @rolled(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>>}
  return %r : !t
}

// -----

// expected-error @below {{terms is for overlap = none, not for keys}}
func.func private @rolled_overlap() attributes {a = #fa.gpu<warp_groups<overlap = keys>, terms<rolled>>}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @rolled_of_16_bits(%q: !t) -> !t {
  // expected-error @below {{terms is for f32 operands, not for 'bf16'; expected none}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>>}
  return %r : !t
}

// -----

// CHECK-LABEL: func.func @common_stages(
// CHECK: target = #fa.gpu<warps, terms<common_stages>>
!t = tensor<1x?x1x64xf32>
func.func @common_stages(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages>>>}
  return %r : !t
}

// -----

// expected-error @below {{common_stages is for warps, not for warp_groups}}
func.func private @common_stages_of_groups() attributes {a = #fa.gpu<warp_groups, terms<common_stages>>}

// -----

!t = tensor<1x?x1x64xbf16>
func.func @common_stages_of_16_bits(%q: !t) -> !t {
  // expected-error @below {{terms is for f32 operands, not for 'bf16'; expected none}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages>>>}
  return %r : !t
}

// -----

// CHECK-LABEL: func.func private @order_of_fields
// CHECK-SAME: #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>, captures = tiles>, stages = 2, block_table>
func.func private @order_of_fields() attributes {a = #fa.gpu<warp_groups<captures = tiles, overlap = keys<rescale = after_product, turns>, groups = 2>, block_table, stages = 2>}

// -----

// What is as by default is not printed.
// CHECK-LABEL: func.func private @defaults
// CHECK-SAME: a = #fa.gpu<warps>}
func.func private @defaults() attributes {a = #fa.gpu<warps<column_groups = 1, tile_order = in_order>, stages = 1, terms<columns = 0>>}

// -----

// expected-error @below {{no field in brackets, expected column_groups, tile_order or blocks_per_sm, or no brackets}}
func.func private @empty_form() attributes {a = #fa.gpu<warps<>>}

// -----

// expected-error @below {{no field in brackets, expected turns or rescale, or no brackets}}
func.func private @empty_overlap() attributes {a = #fa.gpu<warp_groups<overlap = keys<>>>}

// -----

// expected-error @below {{no field in brackets, expected columns, keep_queries, common_stages or rolled}}
func.func private @empty_terms() attributes {a = #fa.gpu<warps, terms<>>}

// -----

// expected-error @below {{no field in brackets, expected columns, keep_queries, common_stages or rolled}}
func.func private @only_terms() attributes {a = #fa.gpu<warps, terms, stages = 2>}

// -----

// expected-error @below {{the form is 'form', expected warps or warp_groups}}
func.func private @no_form() attributes {a = #fa.gpu<form = warps>}

// -----

// expected-error @below {{the form is '', expected warps or warp_groups}}
func.func private @nothing() attributes {a = #fa.gpu<>}

// -----

// expected-error @below {{unknown field 'overlap' of #fa.gpu, expected stages, terms, tanh or block_table; 'overlap' is a field of warp_groups}}
func.func private @overlap_outside() attributes {a = #fa.gpu<warps, overlap = keys>}

// -----

// expected-error @below {{unknown field 'stage' of #fa.gpu, expected stages, terms, tanh or block_table}}
func.func private @unknown() attributes {a = #fa.gpu<warps, stage = 2>}

// -----

// expected-error @below {{unknown field 'turns' of warp_groups, expected groups, overlap, tile_order, cluster, captures or copying_registers; 'turns' is a field of overlap}}
func.func private @turns_outside() attributes {a = #fa.gpu<warp_groups<turns>>}

// -----

// expected-error @below {{overlap is 'rows', expected none, keys, tiles or stores}}
func.func private @choice() attributes {a = #fa.gpu<warp_groups<overlap = rows>>}

// -----

// CHECK-LABEL: func.func private @tanh()
// CHECK-SAME: #fa.gpu<warps, tanh<sharers = 1, interleave_rows>>
func.func private @tanh() attributes {a = #fa.gpu<warps, tanh<interleave_rows, sharers = 1>>}

// -----

// expected-error @below {{sharers is 6, expected 1 to 5; the nearest is 5}}
func.func private @many_sharers() attributes {a = #fa.gpu<warps, tanh<sharers = 6>>}

// -----

// expected-error @below {{sharers is 0, expected 1 to 5; the nearest is 1}}
func.func private @no_sharers() attributes {a = #fa.gpu<warps, tanh<sharers = 0>>}

// -----

// expected-error @below {{no field in brackets, expected sharers or interleave_rows}}
func.func private @no_tanh() attributes {a = #fa.gpu<warps, tanh>}

// -----

// expected-error @below {{unknown field 'columns' of tanh, expected sharers or interleave_rows; 'columns' is a field of terms}}
func.func private @terms_of_tanh() attributes {a = #fa.gpu<warps, tanh<columns = 16>>}

// -----

!t = tensor<1x?x1x64xf32>
func.func @tanh_of_f32(%q: !t) -> !t {
  // expected-error @below {{tanh is for operands of 16 bits, not for 'f32'; expected none}}
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, tanh<sharers = 5>>>}
  return %r : !t
}

// -----

// expected-error @below {{'stages' is given twice}}
func.func private @twice() attributes {a = #fa.gpu<warps, stages = 2, stages = 2>}

// -----

// The part of a target alone is no configuration.
func.func @no_config(%q: memref<1x64x8x64xbf16>) {
  // expected-error @below {{attribute 'config' failed to satisfy constraint: #fa.config, how an attention is tiled, with the part of a target in it}}
  fa.attention ins(%q, %q, %q : memref<1x64x8x64xbf16>, memref<1x64x8x64xbf16>, memref<1x64x8x64xbf16>) outs(%q : memref<1x64x8x64xbf16>) {config = #fa.gpu<warps>}
  return
}
