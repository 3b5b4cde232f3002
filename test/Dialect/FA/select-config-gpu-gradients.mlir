// Gradients on a GPU: the configuration that the table gives, and what is refused.

// RUN: split-file %s %t
// One pass, where groups can divide the head dim.
// RUN: sed 's/CONFIG//; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ONCE
// RUN: sed 's/CONFIG//; s/DIM/128/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=WIDE
// With a mask fewer queries a step leave shared memory for the next tile.
// RUN: sed 's/{CONFIG}/mask causal/; s/DIM/128/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=MASKED
// MASKED: #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, tile_order = longest_first, copying_registers = 40>, stages = 2>, gradient_form = one_pass,
// From as many keys and queries on they are worth more than the next tile, where the mask has one bound.
// MASKED-SAME: longer = #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>, tile_order = longest_first, copying_registers = 24>, stages = 2>, gradient_form = one_pass, from_keys = 10240, from_queries = 10240>>}
// DEFINE: %{rows} = 10239
// DEFINE: %{masked} = sed 's/{CONFIG}/mask causal/; s/DIM/128/; s/TYPE/bf16/; s/1x?x4x/1x%{rows}x4x/; s/1x4x?x/1x4x%{rows}x/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a -fa-version-lengths | FileCheck %s --implicit-check-not=longer --implicit-check-not=scf.if --check-prefix
// RUN: %{masked}=SHORT
// REDEFINE: %{rows} = 10240
// RUN: %{masked}=LONG
// SHORT: query_block = 64, {{.*}} gradient_form = one_pass>}
// LONG: query_block = 80, {{.*}} gradient_form = one_pass>}
// By warps two groups divide the columns, and long sequences take more keys a block, without a mask too. With one the longest come first.
// RUN: sed 's/{CONFIG}/mask causal/; s/DIM/128/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPLONG -DORDER=', tile_order = longest_first'
// RUN: sed 's/CONFIG//; s/DIM/128/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90 | FileCheck %s --check-prefix=WARPLONG -DORDER=
// WARPLONG: #fa.config<query_block = 64, key_block = 64, deterministic = false, target = #fa.gpu<warps<column_groups = 2[[ORDER]]>, stages = 2>, gradient_form = one_pass, longer = #fa.config<query_block = 64, key_block = 128, deterministic = false, target = #fa.gpu<warps<column_groups = 2[[ORDER]]>, stages = 2>, gradient_form = one_pass, from_keys = 2048, from_queries = 2048>>}
// Windows, lengths of a batch, dropout and smaller shared memory leave them as they are.
// RUN: sed 's/{CONFIG}/mask window(%%n, %%n)/; s/DIM/128/; s/TYPE/f16/; s/xf32>) {/xf32>, %%n: index) {/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPGIVEN -DORDER='<tile_order = longest_first>' --implicit-check-not='longer ='
// RUN: sed 's/{CONFIG}/key_lengths(%%n : memref<1xi32>)/; s/DIM/128/; s/TYPE/f16/; s/xf32>) {/xf32>, %%n: memref<1xi32>) {/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPGIVEN -DORDER= --implicit-check-not=longer
// RUN: sed 's/CONFIG//; s/DIM/128/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_86 | FileCheck %s --implicit-check-not=column_groups --implicit-check-not=longer --check-prefix=WARPSMALL
// WARPSMALL: gradient_form = two_pass
// At head dim 64 tiles of short ones overlap, and the stores of long ones.
// RUN: sed 's/{CONFIG}/mask causal/; s/DIM/64/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=NARROW
// NARROW: query_block = 128, {{.*}} overlap = tiles<turns>, tile_order = longest_first, copying_registers = 40>, stages = 2>, gradient_form = one_pass, longer = #fa.config<query_block = 128, {{.*}} overlap = stores<turns>, tile_order = longest_first, copying_registers = 24>, stages = 2>, gradient_form = one_pass, from_keys = 2048, from_queries = 2048>>}
// RUN: sed 's/{CONFIG}/mask window(%%n, %%n)/; s/DIM/64/; s/TYPE/f16/; s/xf32>) {/xf32>, %%n: index) {/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=NARROWWINDOW --implicit-check-not=longer
// NARROWWINDOW: query_block = 128, {{.*}} overlap = stores<turns>, {{.*}} gradient_form = one_pass>}
// Neither of other head dims, nor of windows, lengths of a batch, and sums in one order.
// RUN: sed 's/{CONFIG}/mask causal {deterministic}/; s/DIM/128/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=NEITHER --implicit-check-not=longer
// RUN: sed 's/{CONFIG}/mask causal/; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPONCE -DORDER='<tile_order = longest_first>' --implicit-check-not='longer ='
// RUN: sed 's/{CONFIG}/mask window(%%n, %%n)/; s/DIM/128/; s/TYPE/f16/; s/xf32>) {/xf32>, %%n: index) {/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SHORT --implicit-check-not=longer
// RUN: sed 's/{CONFIG}/key_lengths(%%n : memref<1xi32>) mask causal/; s/DIM/128/; s/TYPE/f16/; s/xf32>) {/xf32>, %%n: memref<1xi32>) {/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SHORT --implicit-check-not=longer
// RUN: sed 's/CONFIG//; s/DIM/72/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=NEITHER
// NEITHER: gradient_form = two_pass
// Two for the same bits in each run, and for some of the gradients.
// RUN: sed 's/CONFIG/deterministic/; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SMALL
// A score that its gradient reads is kept: one pass where registers for it are left.
// RUN: fa-opt %t/scored.mlir -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=BETWEEN
// RUN: %mutate %t/scored.mlir change 'memref<1x?x4x64xbf16>' to 'memref<1x?x4x128xbf16>' | fa-opt - -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=KEPT
// RUN: %mutate %t/scored.mlir change 'memref<1x?x4x64xbf16>' to 'memref<1x?x4x128xbf16>' then change '%%cap: f32' to '%%cap: memref<4xf32>' then change 'softcap(%%cap)' to 'alibi(%%cap : memref<4xf32>)' | fa-opt - -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=FREE
// So are the values that the gradient of the cap is made of: fewer keys a step, in two passes.
// DEFINE: %{dim-of-cap} = 64
// DEFINE: %{cap} = %mutate %t/scored.mlir change 'memref<1x?x4x64xbf16>' to 'memref<1x?x4x%{dim-of-cap}xbf16>' then change '%%cap: f32' to '%%cap: f32, %%sum: memref<f32>' then change 'value = %%t : !t)' to 'value = %%t : !t, capture[0] = %%sum : memref<f32>)'
// DEFINE: %{select-cap} = %{cap} | fa-opt - -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=CAP%{dim-of-cap}
// DEFINE: %{plan-cap} = %{cap} | fa-opt - '-pass-pipeline=builtin.module(fa-to-schedule{chip=sm_90a},fagpu-plan)' -o /dev/null
// RUN: %{select-cap}
// RUN: %{plan-cap}
// CAP64: #fa.config<query_block = 128, key_block = 48, deterministic = false, {{.*}} gradient_form = two_pass>
// CAP64-SAME: fa.gradient_keys = #fa.config<query_block = 32,
// REDEFINE: %{dim-of-cap} = 128
// RUN: %{select-cap}
// RUN: %{plan-cap}
// CAP128: #fa.config<query_block = 128, key_block = 32, deterministic = false, {{.*}} gradient_form = two_pass>
// CAP128-SAME: fa.gradient_keys = #fa.config<query_block = 16,
// So are more than three values of a score function that adds nothing: with blocks of 64 keys it had no schedule.
// RUN: fa-opt %t/activations.mlir -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ACTIVATIONS
// RUN: fa-opt %t/activations.mlir '-pass-pipeline=builtin.module(fa-to-schedule{chip=sm_90a},fagpu-plan)' -o /dev/null
// ACTIVATIONS: #fa.config<query_block = 128, key_block = 32, {{.*}} gradient_form = two_pass>
// And what a mask knows of each query from memory: one pass of 128 queries had no schedule. The document alone leaves it.
// RUN: fa-opt %t/places.mlir -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=PLACES
// RUN: fa-opt %t/places.mlir '-pass-pipeline=builtin.module(fa-to-schedule{chip=sm_90a},fagpu-plan)' -o /dev/null
// RUN: %mutate %t/places.mlir change 'fa.yield %%both' to 'fa.yield %%same' | fa-opt - -canonicalize -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=DOCUMENT
// PLACES: #fa.config<query_block = 128, key_block = 96, {{.*}} gradient_form = two_pass>
// PLACES-SAME: fa.gradient_keys = #fa.config<query_block = 64,
// DOCUMENT: #fa.config<query_block = 128, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass>
// KEPT: #fa.config<query_block = 48, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass>}
// RUN: %mutate %t/keys.mlir change '{config = #fa.config<query_block = 128, key_block = 128, deterministic = false, gradient_form = one_pass>}' to '' | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=NEITHER
// SMALL: fa.attention_gradient {{.*}}config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, copying_registers = 40>, stages = 2>, gradient_form = two_pass>
// SMALL-SAME: fa.gradient_keys = #fa.config<query_block = 96, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>

