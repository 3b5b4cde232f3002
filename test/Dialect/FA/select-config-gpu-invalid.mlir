// What cannot fit a GPU is refused with what it needs, what there is and the
// nearest that fits.

// RUN: split-file %s %t
// DEFINE: %{file} =
// DEFINE: %{chip} = sm_80
// DEFINE: %{prefix} =
// DEFINE: %{check} = not fa-opt %t/%{file}.mlir -fa-select-config=chip=%{chip} 2>&1 | FileCheck %s --check-prefix=%{prefix} --implicit-check-not=error:

// REDEFINE: %{file} = large
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = LARGE
// RUN: %{check}
// LARGE: error: 'fa.attention' op config does not fit: key_block is 1000000000000, expected at most 4096

// REDEFINE: %{file} = splits
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = SPLITS
// RUN: %{check}
// SPLITS: error: 'fa.attention' op config does not fit: has block_table and splits keys, expected one of them on sm_80; the nearest is no block_table

// REDEFINE: %{file} = parts
// REDEFINE: %{prefix} = PARTS
// RUN: %{check}
// PARTS: error: 'fa.attention' op config does not fit: key_splits is 5000, expected at most 4096

// REDEFINE: %{file} = column_groups
// REDEFINE: %{prefix} = COLUMN-GROUPS
// RUN: %{check}
// COLUMN-GROUPS: error: 'fa.attention' op config does not fit: column_groups is 2, which is for gradients; the nearest is 1

// REDEFINE: %{file} = blocks_per_sm
// REDEFINE: %{prefix} = BLOCKS-PER-SM
// RUN: %{check}
// BLOCKS-PER-SM: error: 'fa.attention' op config does not fit: blocks_per_sm is 9, but 4 such blocks share a multiprocessor of sm_80; the nearest is 4

// REDEFINE: %{file} = merged_columns
// REDEFINE: %{prefix} = MERGED-COLUMNS
// RUN: %{check}
// MERGED-COLUMNS: error: 'fa.attention' op config does not fit: splits keys of head dim 250, whose rows fit no registers where parts are merged, expected at most 192 or a multiple of 16; the nearest is no parts

// REDEFINE: %{file} = page_rows
// REDEFINE: %{prefix} = PAGE-ROWS
// RUN: %{check}
// PAGE-ROWS: error: 'fa.attention' op has pages of 24 rows and key_block = 128, expected pages of whole key blocks on sm_80; the nearest is pages of 32 rows

// REDEFINE: %{file} = any_page
// REDEFINE: %{prefix} = ANY-PAGE
// RUN: %{check}
// ANY-PAGE: error: 'fa.attention' op has pages of ? rows, expected a static number of them on sm_80; the nearest is a version for each size of a page

// REDEFINE: %{file} = registers
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = REGISTERS
// RUN: %{check}
// REGISTERS: error: 'fa.attention' op config does not fit: query_block = 128 and key_block = 128 of warps need at least 304 registers a thread, but there are 255; the nearest is query_block = 128 and key_block = 64

// REDEFINE: %{file} = rows
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = ROWS
// RUN: %{check}
// ROWS: error: 'fa.attention' op config does not fit: query_block = 128 and key_block = 64 of warps need at least 368 registers a thread, but there are 255; the nearest is query_block = 64 and key_block = 64

// REDEFINE: %{file} = shared
// REDEFINE: %{chip} = sm_86
// REDEFINE: %{prefix} = SHARED
// RUN: %{check}
// SHARED: error: 'fa.attention' op config does not fit: query_block = 64 and key_block = 128 of warps need at least 163840 bytes of shared memory, but a block of sm_86 has 101376; the nearest is query_block = 64 and key_block = 64

// REDEFINE: %{file} = multiple
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = MULTIPLE
// RUN: %{check}
// MULTIPLE: error: 'fa.attention' op config does not fit: query_block is 40, expected a multiple of 64; the nearest is 64

// REDEFINE: %{file} = depth
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = DEPTH
// RUN: %{check}
// DEPTH: error: 'fa.attention' op config does not fit: key_block is 40, expected a multiple of 16; the nearest is 48

// REDEFINE: %{file} = form
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = FORM
// RUN: %{check}
// FORM: error: 'fa.attention' op config does not fit: warp_groups is not possible, since sm_80 has no asynchronous matrix products; the nearest is warps

// REDEFINE: %{file} = elements
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = ELEMENTS
// RUN: %{check}
// ELEMENTS: error: 'fa.attention' op config does not fit: key_block is 40, expected a multiple of 64; the nearest is 64

// The next multiples do not fit, nor does that of one of them alone.
// REDEFINE: %{file} = unfit_multiple
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = UNFIT
// RUN: %{check}
// UNFIT: error: 'fa.attention' op config does not fit: key_block is 72, expected a multiple of 64; the nearest is query_block = 128 and key_block = 64

// REDEFINE: %{file} = groups
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = GROUPS
// RUN: %{check}
// GROUPS: error: 'fa.attention' op config does not fit: query_block = 192 and key_block = 128 of warp_groups need at least 188 registers a thread, but there are 160; the nearest is query_block = 192 and key_block = 80

