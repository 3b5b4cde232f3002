// The configuration of a GPU: the first row of the target's table that takes the
// problem and fits, with the form, and a remark that says why.

// RUN: fa-opt %s -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: fa-opt %s -fa-select-config=chip=sm_86 | FileCheck %s --check-prefix=SM86
// RUN: fa-opt %s -fa-select-config=chip=sm_89 | FileCheck %s --check-prefix=SM86
// RUN: fa-opt %s -fa-select-config=chip=sm_90 | FileCheck %s --check-prefix=SM90
// RUN: fa-opt %s -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SM90A
// RUN: fa-opt %s -fa-select-config=chip=sm_100 | FileCheck %s --check-prefix=SM90
// RUN: fa-opt %s -fa-select-config=chip=sm_120 | FileCheck %s --check-prefix=SM86
// RUN: fa-opt %s -fa-select-config=chip=sm_80 --remark-format=emitRemark --remarks-filter=fa-select-config 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REMARK80
// RUN: fa-opt %s -fa-select-config=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-select-config 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REMARK90A

!t64f = tensor<2x?x8x64xbf16>

// SM80-LABEL: func.func @full_64(
// SM80: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>
// SM86-LABEL: func.func @full_64(
// SM86: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>
// SM90-LABEL: func.func @full_64(
// SM90: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @full_64(
// SM90A: config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<warp_groups<groups = 3, overlap = tiles<turns>>, stages = 2>>
// REMARK80: table row sm_80, warps, head dims up to 64; 240 of 255 registers a thread, 49152 of 166912 bytes of shared memory"
// REMARK90A: table row sm_90a, warp_groups, head dims up to 64; 156 of 160 registers a thread, 116736 of 232448 bytes of shared memory"
func.func @full_64(%q: !t64f, %o: !t64f) -> !t64f {
  %r = fa.attention ins(%q, %q, %q : !t64f, !t64f, !t64f) outs(%o : !t64f)
  return %r : !t64f
}

!t64c = tensor<2x?x8x64xbf16>

// SM80-LABEL: func.func @causal_64(
// SM80: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM86-LABEL: func.func @causal_64(
// SM86: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90-LABEL: func.func @causal_64(
// SM90: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90A-LABEL: func.func @causal_64(
// SM90A: config = #fa.config<query_block = 192, key_block = 128, target = #fa.gpu<warp_groups<groups = 3, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
func.func @causal_64(%q: !t64c, %o: !t64c) -> !t64c {
  %r = fa.attention ins(%q, %q, %q : !t64c, !t64c, !t64c) outs(%o : !t64c) mask causal
  return %r : !t64c
}

!t128f = tensor<2x?x8x128xbf16>

// SM80-LABEL: func.func @full_128(
// SM80: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>
// SM86-LABEL: func.func @full_128(
// SM86: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>
// SM90-LABEL: func.func @full_128(
// SM90: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @full_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, copying_registers = 40>, stages = 2>,
// SM90A-SAME: longer = #fa.config<query_block = 128, key_block = 176, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, cluster = 2, copying_registers = 40>, stages = 2>, from_keys = 6144, from_queries = 4096>>
func.func @full_128(%q: !t128f, %o: !t128f) -> !t128f {
  %r = fa.attention ins(%q, %q, %q : !t128f, !t128f, !t128f) outs(%o : !t128f)
  return %r : !t128f
}

!t128c = tensor<2x?x8x128xbf16>

// SM80-LABEL: func.func @causal_128(
// SM80: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM86-LABEL: func.func @causal_128(
// SM86: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90-LABEL: func.func @causal_128(
// SM90: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90A-LABEL: func.func @causal_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>,
// SM90A-SAME: longer = #fa.config<query_block = 128, key_block = 176, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, tile_order = longest_first>, stages = 2>, from_keys = 6144>>
// REMARK80: table row sm_80, warps, head dims up to 128; 240 of 255 registers
// REMARK90A: table row sm_90a, warp_groups, head dims up to 128; 188 of 224 registers a thread, 198656 of 232448 bytes of shared memory; from 6144 keys on 224 of 224 registers a thread, 215040 of 232448 bytes of shared memory"
func.func @causal_128(%q: !t128c, %o: !t128c) -> !t128c {
  %r = fa.attention ins(%q, %q, %q : !t128c, !t128c, !t128c) outs(%o : !t128c) mask causal
  return %r : !t128c
}

