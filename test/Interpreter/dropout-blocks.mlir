// Attention with dropout whose blocks begin anywhere, as schedules in the interpreter, against the evaluation in float64.
// RUN: %python -c "import numpy as np; np.save(r'%t.seed.npy', np.array(2**40 + 7)); np.save(r'%t.offset.npy', np.array(2**33 + 1))"

// DEFINE: %{chip} =
// DEFINE: %{three} = --input=2x150x4x64xbf16 --input=2x333x2x64xbf16 --input=2x333x2x64xbf16
// DEFINE: %{same} = --input=2x150x4x64xbf16 --input=2x150x2x64xbf16 --input=2x150x2x64xbf16
// DEFINE: %{rows} = --input=300x4x64xbf16 --input=300x2x64xbf16 --input=300x2x64xbf16
// DEFINE: %{numbers} = --input=f32=0.25 --input=@%t.seed.npy --input=@%t.offset.npy
// DEFINE: %{run} = fa-run %s --target=interpret --chip=%{chip} --verify
// DEFINE: %{check} = \
// DEFINE:   %{run} --entry=window %{three} %{numbers} --input=index=37 --input=index=5 | FileCheck %s && \
// DEFINE:   %{run} --entry=lengths %{three} %{numbers} --input=2xi32=[150,71] --input=2xi32=[333,17] | FileCheck %s && \
// DEFINE:   %{run} --entry=piece %{three} %{numbers} --input=index=3 --input=index=77 --input=index=130 | FileCheck %s && \
// DEFINE:   %{run} --entry=split %{three} %{numbers} | FileCheck %s && \
// DEFINE:   %{run} --entry=documents %{same} %{numbers} --input=2x150xi32 | FileCheck %s && \
// DEFINE:   %{run} --entry=packed %{rows} %{numbers} '--input=4xi32=[0,129,129,300]' | FileCheck %s
// REDEFINE: %{chip} = sm_90a
// RUN: %{check}
// REDEFINE: %{chip} = sm_80
// RUN: %{check}
// A piece of a problem alone draws for each pair: nothing says where it begins.
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-decompose-to-blocks -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: fa.attention {{.*}} offsets
// ALONE-NOT: fa.attention
// CHECK: result 0: {{.*}} (relative): ok


!q = tensor<?x?x4x64xbf16>
!k = tensor<?x?x2x64xbf16>
!n = tensor<i64>

// A window, and as many keys more than queries as there are.
func.func @window(%q: !q, %k: !k, %v: !k, %p: f32, %seed: !n, %offset: !n, %left: index, %right: index) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%q : !q) mask window(%left, %right)
      dropout(%p, %seed, %offset : f32, !n, !n)
  return %r : !q
}

func.func @lengths(%q: !q, %k: !k, %v: !k, %p: f32, %seed: !n, %offset: !n, %queries: tensor<?xi32>, %keys: tensor<?xi32>) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%q : !q) query_lengths(%queries : tensor<?xi32>)
      key_lengths(%keys : tensor<?xi32>) mask causal dropout(%p, %seed, %offset : f32, !n, !n)
  return %r : !q
}

// A piece of a larger problem, from any query and key on.
func.func @piece(%q: !q, %k: !k, %v: !k, %p: f32, %seed: !n, %offset: !n, %b: index, %i: index, %j: index) -> !q {
  %n = arith.constant 5000 : index
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%q : !q) offsets(%b, %b, %i, %j) extents(%n, %n)
      dropout(%p, %seed, %offset : f32, !n, !n)
  return %r : !q
}

func.func @split(%q: !q, %k: !k, %v: !k, %p: f32, %seed: !n, %offset: !n) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%q : !q) dropout(%p, %seed, %offset : f32, !n, !n)
      {config = #fa.config<query_block = 64, key_block = 64, key_splits = 3>}
  return %r : !q
}

func.func @documents(%q: !q, %k: !k, %v: !k, %p: f32, %seed: !n, %offset: !n, %ids: tensor<?x?xi32>) -> !q {
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%q : !q) mask documents(%ids : tensor<?x?xi32>)
      dropout(%p, %seed, %offset : f32, !n, !n)
  return %r : !q
}

// Sequences that lie one behind the other: queries and keys count from the first of their own.
!rows = tensor<?x4x64xbf16>
!key_rows = tensor<?x2x64xbf16>
func.func @packed(%q: !rows, %k: !key_rows, %v: !key_rows, %p: f32, %seed: !n, %offset: !n, %starts: tensor<?xi32>) -> !rows {
  %r = fa.attention ins(%q, %k, %v : !rows, !key_rows, !key_rows) outs(%q : !rows)
      query_starts(%starts : tensor<?xi32>) key_starts(%starts : tensor<?xi32>) mask causal
      dropout(%p, %seed, %offset : f32, !n, !n)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>,
       value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return %r : !rows
}
