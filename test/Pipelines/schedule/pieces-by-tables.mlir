// Tables of blocks for pieces of a problem: ids are those of all queries and
// keys, which memory holds some of.

// RUN: %python -c "import numpy; numpy.save(r'%t.npy', numpy.sort(numpy.random.default_rng(3).integers(0, 12, (2, 900)), axis=1).astype('i4'))"
// DEFINE: %{entry} =
// DEFINE: %{place} =
// DEFINE: %{chip} =
// DEFINE: %{check} = \
// DEFINE:   fa-run %s --entry=%{entry} --target=interpret --chip=%{chip} --verify --input=2x70x4x64xbf16 --input=2x300x2x64xbf16 --input=2x300x2x64xbf16 \
// DEFINE:     --input=2x70x4x64xbf16 %{place} --input=@%t.npy | FileCheck %s
// REDEFINE: %{chip} = sm_80
// REDEFINE: %{entry} = causal
// REDEFINE: %{place} = --input=index=420 --input=index=200 --input=index=500 --input=index=500
// RUN: %{check}
// REDEFINE: %{entry} = documents
// REDEFINE: %{place} = --input=index=420 --input=index=200 --input=index=800 --input=index=600
// RUN: %{check}
// A piece of the queries alone.
// REDEFINE: %{place} = --input=index=20 --input=index=0 --input=index=300 --input=index=300
// RUN: %{check}
// REDEFINE: %{chip} = sm_90a
// RUN: %{check}
// REDEFINE: %{place} = --input=index=420 --input=index=200 --input=index=800 --input=index=600
// RUN: %{check}
// CHECK: verified all rows

!q = memref<2x70x4x64xbf16>
!k = memref<2x300x2x64xbf16>

func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %i: index, %j: index, %n: index, %m: index, %ids: memref<2x?xi32>) {
  %c0 = arith.constant 0 : index
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q) offsets(%c0, %c0, %i, %j) extents(%n, %m)
      mask causal documents(%ids : memref<2x?xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, block_table>>}
  return
}

func.func @documents(%q: !q, %k: !k, %v: !k, %o: !q, %i: index, %j: index, %n: index, %m: index, %ids: memref<2x?xi32>) {
  %c0 = arith.constant 0 : index
  fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q) offsets(%c0, %c0, %i, %j) extents(%n, %m)
      mask documents(%ids : memref<2x?xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps, block_table>>}
  return
}
