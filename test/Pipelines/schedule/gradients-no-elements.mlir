// Gradients of no queries, no keys, no batch: those of keys are zero. Sizes are known
// at run time, and grouped heads share a loop.
//
// DEFINE: %{q} =
// DEFINE: %{k} =
// DEFINE: %{lse} =
// DEFINE: %{cpu} = fa-run %s --target=cpu --verify --input=%{q} --input=%{k} --input=%{k} --input=%{q} --input=%{lse} --input=%{q} --input=%{q} --input=%{k} --input=%{k}
// DEFINE: %{run} = fa-run %s --chip=sm_90a --verify --input=%{q} --input=%{k} --input=%{k} --input=%{q} --input=%{lse} --input=%{q} --input=%{q} --input=%{k} --input=%{k}
//
// REDEFINE: %{q} = 1x0x4x128xbf16
// REDEFINE: %{k} = 1x64x2x128xbf16
// REDEFINE: %{lse} = 1x4x0xf32
// RUN: %{run} --target=interpret | FileCheck %s
// REDEFINE: %{q} = 1x64x4x128xbf16
// REDEFINE: %{k} = 1x0x2x128xbf16
// REDEFINE: %{lse} = 1x4x64xf32
// RUN: %{run} --target=interpret | FileCheck %s
// REDEFINE: %{q} = 0x64x4x128xbf16
// REDEFINE: %{k} = 0x64x2x128xbf16
// REDEFINE: %{lse} = 0x4x64xf32
// RUN: %{run} --target=interpret | FileCheck %s
// REDEFINE: %{q} = 1x64x0x128xbf16
// REDEFINE: %{k} = 1x64x0x128xbf16
// REDEFINE: %{lse} = 1x0x64xf32
// RUN: %{run} --target=interpret | FileCheck %s
//
// Key heads without query heads have gradients of zero on a CPU; a kernel has no query head to read, which it says.
// REDEFINE: %{k} = 1x64x2x128xbf16
// RUN: not %{run} --target=interpret 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: error: a gradient of key or value on a GPU has key heads and 0 query heads, expected a positive multiple of the key heads
// RUN: %{cpu} | FileCheck %s
//
// CHECK: argument 7: {{.*}} largest 0.00e+00, {{.*}}: ok
// CHECK: argument 8: {{.*}} largest 0.00e+00, {{.*}}: ok
// CHECK: verified all rows

!tensor = memref<?x?x?x128xbf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32>
func.func @main(%query: !tensor, %key: !tensor, %value: !tensor, %output: !tensor, %lse: !lse, %output_gradient: !tensor,
    %query_gradient: !tensor, %key_gradient: !tensor, %value_gradient: !tensor) {
  fa.attention_gradient ins(%query, %key, %value : !tensor, !tensor, !tensor)
      of(%output, %lse : !tensor, !lse) gradients(%output_gradient : !tensor)
      outs(query = %query_gradient : !tensor, key = %key_gradient : !tensor, value = %value_gradient : !tensor)
      mask causal
  return
}
