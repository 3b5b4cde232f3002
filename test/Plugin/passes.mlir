// The distribution's mlir-opt runs a pipeline of the project through the
// plugin; a pipeline of a plugin is named in --pass-pipeline.

// RUN: %mlir-opt --load-pass-plugin=%fa_plugin --load-dialect-plugin=%fa_plugin \
// RUN:   --pass-pipeline="builtin.module(fa-lower-to-llvm)" %s | FileCheck %s
// RUN: not %mlir-opt --pass-pipeline="builtin.module(fa-lower-to-llvm)" %s 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WITHOUT
// UNSUPPORTED: sanitizer

// WITHOUT: 'fa-lower-to-llvm' does not refer to a registered pass or pass pipeline

// CHECK: llvm.func @scale(
// CHECK: llvm.fmul
// CHECK: llvm.func @_mlir_ciface_scale(
func.func @scale(%a: memref<?xf32>, %factor: f32, %i: index) {
  %0 = memref.load %a[%i] : memref<?xf32>
  %1 = arith.mulf %0, %factor : f32
  memref.store %1, %a[%i] : memref<?xf32>
  return
}
