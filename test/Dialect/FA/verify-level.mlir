// RUN: fa-opt %s --split-input-file --fa-verify-level=schedule --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --split-input-file --verify-diagnostics --fagpu-plan -o /dev/null
// RUN: fa-opt %s --split-input-file --verify-diagnostics --fagpu-to-llvm -o /dev/null
// RUN: fa-opt %s --split-input-file --verify-diagnostics --fagpu-to-ptx -o /dev/null

// A pipeline from schedules says which one takes a problem.

!mem = memref<1x64x1x64xf16>
func.func @problem(%q: !mem, %k: !mem, %v: !mem, %o: !mem) {
  // expected-error @below {{'fa.attention' op is of no GPU schedule; run fa-to-ptx, or fa-to-schedule before}}
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o : !mem)
  return
}

// -----

// A schedule may stand beside the problem that it implements.

// CHECK-LABEL: func.func @kernel
!mem = memref<1x64x1x64xf16>
func.func @kernel(%x: memref<64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %x0 = arith.constant dense<1.0> : tensor<64xf32, #fagpu.row<4>>
    fagpu.store %x0, %x[%c0] : tensor<64xf32, #fagpu.row<4>> into memref<64xf32>
  }
  return
}
func.func private @problem(%q: !mem, %k: !mem, %v: !mem, %o: !mem) {
  fa.attention ins(%q, %k, %v : !mem, !mem, !mem) outs(%o : !mem)
  return
}
