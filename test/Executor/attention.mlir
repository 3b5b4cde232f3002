// RUN: fa-run %s --entry=rows --target=reference | FileCheck %s --check-prefix=ROWS
// RUN: fa-run %s --entry=lengths --target=reference | FileCheck %s --check-prefix=LENGTHS
// RUN: fa-run %s --entry=captures --target=reference | FileCheck %s --check-prefix=CAPTURES
// RUN: fa-run %s --entry=combine --target=reference | FileCheck %s --check-prefix=COMBINE
// RUN: fa-run %s --entry=ranges --target=reference | FileCheck %s --check-prefix=RANGES
// RUN: not fa-run %s --entry=wrong_range --target=reference 2>&1 | FileCheck %s --check-prefix=WRONG

// Head dim 1, so that scores are products. Scale 1; query 0 sees no key, query 1
// one, query 2 two. A score of log 3 above the other weighs 3 to 1.
func.func @rows() -> (tensor<1x3x1x1xf32>, tensor<1x1x3xf32>) {
  %q = arith.constant dense<1.0> : tensor<1x3x1x1xf32>
  %k = arith.constant dense<[[[[0.0]], [[1.0986122886681098]]]]> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[4.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %o0 = tensor.empty() : tensor<1x3x1x1xf32>
  %l0 = tensor.empty() : tensor<1x1x3xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<1x3x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>)
      outs(%o0, %l0 : tensor<1x3x1x1xf32>, tensor<1x1x3xf32>) mask causal
  return %o, %lse : tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
}
// ROWS: result 0: 1x3x1x1xf32 = [0, 4, 7]
// ROWS-NEXT: result 1: 1x1x3xf32 = [-inf, 0, 1.386294]

