// The query heads of a key head as rows of one block, of one and of several queries: masks, scores and sinks go by query and head.
// What is compared with evaluates the problem as it is written.

// RUN: fa-run %s --entry=tokens --target=cpu --verify --input=2x4x8x64xbf16 --input=2x300x2x64xbf16 --input=2x300x2x64xbf16 --input=2xi32=[300,70] | FileCheck %s
// RUN: fa-run %s --entry=heads_first --target=cpu --verify --input=2x6x5x32xf32 --input=2x2x77x32xf32 --input=2x2x77x32xf32 --input=6xf32=[0.5,0.25,0.125,0.0625,0.03125,0.015625] | FileCheck %s
// RUN: fa-run %s --entry=sinks --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --entry=window --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --entry=pages --target=cpu --verify | FileCheck %s
// CHECK: result 0: {{.*}}: ok
// CHECK-NEXT: result 1: {{.*}}: ok
// CHECK: verified all rows

// Their rows are read once for the four heads.
// RUN: fa-opt %s -fa-to-level2 | FileCheck %s --check-prefix=PACKED
// PACKED-LABEL: func.func @tokens
// PACKED: memref.alloc({{.*}}) {{.*}} : memref<?x2x4x4x64xbf16>
// PACKED: linalg.copy
// PACKED: scf.forall
// PACKED: full %{{.*}} to
// PACKED: linalg.copy
// PACKED: linalg.copy

!q4 = tensor<?x4x8x64xbf16>
!k4 = tensor<?x?x2x64xbf16>
func.func @tokens(%q: !q4, %k: !k4, %v: !k4, %lengths: tensor<?xi32>) -> (!q4, tensor<?x8x4xf32>) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %q, %c0 : !q4
  %o = tensor.empty(%b) : !q4
  %l = tensor.empty(%b) : tensor<?x8x4xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q4, !k4, !k4) outs(%o, %l : !q4, tensor<?x8x4xf32>)
      key_lengths(%lengths : tensor<?xi32>) mask causal
  return %r#0, %r#1 : !q4, tensor<?x8x4xf32>
}

// A score of each head, groups of 3, and an odd number of queries.
!q5 = tensor<2x6x5x32xf32>
!k5 = tensor<2x2x77x32xf32>
func.func @heads_first(%q: !q5, %k: !k5, %v: !k5, %slopes: tensor<6xf32>) -> (!q5, tensor<2x6x5xf32>) {
  %o = tensor.empty() : !q5
  %l = tensor.empty() : tensor<2x6x5xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q5, !k5, !k5) outs(%o, %l : !q5, tensor<2x6x5xf32>)
      score alibi(%slopes : tensor<6xf32>) mask causal
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>,
       output_dims = #fa.dims<b, h, s, d>}
  return %r#0, %r#1 : !q5, tensor<2x6x5xf32>
}

// A sink of each head and query.
!q16 = tensor<1x16x8x16xf16>
!k16 = tensor<1x200x4x16xf16>
func.func @sinks(%q: !q16, %k: !k16, %v: !k16, %sinks: tensor<8x16xf32>) -> (!q16, tensor<1x8x16xf32>) {
  %o = tensor.empty() : !q16
  %l = tensor.empty() : tensor<1x8x16xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q16, !k16, !k16) outs(%o, %l : !q16, tensor<1x8x16xf32>)
      sink(%b, %h, %i) captures(%t = %sinks : tensor<8x16xf32>) {
        %x = tensor.extract %t[%h, %i] : tensor<8x16xf32>
        fa.yield %x : f32
      }
  return %r#0, %r#1 : !q16, tensor<1x8x16xf32>
}

// A window by the query, in three parts of the keys.
!q2 = tensor<1x2x8x64xf32>
!k2 = tensor<1x1000x1x64xf32>
func.func @window(%q: !q2, %k: !k2, %v: !k2) -> (!q2, tensor<1x8x2xf32>) {
  %left = arith.constant 600 : index
  %right = arith.constant 0 : index
  %o = tensor.empty() : !q2
  %l = tensor.empty() : tensor<1x8x2xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q2, !k2, !k2) outs(%o, %l : !q2, tensor<1x8x2xf32>) mask window(%left, %right)
      {config = #fa.config<query_block = 16, key_block = 64, key_splits = 3>}
  return %r#0, %r#1 : !q2, tensor<1x8x2xf32>
}

// Pages, and a dim order of the output of its own.
!q3 = tensor<3x3x4x64xbf16>
!o3 = tensor<3x4x3x64xbf16>
!pool = tensor<12x16x2x64xbf16>
func.func @pages(%q: !q3, %k: !pool, %v: !pool) -> (!o3, tensor<3x4x3xf32>) {
  %lengths = arith.constant dense<[70, 16, 0]> : tensor<3xi32>
  %table = arith.constant dense<[[7, 2, 11, 0, 5], [9, -1, -1, -1, -1], [-1, -1, -1, -1, -1]]> : tensor<3x5xi32>
  %o = tensor.empty() : !o3
  %l = tensor.empty() : tensor<3x4x3xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q3, !pool, !pool) outs(%o, %l : !o3, tensor<3x4x3xf32>)
      key_lengths(%lengths : tensor<3xi32>) key_pages(%table : tensor<3x5xi32>) mask causal
      {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>, output_dims = #fa.dims<b, h, s, d>}
  return %r#0, %r#1 : !o3, tensor<3x4x3xf32>
}