// What may add in any order by its own configuration has one pass.
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 128, key_block = 128, deterministic = false>/; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ONCE
// ONCE: fa.attention_gradient {{.*}}{config = #fa.config<query_block = 128, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, copying_registers = 24>, stages = 2>, gradient_form = one_pass>}
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 80, key_block = 128, deterministic = false>/; s/DIM/128/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=WIDE
// WIDE: #fa.config<query_block = 80, key_block = 128, deterministic = false, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>, copying_registers = 24>, stages = 2>, gradient_form = one_pass>}
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 64, key_block = 128, deterministic = false>/; s/DIM/96/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=BETWEEN
// BETWEEN: #fa.config<query_block = 64, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass>}

// RUN: sed 's/CONFIG/config = #fa.config<query_block = 128, key_block = 128, deterministic = false>/; s/DIM/72/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: #fa.config<query_block = 128, key_block = 128, deterministic = false, {{.*}} gradient_form = two_pass>

// What is to be deterministic has two.
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 128, key_block = 128>/; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=TWICE
// TWICE: fa.attention_gradient {{.*}}config = #fa.config<query_block = 128, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys, copying_registers = 40>, stages = 2>, gradient_form = two_pass>
// TWICE-SAME: fa.gradient_keys = #fa.config<query_block = {{64|96}}, key_block = 128, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>>, stages = 2>>
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 64, key_block = 128, deterministic = false>/; s/DIM/128/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=FREE
// FREE: #fa.config<query_block = 64, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass>}
// RUN: sed 's/CONFIG//; s/DIM/256/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=LARGE
// LARGE: query_block = 128, key_block = 64, {{.*}} gradient_form = three_pass
// LARGE-SAME: fa.gradient_keys = #fa.config<query_block = 64, key_block = 128,

// Dropout alone, of which a bit of each pair is kept, leaves three passes their columns; other score functions and forms do not.
// DEFINE: %{draws} = sed 's/DIM/256/' %t/draws.mlir | fa-opt -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix
// RUN: %{draws}=LARGE
// REDEFINE: %{draws} = sed 's/DIM/256/; s/dropout(/score softcap(%%p) dropout(/' %t/draws.mlir | fa-opt -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix
// RUN: %{draws}=CAPPED
// REDEFINE: %{draws} = sed 's/DIM/128/' %t/draws.mlir | fa-opt -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix
// RUN: %{draws}=DRAWN
// CAPPED: query_block = 128, key_block = {{16|32}}, {{.*}} gradient_form = three_pass
// DRAWN: query_block = 48, {{.*}} gradient_form = one_pass

