// Which key blocks each query block visits, as the passes tile the problem.

// RUN: fa-run %s --entry=causal --block-map | FileCheck %s --check-prefix=CAUSAL
// CAUSAL: block-map.mlir @causal, batch 0, head 0: 256 queries by 512 keys, in blocks of 64 by 64
// CAUSAL-NEXT:        0  ####+...
// CAUSAL-NEXT:       64  #####+..
// CAUSAL-NEXT:      128  ######+.
// CAUSAL-NEXT:      192  #######+
// CAUSAL-NEXT: # full: 22, + partial (the mask is asked): 4, . skipped: 6

// Lengths of a batch bound both sides.
// RUN: fa-run %s --entry=lengths --input=2x128x1x16xf32 --input=2x256x1x16xf32 --input=2x256x1x16xf32 \
// RUN:     --input=2xi32=[100,200] --block-map=1,0 --json=%t.json | FileCheck %s --check-prefix=LENGTHS
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// LENGTHS: batch 1, head 0: 128 queries by 200 keys, in blocks of 64 by 64
// LENGTHS-NEXT:        0  ###+
// LENGTHS-NEXT:       64  ###+
// JSON-DAG: "keys": 200
// JSON-DAG: "key_block": 64
// JSON-DAG: "###+"

// RUN: fa-run %s --entry=never --block-map | FileCheck %s --check-prefix=NEVER
// NEVER: batch 0, head 0: no key block is visited

// A GPU's blocks.
// RUN: fa-run %s --entry=lengths --input=2x128x1x16xf32 --input=2x256x1x16xf32 --input=2x256x1x16xf32 \
// RUN:     --input=2xi32=[256,256] --block-map --chip=sm_80 | FileCheck %s --check-prefix=CHIP
// CHIP: 128 queries by 256 keys, in blocks of 64 by 64

// RUN: not fa-run %s --entry=none --block-map 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'none' holds 0 fa.attention, expected one to draw the block map of
// RUN: not fa-run %s --entry=causal --block-map=1 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: --block-map=1 names no batch and head: expected two numbers from 0 on, as 0,0

// A batch and a head that there are.
// DEFINE: %{place} =
// DEFINE: %{lengths} = not fa-run %s --entry=lengths --input=2x128x1x16xf32 --input=2x256x1x16xf32 --input=2x256x1x16xf32 --input=2xi32=[100,200] %{place} 2>&1
// REDEFINE: %{place} = --block-map=2,0
// RUN: %{lengths} | FileCheck %s --check-prefix=BATCH --implicit-check-not=error:
// BATCH: fa-run: error: --block-map has batch 2, but the query has 2: expected 0 to 1
// REDEFINE: %{place} = --block-map=1,1
// RUN: %{lengths} | FileCheck %s --check-prefix=HEAD --implicit-check-not=error:
// HEAD: fa-run: error: --block-map has head 1, but the query has 1: expected 0 to 0

// Nothing runs that could be compared, timed or written.
// DEFINE: %{option} =
// DEFINE: %{both} = not fa-run %s --entry=causal --block-map %{option} 2>&1
// REDEFINE: %{option} = --verify
// RUN: %{both} | FileCheck %s --check-prefix=VERIFY --implicit-check-not=error:
// VERIFY: fa-run: error: --verify is for a run, and --block-map runs nothing: leave one of them out
// REDEFINE: %{option} = --against=%s
// RUN: %{both} | FileCheck %s --check-prefix=AGAINST --implicit-check-not=error:
// AGAINST: error: --against is for a run
// REDEFINE: %{option} = --bench
// RUN: %{both} | FileCheck %s --check-prefix=BENCH --implicit-check-not=error:
// BENCH: error: --bench is for a run
// REDEFINE: %{option} = --output=@%t.npy
// RUN: %{both} | FileCheck %s --check-prefix=OUTPUT --implicit-check-not=error:
// OUTPUT: error: --output is for a run

// Blocks are those of a chip, which a target alone does not name.
// RUN: not fa-run %s --entry=causal --block-map --target=interpret 2>&1 | FileCheck %s --check-prefix=TARGET --implicit-check-not=error:
// TARGET: fa-run: error: --block-map draws the blocks of a CPU, expected --chip beside --target to draw those of a GPU
// RUN: fa-run %s --entry=causal --block-map --target=interpret --chip=sm_90a

func.func @causal(%q: tensor<1x256x1x16xf32>, %k: tensor<1x512x1x16xf32>, %v: tensor<1x512x1x16xf32>,
                  %init: tensor<1x256x1x16xf32>) -> tensor<1x256x1x16xf32> {
  %o = fa.attention ins(%q, %k, %v : tensor<1x256x1x16xf32>, tensor<1x512x1x16xf32>, tensor<1x512x1x16xf32>)
      outs(%init : tensor<1x256x1x16xf32>) mask causal {config = #fa.config<query_block = 64, key_block = 64>}
  return %o : tensor<1x256x1x16xf32>
}

func.func @lengths(%q: tensor<2x?x1x16xf32>, %k: tensor<2x?x1x16xf32>, %v: tensor<2x?x1x16xf32>,
                   %keys: tensor<2xi32>, %init: tensor<2x128x1x16xf32>) -> tensor<2x128x1x16xf32> {
  %query = tensor.cast %q : tensor<2x?x1x16xf32> to tensor<2x128x1x16xf32>
  %o = fa.attention ins(%query, %k, %v : tensor<2x128x1x16xf32>, tensor<2x?x1x16xf32>, tensor<2x?x1x16xf32>)
      outs(%init : tensor<2x128x1x16xf32>) key_lengths(%keys : tensor<2xi32>)
      {config = #fa.config<query_block = 64, key_block = 64>}
  return %o : tensor<2x128x1x16xf32>
}

func.func @never(%q: tensor<1x64x1x16xf32>, %init: tensor<1x64x1x16xf32>) -> tensor<1x64x1x16xf32> {
  %o = fa.attention ins(%q, %q, %q : tensor<1x64x1x16xf32>, tensor<1x64x1x16xf32>, tensor<1x64x1x16xf32>)
      outs(%init : tensor<1x64x1x16xf32>) mask(%b: index, %h: index, %i: index, %j: index) {
    %false = arith.constant false
    fa.yield %false : i1
  }
  return %o : tensor<1x64x1x16xf32>
}

func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