// Keys that are known take one of both, and a score function, a mask of two
// bounds or one of run time takes the first: the other one is not for them.
// SM90A-LABEL: func.func @short_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
func.func @short_128(%q: tensor<2x6143x8x128xbf16>) -> tensor<2x6143x8x128xbf16> {
  %r = fa.attention ins(%q, %q, %q : tensor<2x6143x8x128xbf16>, tensor<2x6143x8x128xbf16>, tensor<2x6143x8x128xbf16>)
      outs(%q : tensor<2x6143x8x128xbf16>) mask causal
  return %r : tensor<2x6143x8x128xbf16>
}

// SM90A-LABEL: func.func @long_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 176, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, tile_order = longest_first>, stages = 2>>
func.func @long_128(%q: tensor<2x6144x8x128xbf16>) -> tensor<2x6144x8x128xbf16> {
  %r = fa.attention ins(%q, %q, %q : tensor<2x6144x8x128xbf16>, tensor<2x6144x8x128xbf16>, tensor<2x6144x8x128xbf16>)
      outs(%q : tensor<2x6144x8x128xbf16>) mask causal
  return %r : tensor<2x6144x8x128xbf16>
}

// SM90A-LABEL: func.func @others_128(
// SM90A-NOT: longer
// SM90A: return
func.func @others_128(%q: !t128c, %o: !t128c, %slopes: tensor<8xf32>, %left: index, %ids: tensor<2x?xi32>) -> (!t128c, !t128c, !t128c) {
  %a = fa.attention ins(%q, %q, %q : !t128c, !t128c, !t128c) outs(%o : !t128c) score alibi(%slopes : tensor<8xf32>) mask causal
  %b = fa.attention ins(%q, %q, %q : !t128c, !t128c, !t128c) outs(%o : !t128c) mask window(%left, %left)
  %c = fa.attention ins(%q, %q, %q : !t128c, !t128c, !t128c) outs(%o : !t128c) mask documents(%ids : tensor<2x?xi32>)
  return %a, %b, %c : !t128c, !t128c, !t128c
}

!t192f = tensor<2x?x8x192xbf16>

// SM80-LABEL: func.func @full_192(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM86-LABEL: func.func @full_192(
// SM86: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM90-LABEL: func.func @full_192(
// SM90: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @full_192(
// SM90A: config = #fa.config<query_block = 128, key_block = 112, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>
func.func @full_192(%q: !t192f, %o: !t192f) -> !t192f {
  %r = fa.attention ins(%q, %q, %q : !t192f, !t192f, !t192f) outs(%o : !t192f)
  return %r : !t192f
}

!t192c = tensor<2x?x8x192xbf16>

// SM80-LABEL: func.func @causal_192(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM86-LABEL: func.func @causal_192(
// SM86: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90-LABEL: func.func @causal_192(
// SM90: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90A-LABEL: func.func @causal_192(
// SM90A: config = #fa.config<query_block = 128, key_block = 112, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>, tile_order = longest_first>, stages = 2>>
func.func @causal_192(%q: !t192c, %o: !t192c) -> !t192c {
  %r = fa.attention ins(%q, %q, %q : !t192c, !t192c, !t192c) outs(%o : !t192c) mask causal
  return %r : !t192c
}

!t256f = tensor<2x?x8x256xbf16>

// SM80-LABEL: func.func @full_256(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM86-LABEL: func.func @full_256(
// SM86: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM90-LABEL: func.func @full_256(
// SM90: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @full_256(
// SM90A: config = #fa.config<query_block = 128, key_block = 80, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>
// REMARK90A: table row sm_90a, warp_groups, head dims up to 256; 216 of 224 registers a thread, 231424 of 232448 bytes of shared memory"
func.func @full_256(%q: !t256f, %o: !t256f) -> !t256f {
  %r = fa.attention ins(%q, %q, %q : !t256f, !t256f, !t256f) outs(%o : !t256f)
  return %r : !t256f
}

!t256c = tensor<2x?x8x256xbf16>

