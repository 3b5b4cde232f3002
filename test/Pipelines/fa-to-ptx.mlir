// From level 0 to one binary; the host side is gone. The chip is that of the
// schedule and of the code.

// RUN: fa-opt %s --fa-to-ptx | FileCheck %s -DCHIP=sm_80
// RUN: fa-opt %s --fa-to-ptx=chip=sm_90 | FileCheck %s -DCHIP=sm_90
// The same by the parts that it is made of.
// RUN: fa-opt %s --fa-to-ptx=chip=sm_89 -o %t.whole.mlir
// RUN: fa-opt %s --fa-to-schedule=chip=sm_89 --fagpu-to-ptx -o %t.parts.mlir
// RUN: diff %t.whole.mlir %t.parts.mlir

// CHECK: module
// CHECK-NEXT: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "[[CHIP]]"
// CHECK-SAME: #gpu.kernel_metadata<"causal_kernel"
// CHECK-SAME: .target [[CHIP]]
// CHECK-SAME: .visible .entry causal_kernel(
// CHECK-SAME: mma.sync.aligned.m16n8k16
// CHECK-NOT: func.func

// RUN: not fa-opt %s --fa-to-ptx=chip=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN --implicit-check-not=error:
// A processor is no chip either, and none is listed.
// RUN: not fa-opt %s --fa-to-schedule=chip=avx2 2>&1 | FileCheck %s --check-prefix=UNKNOWN --implicit-check-not=error:
// UNKNOWN: error: chip is '{{sm_70|avx2}}', expected one of sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120{{$}}
// RUN: not fa-opt %fa_src_root/test/fa-run/Inputs/wide_head_dim.mlir --fa-to-ptx 2>&1 | FileCheck %s --check-prefix=WIDE --implicit-check-not=error:
// WIDE: error: 'fa.attention' op config does not fit: head dim is 320, but sm_80 takes at most 256

func.func @causal(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                  %o0: memref<?x?x?x64xbf16>) {
  %init = bufferization.to_tensor %o0 restrict writable : memref<?x?x?x64xbf16> to tensor<?x?x?x64xbf16>
  %o = fa.attention ins(%q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
      outs(%init : tensor<?x?x?x64xbf16>) mask causal
  bufferization.materialize_in_destination %o in restrict writable %o0 : (tensor<?x?x?x64xbf16>, memref<?x?x?x64xbf16>) -> ()
  return
}
