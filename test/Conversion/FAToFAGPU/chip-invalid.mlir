// RUN: not fa-opt %s -fa-outline-kernels=chip=sm_75 2>&1 | FileCheck %s
// CHECK: error: chip is 'sm_75', expected one of sm_80, sm_86,
func.func @f() {
  return
}
