// Each pass takes a kernel without a configuration, whose text has nothing of
// the dialect that configurations are of.

// RUN: fa-opt %s -fagpu-assign-group-slots | FileCheck %s
// RUN: fa-opt %s -fagpu-assign-write-slots | FileCheck %s
// RUN: fa-opt %s -fagpu-form-channels | FileCheck %s
// RUN: fa-opt %s -fagpu-hoist-gathers | FileCheck %s
// RUN: fa-opt %s -fagpu-persist | FileCheck %s
// RUN: fa-opt %s -fagpu-select-products | FileCheck %s
// RUN: fa-opt %s -fagpu-share-operands | FileCheck %s
// RUN: fa-opt %s -fagpu-share-scalars | FileCheck %s
// RUN: fa-opt %s -fagpu-split-columns | FileCheck %s
// RUN: fa-opt %s -fagpu-split-products | FileCheck %s
// RUN: fa-opt %s -fagpu-split-roles | FileCheck %s

// CHECK-LABEL: func.func @kernel
// CHECK: memref.store %{{.*}}, %{{.*}}[] : memref<f32>
func.func @kernel(%m: memref<f32>, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @compute groups(1) {
    memref.store %x, %m[] : memref<f32>
  }
  return
}
