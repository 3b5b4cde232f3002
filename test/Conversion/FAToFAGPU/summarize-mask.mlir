// RUN: fa-opt %s -fa-decompose-to-blocks -canonicalize -cse -split-input-file | FileCheck %s

// Documents: the least and the greatest number of a block's queries and keys
// decide, and pairs are looked at where these leave it open.
// CHECK-LABEL: func.func @documents
// CHECK-SAME: (%[[IDS:.*]]: memref<?x?xi32>, %[[B:.*]]: index, %[[I:.*]]: index, %[[N:.*]]: index, %[[OUT:.*]]: memref<2xi1>)
func.func @documents(%ids: memref<?x?xi32>, %b: index, %i: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(4) {
    // CHECK: %[[LEAST:.*]], %[[GREATEST:.*]] = fagpu.extremes %[[IDS]][%{{.*}}, %{{.*}}] 64 count(%{{.*}}) : memref<?x?xi32>
    // CHECK: %[[A0:.*]] = arith.index_cast %[[LEAST]] : i32 to index
    // CHECK: %[[A1:.*]] = arith.index_cast %[[GREATEST]] : i32 to index
    // CHECK: fa.key_ranges
    fa.key_ranges (%j, %count) = [partial %c0 to %n] step 128 {
      // CHECK: %[[LEAST_KEY:.*]], %[[GREATEST_KEY:.*]] = fagpu.extremes %[[IDS]][%{{.*}}, %{{.*}}] 128 count(%[[THERE:.*]]) : memref<?x?xi32>
      // Past the end of the memory the mask reads 0.
      // CHECK: %[[SHORT:.*]] = arith.cmpi slt
      // CHECK: arith.minsi %{{.*}}, %{{.*}} : index
      // CHECK: %[[B0:.*]] = arith.select %[[SHORT]]
      // CHECK: arith.maxsi %{{.*}}, %{{.*}} : index
      // CHECK: %[[B1:.*]] = arith.select %[[SHORT]]
      // CHECK: %[[MEET:.*]] = arith.andi
      // CHECK: %[[ONE:.*]] = arith.andi
      // CHECK: %[[DIFFER:.*]] = arith.xori %[[ONE]]
      // An end of the one that is an end of the other is of a visible pair.
      // CHECK: arith.cmpi eq, %{{.*}}, %[[B0]]
      // CHECK: arith.ori
      // CHECK: arith.ori
      // CHECK: %[[TOUCH:.*]] = arith.ori
      // CHECK: %[[UNKNOWN:.*]] = arith.andi %[[MEET]], %[[DIFFER]]
      // CHECK: %[[MIXED:.*]] = arith.andi %[[TOUCH]], %[[DIFFER]]
      // CHECK: %[[UNMIXED:.*]] = arith.xori %[[MIXED]]
      // CHECK: %[[OPEN:.*]] = arith.andi %[[UNKNOWN]], %[[UNMIXED]]
      // CHECK: %[[RESULT:.*]]:2 = scf.if %[[OPEN]] -> (i1, i1) {
      // CHECK:   %[[SOME:.*]] = fagpu.any
      // CHECK:   %[[HIDDEN:.*]] = fagpu.any
      // CHECK:   %[[EVERY:.*]] = arith.xori %[[HIDDEN]]
      // CHECK:   scf.yield %[[SOME]], %[[EVERY]]
      // CHECK: } else {
      // CHECK:   scf.yield %[[MEET]], %[[ONE]]
      // CHECK: memref.store %[[RESULT]]#0, %[[OUT]]
      // CHECK: memref.store %[[RESULT]]#1, %[[OUT]]
      %some, %every = fa.summarize_mask 64 by 128 offsets(%b, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?x?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?x?xi32>):
        %x = memref.load %table[%batch, %query] : memref<?x?xi32>
        %y = memref.load %table[%batch, %key] : memref<?x?xi32>
        %same = arith.cmpi eq, %x, %y : i32
        fa.yield %same : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      fa.yield
    }
  }
  return
}

// -----

// Logic, order of indices, negation and a choice of constants.
// CHECK-LABEL: func.func @logic
func.func @logic(%ids: memref<?xi32>, %i: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(4) {
    // CHECK: fagpu.extremes
    // CHECK: fa.key_ranges
    fa.key_ranges (%j, %count) = [partial %c0 to %n] step 128 {
      // CHECK: fagpu.extremes
      // CHECK: scf.if
      // CHECK: fagpu.any
      %some, %every = fa.summarize_mask 64 by 128 offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %true = arith.constant true
        %c7 = arith.constant 7 : index
        %c5_i32 = arith.constant 5 : i32
        %far = arith.addi %key, %c7 : index
        %before = arith.cmpi sle, %far, %query : index
        %x = memref.load %table[%query] : memref<?xi32>
        %y = memref.load %table[%key] : memref<?xi32>
        %differ = arith.cmpi ne, %x, %y : i32
        %low = arith.cmpi slt, %x, %c5_i32 : i32
        %limit = arith.select %low, %x, %c5_i32 : i32
        %above = arith.cmpi sge, %y, %limit : i32
        %same = arith.xori %differ, %true : i1
        %either = arith.ori %same, %above : i1
        %visible = arith.andi %either, %before : i1
        fa.yield %visible : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      fa.yield
    }
  }
  return
}

// -----

