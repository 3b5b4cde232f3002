// Any number of sequences that begin with the same keys: heads that share keys are packed with them into rows. Regions see the
// sequence, the head and the query that a row is of; one and several blocks of rows, and parts of the keys.

// DEFINE: %{batch} = 1
// DEFINE: %{target} = cpu
// DEFINE: %{run} = fa-run %s --target=%{target} --verify --input=%{batch}x2x4x64xf16 --input=300x2x64xf16 --input=%{batch}x70x2x64xf16 --input=%{batch}xi32 | FileCheck %s
// RUN: %{run}
// REDEFINE: %{batch} = 5
// RUN: %{run}
// REDEFINE: %{target} = interpret --chip=sm_80
// RUN: %{run}
// REDEFINE: %{target} = interpret --chip=sm_90a
// RUN: %{run}
// REDEFINE: %{batch} = 37
// RUN: %{run}
// REDEFINE: %{batch} = 1
// RUN: %{run}
// CHECK: result 0: {{.*}} ok
// CHECK: result 1: {{.*}} ok
// CHECK: verified all rows

// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a --remark-format=emitRemark --remarks-filter=fa-batch-shared-keys 2>&1 | FileCheck %s --check-prefix=PACKED
// The rows of 2 queries of 4 heads on 2.
// PACKED: func.func @shared_prefix_kernel{{.*}}memref<1x2x?x64xf16>

!queries = tensor<?x2x4x64xf16>
!partial = tensor<?x2x4x64xf32>
!lse = tensor<?x4x2xf32>
!prompt = tensor<?x2x64xf16>
!prompts = tensor<?x?x2x64xf16>
func.func @shared_prefix(%query: !queries, %prompt: !prompt, %keys: !prompts, %skipped: tensor<?xi32>) -> (!queries, !lse) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : !queries
  %length = tensor.dim %prompt, %c0 : !prompt
  %prompts_init = tensor.empty(%batch, %length) : !prompts
  %prompts = linalg.broadcast ins(%prompt : !prompt) outs(%prompts_init : !prompts) dimensions = [0]
  %partial_init = tensor.empty(%batch) : !partial
  %lse_init = tensor.empty(%batch) : !lse
  // Each sequence and head leaves out keys of its own, and the first query the last key.
  %shared, %shared_lse = fa.attention ins(%query, %prompts, %prompts : !queries, !prompts, !prompts) outs(%partial_init, %lse_init : !partial, !lse)
      mask(%b, %h, %i, %j) captures(%skip = %skipped : tensor<?xi32>) {
        %n = tensor.extract %skip[%b] : tensor<?xi32>
        %c31 = arith.constant 31 : i32
        %few = arith.andi %n, %c31 : i32
        %own = arith.index_cast %few : i32 to index
        %first = arith.addi %own, %h : index
        %isBehind = arith.cmpi uge, %j, %first : index
        %queries = fa.query_length : index
        %all = fa.key_length : index
        %left = arith.addi %i, %all : index
        %end = arith.subi %left, %queries : index
        %isAhead = arith.cmpi sle, %j, %end : index
        %isSeen = arith.andi %isBehind, %isAhead : i1
        fa.yield %isSeen : i1
      }
  %alone, %alone_lse = fa.attention ins(%query, %keys, %keys : !queries, !prompts, !prompts) outs(%partial_init, %lse_init : !partial, !lse) mask causal
  %init = tensor.empty(%batch) : !queries
  %output, %lse = fa.combine a(%shared, %shared_lse : !partial, !lse) b(%alone, %alone_lse : !partial, !lse) outs(%init, %lse_init : !queries, !lse) -> !queries, !lse
  return %output, %lse : !queries, !lse
}
