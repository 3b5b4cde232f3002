// A strategy file runs in the distribution's mlir-opt through the plugin: its
// own transform operations beside upstream's, with the result of fa-opt.

// DEFINE: %{strategy} = %fa_src_root/strategies/cpu_blocks.mlir
// DEFINE: %{pipeline} = "builtin.module(transform-preload-library{transform-library-paths=%{strategy}},transform-interpreter)"

// The dialect plugin alone brings the operations.
// RUN: %mlir-opt --load-dialect-plugin=%fa_plugin --pass-pipeline=%{pipeline} %s -o %t.plugin
// RUN: FileCheck %s < %t.plugin
// RUN: fa-opt --pass-pipeline=%{pipeline} %s -o %t.own
// RUN: diff %t.plugin %t.own

// Strategies are read, checked and printed alone too.
// RUN: %mlir-opt --load-dialect-plugin=%fa_plugin %{strategy} | FileCheck %s --check-prefix=PRINTED
// RUN: not %mlir-opt --pass-pipeline=%{pipeline} %s 2>&1 | FileCheck %s --check-prefix=WITHOUT

// PRINTED: transform.fa.results_to_out_parameters
// PRINTED: transform.fa.configure {{.*}} with(#fa.config<query_block = 64, key_block = 512>)
// PRINTED: transform.structured.tile_using_forall
// PRINTED: transform.fa.specialize_mask

// WITHOUT: Dialect `fa' not found

// CHECK-LABEL: func.func @causal
// CHECK: scf.forall
// CHECK: fa.key_ranges {{.*}} step 512
// CHECK: fa.online_attention
// CHECK: fa.finalize
func.func @causal(%q: tensor<1x1000x8x64xf32>, %k: tensor<1x1000x8x64xf32>, %v: tensor<1x1000x8x64xf32>) -> tensor<1x1000x8x64xf32> {
  %init = tensor.empty() : tensor<1x1000x8x64xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<1x1000x8x64xf32>, tensor<1x1000x8x64xf32>, tensor<1x1000x8x64xf32>)
      outs(%init : tensor<1x1000x8x64xf32>) mask causal
  return %o : tensor<1x1000x8x64xf32>
}
