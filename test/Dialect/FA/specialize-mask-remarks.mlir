// RUN: fa-opt %s -fa-specialize-mask -canonicalize -cse -split-input-file -verify-diagnostics \
// RUN:   --remark-format=emitRemark --remarks-filter=fa-specialize-mask | FileCheck %s

// What cannot be bounded is said, and masked inside what the rest leaves.

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @documents(
// CHECK: = [partial %c0 to %{{.+}}] step 128
func.func @documents(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %ids: memref<2x?xi32>) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      // expected-remark @below {{'memref.load' is not monotonic in the query}}
      mask documents(%ids : memref<2x?xi32>)
      {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @documents_and_causal(
// CHECK: arith.minsi
// CHECK: = [partial %c0 to %{{.+}}] step 128
func.func @documents_and_causal(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %ids: memref<2x?xi32>) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      // expected-remark @below {{'memref.load' is not monotonic in the query}}
      mask documents(%ids : memref<2x?xi32>) causal
      {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @every_other_key(
// CHECK: = [partial %c0 to %{{.+}}] step 128
func.func @every_other_key(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) {
        %c2 = arith.constant 2 : index
        %c0 = arith.constant 0 : index
        // expected-remark @below {{'arith.remsi' is not linear in the key}}
        %odd = arith.remsi %mj, %c2 : index
        %even = arith.cmpi eq, %odd, %c0 : index
        fa.yield %even : i1
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @unsigned(
func.func @unsigned(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %w: index) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) captures(%size = %w : index) {
        %distance = arith.subi %mi, %mj : index
        // expected-remark @below {{'arith.cmpi' compares unsigned numbers that may be negative as signed ones}}
        %near = arith.cmpi ult, %distance, %size : index
        fa.yield %near : i1
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

func.func @bit_table(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %bits: memref<?x?xi1>) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) captures(%table = %bits : memref<?x?xi1>) {
        // expected-remark @below {{'memref.load' depends on the query or the key and is neither a comparison nor and, or, xor, select}}
        %bit = memref.load %table[%mi, %mj] : memref<?x?xi1>
        fa.yield %bit : i1
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

// Products of 32 bits wrap: as an unsigned number it may be any.

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @wraps(
// CHECK: = [partial %c0 to %{{.+}}] step 128
func.func @wraps(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %w: index) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) captures(%least = %w : index) {
        %factor = arith.constant 2000000000 : i32
        %c3 = arith.constant 3 : index
        %j = arith.index_cast %mj : index to i32
        %product = arith.muli %j, %factor : i32
        %number = arith.index_cast %product : i32 to index
        // expected-remark @below {{'arith.divui' is not linear in the key}}
        %third = arith.divui %number, %c3 : index
        %visible = arith.cmpi sgt, %third, %least : index
        fa.yield %visible : i1
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

// A sum whose ends over the block are not known.

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @sum_may_wrap(
// CHECK: = [partial %c0 to %{{.+}}] step 128
func.func @sum_may_wrap(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %w: i32) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) captures(%offset = %w : i32) {
        %c5 = arith.constant 5 : i32
        %i32 = arith.index_cast %mi : index to i32
        %j32 = arith.index_cast %mj : index to i32
        %bits = arith.andi %i32, %c5 : i32
        // expected-remark @below {{'arith.addi' may wrap in i32}}
        %end = arith.addi %bits, %offset : i32
        %visible = arith.cmpi sle, %j32, %end : i32
        fa.yield %visible : i1
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}

// -----

// One number without limit is held to 64 bits times the divisor, two are not.

!tile = memref<1x64x1x64xf32>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>

// CHECK-LABEL: func.func @two_sizes(
// CHECK: = [partial %c0 to %{{.+}}] step 128
func.func @two_sizes(%q: !tile, %k: !tile, %a: !acc, %m: !row, %i: index, %n: index, %w: index, %x: index) -> (!acc, !row, !row) {
  // expected-remark @below {{key ranges of the mask: partial}}
  %r:3 = fa.online_attention ins(%q, %k, %k : !tile, !tile, !tile) outs(%a, %m, %m : !acc, !row, !row)
      offsets(%i, %i, %i, %i) extents(%n, %n)
      mask(%mb, %mh, %mi, %mj) captures(%most = %w : index, %more = %x : index) {
        %size = arith.constant 16 : index
        %block = arith.floordivsi %mj, %size : index
        %difference = arith.subi %most, %more : index
        // expected-remark @below {{'arith.cmpi' is of numbers that may leave 64 bits where it is rearranged}}
        %visible = arith.cmpi sle, %block, %difference : index
        fa.yield %visible : i1
      } {config = #fa.config<query_block = 64, key_block = 128>}
  return %r#0, %r#1, %r#2 : !acc, !row, !row
}
