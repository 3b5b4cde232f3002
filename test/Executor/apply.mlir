// RUN: fa-run %s --entry=elements --target=reference | FileCheck %s --check-prefix=ELEMENTS
// RUN: fa-run %s --entry=keys_as_rows --target=reference | FileCheck %s --check-prefix=KEYS
// RUN: fa-run %s --entry=mask --target=reference | FileCheck %s --check-prefix=MASK
// RUN: fa-run %s --entry=flags --target=reference | FileCheck %s --check-prefix=FLAGS
// RUN: fa-run %s --entry=padded --target=reference | FileCheck %s --check-prefix=PADDED
// RUN: fa-run %s --entry=padded_keys --target=reference | FileCheck %s --check-prefix=PADDED-KEYS
// RUN: not fa-run %s --entry=shapes --target=reference 2>&1 | FileCheck %s --check-prefix=SHAPES

// fa.apply, and what the body of fa.key_ranges asks about its block.

// Each element, 10 times the query, the key, a table that ends before the last
// key (0 behind it), and the lengths, which are 100 and 1000.
func.func @elements() -> (tensor<2x3xf32>, tensor<2x3xindex>) {
  %x = arith.constant dense<[[0.5, 0.25, 0.125], [0.5, 0.25, 0.125]]> : tensor<2x3xf32>
  %t = arith.constant dense<[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]> : tensor<9xf32>
  %b = arith.constant 3 : index
  %h = arith.constant 4 : index
  %i = arith.constant 5 : index
  %j = arith.constant 7 : index
  %nq = arith.constant 100 : index
  %nk = arith.constant 1000 : index
  %y:2 = fa.apply ins(%x : tensor<2x3xf32>) offsets(%b, %h, %i, %j) extents(%nq, %nk)
      pairs(%e, %batch, %head, %query, %key) captures(%table = %t : tensor<9xf32>) {
    %ten = arith.constant 10 : index
    %tens = arith.muli %query, %ten : index
    %place = arith.addi %tens, %key : index
    %place1 = arith.index_cast %place : index to i32
    %place2 = arith.sitofp %place1 : i32 to f32
    %entry = tensor.extract %table[%key] : tensor<9xf32>
    %z = arith.addf %e, %place2 : f32
    %z1 = arith.addf %z, %entry : f32
    %queries = fa.query_length : index
    %keys = fa.key_length : index
    %lengths = arith.addi %queries, %keys : index
    %n = arith.addi %batch, %lengths : index
    %n1 = arith.addi %head, %n : index
    fa.yield %z1, %n1 : f32, index
  } -> (tensor<2x3xf32>, tensor<2x3xindex>)
  return %y#0, %y#1 : tensor<2x3xf32>, tensor<2x3xindex>
}
// ELEMENTS: result 0: 2x3xf32 = [58.5, 60.25, 59.125, 68.5, 70.25, 69.125]
// ELEMENTS-NEXT: result 1: 2x3xindex = [1107, 1107, 1107, 1107, 1107, 1107]

// Rows are keys 7 and 8, columns queries 5 to 7.
func.func @keys_as_rows() -> tensor<2x3xindex> {
  %x = arith.constant dense<[[100, 200, 300], [400, 500, 600]]> : tensor<2x3xindex>
  %c0 = arith.constant 0 : index
  %i = arith.constant 5 : index
  %j = arith.constant 7 : index
  %n = arith.constant 9 : index
  %y = fa.apply ins(%x : tensor<2x3xindex>) offsets(%c0, %c0, %i, %j) extents(%n, %n) rows(keys)
      pairs(%e, %batch, %head, %query, %key) {
    %ten = arith.constant 10 : index
    %tens = arith.muli %query, %ten : index
    %place = arith.addi %tens, %key : index
    %z = arith.addi %e, %place : index
    fa.yield %z : index
  } -> tensor<2x3xindex>
  return %y : tensor<2x3xindex>
}
// KEYS: result 0: 2x3xindex = [157, 267, 377, 458, 568, 678]

func.func @mask() -> tensor<2x?xi1> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %y = fa.apply sizes(%c4) offsets(%c0, %c0, %c2, %c0) extents(%c4, %c4)
      pairs(%batch, %head, %query, %key) {
    %z = arith.cmpi sle, %key, %query : index
    fa.yield %z : i1
  } -> tensor<2x?xi1>
  return %y : tensor<2x?xi1>
}
// MASK: result 0: 2x4xi1 = [1, 1, 1, 0, 1, 1, 1, 1]

