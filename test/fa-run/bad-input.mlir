// Bad input gives one diagnostic that names the thing, its value and what was
// expected, a failing exit, and no output file.
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/make_arrays.py %t

// RUN: not fa-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=FILE --implicit-check-not=error:
// FILE: fa-run: error: cannot open input file '{{.*}}none.mlir': No such file or directory
// RUN: echo "func.func @f() {" > %t/broken.mlir
// RUN: not fa-run %t/broken.mlir 2>&1 | FileCheck %s --check-prefix=BROKEN --implicit-check-not=error:
// BROKEN: broken.mlir:1:17: error: expected operation name in quotes

// RUN: not fa-run %s 2>&1 | FileCheck %s --check-prefix=ENTRY --implicit-check-not=error:
// ENTRY: fa-run: error: '{{.*}}bad-input.mlir' needs --entry: it has @half, @static, @dynamic, @enormous, @lengths, @configured, @unranked
// RUN: not fa-run %s --entry=hidden 2>&1 | FileCheck %s --check-prefix=PRIVATE --implicit-check-not=error:
// PRIVATE: fa-run: error: --entry=hidden is no public function of '{{.*}}bad-input.mlir', which has @half, @static
// RUN: not fa-run %s --entry=unranked 2>&1 | FileCheck %s --check-prefix=UNRANKED --implicit-check-not=error:
// UNRANKED: error: 'unranked' argument 0 has type 'tensor<*xf32>', which fa-run cannot pass; expected a scalar, ranked tensor or memref of i1, i8, i16, i32, i64, index, f16, bf16, f32 or f64

// RUN: echo "func.func private @nowhere() func.func @f() { call @nowhere() : () -> () return }" > %t/undefined.mlir
// RUN: not fa-run %t/undefined.mlir 2>&1 | FileCheck %s --check-prefix=UNDEFINED --implicit-check-not=error:
// UNDEFINED: undefined.mlir:1:30: error: 'f' cannot be loaded: Symbols not found: [ nowhere ]

// RUN: echo "func.func @f(%%x: tensor<4xf32>) { return }" > %t/nothing.mlir
// RUN: not fa-run %t/nothing.mlir --verify 2>&1 | FileCheck %s --check-prefix=NOTHING --implicit-check-not=error:
// NOTHING: fa-run: error: 'f' has no outputs to verify, expected a result, or a memref that it writes
// RUN: fa-run %t/nothing.mlir

// RUN: not fa-run %s --entry=static --target=cuda 2>&1 | FileCheck %s --check-prefix=CUDA --implicit-check-not=error:
// CUDA: fa-run: error: --target=cuda runs functions with an attention or a fagpu.launch, but 'static' has neither

// RUN: not env FA_TEST_SEED=many fa-run %s --entry=static 2>&1 | FileCheck %s --check-prefix=SEED --implicit-check-not=error:
// SEED: fa-run: error: FA_TEST_SEED=many is no seed: expected a number from 0 to 2^64 - 1

// RUN: not fa-run %s --entry=static --target=gpu 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: fa-run: for the --target option: has the value 'gpu', expected one of auto, cpu, cuda, interpret, reference

// Lengths are within the sizes of what they bound.
// DEFINE: %{lengths} =
// DEFINE: %{bounded} = not fa-run %s --entry=lengths --target=reference --input=2x5x1x4xf32 --input=2x9x1x4xf32 --input=2x9x1x4xf32 %{lengths} 2>&1
// REDEFINE: %{lengths} = --input=2xi32=[5,3] --input=2xi32=[4,10]
// RUN: %{bounded} | FileCheck %s --check-prefix=LONG --implicit-check-not=error:
// LONG: fa-run: error: argument 4 of 'lengths': the key length of batch item 1 is 10, expected 0 to 9, the size of argument 1
// REDEFINE: %{lengths} = --input=2xi32=[-1,3] --input=2xi32=[4,10]
// RUN: %{bounded} | FileCheck %s --check-prefix=NEGATIVE --implicit-check-not=error:
// NEGATIVE: fa-run: error: argument 3 of 'lengths': the query length of batch item 0 is -1, expected 0 to 5, the size of argument 0
// Random ones are brought there.
// RUN: fa-run %s --entry=lengths --target=reference --verify --input=2x5x1x4xf32 --input=2x9x1x4xf32 --input=2x9x1x4xf32 --seed=3

