// On the evaluator, against another file; an error above its bound fails.
// RUN: fa-run %s --entry=causal --target=reference --against=%S/Inputs/causal.mlir --seed=1 | FileCheck %s --check-prefix=SAME
// SAME: {{result 0|argument 3}}: 1x6x2x4xf32 relative error {{0.00e[+]00|.*e-1[5-9]}}, largest {{.*}}, bound 2.0e-06 (relative): ok
// SAME-NEXT: {{result 1|argument 4}}: 1x2x6xf32 {{.*}} bound 1.0e-05 (largest): ok
// SAME-NEXT: verified all rows

// Level 2 against level 0.
// RUN: fa-opt %S/Inputs/causal.mlir --fa-to-level2 | fa-run - --target=reference --against=%S/Inputs/causal.mlir --seed=1 | FileCheck %s --check-prefix=SAME
// The file itself, compiled.
// RUN: fa-run %fa_src_root/examples/causal.mlir --verify --bench | FileCheck %s --check-prefix=CPU
// CPU: causal.mlir @causal, target cpu, seed
// CPU-NEXT: result 0: 2x256x8x64xbf16 relative error {{.*}}, bound 6.0e-03 (relative): ok
// CPU-NEXT: result 1: 2x8x256xf32 relative error {{.*}}: ok
// CPU-NEXT: verified all rows
// CPU-NEXT: median time {{[0-9.]+}} ms of {{[0-9]+}} runs
// CPU-NEXT: speed {{[0-9.]+}} GFLOP/s (1574912 visible pairs)
// CPU-NEXT: peak memory {{[0-9.]+}} MiB beyond inputs and outputs (growth of VmHWM)
// CPU-NEXT: compiled in {{[0-9.]+}} s

// The CPU keeps f32 inside: an f32 output has the bound of f32 with inputs of bf16.
// RUN: fa-run %fa_src_root/examples/value_head_dim.mlir --target=cpu --verify --seed=1 | FileCheck %s --check-prefix=SINGLE
// SINGLE: result 0: 1x256x4x128xf32 relative error {{.*}}, bound 2.0e-06 (relative): ok
// SINGLE-NEXT: result 1: 1x4x256xf32 {{.*}} bound 1.0e-04 (largest): ok

// What a type rounds to its infinity is that; an infinity in place of a number that it holds fails.
// RUN: echo "func.func @narrow(%%x: tensor<3xf32>) -> tensor<3xf16> { %%y = arith.truncf %%x : tensor<3xf32> to tensor<3xf16> return %%y : tensor<3xf16> }" > %t.narrow.mlir
// RUN: fa-run %t.narrow.mlir --target=cpu --verify --input=3xf32=[1.0,93666.5,-70000.0] | FileCheck %s --check-prefix=OVERFLOW
// OVERFLOW: result 0: 3xf16 relative error 0.00e+00, {{.*}}: ok
// RUN: echo "func.func @narrow(%%x: tensor<3xf32>) -> tensor<3xf16> { %%y = arith.truncf %%x : tensor<3xf32> to tensor<3xf16> %%z = arith.addf %%y, %%y : tensor<3xf16> %%h = arith.constant dense<0.5> : tensor<3xf16> %%w = arith.mulf %%z, %%h : tensor<3xf16> return %%w : tensor<3xf16> }" > %t.twice.mlir
// RUN: not fa-run %t.twice.mlir --target=cpu --verify --precision=float64 --input=3xf32=[1.0,60000.0,2.0] | FileCheck %s --check-prefix=INFINITY
// INFINITY: FAILED
// INFINITY-NEXT: 1 of 3 elements differ in kind; the first, element 1, is INF where the reference has 60000

// RUN: not fa-run %s --entry=top_left --target=reference --against=%S/Inputs/causal.mlir --seed=1 | FileCheck %s --check-prefix=OTHER
// OTHER: result 0: 1x6x2x4xf32 relative error {{.*}}, bound 2.0e-06 (relative): FAILED
// OTHER: result 1: 1x2x6xf32 {{.*}}: FAILED
// OTHER-NEXT: compared all rows
// RUN: not fa-run %s --entry=causal --target=reference --verify --verify-work=1 --seed=1 --bound=-1 | FileCheck %s --check-prefix=FAILEDSAMPLE
// FAILEDSAMPLE: compared a sample of {{[0-9]+}} of 12 rows
// RUN: fa-run %s --entry=top_left --target=reference --against=%S/Inputs/causal.mlir --seed=1 --bound=10 | FileCheck %s --check-prefix=BOUND
// BOUND: bound 1.0e+01 (relative): ok

// Rows without a key are 0 here and NaN there: the pattern counts.
// RUN: not fa-run %s --entry=nothing --target=reference --against=%S/Inputs/causal.mlir --seed=1 --bound=10 | FileCheck %s --check-prefix=PATTERN
// PATTERN: result 0: {{.*}}: FAILED
// PATTERN-NEXT: 48 of 48 elements differ in kind; the first, element 0, is nan where the reference has {{[-0-9]}}

