// By warps too the longest tiles may come first: of the groups of heads that the L2 cache holds, whatever their number.
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=SCHEDULE
// RUN: fa-run %s --chip=sm_80 --target=interpret --verify --input=2x200x4x64xf16 --input=2x333x2x64xf16 --input=2x333x2x64xf16 --input=2x200x4x64xf16 | FileCheck %s
// RUN: fa-run %s --chip=sm_80 --target=interpret --verify --input=1x70x6x64xf16 --input=1x9000x6x64xf16 --input=1x9000x6x64xf16 --input=1x70x6x64xf16 | FileCheck %s
// CHECK: verified all rows

// SCHEDULE: func.func @attention_kernel
// SCHEDULE: target = #fa.gpu<warps<tile_order = longest_first>>
// SCHEDULE: func.func @attention(
// SCHEDULE: %[[KEYS:.*]] = memref.dim %arg1, %c1
// SCHEDULE: fagpu.launch @attention_kernel
!q = memref<?x?x?x64xf16>
func.func @attention(%query: !q, %key: !q, %value: !q, %output: !q) {
  fa.attention ins(%query, %key, %value : !q, !q, !q) outs(%output : !q) mask causal
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>}
  return
}