// Keys past a length are not read, though they hold NaN; queries past a length
// keep what the destination held.
func.func @lengths() -> (tensor<2x2x1x1xf32>, tensor<2x1x2xf32>) {
  %q = arith.constant dense<0.0> : tensor<2x2x1x1xf32>
  %k = arith.constant dense<[[[[1.0]], [[0x7FC00000]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %v = arith.constant dense<[[[[4.0]], [[0x7FC00000]]], [[[4.0]], [[8.0]]]]> : tensor<2x2x1x1xf32>
  %o0 = arith.constant dense<9.0> : tensor<2x2x1x1xf32>
  %l0 = arith.constant dense<9.0> : tensor<2x1x2xf32>
  %nq = arith.constant dense<[2, 1]> : tensor<2xi32>
  %nk = arith.constant dense<[1, 2]> : tensor<2xi32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<2x2x1x1xf32>, tensor<2x2x1x1xf32>, tensor<2x2x1x1xf32>)
      outs(%o0, %l0 : tensor<2x2x1x1xf32>, tensor<2x1x2xf32>)
      query_lengths(%nq : tensor<2xi32>) key_lengths(%nk : tensor<2xi32>)
  return %o, %lse : tensor<2x2x1x1xf32>, tensor<2x1x2xf32>
}
// LENGTHS: result 0: 2x2x1x1xf32 = [4, 4, 6, 9]
// LENGTHS-NEXT: result 1: 2x1x2xf32 = [0, 0, 0.6931472, 9]

// The score is the entry of a table that ends before the last key: past its end
// a load reads 0.
func.func @captures() -> tensor<1x1x1x1xf32> {
  %q = arith.constant dense<0.0> : tensor<1x1x1x1xf32>
  %k = arith.constant dense<0.0> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[4.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %table = arith.constant dense<[1.0986122886681098]> : tensor<1xf32>
  %o0 = tensor.empty() : tensor<1x1x1x1xf32>
  %o = fa.attention ins(%q, %k, %v : tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>)
      outs(%o0 : tensor<1x1x1x1xf32>)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<1xf32>) {
        %x = tensor.extract %t[%j] : tensor<1xf32>
        fa.yield %x : f32
      }
  return %o : tensor<1x1x1x1xf32>
}
// CAPTURES: result 0: 1x1x1x1xf32 = [5]

// Weights 1 and 3; an empty part is not read.
func.func @combine() -> (tensor<1x2x1x1xf32>, tensor<1x1x2xf32>) {
  %a = arith.constant dense<[[[[4.0]], [[0x7FC00000]]]]> : tensor<1x2x1x1xf32>
  %b = arith.constant dense<[[[[8.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %la = arith.constant dense<[[[0.0, 0xFF800000]]]> : tensor<1x1x2xf32>
  %lb = arith.constant dense<[[[1.0986122886681098, 1.0]]]> : tensor<1x1x2xf32>
  %o0 = tensor.empty() : tensor<1x2x1x1xf32>
  %l0 = tensor.empty() : tensor<1x1x2xf32>
  %o, %lse = fa.combine
      a(%a, %la : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>)
      b(%b, %lb : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>)
      outs(%o0, %l0 : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>)
      -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  return %o, %lse : tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
}
// COMBINE: result 0: 1x2x1x1xf32 = [7, 8]
// COMBINE-NEXT: result 1: 1x1x2xf32 = [1.386294, 1]

// One query over four keys in two ranges; the state has a padding row. `limit`
// is the first key that the mask hides.
func.func private @step(%k: memref<1x4x1x1xf32>, %v: memref<1x4x1x1xf32>, %limit: index) -> tensor<1x1x1x1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<2x1xf32>
  %none = arith.constant dense<0xFF800000> : tensor<2xf32>
  %nothing = arith.constant dense<0.0> : tensor<2xf32>
  %q = memref.alloc() : memref<1x1x1x1xf32>
  %one = arith.constant 1.0 : f32
  memref.store %one, %q[%c0, %c0, %c0, %c0] : memref<1x1x1x1xf32>
  %acc, %max, %sum = fa.key_ranges (%key, %count) = [full %c0 to %c2, partial %c2 to %c4] step 2
      iter_args(%a = %zero, %m = %none, %s = %nothing) -> (tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>) {
    %kt = memref.subview %k[0, %key, 0, 0] [1, %count, 1, 1] [1, 1, 1, 1]
        : memref<1x4x1x1xf32> to memref<1x?x1x1xf32, strided<[4, 1, 1, 1], offset: ?>>
    %vt = memref.subview %v[0, %key, 0, 0] [1, %count, 1, 1] [1, 1, 1, 1]
        : memref<1x4x1x1xf32> to memref<1x?x1x1xf32, strided<[4, 1, 1, 1], offset: ?>>
    %a1, %m1, %s1 = fa.online_attention
        ins(%q, %kt, %vt : memref<1x1x1x1xf32>, memref<1x?x1x1xf32, strided<[4, 1, 1, 1], offset: ?>>,
                           memref<1x?x1x1xf32, strided<[4, 1, 1, 1], offset: ?>>)
        outs(%a, %m, %s : tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>)
        offsets(%c0, %c0, %c0, %key) extents(%c1, %c4)
        mask(%b, %h, %i, %j) captures(%first = %limit : index) {
          %visible = arith.cmpi slt, %j, %first : index
          fa.yield %visible : i1
        }
    fa.yield %a1, %m1, %s1 : tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>
  }
  %o0 = tensor.empty() : tensor<1x1x1x1xf32>
  %o = fa.finalize ins(%acc, %max, %sum : tensor<2x1xf32>, tensor<2xf32>, tensor<2xf32>)
      outs(%o0 : tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
  return %o : tensor<1x1x1x1xf32>
}
func.func private @keys() -> (memref<1x4x1x1xf32>, memref<1x4x1x1xf32>) {
  // exp of the scores: 1, 3, 4, 100; the last is hidden.
  %k = arith.constant dense<[[[[0.0]], [[1.0986122886681098]], [[1.3862943611198906]], [[4.605170185988092]]]]> : tensor<1x4x1x1xf32>
  %v = arith.constant dense<[[[[8.0]], [[16.0]], [[4.0]], [[1000.0]]]]> : tensor<1x4x1x1xf32>
  %km = bufferization.to_buffer %k : tensor<1x4x1x1xf32> to memref<1x4x1x1xf32>
  %vm = bufferization.to_buffer %v : tensor<1x4x1x1xf32> to memref<1x4x1x1xf32>
  return %km, %vm : memref<1x4x1x1xf32>, memref<1x4x1x1xf32>
}
func.func @ranges() -> tensor<1x1x1x1xf32> {
  %limit = arith.constant 3 : index
  %k, %v = call @keys() : () -> (memref<1x4x1x1xf32>, memref<1x4x1x1xf32>)
  %o = call @step(%k, %v, %limit) : (memref<1x4x1x1xf32>, memref<1x4x1x1xf32>, index) -> tensor<1x1x1x1xf32>
  return %o : tensor<1x1x1x1xf32>
}
// RANGES: result 0: 1x1x1x1xf32 = [9]

// The range declared full holds a key that the mask hides.
func.func @wrong_range() -> tensor<1x1x1x1xf32> {
  %limit = arith.constant 1 : index
  %k, %v = call @keys() : () -> (memref<1x4x1x1xf32>, memref<1x4x1x1xf32>)
  %o = call @step(%k, %v, %limit) : (memref<1x4x1x1xf32>, memref<1x4x1x1xf32>, index) -> tensor<1x1x1x1xf32>
  return %o : tensor<1x1x1x1xf32>
}
// WRONG: error: a key range declared full holds the masked pair of query 0 and key 1 (batch 0, head 0)
