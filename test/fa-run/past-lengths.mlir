// What lies past the lengths of a gradient is NaN, as for attention: who reads it has other numbers.

// RUN: split-file %s %t
// RUN: fa-run %t/padded.mlir --target=cpu --verify --seed=3 | FileCheck %s
// CHECK: argument 7: 1x8x2x16xf32 {{.*}}: ok
// RUN: not fa-run %t/whole.mlir --target=cpu --against=%t/padded.mlir --seed=3 --input=1xi32=[5] \
// RUN:     | FileCheck %s --check-prefix=READ
// READ: argument 7: 1x8x2x16xf32 {{.*}}: FAILED
// READ: elements differ in kind; the first, element 0, is nan where the reference has {{[-0-9]}}

//--- padded.mlir
!t = memref<1x8x2x16xf32>
!l = memref<1x2x8xf32>
!n = memref<1xi32>
func.func @gradient(%n: !n, %q: !t, %k: !t, %v: !t, %do: !t, %delta: !l, %lse: !l, %dq: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !l) delta(%delta : !l) gradients(%do : !t) outs(query = %dq : !t)
      query_lengths(%n : !n) key_lengths(%n : !n)
  return
}

//--- whole.mlir
!t = memref<1x8x2x16xf32>
!l = memref<1x2x8xf32>
!n = memref<1xi32>
func.func @gradient(%n: !n, %q: !t, %k: !t, %v: !t, %do: !t, %delta: !l, %lse: !l, %dq: !t) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !l) delta(%delta : !l) gradients(%do : !t) outs(query = %dq : !t)
  return
}