// SM80-LABEL: func.func @causal_256(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM86-LABEL: func.func @causal_256(
// SM86: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90-LABEL: func.func @causal_256(
// SM90: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90A-LABEL: func.func @causal_256(
// SM90A: config = #fa.config<query_block = 128, key_block = 80, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, tile_order = longest_first>, stages = 2>>
func.func @causal_256(%q: !t256c, %o: !t256c) -> !t256c {
  %r = fa.attention ins(%q, %q, %q : !t256c, !t256c, !t256c) outs(%o : !t256c) mask causal
  return %r : !t256c
}

!single = tensor<2x?x8x64xf32>

// Elements of 32 bits take the form that can have them.
// SM80-LABEL: func.func @single(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages, rolled>>>
// SM90A-LABEL: func.func @single(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2>, terms<rolled>>>
// REMARK90A: table row sm_90a, warp_groups, head dims up to 96, f32; 188 of 224 registers
func.func @single(%q: !single, %o: !single) -> !single {
  %r = fa.attention ins(%q, %q, %q : !single, !single, !single) outs(%o : !single)
  return %r : !single
}

!panels = tensor<2x?x8x80xbf16>

// SM90A-LABEL: func.func @panels(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups
func.func @panels(%q: !panels, %o: !panels) -> !panels {
  %r = fa.attention ins(%q, %q, %q : !panels, !panels, !panels) outs(%o : !panels)
  return %r : !panels
}

!filled = tensor<2x?x8x72xbf16>

// Filled up with zeros to 80 columns.
// SM90A-LABEL: func.func @filled(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups
func.func @filled(%q: !filled, %o: !filled) -> !filled {
  %r = fa.attention ins(%q, %q, %q : !filled, !filled, !filled) outs(%o : !filled)
  return %r : !filled
}

!narrow = tensor<2x?x8x68xbf16>

// SM90A-LABEL: func.func @narrow(
// SM90A: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>
// REMARK90A: table row sm_90a, warps, head dims up to 128; no warp_groups: bulk copies take rows of multiples of 16 bytes, head dims that are multiples of 8, not 68;
func.func @narrow(%q: !narrow, %o: !narrow) -> !narrow {
  %r = fa.attention ins(%q, %q, %q : !narrow, !narrow, !narrow) outs(%o : !narrow)
  return %r : !narrow
}

!wide = tensor<1x?x1x80xf32>

// Keys of f32 are split by four warps of 16 rows.
// SM86-LABEL: func.func @wide(
// SM86: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages, rolled>>>
// SM90-LABEL: func.func @wide(
// SM90: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages, rolled>>>
// Half of 80 columns are no panels, so groups share rows of keys.
// SM90A-LABEL: func.func @wide(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2
// REMARK90A: table row sm_90a, warp_groups, head dims up to 96, f32
func.func @wide(%q: !wide, %o: !wide) -> !wide {
  %r = fa.attention ins(%q, %q, %q : !wide, !wide, !wide) outs(%o : !wide)
  return %r : !wide
}

!t = tensor<2x?x8x128xbf16>

