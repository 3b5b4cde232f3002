// RUN: fa-opt %s -transform-preload-library=transform-library-paths=%fa_src_root/strategies/cpu_blocks.mlir -transform-interpreter | FileCheck %s
// RUN: fa-opt %s -transform-preload-library=transform-library-paths=%fa_src_root/strategies/cpu_blocks.mlir -transform-interpreter -fa-to-cpu | FileCheck %s --check-prefix=LLVM

// The blocks that the strategy asks for, and nothing else in memory.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<2x1000x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>) {
// CHECK-NOT: memref.alloc
// CHECK: scf.forall {{.*}} in (2, 8, 16) {
// CHECK: fa.key_ranges {{.*}} = [full {{.*}}, partial {{.*}}] step 512
// CHECK-SAME: (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK: fa.online_attention
// CHECK: fa.finalize
// CHECK-NOT: memref.alloc
// CHECK: return

// LLVM-NOT: fa.
// LLVM: llvm.func @causal
func.func @causal(%q: tensor<2x1000x8x64xf32>, %k: tensor<2x1000x8x64xf32>, %v: tensor<2x1000x8x64xf32>) -> tensor<2x1000x8x64xf32> {
  %init = tensor.empty() : tensor<2x1000x8x64xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<2x1000x8x64xf32>, tensor<2x1000x8x64xf32>, tensor<2x1000x8x64xf32>)
      outs(%init : tensor<2x1000x8x64xf32>) mask causal
  return %o : tensor<2x1000x8x64xf32>
}
