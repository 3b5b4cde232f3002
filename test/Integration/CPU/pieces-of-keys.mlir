// A piece of a problem: extents and lengths are those of all keys, and memory
// holds some of them. Nothing beyond it is read, and keys past a length give
// nothing, though they are NaN.

// DEFINE: %{entry} =
// DEFINE: %{inputs} =
// DEFINE: %{run} = fa-run %s --entry=%{entry} --verify %{inputs}
// DEFINE: %{check} = \
// DEFINE:   %{run} --target=cpu | FileCheck %s && \
// DEFINE:   %{run} --target=interpret --chip=sm_80 | FileCheck %s && \
// DEFINE:   %{run} --target=interpret --chip=sm_90a | FileCheck %s
// REDEFINE: %{entry} = f32
// RUN: %{check}
// REDEFINE: %{entry} = slice
// RUN: %{check}
// REDEFINE: %{entry} = lengths
// RUN: %{check}
// REDEFINE: %{entry} = past
// REDEFINE: %{inputs} = --input=1x40x1x64xf16 --input=@%t.npy --input=@%t.npy
// RUN: %python -c "import numpy; x = numpy.random.default_rng(1).standard_normal((1, 40, 1, 64)).astype('f2'); x[:, 25:] = numpy.nan; numpy.save(r'%t.npy', x)"
// RUN: %{check}
// CHECK: verified all rows

!f = tensor<1x40x1x16xf32>
!t = tensor<1x40x1x64xbf16>
!all = tensor<1x90x1x64xbf16>

func.func @f32(%q: !f, %k: !f, %v: !f) -> !f {
  %c0 = arith.constant 0 : index
  %queries = arith.constant 40 : index
  %keys = arith.constant 80 : index
  %o = tensor.empty() : !f
  %r = fa.attention ins(%q, %k, %v : !f, !f, !f) outs(%o : !f)
      offsets(%c0, %c0, %c0, %c0) extents(%queries, %keys) mask causal
  return %r : !f
}

func.func @slice(%q: !t, %k: !all, %v: !all) -> !t {
  %c0 = arith.constant 0 : index
  %first = arith.constant 30 : index
  %queries = arith.constant 40 : index
  %keys = arith.constant 90 : index
  %k1 = tensor.extract_slice %k[0, 30, 0, 0] [1, 40, 1, 64] [1, 1, 1, 1] : !all to !t
  %v1 = tensor.extract_slice %v[0, 30, 0, 0] [1, 40, 1, 64] [1, 1, 1, 1] : !all to !t
  %o = tensor.empty() : !t
  %r = fa.attention ins(%q, %k1, %v1 : !t, !t, !t) outs(%o : !t)
      offsets(%c0, %c0, %c0, %first) extents(%queries, %keys) mask causal
  return %r : !t
}

func.func @lengths(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %first = arith.constant 45 : index
  %queries = arith.constant 40 : index
  %keys = arith.constant 90 : index
  %lengths = arith.constant dense<60> : tensor<1xi32>
  %o = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t) key_lengths(%lengths : tensor<1xi32>)
      offsets(%c0, %c0, %c0, %first) extents(%queries, %keys) mask causal
  return %r : !t
}

// The last 15 keys are past the end of all 55.
!h = tensor<1x40x1x64xf16>
func.func @past(%q: !h, %k: !h, %v: !h) -> !h {
  %c0 = arith.constant 0 : index
  %first = arith.constant 30 : index
  %queries = arith.constant 40 : index
  %keys = arith.constant 55 : index
  %o = tensor.empty() : !h
  %r = fa.attention ins(%q, %k, %v : !h, !h, !h) outs(%o : !h)
      offsets(%c0, %c0, %c0, %first) extents(%queries, %keys)
  return %r : !h
}