// What is given stays. What it leaves to the target is that of the first row
// whose groups share such a query block; warps where none does.
// SM80-LABEL: func.func @given(
// SM80: config = #fa.config<query_block = 128, key_block = 32, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @given(
// SM90A: config = #fa.config<query_block = 128, key_block = 32, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, copying_registers = 40>, stages = 2>>
// REMARK90A: given by hand; 116 of 232 registers a thread, 100352 of 232448 bytes of shared memory"
func.func @given(%q: !t, %o: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      {config = #fa.config<query_block = 128, key_block = 32>}
  return %r : !t
}

// SM90A-LABEL: func.func @given_warps(
// SM90A: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
func.func @given_warps(%q: !t, %o: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      {config = #fa.config<query_block = 64, key_block = 64>}
  return %r : !t
}

!softcap_64 = tensor<2x?x8x64xbf16>

// A part of the scores is on its way through a function.
// SM80-LABEL: func.func @softcap_64(
// SM80: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @softcap_64(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles>, stages = 2, tanh<sharers = 5, interleave_rows>>>
// REMARK80: warps, head dims up to 64; 128 x 128 does not fit: 296 of 255 registers a thread, {{.*}} 128 x 96 does not fit: 256 of 255 registers a thread, {{.*}} 216 of 255 registers a thread
// REMARK90A: warp_groups, head dims up to 64; 192 x 128 does not fit: 172 of 160 registers a thread, 116736 of 232448 bytes of shared memory; 172 of 224 registers a thread
func.func @softcap_64(%q: !softcap_64, %o: !softcap_64, %cap: f32) -> !softcap_64 {
  %r = fa.attention ins(%q, %q, %q : !softcap_64, !softcap_64, !softcap_64) outs(%o : !softcap_64) score softcap(%cap)
  return %r : !softcap_64
}

!scores_64 = tensor<2x?x8x64xbf16>

// Three groups from 2,048 keys on, where a score function leaves them no 128 keys. By warps what is read at each pair
// leaves registers for the factor of a row.
// SM80-LABEL: func.func @scores_64(
// SM80: config = #fa.config<query_block = 128, key_block = 96, target = #fa.gpu<warps>>
// SM80: config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps<tile_order = longest_first>>>
// SM90A-LABEL: func.func @scores_64(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>>, stages = 2>,
// SM90A-SAME: longer = #fa.config<query_block = 192, key_block = 96, target = #fa.gpu<warp_groups<groups = 3, overlap = tiles<turns>>, stages = 2>, from_keys = 2048>>
// Elements of a bias that no bulk copy takes leave no registers for it.
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>}
func.func @scores_64(%q: !scores_64, %o: !scores_64, %slopes: tensor<8xf32>, %t: tensor<2x8x?x?xbf16>) -> (!scores_64, !scores_64) {
  %a = fa.attention ins(%q, %q, %q : !scores_64, !scores_64, !scores_64) outs(%o : !scores_64) score alibi(%slopes : tensor<8xf32>)
  %b = fa.attention ins(%q, %q, %q : !scores_64, !scores_64, !scores_64) outs(%o : !scores_64)
      score bias(%t : tensor<2x8x?x?xbf16>) mask causal
  return %a, %b : !scores_64, !scores_64
}

// Not for remainders, nor for dropout.
// SM90A-LABEL: func.func @others_64(
// SM90A-NOT: longer
// SM90A: return
func.func @others_64(%q: !scores_64, %o: !scores_64, %p: f32, %seed: tensor<i64>) -> (!scores_64, !scores_64) {
  %a = fa.attention ins(%q, %q, %q : !scores_64, !scores_64, !scores_64) outs(%o : !scores_64)
      score (%s, %b, %h, %i, %j) {
        %period = arith.constant 3.3 : f32
        %x = arith.remf %s, %period : f32
        fa.yield %x : f32
      }
  %b = fa.attention ins(%q, %q, %q : !scores_64, !scores_64, !scores_64) outs(%o : !scores_64)
      dropout(%p, %seed, %seed : f32, tensor<i64>, tensor<i64>)
  return %a, %b : !scores_64, !scores_64
}

!silu_128 = tensor<2x?x8x128xbf16>

// A score is live beside what it is divided by; indices alone are made where
// they are used and take nothing.
// SM80-LABEL: func.func @silu_128(
// SM80: config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @silu_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 96, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>>, stages = 2>>
// REMARK80: 128 x 64 does not fit: 304 of 255 registers a thread, 65536 of 166912 bytes of shared memory; 240 of 255 registers a thread
// REMARK90A: 128 x 128 does not fit: 252 of 224 registers a thread, {{.*}} 212 of 224 registers a thread
func.func @silu_128(%q: !silu_128, %o: !silu_128) -> !silu_128 {
  %r = fa.attention ins(%q, %q, %q : !silu_128, !silu_128, !silu_128) outs(%o : !silu_128)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %negative = arith.negf %s : f32
        %power = math.exp %negative : f32
        %sum = arith.addf %one, %power : f32
        %x = arith.divf %s, %sum : f32
        %distance = arith.subi %i, %j : index
        %narrow = arith.index_cast %distance : index to i32
        %real = arith.sitofp %narrow : i32 to f32
        %y = arith.addf %x, %real : f32
        fa.yield %y : f32
      }
  return %r : !silu_128
}

!documents_128 = tensor<2x?x8x128xbf16>

