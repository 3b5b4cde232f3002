// The distribution's mlir-opt reads and prints the dialect through the plugin.

// RUN: %mlir-opt --load-dialect-plugin=%fa_plugin %s | FileCheck %s
// RUN: %mlir-opt --load-dialect-plugin=%fa_plugin --mlir-print-op-generic %s \
// RUN:   | %mlir-opt --load-dialect-plugin=%fa_plugin | FileCheck %s
// RUN: not %mlir-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT

// WITHOUT: Dialect `fa' not found

// CHECK-LABEL: func.func @causal
// CHECK: fa.attention
// CHECK: mask(
// CHECK: fa.key_length
// CHECK: fa.yield
func.func @causal(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>, %v: tensor<2x?x2x64xbf16>,
                  %o: tensor<2x?x8x64xbf16>) -> tensor<2x?x8x64xbf16> {
  %0 = fa.attention
      ins(%q, %k, %v : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
      outs(%o : tensor<2x?x8x64xbf16>)
      mask causal
  return %0 : tensor<2x?x8x64xbf16>
}