// Sizes that an attention or a gradient in memory needs equal; compiled code does not look.
// RUN: echo "!t = memref<?x?x?x4xf32>" > %t/sizes.mlir
// RUN: echo "func.func @forward(%%q: !t, %%k: !t, %%v: !t, %%o: !t) { fa.attention ins(%%q, %%k, %%v : !t, !t, !t) outs(%%o : !t) return }" >> %t/sizes.mlir
// RUN: echo "func.func @gradient(%%q: !t, %%k: !t, %%v: !t, %%o: !t, %%l: memref<?x?x?xf32>, %%do: !t, %%dq: !t) { fa.attention_gradient ins(%%q, %%k, %%v : !t, !t, !t) of(%%o, %%l : !t, memref<?x?x?xf32>) gradients(%%do : !t) outs(query = %%dq : !t) return }" >> %t/sizes.mlir
// RUN: not fa-run %t/sizes.mlir --entry=forward --target=cpu --input=1x5x2x4xf32 --input=1x7x2x4xf32 --input=1x8x2x4xf32 --input=1x5x2x4xf32 2>&1 | FileCheck %s --check-prefix=VALUES --implicit-check-not=error:
// VALUES: fa-run: error: dimension 1 of argument 2 of 'forward' (keys) is 8, expected 7 as dimension 1 of argument 1
// RUN: not fa-run %t/sizes.mlir --entry=forward --target=cpu --input=1x5x3x4xf32 --input=1x7x2x4xf32 --input=1x7x2x4xf32 --input=1x5x3x4xf32 2>&1 | FileCheck %s --check-prefix=GROUPS --implicit-check-not=error:
// GROUPS: fa-run: error: dimension 2 of argument 0 of 'forward' is 3 heads, expected a multiple of the 2 of dimension 2 of argument 1
// DEFINE: %{gradient} = not fa-run %t/sizes.mlir --entry=gradient --target=cpu --input=1x5x3x4xf32
// RUN: %{gradient} --input=1x7x2x4xf32 --input=1x7x2x4xf32 --input=1x5x3x4xf32 --input=1x3x5xf32 --input=1x5x3x4xf32 --input=1x5x3x4xf32 2>&1 | FileCheck %s --check-prefix=HEADS --implicit-check-not=error:
// HEADS: fa-run: error: dimension 2 of argument 0 of 'gradient' is 3 heads, expected a multiple of the 2 of dimension 2 of argument 1
// RUN: %{gradient} --input=1x7x3x4xf32 --input=1x7x3x4xf32 --input=1x5x3x4xf32 --input=1x3x6xf32 --input=1x5x3x4xf32 --input=1x5x3x4xf32 2>&1 | FileCheck %s --check-prefix=LSE --implicit-check-not=error:
// LSE: fa-run: error: dimension 2 of argument 4 of 'gradient' (queries) is 6, expected 5 as dimension 1 of argument 0

// RUN: not fa-run %s --entry=configured --target=cpu 2>&1 | FileCheck %s --check-prefix=CONFIG --implicit-check-not=error:
// CONFIG: fa-run: error: 'configured' has a configuration for a GPU, but runs on the CPU: use --target=interpret, or cuda where there is a device
// RUN: not fa-run %fa_src_root/examples/schedules/sm_90a_causal.mlir --target=cpu 2>&1 | FileCheck %s --check-prefix=SCHEDULE --implicit-check-not=error:
// SCHEDULE: fa-run: error: 'attention' launches a GPU kernel, but runs on the CPU: use --target=interpret, or cuda where there is a device
// RUN: not fa-run %s --entry=half --target=cpu --strategy=%fa_src_root/strategies/none.mlir 2>&1 | FileCheck %s --check-prefix=NOSTRATEGY --implicit-check-not=error:
// NOSTRATEGY: error: cannot open input file '{{.*}}none.mlir'

// RUN: not fa-run %s --entry=static --target=reference --bench 2>&1 | FileCheck %s --check-prefix=BENCH --implicit-check-not=error:
// BENCH: fa-run: error: --bench times compiled code, but --target=reference does not compile: use --target=cpu or cuda
// RUN: not fa-run %s --entry=static --target=reference --verify --verify-work=-2 2>&1 | FileCheck %s --check-prefix=WORK --implicit-check-not=error:
// WORK: fa-run: error: --verify-work=-2.000000e+00 is no amount of work: expected 0 or more operations
// RUN: echo "func.func @other(%%t: tensor<f32>) -> tensor<f32> { return %%t : tensor<f32> }" > %t/other.mlir
// RUN: not fa-run %s --entry=static --target=reference --against=%t/other.mlir 2>&1 | FileCheck %s --check-prefix=AGAINST --implicit-check-not=error:
// AGAINST: other.mlir:1:1: error: 'other' argument 0 has type 'tensor<f32>', but is given 2x3xf32
// RUN: not fa-run /dev/null 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=error:
// NONE: fa-run: error: '/dev/null' has no public function with a body