// The ids of keys are held, and which blocks they leave is known at run time.
// SM80-LABEL: func.func @documents_128(
// SM80: config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps, block_table>>
// SM90A-LABEL: func.func @documents_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2, block_table>>
func.func @documents_128(%q: !documents_128, %o: !documents_128, %ids: tensor<2x?xi32>) -> !documents_128 {
  %r = fa.attention ins(%q, %q, %q : !documents_128, !documents_128, !documents_128) outs(%o : !documents_128) mask documents(%ids : tensor<2x?xi32>)
  return %r : !documents_128
}

!bias_128 = tensor<2x?x8x128xbf16>

// So is a block of the bias.
// SM80-LABEL: func.func @bias_128(
// SM80: config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @bias_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 96, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>>, stages = 2>>
// REMARK90A: warp_groups, head dims up to 128; 128 x 128 does not fit: 252 of 224 registers a thread, 198656 of 232448 bytes of shared memory; {{.*}}; 212 of 224 registers a thread
func.func @bias_128(%q: !bias_128, %o: !bias_128, %t: tensor<2x8x?x?xbf16>) -> !bias_128 {
  %r = fa.attention ins(%q, %q, %q : !bias_128, !bias_128, !bias_128) outs(%o : !bias_128) score bias(%t : tensor<2x8x?x?xbf16>)
  return %r : !bias_128
}

!t64 = tensor<2x?x8x64xbf16>

// A remainder for each pair takes more than a function.
// SM80-LABEL: func.func @dilated(
// SM80: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps, block_table>>
func.func @dilated(%q: !t64, %o: !t64) -> !t64 {
  %r = fa.attention ins(%q, %q, %q : !t64, !t64, !t64) outs(%o : !t64)
      mask(%b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %step = arith.constant 3 : index
        %distance = arith.subi %i, %j : index
        %rest = arith.remsi %distance, %step : index
        %seen = arith.cmpi eq, %rest, %zero : index
        fa.yield %seen : i1
      }
  return %r : !t64
}

// Two bounds are too much for the thread that copies for three groups.
// SM90A-LABEL: func.func @window_64(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
// REMARK90A: 192 x 128 does not fit: 156 of 160 registers a thread, 116736 of 232448 bytes of shared memory, {{40|48|56}} of 32 registers of the thread that copies; 156 of 224 registers
func.func @window_64(%q: !t64, %o: !t64, %left: index, %right: index) -> !t64 {
  %r = fa.attention ins(%q, %q, %q : !t64, !t64, !t64) outs(%o : !t64) mask window(%left, %right)
  return %r : !t64
}

!t128 = tensor<2x?x8x128xbf16>
!m128 = memref<2x1024x8x128xbf16>

// Beside tiles of a bias there is room for 128 keys and one block of queries. A mask has its rescaling behind the product.
// SM90A-LABEL: func.func @aligned_bias_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<rescale = before_product>, captures = tiles>, stages = 2>>
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, tile_order = longest_first, captures = tiles>, stages = 2>>
func.func @aligned_bias_128(%q: !m128, %o: !m128, %t: memref<2x8x1024x1024xbf16> {fa.align = 16 : i64}) {
  fa.attention ins(%q, %q, %q : !m128, !m128, !m128) outs(%o : !m128) score bias(%t : memref<2x8x1024x1024xbf16>)
  fa.attention ins(%q, %q, %q : !m128, !m128, !m128) outs(%o : !m128) score bias(%t : memref<2x8x1024x1024xbf16>) mask causal
  return
}

// At head dim 128 an exact tanh takes turns with a mask, an approximate one never.
// SM90A-LABEL: func.func @softcap_128(
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles>, stages = 2, tanh<sharers = 5, interleave_rows>>>
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
// SM90A: config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles, tile_order = longest_first>, stages = 2>>
func.func @softcap_128(%q: !t128, %o: !t128, %cap: f32) -> (!t128, !t128, !t128) {
  %a = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%o : !t128) score softcap(%cap)
  %b = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%o : !t128) score softcap(%cap) mask causal
  %c = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%o : !t128) score approx_softcap(%cap) mask causal
  return %a, %b, %c : !t128, !t128, !t128
}

!t256 = tensor<2x?x8x256xbf16>

