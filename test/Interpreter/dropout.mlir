// Attention with dropout as a GPU schedule: the same random numbers as the float64 evaluator's.
// RUN: %python -c "import numpy as np; np.save(r'%t.seed.npy', np.array(2**40 + 7)); np.save(r'%t.offset.npy', np.array(2**33 + 1))"
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --seed=3 --input=1x200x2x64xbf16 --input=1x200x2x64xbf16 --input=1x200x2x64xbf16 --input=f32=0.25 --input=@%t.seed.npy --input=@%t.offset.npy | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --seed=3 --input=1x200x2x64xbf16 --input=1x200x2x64xbf16 --input=1x200x2x64xbf16 --input=f32=0.25 --input=@%t.seed.npy --input=@%t.offset.npy | FileCheck %s
// CHECK: result 0: 1x200x2x64xbf16 relative error {{.*}} (relative): ok
// CHECK: result 1: {{.*}} (largest): ok

// A probability of 1 drops all: the factor, which the result takes, is held finite.
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --seed=3 --input=1x200x2x64xbf16 --input=1x200x2x64xbf16 --input=1x200x2x64xbf16 --input=f32=1.0 --input=@%t.seed.npy --input=@%t.offset.npy | FileCheck %s --check-prefix=ALL
// ALL: result 0: {{.*}}: ok
// ALL: result 1: {{.*}}: ok

// The schedules compile.
// RUN: fa-compile %s --chip=sm_90a -o %t.sm_90a
// RUN: fa-compile %s --chip=sm_80 -o %t.sm_80

!q = tensor<1x200x2x64xbf16>
!row = tensor<1x2x200xf32>

func.func @dropout(%q: !q, %k: !q, %v: !q, %p: f32, %seed: tensor<i64>, %offset: tensor<i64>) -> (!q, !row) {
  %o = tensor.empty() : !q
  %l = tensor.empty() : !row
  %r:2 = fa.attention ins(%q, %k, %v : !q, !q, !q) outs(%o, %l : !q, !row)
      mask causal dropout(%p, %seed, %offset : f32, tensor<i64>, tensor<i64>)
  return %r#0, %r#1 : !q, !row
}
