// RUN: fa-run %s --entry=rows --target=reference | FileCheck %s --check-prefix=ROWS
// RUN: fa-run %s --entry=in_memory --target=reference | FileCheck %s --check-prefix=MEMORY
// RUN: fa-run %s --entry=scatter --target=reference | FileCheck %s --check-prefix=SCATTER
// RUN: fa-run %s --entry=levels --target=reference | FileCheck %s --check-prefix=LEVELS
// RUN: fa-run %s --entry=prepare --target=reference | FileCheck %s --check-prefix=PREPARE
// RUN: fa-run %s --entry=finalize --target=reference | FileCheck %s --check-prefix=FINALIZE
// RUN: not fa-run %s --entry=long_finalize --target=reference 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not fa-run %s --entry=sizes --target=reference --input=index=5 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: not fa-run %s --entry=wrong_range --target=reference 2>&1 | FileCheck %s --check-prefix=WRONG

!q = tensor<1x2x1x1xf32>
!row = tensor<1x1x2xf32>

// Head dim 1. Query 0 sees no key, query 1 one, so p = 1: its do goes to the
// value, and dx = do * v - do * o = 0.
func.func @rows() -> (!q, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) {
  %q = arith.constant dense<1.0> : !q
  %k = arith.constant dense<2.0> : tensor<1x1x1x1xf32>
  %v = arith.constant dense<4.0> : tensor<1x1x1x1xf32>
  %o = arith.constant dense<[[[[0.0]], [[4.0]]]]> : !q
  %lse = arith.constant dense<[[[0xFF800000, 2.0]]]> : !row
  %do = arith.constant dense<3.0> : !q
  %e0 = tensor.empty() : !q
  %e1 = tensor.empty() : tensor<1x1x1x1xf32>
  %dq, %dk, %dv = fa.attention_gradient ins(%q, %k, %v : !q, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
      of(%o, %lse : !q, !row) gradients(%do : !q)
      outs(query = %e0 : !q, key = %e1 : tensor<1x1x1x1xf32>, value = %e1 : tensor<1x1x1x1xf32>) mask causal
  return %dq, %dk, %dv : !q, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}
// ROWS: result 0: 1x2x1x1xf32 = [0, 0]
// ROWS-NEXT: result 1: 1x1x1x1xf32 = [0]
// ROWS-NEXT: result 2: 1x1x1x1xf32 = [3]

// A gradient of lse alone: d lse / d s is the weight.
func.func @in_memory(%q: memref<1x1x1x1xf32>, %k: memref<1x1x1x1xf32>, %dk: memref<1x1x1x1xf32>) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%one : f32) outs(%q : memref<1x1x1x1xf32>)
  linalg.fill ins(%two : f32) outs(%k : memref<1x1x1x1xf32>)
  %o = memref.alloc() : memref<1x1x1x1xf32>
  linalg.fill ins(%zero : f32) outs(%o : memref<1x1x1x1xf32>)
  %lse = memref.alloc() : memref<1x1x1xf32>
  linalg.fill ins(%two : f32) outs(%lse : memref<1x1x1xf32>)
  fa.attention_gradient ins(%q, %k, %o : memref<1x1x1x1xf32>, memref<1x1x1x1xf32>, memref<1x1x1x1xf32>)
      of(%o, %lse : memref<1x1x1x1xf32>, memref<1x1x1xf32>) gradients(%o, %lse : memref<1x1x1x1xf32>, memref<1x1x1xf32>)
      outs(key = %dk : memref<1x1x1x1xf32>)
  return
}
// MEMORY: argument 2: 1x1x1x1xf32 = [2]

// Rows are keys: query 5 and 6, key 1, 2 and 3; element query - key, which
// lies outside of the memory for two pairs.
func.func @scatter(%to: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%to : memref<4xf32>)
  %x = arith.constant dense<[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]> : tensor<3x2xf32>
  fa.scatter_add %x : tensor<3x2xf32> to %to : memref<4xf32> offsets(%c0, %c0, %c5, %c1) extents(%c5, %c5) rows(keys)
      pairs(%b, %h, %i, %j) {
    %d = arith.subi %i, %j : index
    fa.yield %d : index
  }
  return
}
// SCATTER: argument 0: 4xf32 = [0, 0, 100, 210]