// Packed sequences add to gradients of captures as a batch does.
// RUN: fa-opt %t/packed.mlir -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=PACKED
// PACKED: outs(query = %{{.*}}, capture[0] = %{{.*}})
// PACKED: config = #fa.config<query_block = 128, {{.*}}deterministic = false, {{.*}}gradient_form = two_pass
// Short in the mean they take two passes, and one where they are longer. Groups take turns; at head dim 128 a step has 64 keys, which
// leaves shared memory for the queries of the next block.
// DEFINE: %{documents} = sed 's/DIM/128/; s/MASK//' %t/documents.mlir
// RUN: %{documents} | fa-opt -fa-select-config=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-select-config 2>&1 | FileCheck %s --check-prefix=DOCUMENTS
// DOCUMENTS: two passes below 416 keys or queries in the mean
// DOCUMENTS: #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys<turns>{{.*}} gradient_form = two_pass, longer = #fa.config<query_block = 64, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass, from_keys = 416, from_queries = 416>>
// DOCUMENTS-SAME: fa.gradient_keys = #fa.config<query_block = 64, key_block = 128,
// REDEFINE: %{documents} = sed 's/DIM/128/; s/MASK/mask causal/' %t/documents.mlir
// RUN: %{documents} | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=CAUSAL128
// CAUSAL128: #fa.config<query_block = 128, key_block = 64, target = {{.*}} gradient_form = two_pass, longer = #fa.config<query_block = 64, {{.*}} gradient_form = one_pass, from_keys = 512, from_queries = 512>>
// REDEFINE: %{documents} = sed 's/DIM/64/; s/MASK/mask causal/' %t/documents.mlir
// RUN: %{documents} | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SHORT64
// SHORT64: #fa.config<query_block = 128, key_block = 128, target = {{.*}} gradient_form = two_pass, longer = #fa.config<query_block = 128, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass, from_keys = 512, from_queries = 512>>
// REDEFINE: %{documents} = sed 's/DIM/64/; s/MASK//' %t/documents.mlir
// RUN: %{documents} | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=FULL64
// FULL64: #fa.config<query_block = 128, key_block = 128, target = {{.*}} gradient_form = two_pass, longer = #fa.config<query_block = 128, key_block = 128, deterministic = false, {{.*}} gradient_form = one_pass, from_keys = 448, from_queries = 448>>
// FULL64-SAME: fa.gradient_keys = #fa.config<query_block = 96, key_block = 128,
// A score function was timed without a mask alone.
// REDEFINE: %{documents} = sed 's/DIM/128/; s/MASK/score softcap(%c)/; s/%lse: !l,/%lse: !l, %c: f32,/' %t/documents.mlir
// RUN: %{documents} | fa-opt -fa-differentiate-score -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=SCORED
// SCORED: gradient_form = two_pass
// SCORED-NOT: longer
// RUN: not fa-opt %t/two_types.mlir -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=TYPES
// TYPES: error: 'fa.attention_gradient' op has an output gradient of 'f32' beside a query of 'bf16', which has no lowering for sm_90a; the nearest is an output gradient of 'bf16' there, and this one on a CPU

// DEFINE: %{config} =
// DEFINE: %{dim} = 128
// DEFINE: %{type} = bf16
// DEFINE: %{chip} = sm_90a
// DEFINE: %{prefix} =
// DEFINE: %{check} = sed 's/CONFIG/config = #fa.config<query_block = %{config}>/; s/DIM/%{dim}/; s/TYPE/%{type}/' %t/problem.mlir | not fa-opt -fa-select-config=chip=%{chip} 2>&1 | FileCheck %s --check-prefix=%{prefix} --implicit-check-not=error:

// REDEFINE: %{config} = 128, key_block = 128, gradient_form = one_pass
// REDEFINE: %{prefix} = FORM
// RUN: %{check}
// FORM: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, which adds in any order on sm_90a, but deterministic is true; expected deterministic = false, or gradient_form = two_pass

// REDEFINE: %{config} = 96, key_block = 128, deterministic = false, gradient_form = one_pass
// REDEFINE: %{prefix} = WIDEST
// RUN: %{check}
// WIDEST: error: 'fa.attention_gradient' op config does not fit: query_block = 96 needs at least 252 registers a thread, but there are 240; the nearest is 80

// REDEFINE: %{config} = 80, key_block = 64, deterministic = false, gradient_form = one_pass
// REDEFINE: %{prefix} = KEYS
// RUN: %{check}
// KEYS: error: 'fa.attention_gradient' op config does not fit: key_block is 64, expected 128, 64 rows for each of 2 groups

// REDEFINE: %{config} = 80, key_block = 128, deterministic = false, gradient_form = one_pass
// REDEFINE: %{dim} = 64
// REDEFINE: %{prefix} = DIVIDE
// RUN: %{check}
// DIVIDE: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, but 2 groups cannot divide the gradient of query_block = 80 queries with head dim 64; expected 128 queries, or 64, or gradient_form = two_pass

// RUN: not fa-opt %t/keys.mlir -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=SOME --implicit-check-not=error:
// SOME: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, which makes the gradients of query, key and value, but not all of them are asked for; the nearest is two_pass
// REDEFINE: %{dim} = 128

// REDEFINE: %{config} = 192, key_block = 128
// REDEFINE: %{prefix} = ROWS
// RUN: %{check}
// ROWS: error: 'fa.attention_gradient' op config does not fit: query_block is 192, expected 128, 64 rows for each of 2 groups

// REDEFINE: %{config} = 128, key_block = 100
// REDEFINE: %{prefix} = COLUMNS
// RUN: %{check}
// COLUMNS: error: 'fa.attention_gradient' op config does not fit: key_block is 100, expected a multiple of 16 up to 256

// REDEFINE: %{config} = 128, key_block = 256
// REDEFINE: %{prefix} = REGISTERS
// RUN: %{check}
// REGISTERS: error: 'fa.attention_gradient' op config does not fit: key_block = 256 needs at least 348 registers a thread, but there are 232; the nearest is 128

