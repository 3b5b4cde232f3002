// RUN: fa-opt %s --fa-verify-lowered --split-input-file --verify-diagnostics

// The first operation that is left over, not the casts around it.

llvm.func @cast_first(%x: !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>) {
  %m = builtin.unrealized_conversion_cast %x
      : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<4xf32>
  // expected-error @below {{'linalg.softmax' op has no lowering to the LLVM dialect; lower it to linalg.generic before, or write the attention it is part of as fa.attention}}
  linalg.softmax dimension(0) ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  linalg.softmax dimension(0) ins(%m : memref<4xf32>) outs(%m : memref<4xf32>)
  llvm.return
}

// -----

llvm.func @casts_alone(%x: i64) -> i32 {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op from 'i64' to 'i32' is left over, expected casts that cancel each other out: remove it, or lower what makes or takes its value}}
  %y = builtin.unrealized_conversion_cast %x : i64 to i32
  llvm.return %y : i32
}

// -----

// expected-error @below {{'func.func' op is on tensors, expected memrefs: run fa-results-to-out-parameters before}}
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

llvm.func @attention(%x: !llvm.ptr) {
  %q = builtin.unrealized_conversion_cast %x : !llvm.ptr to memref<1x4x1x8xf32>
  // expected-error @below {{'fa.attention' op has no lowering to the LLVM dialect; run fa-to-cpu or fa-to-ptx}}
  fa.attention ins(%q, %q, %q : memref<1x4x1x8xf32>, memref<1x4x1x8xf32>, memref<1x4x1x8xf32>) outs(%q : memref<1x4x1x8xf32>)
  llvm.return
}

// -----

// expected-error @below {{'func.func' op has no lowering to the LLVM dialect; lower it before}}
func.func private @declared(memref<*xf32>)

// -----

// expected-error @below {{'llvm.mlir.global' op reads the resource 'nowhere', which is not in the file}}
llvm.mlir.global private constant @table(dense_resource<nowhere> : tensor<2xf32>) : !llvm.array<2 x f32>
