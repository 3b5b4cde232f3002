// RUN: fa-opt %s -transform-preload-library=transform-library-paths=%fa_src_root/strategies/gpu_small_blocks.mlir -transform-interpreter | FileCheck %s --check-prefix=CONFIG
// RUN: fa-opt %s -transform-preload-library=transform-library-paths=%fa_src_root/strategies/gpu_small_blocks.mlir -transform-interpreter -fa-to-schedule=chip=sm_80 | FileCheck %s
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=DEFAULT

// The script's blocks, with the rest of the configuration filled in for sm_80.
// CONFIG: config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<tile_order = longest_first>>>

// Twice the blocks of the default.
// CHECK-LABEL: func.func @causal_kernel
// CHECK: fagpu.put {{.*}}, %arg0[{{.*}}] [1, 64, 1, 64]
// CHECK: fagpu.put {{.*}}, %arg1[{{.*}}] [1, 64, 1, 64]
// CHECK: %[[BLOCKS:.*]] = arith.constant 64 : index
// CHECK: fagpu.launch @causal_kernel grid(%[[BLOCKS]])
// DEFAULT: %[[BLOCKS:.*]] = arith.constant 32 : index
// DEFAULT: fagpu.launch @causal_kernel grid(%[[BLOCKS]])

// Numbers in the interpreter, against the float64 evaluation of the function.
// RUN: fa-run %s --strategy=%fa_src_root/strategies/gpu_small_blocks.mlir --target=interpret --verify | FileCheck %s --check-prefix=NUMBERS
// RUN: fa-run %fa_src_root/examples/softcap.mlir --strategy=%fa_src_root/strategies/gpu_small_blocks.mlir --target=interpret --verify | FileCheck %s --check-prefix=NUMBERS
// RUN: fa-run %fa_src_root/examples/grouped_heads.mlir --strategy=%fa_src_root/strategies/gpu_small_blocks.mlir --target=interpret --verify | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: target interpret with a schedule for sm_80
// NUMBERS: result 0: {{.*}}: ok
// NUMBERS: verified all rows

// What does not fit is refused, with the nearest that does, also where the script
// names no target.
// RUN: not fa-run %fa_src_root/examples/causal.mlir --strategy=%S/Inputs/large_blocks.mlir --target=interpret 2>&1 | FileCheck %s --check-prefix=LARGE --implicit-check-not=error:
// LARGE: causal.mlir:17:19: error: 'fa.attention' op config does not fit: query_block = 256 and key_block = 128 of warps need at least 432 registers a thread, but there are 255; the nearest is query_block = 256 and key_block = 32

func.func @causal(%q: tensor<2x256x8x64xbf16>, %k: tensor<2x384x8x64xbf16>, %v: tensor<2x384x8x64xbf16>)
    -> tensor<2x256x8x64xbf16> {
  %init = tensor.empty() : tensor<2x256x8x64xbf16>
  %o = fa.attention ins(%q, %k, %v : tensor<2x256x8x64xbf16>, tensor<2x384x8x64xbf16>, tensor<2x384x8x64xbf16>)
      outs(%init : tensor<2x256x8x64xbf16>) mask causal
  return %o : tensor<2x256x8x64xbf16>
}
