// The distribution's mlir-opt runs passes of the project between its own
// through the plugin, with the result that fa-opt gives. Passes of a plugin
// are named in --pass-pipeline.

// RUN: %mlir-opt --load-pass-plugin=%fa_plugin --load-dialect-plugin=%fa_plugin \
// RUN:   --pass-pipeline="builtin.module(fa-tile,canonicalize,fa-convert-to-online,cse)" %s -o %t.plugin
// RUN: FileCheck %s < %t.plugin
// RUN: fa-opt --pass-pipeline="builtin.module(fa-tile,canonicalize,fa-convert-to-online,cse)" %s -o %t.own
// RUN: diff %t.plugin %t.own

// RUN: not %mlir-opt --load-dialect-plugin=%fa_plugin --pass-pipeline="builtin.module(fa-tile)" %s 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WITHOUT

// WITHOUT: 'fa-tile' does not refer to a registered pass or pass pipeline

// CHECK-LABEL: func.func @grouped
// CHECK: scf.forall
// CHECK: fa.online_attention
// CHECK: fa.finalize
func.func @grouped(%q: memref<2x128x8x64xf32>, %k: memref<2x?x2x64xf32>, %v: memref<2x?x2x64xf32>,
                   %o: memref<2x128x8x64xf32>) {
  fa.attention
      ins(%q, %k, %v : memref<2x128x8x64xf32>, memref<2x?x2x64xf32>, memref<2x?x2x64xf32>)
      outs(%o : memref<2x128x8x64xf32>)
      mask causal
      {config = #fa.config<query_block = 64, key_block = 128>}
  return
}