// REDEFINE: %{file} = stages
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = STAGES
// RUN: %{check}
// STAGES: error: 'fa.attention' op config does not fit: query_block = 128 and key_block = 96 of warp_groups need at least 264192 bytes of shared memory, but a block of sm_90a has 232448; the nearest is query_block = 128 and key_block = 80

// REDEFINE: %{file} = tiles
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = TILES
// RUN: %{check}
// TILES: error: 'fa.attention' op config does not fit: query_block = 128 and key_block = 112 of warp_groups need at least 247808 bytes of shared memory, but a block of sm_90a has 232448; the nearest is query_block = 128 and key_block = 80

// REDEFINE: %{file} = copying
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = COPYING
// RUN: %{check}
// COPYING: error: 'fa.attention' op config does not fit: query_block = 192 and key_block = 128 of warp_groups need at least {{40|48|56}} registers of the thread that copies, but there are 32; the nearest is query_block = 128 and key_block = 128 with #fa.gpu<warp_groups<groups = 2, overlap = tiles>, stages = 2>

// REDEFINE: %{file} = dims
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = DIMS
// RUN: %{check}
// DIMS: error: 'fa.attention' op config does not fit: head dim is 512, but sm_90a takes at most 256

// Of f32 above head dim 128 no whole operands fit, but parts of them do.
// REDEFINE: %{file} = wide
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{prefix} = WIDE
// RUN: %{check}
// WIDE: error: 'fa.attention' op config does not fit: query_block is 70, expected a multiple of 64; the nearest is query_block = 64 and key_block = 64 with #fa.gpu<warps, terms<columns = 16, rolled>>

// REDEFINE: %{file} = whole
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = WHOLE
// RUN: %{check}
// WHOLE: error: 'fa.attention' op config does not fit: query_block = 64 and key_block = 64 of warps need at least {{.*}}; the nearest is query_block = 128 and key_block = 64 with #fa.gpu<warp_groups<groups = 2>, terms<columns = 32, keep_queries, rolled>>

// Rows of a capture, or their offset, that no bulk copy takes; captures that are
// read otherwise do not count.
// DEFINE: %{bias} =
// DEFINE: %{captures} = sed 's/BIAS/%{bias}/' %t/captures.mlir | not fa-opt -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=%{prefix} --implicit-check-not=error:
// REDEFINE: %{bias} = 2x70x99xf16
// REDEFINE: %{prefix} = CAPTURES
// RUN: %{captures}
// CAPTURES: error: 'fa.attention' op config does not fit: captures is tiles, but capture 1 has a stride in dim 1 of 99 elements, 198 bytes, and bulk copies take multiples of 16; the nearest is 104 elements, or captures = elements
// REDEFINE: %{bias} = ?x?x3xf16
// REDEFINE: %{prefix} = CAPTURED-ROWS
// RUN: %{captures}
// CAPTURED-ROWS: error: {{.*}}captures is tiles, but capture 1 has a stride in dim 1 of 3 elements, 6 bytes, and bulk copies take multiples of 16; the nearest is 8 elements
// REDEFINE: %{bias} = 2x70x70xf16, strided<[?, ?, 1], offset: 3>
// REDEFINE: %{prefix} = CAPTURED-OFFSET
// RUN: %{captures}
// CAPTURED-OFFSET: error: {{.*}}captures is tiles, but capture 1 has an offset of 3 elements, 6 bytes, and bulk copies take multiples of 16; the nearest is 8 elements
// REDEFINE: %{file} = captures_gradients
// REDEFINE: %{chip} = sm_90a
// REDEFINE: %{prefix} = CAPTURES-GRADIENTS
// RUN: %{check}
// CAPTURES-GRADIENTS: error: 'fa.attention_gradient' op config does not fit: captures is tiles, but capture 0 has a stride in dim 2 of 70 elements, 140 bytes

//--- registers.mlir
!t = tensor<1x?x1x128xbf16>
func.func @registers(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 128>}
  return %r : !t
}

//--- rows.mlir
!t = tensor<1x?x1x256xbf16>
func.func @rows(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 64>}
  return %r : !t
}

//--- shared.mlir
!t = tensor<1x?x1x256xbf16>
func.func @shared(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 128>}
  return %r : !t
}

//--- multiple.mlir
!t = tensor<1x?x1x64xbf16>
func.func @multiple(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 40, key_block = 64>}
  return %r : !t
}

//--- depth.mlir
!t = tensor<1x?x1x64xbf16>
func.func @depth(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 40>}
  return %r : !t
}

//--- form.mlir
!t = tensor<1x?x1x64xbf16>
func.func @form(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>>>}
  return %r : !t
}

//--- elements.mlir
!t = tensor<1x?x1x80xf32>
func.func @elements(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 40, target = #fa.gpu<warp_groups<groups = 2>>>}
  return %r : !t
}

//--- unfit_multiple.mlir
!t = tensor<1x?x1x100xf32>
func.func @unfit_multiple(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 72, target = #fa.gpu<warp_groups<groups = 2>>>}
  return %r : !t
}