// At the integer of each pair's score; one lies outside.
func.func @levels(%to: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%to : memref<4xf32>)
  %x = arith.constant dense<[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]> : tensor<3x2xf32>
  %s = arith.constant dense<[[3.5, 0.0], [1.0, 3.0], [0.5, 4.0]]> : tensor<3x2xf32>
  fa.scatter_add %x : tensor<3x2xf32> to %to : memref<4xf32> scores(%s : tensor<3x2xf32>) offsets(%c0, %c0, %c0, %c0)
      extents(%c0, %c0) rows(keys) pairs(%score, %b, %h, %i, %j) {
    %level = arith.fptosi %score : f32 to i32
    %at = arith.index_cast %level : i32 to index
    fa.yield %at : index
  }
  return
}
// LEVELS: argument 0: 4xf32 = [102, 10, 0, 21]

func.func @prepare(%delta: memref<1x1x3xf32>, %reference: memref<1x1x3xf32>, %sums: memref<2x2xf32>) {
  %c2 = arith.constant 2 : index
  %o = memref.get_global @o : memref<1x3x1x2xf32>
  %lse = memref.get_global @lse : memref<1x1x3xf32>
  fa.prepare_gradient of(%o, %o : memref<1x3x1x2xf32>, memref<1x3x1x2xf32>) lse(%lse : memref<1x1x3xf32>)
      lse_gradient(%lse : memref<1x1x3xf32>) outs(%delta, %reference : memref<1x1x3xf32>, memref<1x1x3xf32>)
      clears(%sums : memref<2x2xf32>) rows(%c2)
  return
}
memref.global "private" constant @o : memref<1x3x1x2xf32> = dense<[[[[1.0, 2.0]], [[3.0, 4.0]], [[0x7FC00000, 1.0]]]]>
memref.global "private" constant @lse : memref<1x1x3xf32> = dense<[[[1.0, 0xFF800000, 1.0]]]>
// PREPARE: argument 0: 1x1x3xf32 = [4, 0, 0]
// PREPARE-NEXT: argument 1: 1x1x3xf32 = [1, inf, inf]
// PREPARE-NEXT: argument 2: 2x2xf32 = [0, 0, 0, 0]

func.func @finalize(%out: memref<1x3x1x2xf32>) {
  %c2 = arith.constant 2 : index
  %half = arith.constant 0.5 : f32
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [0x7FC00000, 5.0], [6.0, 7.0]]> : tensor<4x2xf32>
  fa.finalize_gradient ins(%a : tensor<4x2xf32>) scale(%half) outs(%out : memref<1x3x1x2xf32>) rows(%c2)
  return
}
// FINALIZE: argument 0: 1x3x1x2xf32 = [0.5, 1, 1.5, 2, 0, 0]

func.func @long_finalize(%out: memref<1x3x1x2xf32>) {
  %c4 = arith.constant 4 : index
  %a = arith.constant dense<1.0> : tensor<4x2xf32>
  fa.finalize_gradient ins(%a : tensor<4x2xf32>) outs(%out : memref<1x3x1x2xf32>) rows(%c4)
  return
}
// LONG: error: finalizes 4 rows of a state of 4 into a tile of 3

func.func @sizes(%n: index) -> tensor<?x1x1x1xf32> {
  %c1 = arith.constant 1 : index
  %q = tensor.empty(%n) : tensor<?x1x1x1xf32>
  %o = tensor.empty(%c1) : tensor<?x1x1x1xf32>
  %lse = tensor.empty(%n) : tensor<?x1x1xf32>
  %dq = fa.attention_gradient ins(%q, %q, %q : tensor<?x1x1x1xf32>, tensor<?x1x1x1xf32>, tensor<?x1x1x1xf32>)
      of(%o, %lse : tensor<?x1x1x1xf32>, tensor<?x1x1xf32>) gradients(%q : tensor<?x1x1x1xf32>)
      outs(query = %q : tensor<?x1x1x1xf32>)
  return %dq : tensor<?x1x1x1xf32>
}
// SIZES: error: 'fa.attention_gradient' size of the output is 1 at run time where 5 was expected

func.func @wrong_range() -> index {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %0 = fa.query_ranges (%i, %n) = [full %c0 to %c3] step 2 iter_args(%a = %c0) -> (index) {
    fa.yield %i : index
  }
  return %0 : index
}
// WRONG: error: the full range from 0 to 3 is no multiple of the step 2