// SM80-LABEL: func.func @documents_256(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, block_table>>
// SM90A-LABEL: func.func @documents_256(
// SM90A: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns, rescale = before_product>, tile_order = longest_first>, stages = 2, block_table>>
func.func @documents_256(%q: !t256, %o: !t256, %ids: tensor<2x?xi32>) -> !t256 {
  %r = fa.attention ins(%q, %q, %q : !t256, !t256, !t256) outs(%o : !t256) mask documents(%ids : tensor<2x?xi32>)
  return %r : !t256
}

// How an exact tanh is computed: without a mask and with one, for a cap of run
// time and a constant one.
// SM90A-LABEL: func.func @tanhs_64(
// SM90A: overlap = tiles>, stages = 2, tanh<sharers = 5, interleave_rows>>
// SM90A: overlap = tiles<turns>>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2, tanh<interleave_rows>>
!tanh64 = tensor<2x?x8x64xbf16>
func.func @tanhs_64(%q: !tanh64, %cap: f32) -> (!tanh64, !tanh64, !tanh64, !tanh64) {
  %c = arith.constant 30.0 : f32
  %0 = fa.attention ins(%q, %q, %q : !tanh64, !tanh64, !tanh64) outs(%q : !tanh64) score softcap(%cap)
  %1 = fa.attention ins(%q, %q, %q : !tanh64, !tanh64, !tanh64) outs(%q : !tanh64) score softcap(%c)
  %2 = fa.attention ins(%q, %q, %q : !tanh64, !tanh64, !tanh64) outs(%q : !tanh64) score softcap(%cap) mask causal
  %3 = fa.attention ins(%q, %q, %q : !tanh64, !tanh64, !tanh64) outs(%q : !tanh64) score softcap(%c) mask causal
  return %0, %1, %2, %3 : !tanh64, !tanh64, !tanh64, !tanh64
}

// SM90A-LABEL: func.func @tanhs_96(
// SM90A: overlap = tiles<turns>>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
!tanh96 = tensor<2x?x8x96xbf16>
func.func @tanhs_96(%q: !tanh96, %cap: f32) -> (!tanh96, !tanh96, !tanh96, !tanh96) {
  %c = arith.constant 30.0 : f32
  %0 = fa.attention ins(%q, %q, %q : !tanh96, !tanh96, !tanh96) outs(%q : !tanh96) score softcap(%cap)
  %1 = fa.attention ins(%q, %q, %q : !tanh96, !tanh96, !tanh96) outs(%q : !tanh96) score softcap(%c)
  %2 = fa.attention ins(%q, %q, %q : !tanh96, !tanh96, !tanh96) outs(%q : !tanh96) score softcap(%cap) mask causal
  %3 = fa.attention ins(%q, %q, %q : !tanh96, !tanh96, !tanh96) outs(%q : !tanh96) score softcap(%c) mask causal
  return %0, %1, %2, %3 : !tanh96, !tanh96, !tanh96, !tanh96
}

// SM90A-LABEL: func.func @tanhs_112(
// SM90A: overlap = tiles<turns>>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2, tanh<interleave_rows>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
!tanh112 = tensor<2x?x8x112xbf16>
func.func @tanhs_112(%q: !tanh112, %cap: f32) -> (!tanh112, !tanh112, !tanh112, !tanh112) {
  %c = arith.constant 30.0 : f32
  %0 = fa.attention ins(%q, %q, %q : !tanh112, !tanh112, !tanh112) outs(%q : !tanh112) score softcap(%cap)
  %1 = fa.attention ins(%q, %q, %q : !tanh112, !tanh112, !tanh112) outs(%q : !tanh112) score softcap(%c)
  %2 = fa.attention ins(%q, %q, %q : !tanh112, !tanh112, !tanh112) outs(%q : !tanh112) score softcap(%cap) mask causal
  %3 = fa.attention ins(%q, %q, %q : !tanh112, !tanh112, !tanh112) outs(%q : !tanh112) score softcap(%c) mask causal
  return %0, %1, %2, %3 : !tanh112, !tanh112, !tanh112, !tanh112
}

