// RUN: fa-opt %s --fa-mark-entries | FileCheck %s

// CHECK: func.func @entry() attributes {llvm.emit_c_interface}
func.func @entry() {
  return
}

// CHECK: func.func private @helper() {
func.func private @helper() {
  return
}

// CHECK: func.func private @declared()
// CHECK-NOT: llvm.emit_c_interface
func.func private @declared()
