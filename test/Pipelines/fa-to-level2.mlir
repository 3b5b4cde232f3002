// RUN: fa-opt %s --fa-to-level2 | FileCheck %s
// RUN: fa-opt %s --fa-to-level2 | fa-opt --fa-to-level2 | FileCheck %s

// One attention becomes one loop over query blocks, one operation over key
// ranges and one step; nothing is allocated and the mask stays inside.

!operand = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @causal
// CHECK-NOT:   memref.alloc
// CHECK:       scf.forall
// CHECK-NOT:   memref.alloc
// CHECK:         fa.key_ranges {{.*}} = [full %{{.*}} to %[[diagonal:.*]], partial %[[diagonal]] to %{{.*}}] step 128
// CHECK:           fa.online_attention
// CHECK-SAME:        mask
// CHECK-NOT:   memref.alloc
// CHECK:         fa.finalize
// CHECK-NOT:   fa.attention
func.func @causal(%query: !operand, %key: !operand, %value: !operand, %output: !operand) {
  fa.attention
      ins(%query, %key, %value : !operand, !operand, !operand)
      outs(%output : !operand)
      mask causal
      {config = #fa.config<query_block = 64, key_block = 128>}
  return
}