// The wider one of two head dims counts. A head dim of 32 has turns with a mask
// alone.
// SM90A-LABEL: func.func @tanhs_of_two_head_dims(
// SM90A: overlap = tiles>, stages = 2, tanh<sharers = 5, interleave_rows>>
// SM90A: overlap = tiles>, stages = 2>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
!tanh32 = tensor<2x?x8x32xbf16>
func.func @tanhs_of_two_head_dims(%q: !tanh96, %v: !t128, %n: !tanh32, %cap: f32) -> (!t128, !tanh32, !tanh32) {
  %0 = fa.attention ins(%q, %q, %v : !tanh96, !tanh96, !t128) outs(%v : !t128) score softcap(%cap)
  %1 = fa.attention ins(%n, %n, %n : !tanh32, !tanh32, !tanh32) outs(%n : !tanh32) score softcap(%cap)
  %2 = fa.attention ins(%n, %n, %n : !tanh32, !tanh32, !tanh32) outs(%n : !tanh32) score softcap(%cap) mask causal
  return %0, %1, %2 : !t128, !tanh32, !tanh32
}

// By warps a conversion leaves room for 128 queries, a division does not.
// SM80-LABEL: func.func @conversions_128(
// SM80: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>
// SM80: config = #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warps>>
func.func @conversions_128(%q: !t128, %slopes: tensor<8xf32>) -> (!t128, !t128) {
  %0 = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%q : !t128) score alibi(%slopes : tensor<8xf32>)
  %1 = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%q : !t128) score(%s, %b, %h, %i, %j) {
    %one = arith.constant 1.0 : f32
    %d = arith.addf %s, %one : f32
    %r = arith.divf %one, %d : f32
    fa.yield %r : f32
  }
  return %0, %1 : !t128, !t128
}

// A mask of several bounds takes turns as one that hides keys on both sides.
// SM90A-LABEL: func.func @prefix_256(
// SM90A: overlap = keys<turns, rescale = before_product>, tile_order = longest_first>, stages = 2>>
func.func @prefix_256(%q: !t256, %p: tensor<2xi32>) -> !t256 {
  %0 = fa.attention ins(%q, %q, %q : !t256, !t256, !t256) outs(%q : !t256) mask prefix(%p : tensor<2xi32>)
  return %0 : !t256
}

// SM90A-LABEL: func.func @constant_tanhs_128(
// SM90A: overlap = tiles>, stages = 2, tanh<sharers = 5>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2, tanh<sharers = 5, interleave_rows>>
func.func @constant_tanhs_128(%q: !t128) -> (!t128, !t128) {
  %c = arith.constant 30.0 : f32
  %0 = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%q : !t128) score softcap(%c)
  %1 = fa.attention ins(%q, %q, %q : !t128, !t128, !t128) outs(%q : !t128) score softcap(%c) mask causal
  return %0, %1 : !t128, !t128
}

// In f16 turns are taken where keys are hidden on both sides.
// SM90A-LABEL: func.func @tanhs_of_f16(
// SM90A: overlap = tiles>, stages = 2>>
// SM90A: overlap = tiles, tile_order = longest_first>, stages = 2>>
// SM90A: overlap = tiles<turns>, tile_order = longest_first>, stages = 2>>
!tanh_f16 = tensor<2x?x8x128xf16>
func.func @tanhs_of_f16(%q: !tanh_f16, %cap: f32, %w: index) -> (!tanh_f16, !tanh_f16, !tanh_f16) {
  %0 = fa.attention ins(%q, %q, %q : !tanh_f16, !tanh_f16, !tanh_f16) outs(%q : !tanh_f16) score softcap(%cap)
  %1 = fa.attention ins(%q, %q, %q : !tanh_f16, !tanh_f16, !tanh_f16) outs(%q : !tanh_f16) score softcap(%cap) mask causal
  %2 = fa.attention ins(%q, %q, %q : !tanh_f16, !tanh_f16, !tanh_f16) outs(%q : !tanh_f16) score softcap(%cap) mask window(%w, %w)
  return %0, %1, %2 : !tanh_f16, !tanh_f16, !tanh_f16
}