// REDEFINE: %{config} = 128, key_block = 64, key_splits = 2
// REDEFINE: %{prefix} = SPLITS
// RUN: %{check}
// SPLITS: error: 'fa.attention_gradient' op config does not fit: key_splits is 2, expected 1 for gradients

// Each of the chain is held to the target.
// REDEFINE: %{config} = 128, key_block = 64, longer = #fa.config<query_block = 128, key_block = 256, from_keys = 64>
// REDEFINE: %{prefix} = REGISTERS
// RUN: %{check}
// REDEFINE: %{config} = 128, key_block = 64, longer = #fa.config<query_block = 128, key_block = 64, key_splits = 2, from_keys = 64>
// REDEFINE: %{prefix} = SPLITS
// RUN: %{check}
// REDEFINE: %{config} = 64, key_block = 128, deterministic = false, longer = #fa.config<query_block = 128, key_block = 128, from_keys = 64, gradient_form = one_pass>
// REDEFINE: %{prefix} = FORM
// RUN: %{check}

// One that may add in any order, and from some keys on one that may not: two forms, and blocks of keys for the second.
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 80, key_block = 128, deterministic = false, longer = #fa.config<query_block = 128, key_block = 64, from_keys = 64>>/; s/DIM/128/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=FORMS
// FORMS: gradient_form = one_pass, longer = #fa.config<query_block = 128, key_block = 64, {{.*}} gradient_form = two_pass, from_keys = 64>>, fa.gradient_keys = #fa.config<query_block = 64,
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 64, key_block = 64, longer = #fa.config<query_block = 32, key_block = 64, from_keys = 64>>/; s/DIM/128/; s/TYPE/f32/' %t/problem.mlir | fa-opt -fa-select-config=chip=avx2 | FileCheck %s --check-prefix=CPU
// CPU: {config = #fa.config<query_block = 64, {{.*}} gradient_form = two_pass, longer = #fa.config<query_block = 32, {{.*}} gradient_form = two_pass, from_keys = 64>>}

// REDEFINE: %{config} = 128, key_block = 64, target = #fa.gpu<warps>
// REDEFINE: %{prefix} = PART
// RUN: %{check}
// PART: error: 'fa.attention_gradient' op config does not fit: its target part is #fa.gpu<warps>, but gradients on sm_90a take #fa.gpu<warp_groups<groups = 2, overlap = keys>>, without cluster

// REDEFINE: %{config} = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 100>
// REDEFINE: %{prefix} = STAGES
// RUN: %{check}
// STAGES: error: 'fa.attention_gradient' op config does not fit: stages is 100, expected 1 to 64

// REDEFINE: %{config} = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>, stages = 12>
// REDEFINE: %{prefix} = MEMORY
// RUN: %{check}
// MEMORY: error: 'fa.attention_gradient' op config does not fit: key_block = 64 needs at least {{.*}} bytes of shared memory, but a block of sm_90a has 232448; the nearest is 48

// REDEFINE: %{config} = 128, key_block = 64, gradient_form = two_pass
// REDEFINE: %{dim} = 192
// REDEFINE: %{prefix} = TWO
// RUN: %{check}
// TWO: error: 'fa.attention_gradient' op config does not fit: gradient_form is two_pass, but head dim is 192, expected at most 128 on sm_90a; the nearest is three_pass

// REDEFINE: %{config} = 128, key_block = 64
// REDEFINE: %{dim} = 512
// REDEFINE: %{prefix} = DIM
// RUN: %{check}
// DIM: error: 'fa.attention_gradient' op config does not fit: head dim is 512, but sm_90a takes at most 256 for gradients

// REDEFINE: %{dim} = 64
// REDEFINE: %{type} = f32
// REDEFINE: %{prefix} = FLOAT
// RUN: %{check}
// FLOAT: error: 'fa.attention_gradient' op config does not fit: query_block is 128, expected 64, 16 rows for each warp, or 32 with key_block = 32

// By warps, where there are no asynchronous products and where bulk copies do not take the rows.
// RUN: sed 's/CONFIG//; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPONCE -DORDER=
// WARPONCE: {config = #fa.config<query_block = 32, key_block = 128, deterministic = false, target = #fa.gpu<warps[[ORDER]], stages = 2>, gradient_form = one_pass>}
// RUN: sed 's/CONFIG/config = #fa.config<query_block = 64, key_block = 64, deterministic = false>/; s/DIM/128/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPGIVEN -DORDER=
// WARPGIVEN: {config = #fa.config<query_block = 64, key_block = 64, deterministic = false, target = #fa.gpu<warps[[ORDER]], stages = 2>, gradient_form = one_pass>}
// RUN: sed 's/CONFIG/deterministic/; s/DIM/64/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPS
// WARPS: config = #fa.config<query_block = 128, key_block = 32, target = #fa.gpu<warps, stages = 2>, gradient_form = two_pass>
// WARPS-SAME: fa.gradient_keys = #fa.config<query_block = 32, key_block = 128, target = #fa.gpu<warps, stages = 2>>
// RUN: sed 's/CONFIG//; s/DIM/256/; s/TYPE/f16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_86 | FileCheck %s --check-prefix=WARPLARGE
// WARPLARGE: config = #fa.config<query_block = 64, key_block = 16, target = #fa.gpu<warps, stages = 2>, gradient_form = three_pass>
// RUN: sed 's/CONFIG//; s/DIM/20/; s/TYPE/bf16/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=WARPS
// A score that its gradient reads leaves registers for fewer columns.
// RUN: fa-opt %t/scored.mlir -fa-differentiate-score -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPSCORED
// WARPSCORED: config = #fa.config<query_block = 128, key_block = 32, target = #fa.gpu<warps, stages = 2>, gradient_form = two_pass>

// Two sums of values that read the score leave 128 rows no columns.
// RUN: fa-opt %t/sums.mlir -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=WARPSUMS
// WARPSUMS: config = #fa.config<query_block = 64, key_block = 32, deterministic = false, target = #fa.gpu<warps, stages = 2>, gradient_form = two_pass>

