// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-compute-on-host | FileCheck %s

// Quotients and products of sizes, in roles and before them; what a tile gives
// stays, and so do real numbers.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[HEADS:[^:]*]]: i32, %[[KV_HEADS:[^:]*]]: i32, %[[SCALE:[^:]*]]: f32, %[[GROUP:[^:]*]]: i32, %[[LAST:[^:]*]]: i32)
func.func @kernel(%heads: i32, %kvHeads: i32, %scale: f32) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK-NOT: arith.divui %[[HEADS]]
  %c1 = arith.constant 1 : i32
  %group = arith.divui %heads, %kvHeads : i32
  %block = gpu.block_id x
  %tile = arith.index_cast %block : index to i32
  // CHECK: fagpu.role @load
  fagpu.role @load groups(1) elect {
    // CHECK: arith.divui %{{.*}}, %[[GROUP]]
    // CHECK-NEXT: arith.minsi %{{.*}}, %[[LAST]]
    %kvHead = arith.divui %tile, %group : i32
    %all = arith.muli %heads, %kvHeads : i32
    %last = arith.subi %all, %c1 : i32
    %valid = arith.minsi %tile, %last : i32
    // CHECK-NEXT: arith.mulf %[[SCALE]]
    %square = arith.mulf %scale, %scale : f32
    "keep"(%kvHead, %valid, %square) : (i32, i32, f32) -> ()
  }
  // What another role computes in the same way is the same argument.
  // CHECK: fagpu.role @math
  fagpu.role @math groups(1) {
    // CHECK-NOT: arith.muli
    // CHECK: "keep"(%[[LAST]])
    %one = arith.constant 1 : i32
    %all = arith.muli %heads, %kvHeads : i32
    %last = arith.subi %all, %one : i32
    "keep"(%last) : (i32) -> ()
  }
  return
}

// A launch without heads has no tiles and reads no quotient; the host computes
// it still.
// CHECK-LABEL: func.func @host
func.func @host(%queryHeads: index, %keyHeads: index, %s: f32, %grid: index) {
  // CHECK: %[[H:.*]] = arith.index_cast %arg0
  // CHECK: %[[K:.*]] = arith.index_cast %arg1
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK: %[[DIVISOR:.*]] = arith.maxui %[[K]], %[[ONE]] : i32
  // CHECK: %[[QUOTIENT:.*]] = arith.divui %[[H]], %[[DIVISOR]] : i32
  // CHECK: %[[ALL:.*]] = arith.muli %[[H]], %[[K]] : i32
  // CHECK: %[[END:.*]] = arith.subi %[[ALL]], %{{.*}} : i32
  // CHECK: fagpu.launch @kernel grid(%arg3) (%[[H]], %[[K]], %arg2, %[[QUOTIENT]], %[[END]]) : i32, i32, f32, i32, i32
  %h = arith.index_cast %queryHeads : index to i32
  %k = arith.index_cast %keyHeads : index to i32
  fagpu.launch @kernel grid(%grid) (%h, %k, %s) : i32, i32, f32
  return
}

// Each launch has arguments of its own.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%{{[^:]*}}: i32) attributes
func.func @shared(%n: i32) attributes {fagpu.kernel = "sm_80"} {
  // CHECK: arith.muli
  %square = arith.muli %n, %n : i32
  "keep"(%square) : (i32) -> ()
  return
}
func.func @twice(%size: index, %grid: index) {
  %n = arith.index_cast %size : index to i32
  fagpu.launch @shared grid(%grid) (%n) : i32
  fagpu.launch @shared grid(%grid) (%n) : i32
  return
}

// A launcher computes exactly and refuses what 32 bits do not hold; twice a
// number of the caller wraps around, in the kernel.
// CHECK-LABEL: func.func @given
// CHECK-SAME: (%[[NUMBER:[^:]*]]: i32, %{{[^:]*}}: i32) attributes
func.func @given(%number: i32, %double: i32) attributes {fagpu.kernel = "sm_90a"} {
  // CHECK: arith.addi %[[NUMBER]], %[[NUMBER]]
  %twice = arith.addi %number, %number : i32
  // CHECK: arith.addi
  %next = arith.addi %double, %number : i32
  "keep"(%twice, %next) : (i32, i32) -> ()
  return
}
func.func @caller(%number: i32, %grid: index) {
  %double = arith.addi %number, %number : i32
  fagpu.launch @given grid(%grid) (%number, %double) : i32, i32
  return
}
