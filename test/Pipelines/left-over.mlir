// What a pipeline to the end cannot lower is an error, not a result.

// RUN: rm -rf %t && split-file %s %t
// RUN: not fa-opt %t/softmax.mlir --fa-to-cpu 2>&1 | FileCheck %s --check-prefix=SOFTMAX --implicit-check-not=error:
// RUN: not fa-opt %t/softmax.mlir --fa-naive-to-cpu 2>&1 | FileCheck %s --check-prefix=SOFTMAX --implicit-check-not=error:
// RUN: not fa-run %t/softmax.mlir --target=cpu 2>&1 | FileCheck %s --check-prefix=SOFTMAX --implicit-check-not=error:
// SOFTMAX: softmax.mlir:3:8: error: 'linalg.softmax' op has no lowering to the LLVM dialect; lower it to linalg.generic before, or write the attention it is part of as fa.attention

// RUN: not fa-opt %t/softmax.mlir --fa-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=TENSOR --implicit-check-not=error:
// TENSOR: softmax.mlir:1:1: error: 'func.func' op is on tensors, expected memrefs: run fa-results-to-out-parameters before

// RUN: not fa-opt %t/tosa.mlir --fa-to-cpu 2>&1 | FileCheck %s --check-prefix=TOSA --implicit-check-not=error:
// RUN: not fa-opt %t/tosa.mlir --fa-to-ptx 2>&1 | FileCheck %s --check-prefix=TOSA --implicit-check-not=error:
// TOSA: tosa.mlir:2:8: error: 'tosa.exp' op is on tensors and has no form on memrefs; lower it to linalg before, as tosa-to-linalg-pipeline of mlir-opt does

// RUN: not fa-opt %t/kernel.mlir --fagpu-to-llvm 2>&1 | FileCheck %s --check-prefix=KERNEL --implicit-check-not=error:
// RUN: not fa-opt %t/kernel.mlir --fagpu-to-ptx 2>&1 | FileCheck %s --check-prefix=KERNEL --implicit-check-not=error:
// KERNEL: kernel.mlir:3:10: error: 'index.casts' op has no lowering to the LLVM dialect; write it in operations of arith

// What a function computes on pairs beside attention has a lowering, where it captures no tensor.
// RUN: fa-opt %t/apply.mlir --fa-to-cpu | FileCheck %s --check-prefix=APPLY
// APPLY: llvm.func @f(
// RUN: %mutate %t/apply.mlir change '%%key) {' to '%%key) captures(%%c = %%x : tensor<4x8xf32>) {' \
// RUN:   | not fa-opt --fa-to-cpu 2>&1 | FileCheck %s --check-prefix=CAPTURE --implicit-check-not=error:
// CAPTURE: error: 'fa.apply' op captures a value of type 'tensor<4x8xf32>', expected memory

//--- softmax.mlir
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %s = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
//--- tosa.mlir
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = tosa.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
//--- kernel.mlir
func.func @kernel(%n: i32, %m: i32, %o: memref<?xi32>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all groups(1) {
    %a = index.casts %n : i32 to index
    %b = index.casts %m : i32 to index
    %i = index.maxs %a, %b
    %j = index.casts %i : index to i32
    %c0 = arith.constant 0 : i32
    %c = arith.index_cast %c0 : i32 to index
    memref.store %j, %o[%c] : memref<?xi32>
  }
  return
}
//--- apply.mlir
func.func @f(%x: tensor<4x8xf32>, %i: index) -> tensor<4x8xf32> {
  %s = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %batch, %head, %query, %key) {
    %y = math.exp %e : f32
    fa.yield %y : f32
  } -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
