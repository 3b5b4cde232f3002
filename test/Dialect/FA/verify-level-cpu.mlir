// RUN: fa-opt %s --fa-verify-level --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --fa-to-cpu --split-input-file --verify-diagnostics -o /dev/null

// A GPU schedule has no form on a CPU.

func.func @kernel(%x: memref<64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // expected-error @below {{'fagpu.role' op is of a GPU schedule, which has no form on a CPU; run fagpu-to-ptx}}
  fagpu.role @math groups(1) {
    %x0 = arith.constant dense<1.0> : tensor<64xf32, #fagpu.row<4>>
    fagpu.store %x0, %x[%c0] : tensor<64xf32, #fagpu.row<4>> into memref<64xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @problem
!mem = memref<1x64x1x64xf32>
func.func @problem(%q: !mem, %k: !mem, %v: !mem, %o: !mem) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o : !mem)
  return
}
