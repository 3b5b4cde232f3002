// RUN: fa-opt %s --fa-pack-operands --cse | FileCheck %s

// The query block is packed before the loop: zeros, then its transpose in f32
// times the scale. Rows of scratch are 48 apart, three cache lines. Keys and
// values are packed in the loop, and the scale has become 1.

// CHECK-LABEL: func @step(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x?x1x16xf16,
func.func @step(%q: memref<1x?x1x16xf16, strided<[?, ?, 16, 1], offset: ?>>,
                %k: memref<1x8x1x16xf16>, %v: memref<1x8x1x16xf16>,
                %begin: index, %end: index, %queries: index, %keys: index) {
  %step = arith.constant 8 : index
  %acc = memref.alloc() : memref<32x16xf32>
  %max = memref.alloc() : memref<32xf32>
  %sum = memref.alloc() : memref<32xf32>
  // CHECK: %[[ACCMEMORY:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16x48xf32>
  // CHECK: %[[ACC:.+]] = memref.reinterpret_cast {{.+}} to memref<32x16xf32, strided<[1, 48]>>
  // CHECK: %[[SOURCE:.+]] = memref.subview %[[Q]]
  // CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16x48xf32>
  // CHECK: %[[SCRATCH:.+]] = memref.subview %[[MEMORY]][0, 0] [16, 32] [1, 1]
  // CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[SCRATCH]] :
  // CHECK: %[[SCALE:.+]] = arith.constant 2.500000e-01 : f32
  // CHECK: %[[PACKED:.+]] = memref.reinterpret_cast %[[SCRATCH]] {{.+}} to memref<1x32x1x16xf32, strided<[768, 1, 768, 48]>>
  // CHECK: linalg.generic {{.+}} ins(%[[SOURCE]] :
  // CHECK: %[[WIDE:.+]] = arith.extf
  // CHECK: arith.mulf %[[WIDE]], %[[SCALE]]
  // CHECK: scf.for
  scf.for %key = %begin to %end step %step {
    // CHECK: linalg.generic {{.+}} outs({{.+}} : memref<8x16xf32,
    // CHECK: linalg.generic {{.+}} outs({{.+}} : memref<8x16xf32,
    // CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
    // CHECK: fa.online_attention ins(%[[PACKED]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : memref<1x32x1x16xf32,
    // CHECK-SAME: outs(%[[ACC]],
    // CHECK-SAME: scale(%[[ONE]])
    fa.online_attention
        ins(%q, %k, %v : memref<1x?x1x16xf16, strided<[?, ?, 16, 1], offset: ?>>, memref<1x8x1x16xf16>, memref<1x8x1x16xf16>)
        outs(%acc, %max, %sum : memref<32x16xf32>, memref<32xf32>, memref<32xf32>)
        offsets(%begin, %begin, %begin, %key) extents(%queries, %keys)
  }
  return
}
