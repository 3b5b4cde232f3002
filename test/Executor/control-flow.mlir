// RUN: fa-run %s --entry=loops --target=reference | FileCheck %s --check-prefix=LOOPS
// RUN: fa-run %s --entry=parallel --target=reference | FileCheck %s --check-prefix=PARALLEL
// RUN: fa-run %s --entry=reductions --target=reference | FileCheck %s --check-prefix=REDUCTIONS
// RUN: fa-run %s --entry=factorial_of_five --target=reference | FileCheck %s --check-prefix=CALL

func.func @loops() -> (i32, i32, i32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // Fibonacci: two carried values that swap places.
  %fib:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %zero, %b = %one) -> (i32, i32) {
    %next = arith.addi %a, %b : i32
    scf.yield %b, %next : i32, i32
  }
  // A loop that does not run gives its initial value.
  %none = scf.for %i = %c10 to %c3 step %c1 iter_args(%a = %one) -> i32 {
    scf.yield %zero : i32
  }
  %count = scf.while (%n = %c1) : (index) -> index {
    %small = arith.cmpi slt, %n, %c10 : index
    scf.condition(%small) %n : index
  } do {
  ^bb0(%n: index):
    %twice = arith.muli %n, %c3 : index
    scf.yield %twice : index
  }
  %big = arith.cmpi sgt, %count, %c10 : index
  %choice = scf.if %big -> i32 {
    scf.yield %fib#0 : i32
  } else {
    scf.yield %zero : i32
  }
  return %fib#0, %none, %choice, %count : i32, i32, i32, index
}
// LOOPS: result 0: i32 = 55
// LOOPS-NEXT: result 1: i32 = 1
// LOOPS-NEXT: result 2: i32 = 55
// LOOPS-NEXT: result 3: index = 27

// Iterations write disjoint slices of a shared tensor, and elements of a memref.
func.func @parallel() -> (tensor<2x3xi32>, i32) {
  %init = arith.constant dense<7> : tensor<2x3xi32>
  %result = scf.forall (%i, %j) in (2, 2) shared_outs(%out = %init) -> tensor<2x3xi32> {
    %sum = arith.addi %i, %j : index
    %value = arith.index_cast %sum : index to i32
    %piece = tensor.from_elements %value : tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %piece into %out[%i, %j] [1, 1] [1, 1]
          : tensor<1xi32> into tensor<2x3xi32>
    }
  }
  %m = memref.alloc() : memref<4xi32>
  scf.forall (%i) = (0) to (4) step (2) {
    %value = arith.index_cast %i : index to i32
    memref.store %value, %m[%i] : memref<4xi32>
  }
  %c2 = arith.constant 2 : index
  %stored = memref.load %m[%c2] : memref<4xi32>
  return %result, %stored : tensor<2x3xi32>, i32
}
// PARALLEL: result 0: 2x3xi32 = [0, 1, 7, 1, 2, 7]
// PARALLEL-NEXT: result 1: i32 = 2

// Each result takes part of every iteration in, and its own initial value once.
func.func @reductions() -> (i32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %hundred = arith.constant 100 : i32
  %least = arith.constant -5 : i32
  %r:2 = scf.parallel (%i, %j) = (%c0, %c1) to (%c2, %c9) step (%c1, %c2) init (%hundred, %least) -> (i32, i32) {
    %sum = arith.addi %i, %j : index
    %x = arith.index_cast %sum : index to i32
    scf.reduce(%x, %x : i32, i32) {
    ^bb0(%a: i32, %b: i32):
      %both = arith.addi %a, %b : i32
      scf.reduce.return %both : i32
    }, {
    ^bb0(%a: i32, %b: i32):
      %more = arith.maxsi %a, %b : i32
      scf.reduce.return %more : i32
    }
  }
  return %r#0, %r#1 : i32, i32
}
// REDUCTIONS: result 0: i32 = 136
// REDUCTIONS-NEXT: result 1: i32 = 8

func.func private @factorial(%n: i64) -> i64 {
  %c1 = arith.constant 1 : i64
  %last = arith.cmpi sle, %n, %c1 : i64
  %result = scf.if %last -> i64 {
    scf.yield %c1 : i64
  } else {
    %less = arith.subi %n, %c1 : i64
    %rest = func.call @factorial(%less) : (i64) -> i64
    %product = arith.muli %n, %rest : i64
    scf.yield %product : i64
  }
  return %result : i64
}
func.func @factorial_of_five() -> i64 {
  %c5 = arith.constant 5 : i64
  %result = call @factorial(%c5) : (i64) -> i64
  return %result : i64
}
// CALL: result 0: i64 = 120
