// Scores that do not depend on queries and keys: there is one product for each
// block of keys, which nothing is copied beside.
// DEFINE: %{inputs} = --input=1x70x2x32xbf16 --input=1x150x2x32xbf16 --input=1x150x2x32xbf16 --input=1x70x2x32xbf16 --input=2xf32
// RUN: fa-run %s --target=interpret --chip=sm_80 --verify %{inputs} | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify %{inputs} | FileCheck %s
// CHECK: bound 6.0e-03 (relative): ok
// CHECK: verified all rows
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | fa-opt --pass-pipeline="builtin.module(fagpu-plan)" | FileCheck %s --check-prefix=PLAN
// PLAN: fagpu.role
// PLAN: fagpu.mma nn
// PLAN-NOT: fagpu.mma nt
// RUN: fa-opt %s -fa-to-ptx="chip=sm_80 format=isa" | FileCheck %s --check-prefix=PTX
// RUN: fa-opt %s -fa-to-ptx="chip=sm_90a format=isa" | FileCheck %s --check-prefix=PTX
// PTX: .visible .entry means_kernel(

!mem = memref<?x?x?x32xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @means(%query: !mem, %key: !mem, %value: !mem, %output: !mem, %weights: memref<?xf32>) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem)
    score(%s, %b, %h, %i, %j) captures(%w = %weights : memref<?xf32>) {
      %x = memref.load %w[%h] : memref<?xf32>
      fa.yield %x : f32
    }
    mask causal
  return
}