// An order of a number of the query and one of the key is never open: the least
// of the one meets the greatest of the other. That of two numbers of the key
// may be, and so is one beside another mask.
// CHECK-LABEL: func.func @order
// CHECK: fa.key_ranges
// CHECK-NOT: scf.if
// CHECK-NOT: fagpu.any
// CHECK: memref.store
// CHECK: memref.store
// CHECK: scf.if
// CHECK: fagpu.any
// CHECK: memref.store
func.func @order(%ids: memref<?xi32>, %i: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(4) {
    fa.key_ranges (%j, %count) = [partial %c0 to %n] step 128 {
      %some, %every = fa.summarize_mask 64 by 128 offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %x = memref.load %table[%query] : memref<?xi32>
        %y = memref.load %table[%key] : memref<?xi32>
        %before = arith.cmpi sle, %x, %y : i32
        fa.yield %before : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      %open, %all = fa.summarize_mask 64 by 128 offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %y = memref.load %table[%key] : memref<?xi32>
        %number = arith.index_cast %y : i32 to index
        %before = arith.cmpi sle, %number, %key : index
        fa.yield %before : i1
      }
      memref.store %open, %out[%c0] : memref<2xi1>
      fa.yield
    }
  }
  return
}

// -----

// Nothing is known of a product, so pairs are looked at as before.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: fagpu.extremes
// CHECK: fa.key_ranges
// CHECK-NOT: fagpu.extremes
// CHECK-NOT: scf.if
// CHECK: fagpu.any
// CHECK: fagpu.any
func.func @unknown(%ids: memref<?xi32>, %i: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(4) {
    fa.key_ranges (%j, %count) = [partial %c0 to %n] step 128 {
      %some, %every = fa.summarize_mask 64 by 128 offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %x = memref.load %table[%query] : memref<?xi32>
        %y = memref.load %table[%key] : memref<?xi32>
        %product = arith.muli %x, %y : i32
        %same = arith.cmpi eq, %product, %x : i32
        fa.yield %same : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      fa.yield
    }
  }
  return
}

// -----

// Nor of a truth value as a number.
// CHECK-LABEL: func.func @truth
// CHECK: fa.key_ranges
// CHECK-NOT: scf.if
// CHECK: fagpu.any
// CHECK: fagpu.any
func.func @truth(%ids: memref<?xi32>, %i: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(4) {
    fa.key_ranges (%j, %count) = [partial %c0 to %n] step 128 {
      %some, %every = fa.summarize_mask 64 by 128 offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %x = memref.load %table[%query] : memref<?xi32>
        %c0_i32 = arith.constant 0 : i32
        %zero = arith.constant 0 : index
        %low = arith.cmpi slt, %x, %c0_i32 : i32
        %number = arith.index_cast %low : i1 to index
        %same = arith.cmpi eq, %number, %zero : index
        fa.yield %same : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      fa.yield
    }
  }
  return
}

// -----

// By bounds alone, no pair is looked at; what has no bounds may be anything.
// CHECK-LABEL: func.func @by_bounds
// CHECK: %[[LEAST:.*]], %[[GREATEST:.*]] = fagpu.extremes %{{.*}} 64 count
// CHECK: fa.key_ranges
// CHECK: %[[LOW:.*]], %[[HIGH:.*]] = fagpu.extremes %{{.*}} 512 count
// CHECK: %[[SOME:.*]] = arith.andi
// CHECK: memref.store %[[SOME]], %{{.*}}[%c0]
// CHECK-NOT: fagpu.any
// CHECK: memref.store %true, %{{.*}}[%c0]
// CHECK: memref.store %false, %{{.*}}[%c1]
// CHECK-NOT: fagpu.any
func.func @by_bounds(%ids: memref<?xi32>, %i: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(4) {
    fa.key_ranges (%j, %count) = [partial %c0 to %n] step 512 {
      %some, %every = fa.summarize_mask 64 by 512 by_bounds offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %x = memref.load %table[%query] : memref<?xi32>
        %y = memref.load %table[%key] : memref<?xi32>
        %same = arith.cmpi eq, %x, %y : i32
        fa.yield %same : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      %may, %all = fa.summarize_mask 64 by 512 by_bounds offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %x = memref.load %table[%query] : memref<?xi32>
        %y = memref.load %table[%key] : memref<?xi32>
        %product = arith.muli %x, %y : i32
        %same = arith.cmpi eq, %product, %x : i32
        fa.yield %same : i1
      }
      memref.store %may, %out[%c0] : memref<2xi1>
      memref.store %all, %out[%c1] : memref<2xi1>
      fa.yield
    }
  }
  return
}

// -----

// Where queries are visited the rows are keys, whose least and greatest number is found once.
// CHECK-LABEL: func.func @of_keys
// CHECK: fagpu.extremes %{{.*}}[%{{.*}}] 128 count
// CHECK: fa.query_ranges
// CHECK: fagpu.extremes %{{.*}}[%{{.*}}] 80 count
// CHECK: scf.if
// CHECK: fagpu.gather %{{.*}} -> tensor<80xi32, #fagpu.col<8>>
// CHECK: fagpu.any %{{.*}} : tensor<128x80xi1>
func.func @of_keys(%ids: memref<?xi32>, %j: index, %n: index, %out: memref<2xi1>)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  fagpu.role @compute groups(1) warps(8) {
    fa.query_ranges (%i, %count) = [partial %c0 to %n] step 80 {
      %some, %every = fa.summarize_mask 80 by 128 offsets(%c0, %c0, %i, %j) extents(%n, %n) captures(%ids : memref<?xi32>) {
      ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?xi32>):
        %x = memref.load %table[%query] : memref<?xi32>
        %y = memref.load %table[%key] : memref<?xi32>
        %same = arith.cmpi eq, %x, %y : i32
        fa.yield %same : i1
      }
      memref.store %some, %out[%c0] : memref<2xi1>
      memref.store %every, %out[%c1] : memref<2xi1>
      fa.yield
    }
  }
  return
}
