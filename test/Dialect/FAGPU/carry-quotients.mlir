// RUN: fa-opt %s -fagpu-carry-quotients -split-input-file -allow-unregistered-dialect | FileCheck %s

// The loop through the blocks of several heads, from the last one to the first.
// CHECK-LABEL: func.func @falling
// CHECK-SAME: (%[[LAST:.*]]: i32, %[[BLOCKS:.*]]: i32, %{{.*}}: f32)
func.func @falling(%last: i32, %blocks: i32, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
    // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
    // CHECK: %[[MOST:.*]] = arith.subi %[[BLOCKS]], %{{.*}} : i32
    // CHECK: %[[HEAD0:.*]] = arith.divui %[[LAST]], %[[BLOCKS]] : i32
    // CHECK: %[[BEFORE:.*]] = arith.muli %[[HEAD0]], %[[BLOCKS]] : i32
    // CHECK: %[[BLOCK0:.*]] = arith.subi %[[LAST]], %[[BEFORE]] : i32
    // CHECK: fagpu.for %{{.*}} = %[[LAST]] step -1 segments(%{{.*}}: once, %{{.*}}: to %{{.*}}) iter(%[[SUM:.*]] = %{{.*}}, %[[HEAD:.*]] = %[[HEAD0]], %[[BLOCK:.*]] = %[[BLOCK0]]) -> (f32, i32, i32) {
    %sum = fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) iter(%a = %x) -> (f32) {
      // CHECK-NOT: arith.divui
      %head = arith.divui %i, %blocks : i32
      %before = arith.muli %head, %blocks overflow<nsw> : i32
      %block = arith.subi %i, %before : i32
      %rest2 = arith.remui %i, %blocks : i32
      // CHECK: "keep"(%[[HEAD]], %[[BLOCK]], %[[BLOCK]])
      "keep"(%head, %block, %rest2) : (i32, i32, i32) -> ()
      // CHECK: %[[IS:.*]] = arith.cmpi eq, %[[BLOCK]], %{{.*}} : i32
      // CHECK-DAG: %[[LESS:.*]] = arith.subi %[[HEAD]], %{{.*}} : i32
      // CHECK-DAG: %[[BELOW:.*]] = arith.subi %[[BLOCK]], %{{.*}} : i32
      // CHECK-DAG: %[[NEXT:.*]] = arith.select %[[IS]], %[[LESS]], %[[HEAD]] : i32
      // CHECK-DAG: %[[NEXT_BLOCK:.*]] = arith.select %[[IS]], %[[MOST]], %[[BELOW]] : i32
      // CHECK: fagpu.yield %[[SUM]], %[[NEXT]], %[[NEXT_BLOCK]] : f32, i32, i32
      fagpu.yield %a : f32
    }
  }
  return
}

// -----

// Upwards, and by two divisors.
// CHECK-LABEL: func.func @rising
func.func @rising(%end: i32, %a: i32, %b: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @load groups(1) elect {
    // CHECK: fagpu.for {{.*}} iter(%[[Q:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}, %[[Q2:.*]] = %{{.*}}, %[[R2:.*]] = %{{.*}}) -> (i32, i32, i32, i32) {
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %end) {
      %q = arith.divui %i, %a : i32
      %r = arith.remui %i, %b : i32
      // CHECK: "keep"(%[[Q]], %[[R2]])
      "keep"(%q, %r) : (i32, i32) -> ()
      // CHECK: arith.cmpi eq, %[[R]], %{{.*}} : i32
      // CHECK: arith.addi %[[Q]], %{{.*}} : i32
      // CHECK: arith.addi %[[R]], %{{.*}} : i32
      // CHECK: arith.cmpi eq, %[[R2]], %{{.*}} : i32
      fagpu.yield
    }
  }
  return
}

// -----

// Negative numbers, no iteration, another number than the index, a divisor of
// the iteration, a constant: these divide. So does what is no kernel.
// CHECK-LABEL: func.func @stays
func.func @stays(%start: i32, %end: i32, %d: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %cm1 = arith.constant -1 : i32
  fagpu.role @math groups(1) {
    // CHECK-NOT: iter(
    // CHECK-COUNT-7: arith.divui
    fagpu.for %i = %start step -1 segments(%first: once, %rest: to %end) {
      %q = arith.divui %i, %d : i32
      "keep"(%q) : (i32) -> ()
      fagpu.yield
    }
    fagpu.for %i = %start step -1 segments(%first: once, %rest: to %cm1) {
      %q = arith.divui %i, %d : i32
      "keep"(%q) : (i32) -> ()
      fagpu.yield
    }
    fagpu.for %i = %start step 1 segments(%first: once, %rest: to %end) {
      %q = arith.divui %i, %d : i32
      "keep"(%q) : (i32) -> ()
      fagpu.yield
    }
    fagpu.for %i = %c0 step 1 segments(%rest: to %end) {
      %q = arith.divui %i, %d : i32
      "keep"(%q) : (i32) -> ()
      fagpu.yield
    }
    fagpu.for %i = %c0 step 1 segments(%first: once, %rest: to %end) {
      %more = arith.addi %i, %d : i32
      %q = arith.divui %more, %d : i32
      %r = arith.divui %i, %more : i32
      %s = arith.divui %i, %c3 : i32
      "keep"(%q, %r, %s) : (i32, i32, i32) -> ()
      fagpu.yield
    }
  }
  return
}

// CHECK-LABEL: func.func @host
// CHECK: arith.divui
func.func @host(%i: i32, %d: i32) -> i32 {
  %q = arith.divui %i, %d : i32
  return %q : i32
}