// Wide heads take turns whatever the score function. Where there is none, the
// mask decides how the output is rescaled.
// SM90A-LABEL: func.func @scores_256(
// SM90A: overlap = keys<turns>>, stages = 2>>
// SM90A: overlap = keys<turns>, tile_order = longest_first>, stages = 2>>
// SM90A: overlap = keys<turns, rescale = before_product>, tile_order = longest_first>, stages = 2>>
func.func @scores_256(%q: !t256, %cap: f32, %w: index) -> (!t256, !t256, !t256) {
  %0 = fa.attention ins(%q, %q, %q : !t256, !t256, !t256) outs(%q : !t256) score approx_softcap(%cap)
  %1 = fa.attention ins(%q, %q, %q : !t256, !t256, !t256) outs(%q : !t256) score softcap(%cap) mask causal
  %2 = fa.attention ins(%q, %q, %q : !t256, !t256, !t256) outs(%q : !t256) mask window(%w, %w)
  return %0, %1, %2 : !t256, !t256, !t256
}

// SM80-LABEL: func.func @bias_256(
// SM80: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>
// SM90A-LABEL: func.func @bias_256(
// SM90A: config = #fa.config<query_block = 128, key_block = 48, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>
func.func @bias_256(%q: !t256, %o: !t256, %t: tensor<2x8x?x?xbf16>) -> !t256 {
  %r = fa.attention ins(%q, %q, %q : !t256, !t256, !t256) outs(%o : !t256) score bias(%t : tensor<2x8x?x?xbf16>)
  return %r : !t256
}

!rows = tensor<?x8x128xbf16>
!starts = tensor<?xi32>
#rows = #fa.dims<s, h, d>

// Packed sequences are short or long in the mean. Those whose results are the same in any batch have one configuration, and a mask has another mean.
// SM80-LABEL: func.func @packed(
// SM80-NOT: longer
// SM90A-LABEL: func.func @packed(
// SM90A: config = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>>, stages = 4>, longer = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, copying_registers = 40>, stages = 2>, from_keys = 113>>
// REMARK90A: up to 112 keys in the mean on
func.func @packed(%q: !rows, %o: !rows, %s: !starts) -> !rows {
  %r = fa.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%o : !rows) query_starts(%s : !starts) key_starts(%s : !starts)
      {query_dims = #rows, key_dims = #rows, value_dims = #rows, output_dims = #rows}
  return %r : !rows
}

// SM90A-LABEL: func.func @packed_invariant(
// SM90A-NOT: longer
// SM90A: return
func.func @packed_invariant(%q: !rows, %o: !rows, %s: !starts) -> !rows {
  %r = fa.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%o : !rows) query_starts(%s : !starts) key_starts(%s : !starts)
      {query_dims = #rows, key_dims = #rows, value_dims = #rows, output_dims = #rows, batch_invariant}
  return %r : !rows
}

// Also of a batch of 8192 rows in all, which one sequence of so many would have 176 keys for.
// SM90A-LABEL: func.func @static_invariant(
// SM90A: config = #fa.config<query_block = 128, key_block = 128,
// SM90A: config = #fa.config<query_block = 128, key_block = 128,
// SM90A: return
func.func @static_invariant(%q: tensor<8192x8x128xbf16>, %o: tensor<8192x8x128xbf16>, %s: !starts, %d: tensor<1x8192x8x128xbf16>)
    -> (tensor<8192x8x128xbf16>, tensor<1x8192x8x128xbf16>) {
  %r = fa.attention ins(%q, %q, %q : tensor<8192x8x128xbf16>, tensor<8192x8x128xbf16>, tensor<8192x8x128xbf16>)
      outs(%o : tensor<8192x8x128xbf16>) query_starts(%s : !starts) key_starts(%s : !starts)
      {query_dims = #rows, key_dims = #rows, value_dims = #rows, output_dims = #rows, batch_invariant}
  %t = fa.attention ins(%d, %d, %d : tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16>)
      outs(%d : tensor<1x8192x8x128xbf16>) {batch_invariant}
  return %r, %t : tensor<8192x8x128xbf16>, tensor<1x8192x8x128xbf16>
}

// SM90A-LABEL: func.func @packed_causal(
// SM90A-NOT: longer
// SM90A: return
func.func @packed_causal(%q: !rows, %o: !rows, %s: !starts) -> !rows {
  %r = fa.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%o : !rows) query_starts(%s : !starts) key_starts(%s : !starts)
      mask causal {query_dims = #rows, key_dims = #rows, value_dims = #rows, output_dims = #rows}
  return %r : !rows
}