// DEFINE: %{input} =
// DEFINE: %{run} = not fa-run %s --entry=static --target=reference --input=%{input} --output=@%t/never.npy 2>&1

// REDEFINE: %{input} = 2x4xf32
// RUN: %{run} | FileCheck %s --check-prefix=SIZE --implicit-check-not=error:
// SIZE: fa-run: error: argument 0 of 'static': --input=2x4xf32 has size 4 in dimension 1, but tensor<2x3xf32> has 3
// REDEFINE: %{input} = 2xf32
// RUN: %{run} | FileCheck %s --check-prefix=RANK --implicit-check-not=error:
// RANK: fa-run: error: argument 0 of 'static': --input=2xf32 has 1 dimensions, but tensor<2x3xf32> has 2
// REDEFINE: %{input} = 2x3xf16
// RUN: %{run} | FileCheck %s --check-prefix=TYPE --implicit-check-not=error:
// TYPE: fa-run: error: argument 0 of 'static': --input=2x3xf16 has the element type 'f16', but f32 was expected
// REDEFINE: %{input} = 2y3
// RUN: %{run} | FileCheck %s --check-prefix=MALFORMED --implicit-check-not=error:
// MALFORMED: fa-run: error: argument 0 of 'static': --input=2y3 is malformed: expected sizes and an element type, as in 2x512x8x64xbf16
// REDEFINE: %{input} = 600
// RUN: %{run} | FileCheck %s --check-prefix=NUMBER --implicit-check-not=error:
// NUMBER: error: argument 0 of 'static': --input=600 is malformed: expected sizes and an element type, as in 2x512x8x64xbf16, or a type and a number, as in index=600
// REDEFINE: %{input} = 2x3
// RUN: %{run} | FileCheck %s --check-prefix=NOTYPE --implicit-check-not=error:
// NOTYPE: error: argument 0 of 'static': --input=2x3 is malformed
// REDEFINE: %{input} = 2x3xf32=one
// RUN: %{run} | FileCheck %s --check-prefix=VALUE --implicit-check-not=error:
// VALUE: error: argument 0 of 'static': --input=2x3xf32=one has the value 'one', but a number of type f32 was expected
// REDEFINE: %{input} = 2x3xf32=[1,2]
// RUN: %{run} | FileCheck %s --check-prefix=COUNT --implicit-check-not=error:
// COUNT: error: argument 0 of 'static': --input=2x3xf32=[1,2] lists 2 values for 6 elements
// REDEFINE: %{input} = 2x3xf32=[1,2]]
// RUN: %{run} | FileCheck %s --check-prefix=BRACKETS --implicit-check-not=error:
// BRACKETS: error: argument 0 of 'static': --input=2x3xf32=[1,2]] has brackets that do not match
// REDEFINE: %{input} = 2x3xf32 --input=4xi8=300
// RUN: %{run} | FileCheck %s --check-prefix=FITS --implicit-check-not=error:
// FITS: error: argument 1 of 'static': --input=4xi8=300 has the value 300, which does not fit i8
// REDEFINE: %{input} = 2x3xf32 --input=4xi8=1.5
// RUN: %{run} | FileCheck %s --check-prefix=INTEGER --implicit-check-not=error:
// INTEGER: error: argument 1 of 'static': --input=4xi8=1.5 has the value '1.5', but an integer of type i8 was expected
// REDEFINE: %{input} = 2x3xf32 --input=4xi8 --input=f32=1
// RUN: %{run} | FileCheck %s --check-prefix=INPUTS --implicit-check-not=error:
// INPUTS: fa-run: error: 3 --input options, but 'static' has 2 arguments