// REDEFINE: %{type} = bf16
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{config} = 96, key_block = 64
// REDEFINE: %{prefix} = WARPROWS
// RUN: %{check}
// WARPROWS: error: 'fa.attention_gradient' op config does not fit: query_block is 96, expected 64 or 128, 16 or 32 rows for each warp

// REDEFINE: %{config} = 128, key_block = 24
// REDEFINE: %{prefix} = WARPKEYS
// RUN: %{check}
// WARPKEYS: error: 'fa.attention_gradient' op config does not fit: key_block is 24, expected a multiple of 16 up to 256

// REDEFINE: %{config} = 128, key_block = 128
// REDEFINE: %{prefix} = WARPREGISTERS
// RUN: %{check}
// WARPREGISTERS: error: 'fa.attention_gradient' op config does not fit: key_block = 128 needs at least 368 registers a thread, but there are 255; the nearest is 64

// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warps, stages = 12>
// REDEFINE: %{prefix} = WARPMEMORY
// RUN: %{check}
// WARPMEMORY: error: 'fa.attention_gradient' op config does not fit: key_block = 64 needs at least 212992 bytes of shared memory, but a block of sm_80 has 166912; the nearest is 48

// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warps, stages = 100>
// REDEFINE: %{prefix} = STAGES
// RUN: %{check}

// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warp_groups<groups = 1, overlap = keys>, stages = 2>
// REDEFINE: %{prefix} = WARPPART
// RUN: %{check}
// WARPPART: error: {{.*}} but these gradients take #fa.gpu<warps> on sm_80, without terms

// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warps, tanh<sharers = 5>>
// REDEFINE: %{prefix} = WARPTANH
// RUN: %{check}
// WARPTANH: error: {{.*}}its target part is #fa.gpu<warps, tanh<sharers = 5>>, but gradients share no reciprocals of a tanh; expected no tanh

// REDEFINE: %{config} = 64, key_block = 64, gradient_form = one_pass
// REDEFINE: %{prefix} = WARPORDER
// RUN: %{check}
// WARPORDER: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, which adds in any order on sm_80, but deterministic is true; the nearest is two_pass

// REDEFINE: %{config} = 64, key_block = 128, deterministic = false, gradient_form = one_pass
// REDEFINE: %{prefix} = WARPEIGHT
// RUN: %{check}
// WARPEIGHT: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, but 8 warps cannot divide the gradient of queries with head dim 64

// REDEFINE: %{config} = 160, key_block = 64, deterministic = false, gradient_form = one_pass
// REDEFINE: %{prefix} = WARPSTEP
// RUN: %{check}
// WARPSTEP: error: 'fa.attention_gradient' op config does not fit: query_block = 160 needs at least 272 registers a thread, but there are 255; the nearest is 128

// REDEFINE: %{config} = 64, key_block = 32, deterministic = false, gradient_form = one_pass
// REDEFINE: %{prefix} = WARPKEYROWS
// RUN: %{check}
// WARPKEYROWS: error: 'fa.attention_gradient' op config does not fit: key_block is 32, expected 64 or 128, 16 or 32 rows for each warp

// REDEFINE: %{config} = 64, key_block = 64, deterministic = false, gradient_form = one_pass
// REDEFINE: %{dim} = 96
// REDEFINE: %{prefix} = WARPDIVIDE
// RUN: %{check}
// WARPDIVIDE: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, but 4 warps cannot divide the gradient of queries with head dim 96 beside values with 96, expected 16 for each warp and at most 128; the nearest is two_pass

// REDEFINE: %{config} = 64, key_block = 64, gradient_form = two_pass
// REDEFINE: %{dim} = 192
// REDEFINE: %{prefix} = WARPTWO
// RUN: %{check}
// WARPTWO: error: 'fa.attention_gradient' op config does not fit: gradient_form is two_pass, but head dim is 192, expected at most 128 on sm_80; the nearest is three_pass

// REDEFINE: %{config} = 64, key_block = 64, deterministic = false, gradient_form = two_pass, target = #fa.gpu<warps<column_groups = 2>>
// REDEFINE: %{dim} = 128
// REDEFINE: %{prefix} = GROUPSFORM
// RUN: %{check}
// GROUPSFORM: error: 'fa.attention_gradient' op config does not fit: column_groups is 2, but gradient_form is two_pass, expected one_pass; the nearest is column_groups = 1

// REDEFINE: %{config} = 64, key_block = 64, deterministic = false, gradient_form = one_pass, target = #fa.gpu<warps<blocks_per_sm = 2>>
// REDEFINE: %{prefix} = BLOCKSPERSM
// RUN: %{check}
// BLOCKSPERSM: error: 'fa.attention_gradient' op config does not fit: blocks_per_sm is 2, expected 1 for gradients

// REDEFINE: %{config} = 48, key_block = 64, deterministic = false, target = #fa.gpu<warps<column_groups = 2>>, gradient_form = one_pass
// REDEFINE: %{prefix} = GROUPSSTEP
// RUN: %{check}
// GROUPSSTEP: error: 'fa.attention_gradient' op config does not fit: query_block is 48, expected a multiple of 32 up to 256

// REDEFINE: %{config} = 64, key_block = 64, deterministic = false, target = #fa.gpu<warps<column_groups = 2>, stages = 6>, gradient_form = one_pass
// REDEFINE: %{prefix} = GROUPSMEMORY
// RUN: %{check}
// GROUPSMEMORY: error: 'fa.attention_gradient' op config does not fit: query_block = 64 needs at least 245760 bytes of shared memory, but a block of sm_80 has 166912; the nearest is 32

// REDEFINE: %{config} = 64, key_block = 64, deterministic = false, target = #fa.gpu<warps<column_groups = 2>>, gradient_form = one_pass
// REDEFINE: %{dim} = 64
// REDEFINE: %{prefix} = GROUPSDIM
// RUN: %{check}
// GROUPSDIM: error: 'fa.attention_gradient' op config does not fit: column_groups is 2, but head dims are 64 and 64, expected multiples of 128; the nearest is 1

