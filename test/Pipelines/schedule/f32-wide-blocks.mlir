// A score function and a mask that each read an element at every pair, at the largest head dim of f32: one is computed
// behind the other, so that registers hold what one of them reads.

// RUN: fa-opt %s -fa-select-config=chip=sm_80 | FileCheck %s
// CHECK: query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>, terms<columns = 16, rolled>, block_table>

// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --input=1x40x2x256xf32 --input=1x70x1x256xf32 \
// RUN:   --input=1x70x1x256xf32 --input=1x40x2x256xf32 --input=f32=3.0 --input=1x2x40x70xf32 --input=2x3xi32 | \
// RUN:   FileCheck %s --check-prefix=NUMBERS
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --input=1x140x2x256xf32 --input=1x70x1x256xf32 \
// RUN:   --input=1x70x1x256xf32 --input=1x140x2x256xf32 --input=f32=3.0 --input=1x2x140x70xf32 --input=5x3xi32 | \
// RUN:   FileCheck %s --check-prefix=NUMBERS
// NUMBERS: bound 2.0e-06 (relative): ok
// NUMBERS: verified all rows

!q = tensor<?x?x?x256xf32>
func.func @blocks(%q: !q, %k: !q, %v: !q, %o: !q, %cap: f32, %bias: tensor<?x?x?x?xf32>, %table: tensor<?x?xi32>) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      score softcap(%cap) bias(%bias : tensor<?x?x?x?xf32>)
      mask(%b, %h, %i, %j) captures(%t = %table : tensor<?x?xi32>) {
        %zero = arith.constant 0 : i32
        %size = arith.constant 32 : index
        %row = arith.divsi %i, %size : index
        %column = arith.divsi %j, %size : index
        %bit = tensor.extract %t[%row, %column] : tensor<?x?xi32>
        %visible = arith.cmpi sgt, %bit, %zero : i32
        fa.yield %visible : i1
      }
  return %r : !q
}