// REDEFINE: %{input} = @%t/none.npy
// RUN: %{run} | FileCheck %s --check-prefix=MISSING --implicit-check-not=error:
// MISSING: error: {{.*}}none.npy cannot be read: No such file or directory
// REDEFINE: %{input} = %t/f16.npy
// RUN: %{run} | FileCheck %s --check-prefix=ATSIGN --implicit-check-not=error:
// ATSIGN: error: argument 0 of 'static': --input={{.*}}f16.npy is malformed: expected a file as @{{.*}}f16.npy{{$}}
// REDEFINE: %{input} = @%s
// RUN: %{run} | FileCheck %s --check-prefix=NOTNPY --implicit-check-not=error:
// NOTNPY: error: {{.*}}bad-input.mlir is not a .npy file
// REDEFINE: %{input} = @%t/f16.npy
// RUN: %{run} | FileCheck %s --check-prefix=DTYPE --implicit-check-not=error:
// DTYPE: error: {{.*}}f16.npy has elements of type '<f2', but f32 ('<f4') was expected
// REDEFINE: %{input} = @%t/complex.npy
// RUN: %{run} | FileCheck %s --check-prefix=COMPLEX --implicit-check-not=error:
// COMPLEX: error: {{.*}}complex.npy has elements of type '<c8', but f32 ('<f4') was expected
// REDEFINE: %{input} = 2x3xf32 --input=@%t/i8.npy
// RUN: %{run} | FileCheck %s --check-prefix=NPYSIZE --implicit-check-not=error:
// NPYSIZE: error: {{.*}}i8.npy has size 3 in dimension 0, but tensor<4xi8> has 4
// RUN: not fa-run %s --entry=half --target=reference --input=@%t/short.npy 2>&1 | FileCheck %s --check-prefix=SHORT --implicit-check-not=error:
// SHORT: error: {{.*}}short.npy holds 11 bytes of data, but its header promises 12

// RUN: not fa-run %s --entry=dynamic --target=reference --input=99999999999999xf32 2>&1 | FileCheck %s --check-prefix=MANY --implicit-check-not=error:
// MANY: error: argument 0 of 'dynamic': --input=99999999999999xf32 needs 4.00e+14 bytes of memory, but this machine has {{.*}}e+
// RUN: not fa-run %s --entry=enormous --target=reference 2>&1 | FileCheck %s --check-prefix=ENORMOUS --implicit-check-not=error:
// ENORMOUS: error: argument 0 of 'enormous': needs 4.00e+20 bytes of memory

// RUN: not fa-run %s --entry=dynamic --target=reference 2>&1 | FileCheck %s --check-prefix=DYNAMIC --implicit-check-not=error:
// DYNAMIC: fa-run: error: argument 0 of 'dynamic': has the dynamic type tensor<?xf32>: give its shape with --input

// RUN: not fa-run %s --entry=static --target=reference --output=o.npy 2>&1 | FileCheck %s --check-prefix=OUTPUT --implicit-check-not=error:
// OUTPUT: fa-run: error: --output=o.npy is malformed: expected @FILE.npy
// RUN: not fa-run %s --entry=static --target=reference --output=@%t/never.npy --output=@%t/never2.npy 2>&1 | FileCheck %s --check-prefix=OUTPUTS --implicit-check-not=error:
// OUTPUTS: fa-run: error: 2 --output options, but 'static' has 1 outputs
// RUN: not fa-run %s --entry=static --target=reference --output=@%t/none/o.npy 2>&1 | FileCheck %s --check-prefix=WRITE --implicit-check-not=error:
// WRITE: fa-run: error: cannot write '{{.*}}none/o.npy': {{.*}}No such file or directory

// RUN: not ls %t/never.npy
// RUN: not ls %t/never2.npy

func.func @half(%a: tensor<2x3xf16>) -> tensor<2x3xf16> {
  return %a : tensor<2x3xf16>
}
func.func @static(%a: tensor<2x3xf32>, %b: tensor<4xi8>) -> tensor<2x3xf32> {
  return %a : tensor<2x3xf32>
}
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
func.func @enormous(%a: tensor<10000000000x10000000000xf32>) {
  return
}
!q = tensor<2x?x1x4xf32>
func.func @lengths(%q: !q, %k: !q, %v: !q, %queries: tensor<2xi32>, %keys: tensor<2xi32>) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !q, !q) outs(%q : !q)
      query_lengths(%queries : tensor<2xi32>) key_lengths(%keys : tensor<2xi32>)
  return %r : !q
}
!h = tensor<2x64x1x64xf16>
func.func @configured(%q: !h, %k: !h, %v: !h) -> !h {
  %e = tensor.empty() : !h
  %r = fa.attention ins(%q, %k, %v : !h, !h, !h) outs(%e : !h)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps>>}
  return %r : !h
}
func.func @unranked(%a: tensor<*xf32>) {
  return
}
func.func private @hidden() {
  return
}
