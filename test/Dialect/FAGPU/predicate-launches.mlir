// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-predicate-launches -split-input-file | FileCheck %s

func.func @short(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  return
}
func.func @long(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  return
}
func.func @longest(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  return
}

// A launch runs where all branches that it stood in are taken; the sizes that
// it needs are computed in any case.
// CHECK-LABEL: func.func @host
func.func @host(%m: memref<?xf32>, %isLong: i1, %isLongest: i1, %n: index) {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  // CHECK-NOT: scf.if
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivui %arg3, %c128 : index
  // CHECK: %[[BOTH:.*]] = arith.andi %arg1, %arg2 : i1
  // CHECK: fagpu.launch @longest grid(%[[BLOCKS]]) if(%[[BOTH]]) (%arg0) : memref<?xf32>
  // CHECK: %[[NOT:.*]] = arith.xori %arg2, %true{{.*}} : i1
  // CHECK: %[[ONE:.*]] = arith.andi %arg1, %[[NOT]] : i1
  // CHECK: fagpu.launch @long grid(%[[BLOCKS]]) if(%[[ONE]]) (%arg0) : memref<?xf32>
  // CHECK: %[[SHORT:.*]] = arith.xori %arg1, %true{{.*}} : i1
  // CHECK: %[[SMALL:.*]] = arith.ceildivui %arg3, %c64 : index
  // CHECK: fagpu.launch @short grid(%[[SMALL]]) if(%[[SHORT]]) (%arg0) : memref<?xf32>
  // CHECK-NEXT: return
  scf.if %isLong {
    %blocks = arith.ceildivui %n, %c128 : index
    scf.if %isLongest {
      fagpu.launch @longest grid(%blocks) (%m) : memref<?xf32>
    } else {
      fagpu.launch @long grid(%blocks) (%m) : memref<?xf32>
    }
  } else {
    %blocks = arith.ceildivui %n, %c64 : index
    fagpu.launch @short grid(%blocks) (%m) : memref<?xf32>
  }
  return
}

// -----

func.func @fill(%m: memref<?xi32>) attributes {fagpu.kernel = "sm_80"} {
  return
}

// What a branch asks for holds where it is not taken; memory and counters are
// there in any case. A launch that had a condition keeps it.
// CHECK-LABEL: func.func @checks
func.func @checks(%n: index, %isLong: i1, %fits: i1, %more: i1) {
  // CHECK: %[[NOT:.*]] = arith.xori %arg1, %true
  // CHECK: %[[HOLDS:.*]] = arith.ori %[[NOT]], %arg2 : i1
  // CHECK: cf.assert %[[HOLDS]], "too many"
  // CHECK: %[[MEMORY:.*]] = fagpu.workspace(%arg0) : memref<?xi32>
  // CHECK: %[[BOTH:.*]] = arith.andi %arg1, %arg3 : i1
  // CHECK: fagpu.launch @fill grid(%arg0) if(%[[BOTH]]) (%[[MEMORY]]) : memref<?xi32>
  scf.if %isLong {
    cf.assert %fits, "too many"
    %memory = fagpu.workspace(%n) : memref<?xi32>
    fagpu.launch @fill grid(%n) if(%more) (%memory) : memref<?xi32>
  }
  return
}

// Branches stand before, between and behind launches, in both branches of one.
// CHECK-LABEL: func.func @nest
func.func @nest(%m: memref<?xi32>, %n: index, %a: i1, %b: i1, %c: i1) {
  // CHECK-NOT: scf.if
  // CHECK: fagpu.launch @fill grid(%arg1) if(%arg2) (%arg0)
  // CHECK: %[[AB:.*]] = arith.andi %arg2, %arg3 : i1
  // CHECK: fagpu.launch @fill grid(%arg1) if(%[[AB]]) (%arg0)
  // CHECK: %[[NOT_B:.*]] = arith.xori %arg3, %true{{.*}} : i1
  // CHECK: %[[ANOT_B:.*]] = arith.andi %arg2, %[[NOT_B]] : i1
  // CHECK: fagpu.launch @fill grid(%arg1) if(%[[ANOT_B]]) (%arg0)
  // CHECK: fagpu.launch @fill grid(%arg1) if(%arg2) (%arg0)
  // CHECK: %[[NOT_A:.*]] = arith.xori %arg2, %true{{.*}} : i1
  // CHECK: %[[CNOT_A:.*]] = arith.andi %[[NOT_A]], %arg4 : i1
  // CHECK: fagpu.launch @fill grid(%arg1) if(%[[CNOT_A]]) (%arg0)
  // CHECK-NEXT: return
  scf.if %a {
    fagpu.launch @fill grid(%n) (%m) : memref<?xi32>
    scf.if %b {
      fagpu.launch @fill grid(%n) (%m) : memref<?xi32>
    } else {
      fagpu.launch @fill grid(%n) (%m) : memref<?xi32>
    }
    fagpu.launch @fill grid(%n) (%m) : memref<?xi32>
  } else {
    scf.if %c {
      fagpu.launch @fill grid(%n) (%m) : memref<?xi32>
    }
  }
  return
}

// A divisor that may be 0 is 1 where the branch is not taken.
// CHECK-LABEL: func.func @divide
func.func @divide(%m: memref<?xi32>, %n: index, %d: index, %is: i1) {
  // CHECK: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: %[[DIVISOR:.*]] = arith.select %arg3, %arg2, %[[ONE]] : index
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivui %arg1, %[[DIVISOR]] : index
  // CHECK: arith.remui %arg1, %c4
  // CHECK: fagpu.launch @fill grid(%[[BLOCKS]], %{{.*}}) if(%arg3) (%arg0)
  %c4 = arith.constant 4 : index
  scf.if %is {
    %blocks = arith.ceildivui %n, %d : index
    %rest = arith.remui %n, %c4 : index
    fagpu.launch @fill grid(%blocks, %rest) (%m) : memref<?xi32>
  }
  return
}

// A branch without a launch is no business of a launcher's.
// CHECK-LABEL: func.func @other
// CHECK: scf.if
func.func @other(%n: index, %is: i1) {
  scf.if %is {
    "keep"(%n) : (index) -> ()
  }
  return
}