// RUN: sed 's/{CONFIG}/dropout(%%p, %%s, %%s : f32, memref<i64>, memref<i64>) {config = #fa.config<query_block = 64, key_block = 64, deterministic = false, target = #fa.gpu<warps<column_groups = 2>>, gradient_form = one_pass>}/; s/DIM/128/; s/TYPE/bf16/; s/xf32>) {/xf32>, %%p: f32, %%s: memref<i64>) {/' %t/problem.mlir > %t/dropout.mlir
// RUN: not fa-opt %t/dropout.mlir -fa-select-config=chip=sm_80 2>&1 | FileCheck %s --check-prefix=GROUPSDROPOUT --implicit-check-not=error:
// GROUPSDROPOUT: error: 'fa.attention_gradient' op config does not fit: column_groups is 2, but dropout numbers the columns of all threads; the nearest is 1

// RUN: not fa-opt %t/keys.mlir -fa-select-config=chip=sm_80 2>&1 | FileCheck %s --check-prefix=SOME --implicit-check-not=error:

// REDEFINE: %{config} = 64, key_block = 64
// REDEFINE: %{dim} = 512
// REDEFINE: %{prefix} = WARPDIM
// RUN: %{check}
// WARPDIM: error: 'fa.attention_gradient' op config does not fit: head dim is 512, but sm_80 takes at most 256 for gradients

// Threads split f32 by warps on every chip: whole operands up to head dim 64, above it parts of the columns.

// RUN: sed 's/CONFIG//; s/DIM/64/; s/TYPE/f32/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=FLOATS
// RUN: sed 's/CONFIG//; s/DIM/20/; s/TYPE/f32/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_86 | FileCheck %s --check-prefix=FLOATS
// FLOATS: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>, gradient_form = two_pass>
// FLOATS-SAME: fa.gradient_keys = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>>
// RUN: sed 's/CONFIG//; s/DIM/128/; s/TYPE/f32/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_86 | FileCheck %s --check-prefix=FLOATPARTS
// RUN: sed 's/CONFIG//; s/DIM/256/; s/TYPE/f32/' %t/problem.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=FLOATPARTS
// FLOATPARTS: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, terms<columns = 16, rolled>>, gradient_form = three_pass>

// REDEFINE: %{type} = f32
// REDEFINE: %{dim} = 64
// REDEFINE: %{config} = 64, key_block = 96
// REDEFINE: %{prefix} = FLOATKEYS
// RUN: %{check}
// FLOATKEYS: error: 'fa.attention_gradient' op config does not fit: key_block is 96, expected a multiple of 64 up to 256

// REDEFINE: %{config} = 64, key_block = 128
// REDEFINE: %{prefix} = FLOATREGISTERS
// RUN: %{check}
// FLOATREGISTERS: error: 'fa.attention_gradient' op config does not fit: key_block = 128 needs at least {{[0-9]+}} registers a thread, but there are 255; the nearest is 64

// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warps, stages = 2>
// REDEFINE: %{prefix} = FLOATSTAGES
// RUN: %{check}
// FLOATSTAGES: error: 'fa.attention_gradient' op config does not fit: stages is 2, expected 1, as terms have

// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warps, terms<common_stages>>
// REDEFINE: %{prefix} = FLOATPART
// RUN: %{check}
// FLOATPART: error: {{.*}} but these gradients take #fa.gpu<warps> on sm_80, without keep_queries and common_stages

// REDEFINE: %{config} = 64, key_block = 64, deterministic = false, gradient_form = one_pass
// REDEFINE: %{prefix} = FLOATONCE
// RUN: %{check}
// FLOATONCE: error: 'fa.attention_gradient' op config does not fit: gradient_form is one_pass, which adds up gradients of f16 and bf16 on sm_80, but the operands are f32; the nearest is two_pass

// REDEFINE: %{dim} = 128
// REDEFINE: %{config} = 64, key_block = 64, gradient_form = two_pass
// REDEFINE: %{prefix} = FLOATTWO
// RUN: %{check}
// FLOATTWO: error: 'fa.attention_gradient' op config does not fit: gradient_form is two_pass, but head dim is 128, expected at most 64 on sm_80; the nearest is three_pass

// Whole operands of head dim 256 fit no shared memory, in blocks of 32 they do.
// REDEFINE: %{dim} = 256
// REDEFINE: %{config} = 64, key_block = 64, target = #fa.gpu<warps, terms<rolled>>
// REDEFINE: %{prefix} = FLOATMEMORY
// RUN: %{check}
// FLOATMEMORY: error: 'fa.attention_gradient' op config does not fit: key_block = 64 needs at least

// Blocks add to gradients of captures and of the scale, in any order.

// DEFINE: %{attributes} =
// DEFINE: %{file} = capture
// DEFINE: %{select} = sed 's/ATTRIBUTES/%{attributes}/' %t/%{file}.mlir | not fa-opt -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: sed 's/ATTRIBUTES//' %t/capture.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ADDS
// RUN: sed 's/ATTRIBUTES//' %t/scale.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ADDS
// ADDS: #fa.config<query_block = 128, key_block = {{[0-9]+}}, deterministic = false, target = {{.*}}, gradient_form = two_pass>