// The suite's seed, where no option names one.
// RUN: env FA_TEST_SEED=77 fa-run %s --entry=causal --target=reference --verify | FileCheck %s --check-prefix=SUITE
// RUN: env FA_TEST_SEED=78 fa-run %s --entry=causal --target=reference --verify --seed=77 | FileCheck %s --check-prefix=SUITE
// SUITE: seed 77{{$}}

// Above the stated work a sample of rows is compared.
// RUN: fa-run %s --entry=causal --target=reference --verify --verify-work=1 --seed=1 | FileCheck %s --check-prefix=SAMPLE
// SAMPLE: verified a sample of {{[0-9]+}} of 12 rows (work above 1.0e+00 operations)

// How many numbers were compared; none at all is no success.
// RUN: fa-run %s --entry=masked --target=reference --verify --seed=1 --json=%t.json | FileCheck %s --check-prefix=FINITE
// FINITE: result 0: 1x6x2x4xf32 {{.*}}: ok
// FINITE-NEXT: result 1: 1x2x6xf32 {{.*}}: ok, 6 of 12 elements are finite numbers
// FINITE-NEXT: verified all rows
// RUN: FileCheck %s --check-prefix=COUNT < %t.json
// COUNT: "compared": 12,
// COUNT: "finite": 6,
// RUN: not fa-run %s --entry=causal --target=reference --verify --input=1x6x2x4xf32=nan | FileCheck %s --check-prefix=NAN
// NAN: result 0: {{.*}}: FAILED
// NAN-NEXT: the reference is NaN in all 48 elements, so no number was compared

// RUN: not fa-run %s --entry=one --target=reference --against=%S/Inputs/causal.mlir 2>&1 | FileCheck %s --check-prefix=OUTPUTS --implicit-check-not=error:
// OUTPUTS: fa-run: error: 'attention' of '{{.*}}causal.mlir' has 2 outputs, but 'one' has 1

func.func @causal(%q: tensor<1x6x2x4xf32>, %k: tensor<1x9x1x4xf32>, %v: tensor<1x9x1x4xf32>)
    -> (tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) {
  %o0 = tensor.empty() : tensor<1x6x2x4xf32>
  %l0 = tensor.empty() : tensor<1x2x6xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<1x6x2x4xf32>, tensor<1x9x1x4xf32>, tensor<1x9x1x4xf32>)
      outs(%o0, %l0 : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>)
      mask(%b, %h, %i, %j) {
        %c3 = arith.constant 3 : index
        %last = arith.addi %i, %c3 : index
        %visible = arith.cmpi sle, %j, %last : index
        fa.yield %visible : i1
      }
  return %o, %lse : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>
}

func.func @top_left(%q: tensor<1x6x2x4xf32>, %k: tensor<1x9x1x4xf32>, %v: tensor<1x9x1x4xf32>)
    -> (tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) {
  %o0 = tensor.empty() : tensor<1x6x2x4xf32>
  %l0 = tensor.empty() : tensor<1x2x6xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<1x6x2x4xf32>, tensor<1x9x1x4xf32>, tensor<1x9x1x4xf32>)
      outs(%o0, %l0 : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) mask causal_top_left
  return %o, %lse : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>
}

// The first three queries see no key.
func.func @masked(%q: tensor<1x6x2x4xf32>, %k: tensor<1x9x1x4xf32>, %v: tensor<1x9x1x4xf32>)
    -> (tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) {
  %o0 = tensor.empty() : tensor<1x6x2x4xf32>
  %l0 = tensor.empty() : tensor<1x2x6xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<1x6x2x4xf32>, tensor<1x9x1x4xf32>, tensor<1x9x1x4xf32>)
      outs(%o0, %l0 : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>)
      mask(%b, %h, %i, %j) {
        %c3 = arith.constant 3 : index
        %visible = arith.cmpi sge, %i, %c3 : index
        fa.yield %visible : i1
      }
  return %o, %lse : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>
}

func.func @nothing(%q: tensor<1x6x2x4xf32>, %k: tensor<1x9x1x4xf32>, %v: tensor<1x9x1x4xf32>)
    -> (tensor<1x6x2x4xf32>, tensor<1x2x6xf32>) {
  %o0 = tensor.empty() : tensor<1x6x2x4xf32>
  %l0 = tensor.empty() : tensor<1x2x6xf32>
  return %o0, %l0 : tensor<1x6x2x4xf32>, tensor<1x2x6xf32>
}

func.func @one(%q: tensor<1x6x2x4xf32>, %k: tensor<1x9x1x4xf32>, %v: tensor<1x9x1x4xf32>) -> tensor<1x6x2x4xf32> {
  return %q : tensor<1x6x2x4xf32>
}
