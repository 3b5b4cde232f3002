// From this compiler's own operation to verified numbers:
//   standalone-opt --standalone-lower-to-fa run.mlir -o lowered.mlir
//   fa-run lowered.mlir --verify

// CHECK-LABEL: llvm.func @packed
// CHECK-NOT: standalone.
// CHECK-NOT: fa.attention
func.func @packed(%packed: tensor<2x100x192xf32>) -> tensor<2x100x64xf32> {
  %0 = standalone.self_attention %packed heads(2) causal
      : tensor<2x100x192xf32> -> tensor<2x100x64xf32>
  return %0 : tensor<2x100x64xf32>
}