// In one order where it is asked for, and where no two pairs of a block share an element but those of a row, or all.
// RUN: sed 's/ATTRIBUTES/{deterministic}/' %t/capture.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ORDERED --implicit-check-not='deterministic = false'
// RUN: sed 's/ATTRIBUTES/{deterministic}/' %t/scale.mlir | fa-opt -fa-select-config=chip=sm_80 | FileCheck %s --check-prefix=ORDERED --implicit-check-not='deterministic = false'
// ORDERED: #fa.config<{{.*}}, gradient_form = two_pass>
// REDEFINE: %{file} = distances
// REDEFINE: %{attributes} = {deterministic}
// RUN: %{select} --check-prefix=SHARED
// SHARED: error: 'fa.attention_gradient' op asks for the gradient of capture 0, whose elements pairs of a block share and add to in any order on sm_90a, but is deterministic; the nearest is an index of query alone, of key alone beside the gradient of key or value, of neither, or of batch, head, query and key, or deterministic = false there, and this one on a CPU
// REDEFINE: %{attributes} = {config = #fa.config<query_block = 128, key_block = 32>}
// RUN: %{select} --check-prefix=CONFIGURED
// CONFIGURED: error: 'fa.attention_gradient' op asks for the gradient of capture 0, {{.*}} on sm_90a, but its config has deterministic = true
// Rows of keys are added up where keys are visited; rows that two places index apart are shared.
// RUN: sed 's/ATTRIBUTES/{deterministic}/; s/%distance\]/%j]/' %t/distances.mlir | not fa-opt -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/ATTRIBUTES/{deterministic}/; s/%distance\]/%j]/; s/outs(query = \(.*\) : !t,/outs(query = \1 : !t, key = \1 : !t,/' %t/distances.mlir | fa-opt -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=ORDERED
// RUN: sed 's/ATTRIBUTES/{deterministic}/' %t/apart.mlir | not fa-opt -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=SHARED

// What queries share, and keys do not, has rows of its own in blocks of queries.
// RUN: fa-opt %t/ofqueries.mlir -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=QUERIES
// QUERIES: gradient_form = two_pass

// RUN: not fa-opt %t/sink.mlir -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=SINK --implicit-check-not=error:
// SINK: error: 'fa.attention_gradient' op asks for the gradient of a capture of the sink, which has no lowering for sm_90a; the nearest is query, key, value and captures of the score there, and this one on a CPU

//--- problem.mlir
!t = memref<1x?x4xDIMxTYPE>
func.func @problem(%t: !t, %lse: memref<1x4x?xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, key = %t : !t, value = %t : !t) {CONFIG}
  return
}

//--- scored.mlir
!t = memref<1x?x4x64xbf16>
func.func @scored(%t: !t, %lse: memref<1x4x?xf32>, %cap: f32) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, key = %t : !t, value = %t : !t) score softcap(%cap)
  return
}

//--- activations.mlir
!t = memref<1x?x4x16xf16>
func.func @activations(%t: !t, %lse: memref<1x4x?xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, key = %t : !t, value = %t : !t)
      score (%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %limit = arith.constant 20.0 : f32
        %negated = arith.negf %s : f32
        %power = math.exp %negated : f32
        %sum = arith.addf %one, %power : f32
        %sigmoid = arith.divf %one, %sum : f32
        %silu = arith.mulf %s, %sigmoid : f32
        %other = math.exp %s : f32
        %log = math.log1p %other : f32
        %large = arith.cmpf ogt, %s, %limit : f32
        %softplus = arith.select %large, %s, %log : f32
        %scored = arith.addf %silu, %softplus : f32
        fa.yield %scored : f32
      }
  return
}

//--- draws.mlir
!t = memref<1x?x4xDIMxbf16>
func.func @draws(%t: !t, %lse: memref<1x4x?xf32>, %p: f32, %seed: memref<i64>, %offset: memref<i64>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, key = %t : !t, value = %t : !t) dropout(%p, %seed, %offset : f32, memref<i64>, memref<i64>)
  return
}

//--- places.mlir
!t = memref<1x?x4x16xf16>
func.func @places(%t: !t, %lse: memref<1x4x?xf32>, %documents: memref<?xi32>, %starts: memref<?xi64>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, key = %t : !t, value = %t : !t)
      mask (%b, %h, %i, %j) captures(%d = %documents : memref<?xi32>, %s = %starts : memref<?xi64>) {
        %di = memref.load %d[%i] : memref<?xi32>
        %dj = memref.load %d[%j] : memref<?xi32>
        %same = arith.cmpi eq, %di, %dj : i32
        %ni = arith.index_cast %di : i32 to index
        %nj = arith.index_cast %dj : i32 to index
        %si = memref.load %s[%ni] : memref<?xi64>
        %sj = memref.load %s[%nj] : memref<?xi64>
        %ti = arith.index_cast %si : i64 to index
        %tj = arith.index_cast %sj : i64 to index
        %pi = arith.subi %i, %ti : index
        %pj = arith.subi %j, %tj : index
        %after = arith.cmpi sge, %pi, %pj : index
        %both = arith.andi %same, %after : i1
        fa.yield %both : i1
      }
  return
}

//--- keys.mlir
!t = memref<1x?x4x64xbf16>
func.func @keys(%t: !t, %lse: memref<1x4x?xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(key = %t : !t, value = %t : !t)
      {config = #fa.config<query_block = 128, key_block = 128, deterministic = false, gradient_form = one_pass>}
  return
}

//--- capture.mlir
!t = memref<1x?x4x64xbf16>
func.func @capture(%t: !t, %lse: memref<1x4x?xf32>, %slopes: memref<4xf32>, %to: memref<4xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, capture[0] = %to : memref<4xf32>)
      score(%s, %b, %h, %i, %j) captures(%table = %slopes : memref<4xf32>) {
        %slope = memref.load %table[%h] : memref<4xf32>
        %x = arith.addf %s, %slope : f32
        fa.yield %x : f32
      }
      score_gradient(%dx, %s, %b, %h, %i, %j, %table) {
        fa.scatter_gradient %dx to %table[%h] : f32, memref<4xf32>
        fa.yield %dx : f32
      } ATTRIBUTES
  return
}

