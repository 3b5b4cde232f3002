// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(fagpu-assign-stages,fagpu-plan-resources),convert-fagpu-to-nvvm,canonicalize,cse)" | FileCheck %s

// All threads wait ahead of the roles; the places of both are those of the text.

// CHECK-LABEL: func.func @behind
func.func @behind(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  // CHECK-NOT: fagpu.role
  // CHECK: nvvm.griddepcontrol wait
  fagpu.await_previous
  // CHECK: fagpu.role
  fagpu.role @all groups(1) {
    %zero = arith.constant dense<0.0> : tensor<64xf32, #fagpu.row<4>>
    // CHECK: nvvm.griddepcontrol launch_dependents
    fagpu.release_dependents
    // CHECK: st.global
    fagpu.store %zero, %m[%c0] : tensor<64xf32, #fagpu.row<4>> into memref<?xf32>
  }
  return
}
