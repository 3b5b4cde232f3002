// RUN: fa-opt %s --pass-pipeline="builtin.module(fa-to-level2{chip=avx2},fa-blocks-to-vectors)" | FileCheck %s --check-prefix=BLOCK
// RUN: fa-opt %s --fa-to-cpu | FileCheck %s --check-prefix=LLVM

// One parallel call; no iteration allocates or copies, and what is N x N is
// nowhere: all memory is scratch of a thread, whose size does not depend on
// the lengths.

// BLOCK-LABEL: func.func private @causal_block(
// BLOCK-NOT: memref.alloc
// BLOCK-NOT: memref.copy
// BLOCK-NOT: linalg.
// BLOCK-NOT: fa.
// BLOCK-NOT: math.exp
// Scores of a full block: a tile of 6 keys by 2 vectors.
// BLOCK: scf.for {{.+}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// BLOCK-COUNT-12: math.fma {{.+}} : vector<8xf32>
// BLOCK: scf.yield
// BLOCK-LABEL: func.func @causal(
// BLOCK-NOT: memref.alloc
// BLOCK: call @fa_parallel_for
// BLOCK-NOT: memref.alloc

// LLVM-DAG: llvm.func @fa_parallel_for(!llvm.ptr, !llvm.ptr, i64, i64)
// LLVM-DAG: llvm.func @_mlir_ciface_causal(
// LLVM-NOT: unrealized_conversion_cast
func.func @causal(%q: memref<?x?x?x64xf32>, %k: memref<?x?x?x64xf32>, %v: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>) {
  fa.attention ins(%q, %k, %v : memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>)
      outs(%o : memref<?x?x?x64xf32>) mask causal
  return
}