// Six queries and nine keys: pairs behind them are evaluated at the last ones. So
// they are where linalg has them.
// RUN: fa-opt %s --pass-pipeline="builtin.module(symbol-privatize{exclude=padded,padded_keys,padded_none},symbol-dce,func.func(fa-apply-to-linalg))" -o %t.mlir
// RUN: fa-run %t.mlir --entry=padded --target=cpu --against=%s | FileCheck %s --check-prefix=SAME
// RUN: fa-run %t.mlir --entry=padded_keys --target=cpu --against=%s | FileCheck %s --check-prefix=SAME
// RUN: fa-run %t.mlir --entry=padded_none --target=cpu --against=%s | FileCheck %s --check-prefix=SAME
// SAME: verified all rows
func.func @padded() -> tensor<3x4xi32> {
  %c0 = arith.constant 0 : index
  %i = arith.constant 4 : index
  %j = arith.constant 7 : index
  %nq = arith.constant 6 : index
  %nk = arith.constant 9 : index
  %y = fa.apply offsets(%c0, %c0, %i, %j) extents(%nq, %nk) pairs(%batch, %head, %query, %key) {
    %ten = arith.constant 10 : index
    %tens = arith.muli %query, %ten : index
    %place = arith.addi %tens, %key : index
    %z = arith.index_cast %place : index to i32
    fa.yield %z : i32
  } -> tensor<3x4xi32>
  return %y : tensor<3x4xi32>
}
// PADDED: result 0: 3x4xi32 = [47, 48, 48, 48, 57, 58, 58, 58, 57, 58, 58, 58]

func.func @padded_keys() -> tensor<4x3xi32> {
  %c0 = arith.constant 0 : index
  %i = arith.constant 4 : index
  %j = arith.constant 7 : index
  %nq = arith.constant 6 : index
  %nk = arith.constant 9 : index
  %y = fa.apply offsets(%c0, %c0, %i, %j) extents(%nq, %nk) rows(keys) pairs(%batch, %head, %query, %key) {
    %ten = arith.constant 10 : index
    %tens = arith.muli %query, %ten : index
    %place = arith.addi %tens, %key : index
    %z = arith.index_cast %place : index to i32
    fa.yield %z : i32
  } -> tensor<4x3xi32>
  return %y : tensor<4x3xi32>
}
// PADDED-KEYS: result 0: 4x3xi32 = [47, 57, 57, 48, 58, 58, 48, 58, 58, 48, 58, 58]

// Without a query and a key, at the first ones.
func.func @padded_none() -> tensor<2x2xi32> {
  %c0 = arith.constant 0 : index
  %i = arith.constant 4 : index
  %y = fa.apply offsets(%c0, %c0, %i, %i) extents(%c0, %c0) pairs(%batch, %head, %query, %key) {
    %one = arith.constant 1 : index
    %place = arith.addi %query, %key : index
    %place1 = arith.addi %place, %one : index
    %z = arith.index_cast %place1 : index to i32
    fa.yield %z : i32
  } -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}

// Blocks at 0, 2, 4 and 6; the range at 2 and 4 is full. Each block adds its
// key, 100 where it is partial and 1000 where it is the first.
func.func @flags() -> index {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %r = fa.key_ranges (%key, %n) = [partial %c0 to %c2, full %c2 to %c6, partial %c6 to %c7] step 2
      iter_args(%x = %c0) -> (index) {
    %partial = fa.is_partial : i1
    %first = fa.is_first : i1
    %p = arith.select %partial, %c100, %c0 : index
    %f = arith.select %first, %c1000, %c0 : index
    %x1 = arith.addi %x, %key : index
    %x2 = arith.addi %x1, %p : index
    %x3 = arith.addi %x2, %f : index
    fa.yield %x3 : index
  }
  return %r : index
}
// FLAGS: result 0: index = 1212

func.func @shapes() -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = tensor.empty(%c1) : tensor<?x3xf32>
  %y = tensor.empty(%c2) : tensor<?x3xf32>
  %z = fa.apply ins(%x, %y : tensor<?x3xf32>, tensor<?x3xf32>) offsets(%c0, %c0, %c0, %c0) extents(%c0, %c0)
      pairs(%e, %f, %batch, %head, %query, %key) {
    fa.yield %f : f32
  } -> tensor<?x3xf32>
  return %z : tensor<?x3xf32>
}
// SHAPES: error: operands differ in shape at run time
