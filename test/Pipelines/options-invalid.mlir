// An option that a pipeline does not have is an error that names it.
// RUN: not fa-opt %s -fa-to-cpu=target=avx3 2>&1 | FileCheck %s
// RUN: not fa-opt %s -fagpu-to-llvm=target=avx3 2>&1 | FileCheck %s
// RUN: not fa-opt %s -fa-to-schedule=target=avx3 2>&1 | FileCheck %s
// CHECK: no such option target
