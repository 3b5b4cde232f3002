// RUN: fa-opt %s --fagpu-isolate-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: module
// CHECK-NOT: @reference
// CHECK-NOT: @table
// CHECK: func.func private @nested
// CHECK: func.func private @tile
// CHECK: func.func private @kernel
// CHECK-NOT: func.func
memref.global "private" constant @table : memref<2xf32> = dense<0.0>
func.func private @reference(%n: i32, %grid: index) {
  %table = memref.get_global @table : memref<2xf32>
  return
}
func.func private @nested(%t: i32) -> i32 {
  return %t : i32
}
func.func private @tile(%t: i32) -> i32 {
  %n = call @nested(%t) : (i32) -> i32
  return %n : i32
}
func.func private @kernel(%n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %t = call @tile(%n) : (i32) -> i32
  return
}
func.func @host(%n: i32, %grid: index) attributes {fa.implements = @reference} {
  fagpu.launch @kernel grid(%grid) (%n) : i32
  return
}

// -----

// CHECK-LABEL: module
// CHECK: func.func @no_kernel
func.func @no_kernel() {
  return
}