//--- sums.mlir
!t = memref<1x?x4x128xbf16>
func.func @sums(%t: !t, %lse: memref<1x4x?xf32>, %slopes: memref<4xf32>, %to: memref<4xf32>, %scale: f32, %of_scale: memref<f32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, capture[0] = %to : memref<4xf32>, scale = %of_scale : memref<f32>) scale(%scale)
      score(%s, %b, %h, %i, %j) captures(%table = %slopes : memref<4xf32>) {
        %slope = memref.load %table[%h] : memref<4xf32>
        %x = arith.mulf %s, %slope : f32
        fa.yield %x : f32
      }
      score_gradient(%dx, %s, %b, %h, %i, %j, %table) {
        %slope = memref.load %table[%h] : memref<4xf32>
        %ds = arith.mulf %dx, %slope : f32
        %dt = arith.mulf %dx, %s : f32
        fa.scatter_gradient %dt to %table[%h] : f32, memref<4xf32>
        fa.yield %ds : f32
      }
  return
}

//--- ofqueries.mlir
!t = memref<1x?x4x64xbf16>
func.func @ofqueries(%t: !t, %lse: memref<1x4x?xf32>, %bias: memref<?xf32>, %to: memref<?xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, key = %t : !t, value = %t : !t, capture[0] = %to : memref<?xf32>)
      score(%s, %b, %h, %i, %j) captures(%table = %bias : memref<?xf32>) {
        %number = memref.load %table[%i] : memref<?xf32>
        %x = arith.addf %s, %number : f32
        fa.yield %x : f32
      }
      score_gradient(%dx, %s, %b, %h, %i, %j, %table) {
        fa.scatter_gradient %dx to %table[%i] : f32, memref<?xf32>
        fa.yield %dx : f32
      }
  return
}

//--- distances.mlir
!t = memref<1x?x4x64xbf16>
func.func @distances(%t: !t, %lse: memref<1x4x?xf32>, %table: memref<?xf32>, %to: memref<?xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, capture[0] = %to : memref<?xf32>)
      score(%s, %b, %h, %i, %j) captures(%bias = %table : memref<?xf32>) {
        %distance = arith.subi %i, %j : index
        %number = memref.load %bias[%distance] : memref<?xf32>
        %x = arith.addf %s, %number : f32
        fa.yield %x : f32
      }
      score_gradient(%dx, %s, %b, %h, %i, %j, %bias) {
        %distance = arith.subi %i, %j : index
        fa.scatter_gradient %dx to %bias[%distance] : f32, memref<?xf32>
        fa.yield %dx : f32
      } ATTRIBUTES
  return
}

//--- apart.mlir
!t = memref<1x?x4x64xbf16>
!s = memref<?x?xf32>
func.func @apart(%t: !t, %lse: memref<1x4x?xf32>, %table: !s, %to: !s) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, capture[0] = %to : !s)
      score(%s, %b, %h, %i, %j) captures(%bias = %table : !s) {
        %one = memref.load %bias[%h, %i] : !s
        %other = memref.load %bias[%i, %h] : !s
        %x = arith.addf %s, %one : f32
        %y = arith.addf %x, %other : f32
        fa.yield %y : f32
      }
      score_gradient(%dx, %s, %b, %h, %i, %j, %bias) {
        fa.scatter_gradient %dx to %bias[%h, %i] : f32, !s
        fa.scatter_gradient %dx to %bias[%i, %h] : f32, !s
        fa.yield %dx : f32
      } ATTRIBUTES
  return
}

//--- scale.mlir
!t = memref<1x?x4x64xbf16>
func.func @scale(%t: !t, %lse: memref<1x4x?xf32>, %scale: f32, %to: memref<f32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, scale = %to : memref<f32>) scale(%scale) ATTRIBUTES
  return
}

//--- sink.mlir
!t = memref<1x?x4x64xbf16>
func.func @sink(%t: !t, %lse: memref<1x4x?xf32>, %sinks: memref<4xf32>, %to: memref<4xf32>) {
  fa.attention_gradient ins(%t, %t, %t : !t, !t, !t) of(%t, %lse : !t, memref<1x4x?xf32>) gradients(%t : !t)
      outs(query = %t : !t, sink_capture[0] = %to : memref<4xf32>)
      sink(%b, %h, %i) captures(%table = %sinks : memref<4xf32>) {
        %x = memref.load %table[%h] : memref<4xf32>
        fa.yield %x : f32
      }
  return
}

//--- packed.mlir
!t = memref<?x4x64xbf16>
!l = memref<4x?xf32>
!s = memref<?xi32>
!a = memref<4xf32>
func.func @packed(%q: !t, %starts: !s, %lse: !l, %slopes: !a, %dq: !t, %ds: !a) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %lse : !t, !l) gradients(%q : !t) outs(query = %dq : !t, capture[0] = %ds : !a)
      query_starts(%starts : !s) key_starts(%starts : !s) score(%s, %b, %h, %i, %j) captures(%t = %slopes : !a) {
        %slope = memref.load %t[%h] : !a
        %x = arith.addf %s, %slope : f32
        fa.yield %x : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        fa.scatter_gradient %dx to %t[%h] : f32, !a
        fa.yield %dx : f32
      }
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>,
       output_gradient_dims = #fa.dims<s, h, d>, query_gradient_dims = #fa.dims<s, h, d>}
  return
}

//--- documents.mlir
!t = memref<?x4xDIMxbf16>
!l = memref<4x?xf32>
!s = memref<?xi32>
func.func @documents(%q: !t, %starts: !s, %lse: !l, %dq: !t, %dk: !t, %dv: !t) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %lse : !t, !l) gradients(%q : !t) outs(query = %dq : !t, key = %dk : !t, value = %dv : !t)
      query_starts(%starts : !s) key_starts(%starts : !s) MASK
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>,
       output_gradient_dims = #fa.dims<s, h, d>, query_gradient_dims = #fa.dims<s, h, d>, key_gradient_dims = #fa.dims<s, h, d>, value_gradient_dims = #fa.dims<s, h, d>}
  return
}

//--- two_types.mlir
!t = memref<1x70x2x64xbf16>
!o = memref<1x70x2x64xf32>
!l = memref<1x2x70xf32>
func.func @two_types(%q: !t, %o: !o, %lse: !l, %dq: !o) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%o, %lse : !o, !l) gradients(%o : !o) outs(query = %dq : !o)
  return
}
