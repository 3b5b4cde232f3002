// Kernels without anything of dialect fa stay as they are.
// RUN: fa-opt %s -fa-form-segments | FileCheck %s

// CHECK: func.func @kernel() attributes {fagpu.kernel = "sm_80"}
// CHECK-NEXT: return
func.func @kernel() attributes {fagpu.kernel = "sm_80"} {
  return
}
