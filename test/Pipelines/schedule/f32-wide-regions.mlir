// A score function and a mask that both read memory, at the largest head dim of f32: what one reads is used up before
// the other one reads, so that registers suffice.

// RUN: fa-opt %s -fa-select-config=chip=sm_80 | FileCheck %s
// RUN: fa-opt %s -fa-select-config=chip=sm_90a | FileCheck %s --check-prefix=GROUPS
// CHECK: query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>, terms<columns = 16, {{(keep_queries, )?}}rolled>{{.*}}>
// GROUPS: query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first>, terms<columns = 32, keep_queries, rolled>{{.*}}>

// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --input=1x40x2x256xf32 --input=1x70x1x256xf32 \
// RUN:   --input=1x70x1x256xf32 --input=1x40x2x256xf32 --input=f32=3.0 --input=1x2x40x70xf32 --input=1x70xi32 | \
// RUN:   FileCheck %s --check-prefix=NUMBERS
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --input=1x140x2x256xf32 --input=1x170x1x256xf32 \
// RUN:   --input=1x170x1x256xf32 --input=1x140x2x256xf32 --input=f32=3.0 --input=1x2x140x170xf32 --input=1x170xi32 | \
// RUN:   FileCheck %s --check-prefix=NUMBERS
// NUMBERS: bound 2.0e-06 (relative): ok
// NUMBERS: verified all rows

!q = tensor<?x?x?x256xf32>
func.func @regions(%q: !q, %k: !q, %v: !q, %o: !q, %cap: f32, %bias: tensor<?x?x?x?xf32>, %ids: tensor<?x?xi32>) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      score bias(%bias : tensor<?x?x?x?xf32>) softcap(%cap) mask causal documents(%ids : tensor<?x?xi32>)
  return %r : !q
}
