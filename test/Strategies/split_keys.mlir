// RUN: fa-opt %s -transform-preload-library=transform-library-paths=%fa_src_root/strategies/split_keys.mlir -transform-interpreter | FileCheck %s
// RUN: fa-opt %s -transform-preload-library=transform-library-paths=%fa_src_root/strategies/split_keys.mlir -transform-interpreter -fa-to-cpu | FileCheck %s --check-prefix=LLVM

// Four parts side by side, merged in three steps into the result.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<1x1x8x64xf16, strided<[?, ?, ?, 1], offset: ?>>) {
// CHECK-DAG: memref.alloc() {{.*}} : memref<4x1x1x8x64xf32>
// CHECK-DAG: memref.alloc() {{.*}} : memref<4x1x8x1xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.forall {{.*}} in (4) {
// CHECK: scf.forall
// CHECK: fa.attention
// CHECK: scf.for
// CHECK: fa.combine
// CHECK: }
// CHECK: fa.combine {{.*}} outs(%[[O]] :
// CHECK-NOT: copy
// CHECK: return

// LLVM-NOT: fa.
// LLVM: llvm.func @decode
func.func @decode(%q: tensor<1x1x8x64xf16>, %k: tensor<1x?x2x64xf16>, %v: tensor<1x?x2x64xf16>) -> tensor<1x1x8x64xf16> {
  %init = tensor.empty() : tensor<1x1x8x64xf16>
  %o = fa.attention ins(%q, %k, %v : tensor<1x1x8x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>)
      outs(%init : tensor<1x1x8x64xf16>)
  return %o : tensor<1x1x8x64xf16>
}