//--- groups.mlir
!t = tensor<1x?x1x128xbf16>
func.func @groups(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<warp_groups<groups = 3, overlap = keys>, stages = 2>>}
  return %r : !t
}

//--- stages.mlir
!t = tensor<1x?x1x256xbf16>
func.func @stages(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 96, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 2>>}
  return %r : !t
}

//--- tiles.mlir
!t = tensor<1x?x1x256xbf16>
func.func @tiles(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 112, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles>, stages = 1>>}
  return %r : !t
}

//--- dims.mlir
!t = tensor<1x?x1x512xf16>
func.func @dims(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

//--- copying.mlir
!t = tensor<1x?x1x64xbf16>
func.func @copying(%q: !t, %left: index) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask window(%left, %left)
      {config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<warp_groups<groups = 3, overlap = tiles>, stages = 2>>}
  return %r : !t
}

//--- large.mlir
!t = tensor<1x?x1x64xbf16>
func.func @large(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 1000000000000, target = #fa.gpu<warp_groups<groups = 2>>>}
  return %r : !t
}

// Groups that split queries again hold these beside the parts of keys.
// REDEFINE: %{file} = again
// REDEFINE: %{prefix} = AGAIN
// RUN: %{check}
// AGAIN: error: 'fa.attention' op config does not fit: query_block = 128 and key_block = 64 of warp_groups need at least 276 registers a thread, but there are 255; the nearest is query_block = 128 and key_block = 64 with #fa.gpu<warp_groups<groups = 2>, terms<columns = 32, keep_queries, rolled>>

//--- again.mlir
!t = tensor<1x?x1x250xf32>
func.func @again(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2>, terms<columns = 32>>>}
  return %r : !t
}

//--- splits.mlir
!t = tensor<1x?x1x64xbf16>
func.func @splits(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, key_splits = 2, target = #fa.gpu<warps, block_table>>}
  return %r : !t
}

//--- parts.mlir
!t = tensor<1x?x1x64xbf16>
func.func @parts(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, key_splits = 5000, target = #fa.gpu<warps>>}
  return %r : !t
}

//--- column_groups.mlir
!t = tensor<1x?x1x64xbf16>
func.func @column_groups(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>}
  return %r : !t
}

//--- blocks_per_sm.mlir
!t = tensor<1x?x1x64xbf16>
func.func @blocks_per_sm(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<blocks_per_sm = 9>>>}
  return %r : !t
}

//--- merged_columns.mlir
!t = memref<1x?x1x250xbf16>
func.func @merged_columns(%q: !t) {
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 32, split_keys = 256, target = #fa.gpu<warps>>}
  return
}

//--- page_rows.mlir
!t = tensor<1x?x1x64xbf16>
!p = tensor<?x24x1x64xbf16>
func.func @page_rows(%q: !t, %p: !p, %l: tensor<1xi32>, %table: tensor<1x?xi32>) -> !t {
  %r = fa.attention ins(%q, %p, %p : !t, !p, !p) outs(%q : !t) key_lengths(%l : tensor<1xi32>) key_pages(%table : tensor<1x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return %r : !t
}

//--- any_page.mlir
!t = tensor<1x?x1x64xbf16>
!p = tensor<?x?x1x64xbf16>
func.func @any_page(%q: !t, %p: !p, %l: tensor<1xi32>, %table: tensor<1x?xi32>) -> !t {
  %r = fa.attention ins(%q, %p, %p : !t, !p, !p) outs(%q : !t) key_lengths(%l : tensor<1xi32>) key_pages(%table : tensor<1x?xi32>)
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return %r : !t
}

//--- wide.mlir
!t = tensor<1x?x1x250xf32>
func.func @wide(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 70, key_block = 70>}
  return %r : !t
}

//--- whole.mlir
!t = tensor<1x?x1x250xf32>
func.func @whole(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>}
  return %r : !t
}

//--- captures.mlir
!q = memref<1x70x2x64xf16>
!b = memref<BIAS>
func.func @captures(%q: !q, %bias: !b, %o: !q) {
  fa.attention ins(%q, %q, %q : !q, !q, !q) outs(%o : !q) score(%s, %b, %h, %i, %j) captures(%slopes = %q : !q, %t = %bias : !b) {
    %x = memref.load %t[%h, %i, %j] : !b
    %y = arith.extf %x : f16 to f32
    %z = arith.addf %s, %y : f32
    fa.yield %z : f32
  } {config = #fa.config<query_block = 128, key_block = 96, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, captures = tiles>, stages = 2>>}
  return
}

//--- captures_gradients.mlir
!q = memref<1x70x2x64xf16>
!l = memref<1x2x70xf32>
!b = memref<1x2x70x70xf16>
func.func @captures(%q: !q, %lse: !l, %bias: !b, %dq: !q, %dk: !q, %dv: !q) {
  fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %lse : !q, !l) gradients(%q : !q) outs(query = %dq : !q, key = %dk : !q, value = %dv : !q)
      score bias(%bias : !b)
      {config = #fa.config<query_block = 64, key_block = 128, deterministic = false, gradient_form = one_pass, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, captures = tiles>, stages = 2>>}
  return
}
