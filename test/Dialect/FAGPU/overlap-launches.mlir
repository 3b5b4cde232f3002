// RUN: fa-opt %s -fagpu-overlap-launches -split-input-file | FileCheck %s

!row = tensor<64xf32, #fagpu.row<4>>

// A kernel without loops lets the next one come ahead of its roles, one with a
// loop when its threads have left it. The next one waits before it reads.

// CHECK-LABEL: func.func @prepare(
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    fagpu.release_dependents
// CHECK-NEXT:    fagpu.role @all
func.func @prepare(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %zero = arith.constant dense<0.0> : !row
    fagpu.store %zero, %v[%c0] : !row into memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @sum(
// CHECK-NEXT:    fagpu.await_previous
// CHECK:         fagpu.role @all
// CHECK:           fagpu.for
// CHECK:             fagpu.store {{.*}} add
// CHECK-NEXT:        fagpu.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      fagpu.release_dependents
func.func @sum(%v: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.for %i = %c0 step 1 segments(%all: to %n) {
      fagpu.store %one, %v[%i] add : !row into memref<?xf32>
      fagpu.yield
    }
  }
  return
}

// One that takes several tiles ends for all of them; it waits, too.
// CHECK-LABEL: func.func @several(
// CHECK-NEXT:    fagpu.await_previous
// CHECK-NOT:     fagpu.release_dependents
// CHECK:         return
func.func @several(%v: memref<?xf32>, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.repeat iter(%at = %c0) : i32 {
      fagpu.store %one, %v[%at] : !row into memref<?xf32>
      %next = arith.addi %at, %c64 : i32
      %more = arith.cmpi slt, %next, %n : i32
      fagpu.yield %more, %next : i1, i32
    }
  }
  return
}

// CHECK-LABEL: func.func @host(
// CHECK:         fagpu.launch @prepare grid(%{{.*}}) (
// CHECK-NEXT:    fagpu.launch @sum grid(%{{.*}}) dependent (
// CHECK-NEXT:    fagpu.launch @several grid(%{{.*}}) dependent (
// CHECK-NEXT:    fagpu.launch @prepare grid(%{{.*}}) (
func.func @host(%v: memref<?xf32>, %n: i32, %blocks: index) {
  fagpu.launch @prepare grid(%blocks) (%v) : memref<?xf32>
  fagpu.launch @sum grid(%blocks) (%v, %n) : memref<?xf32>, i32
  fagpu.launch @several grid(%blocks) (%v, %n) : memref<?xf32>, i32
  // Neither of these two adds.
  fagpu.launch @prepare grid(%blocks) (%v) : memref<?xf32>
  return
}

// -----

// Which launch is the one ahead is not known under a condition.
!row = tensor<64xf32, #fagpu.row<4>>
// CHECK-NOT: fagpu.await_previous
// CHECK-NOT: fagpu.release_dependents
func.func @sum(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
func.func @other(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
// CHECK-LABEL: func.func @host(
// CHECK-NOT:     dependent
// CHECK:         return
func.func @host(%v: memref<?xf32>, %blocks: index, %isLong: i1) {
  fagpu.launch @sum grid(%blocks) if(%isLong) (%v) : memref<?xf32>
  fagpu.launch @other grid(%blocks) (%v) : memref<?xf32>
  return
}

// -----

// Of two launches under opposite conditions one runs, behind the one ahead and ahead of the next one.
!row = tensor<64xf32, #fagpu.row<4>>
// CHECK-LABEL: func.func @first(
// CHECK:         fagpu.release_dependents
// CHECK-LABEL: func.func @long(
// CHECK:         fagpu.await_previous
// CHECK:         fagpu.release_dependents
// CHECK-LABEL: func.func @short(
// CHECK:         fagpu.await_previous
// CHECK:         fagpu.release_dependents
// CHECK-LABEL: func.func @last(
// CHECK:         fagpu.await_previous
func.func @first(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] : !row into memref<?xf32>
  }
  return
}
func.func @long(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
func.func @short(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
func.func @last(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] : !row into memref<?xf32>
  }
  return
}
// CHECK-LABEL: func.func @host(
// CHECK:         fagpu.launch @long grid(%{{.*}}) if(%{{.*}}) dependent (
// CHECK:         fagpu.launch @short grid(%{{.*}}) if(%{{.*}}) dependent (
// CHECK:         fagpu.launch @last grid(%{{.*}}) dependent (
func.func @host(%v: memref<?xf32>, %blocks: index, %isLong: i1) {
  %true = arith.constant true
  fagpu.launch @first grid(%blocks) (%v) : memref<?xf32>
  fagpu.launch @long grid(%blocks) if(%isLong) (%v) : memref<?xf32>
  %isShort = arith.xori %isLong, %true : i1
  fagpu.launch @short grid(%blocks) if(%isShort) (%v) : memref<?xf32>
  fagpu.launch @last grid(%blocks) (%v) : memref<?xf32>
  return
}
// Comparisons that are each other's opposite.
// CHECK-LABEL: func.func @compared(
// CHECK:         fagpu.launch @long grid(%{{.*}}) if(%{{.*}}) dependent (
// CHECK:         fagpu.launch @short grid(%{{.*}}) if(%{{.*}}) dependent (
func.func @compared(%v: memref<?xf32>, %blocks: index, %other: index) {
  %same = arith.cmpi eq, %blocks, %other : index
  %differs = arith.cmpi ne, %blocks, %other : index
  fagpu.launch @first grid(%blocks) (%v) : memref<?xf32>
  fagpu.launch @long grid(%blocks) if(%same) (%v) : memref<?xf32>
  fagpu.launch @short grid(%blocks) if(%differs) (%v) : memref<?xf32>
  return
}
// Each has one ahead, whichever of these run.
// CHECK-LABEL: func.func @independent(
// CHECK:         fagpu.launch @first grid(%{{.*}}) (
// CHECK-COUNT-3: dependent
func.func @independent(%v: memref<?xf32>, %blocks: index, %isLong: i1, %isShort: i1) {
  fagpu.launch @first grid(%blocks) (%v) : memref<?xf32>
  fagpu.launch @long grid(%blocks) if(%isLong) (%v) : memref<?xf32>
  fagpu.launch @short grid(%blocks) if(%isShort) (%v) : memref<?xf32>
  fagpu.launch @last grid(%blocks) (%v) : memref<?xf32>
  return
}
// Two chains of which one runs, with a choice inside: the first launch of each is the first of the call, the last one has
// both of its chain's choice ahead.
// CHECK-LABEL: func.func @chains(
// CHECK:         fagpu.launch @first grid(%{{.*}}) if(%{{.*}}) (
// CHECK:         fagpu.launch @long grid(%{{.*}}) if(%{{.*}}) dependent (
// CHECK:         fagpu.launch @short grid(%{{.*}}) if(%{{.*}}) dependent (
// CHECK:         fagpu.launch @last grid(%{{.*}}) if(%{{.*}}) dependent (
// CHECK:         fagpu.launch @first grid(%{{.*}}) if(%{{.*}}) (
// CHECK:         fagpu.launch @long grid(%{{.*}}) if(%{{.*}}) dependent (
func.func @chains(%v: memref<?xf32>, %blocks: index, %keys: i1, %queries: i1, %same: i1) {
  %true = arith.constant true
  %isLong = arith.andi %keys, %queries : i1
  fagpu.launch @first grid(%blocks) if(%isLong) (%v) : memref<?xf32>
  %one = arith.andi %isLong, %same : i1
  fagpu.launch @long grid(%blocks) if(%one) (%v) : memref<?xf32>
  %differs = arith.xori %same, %true : i1
  %other = arith.andi %isLong, %differs : i1
  fagpu.launch @short grid(%blocks) if(%other) (%v) : memref<?xf32>
  fagpu.launch @last grid(%blocks) if(%isLong) (%v) : memref<?xf32>
  %isShort = arith.xori %isLong, %true : i1
  fagpu.launch @first grid(%blocks) if(%isShort) (%v) : memref<?xf32>
  fagpu.launch @long grid(%blocks) if(%isShort) (%v) : memref<?xf32>
  return
}
// A part of what holds is not enough: it may be that none of these two runs.
// CHECK-LABEL: func.func @some(
// CHECK-NOT:     dependent
// CHECK:         return
func.func @some(%v: memref<?xf32>, %blocks: index, %a: i1, %b: i1, %c: i1) {
  %true = arith.constant true
  %ab = arith.andi %a, %b : i1
  fagpu.launch @first grid(%blocks) if(%ab) (%v) : memref<?xf32>
  %not = arith.xori %c, %true : i1
  %neither = arith.andi %a, %not : i1
  fagpu.launch @short grid(%blocks) if(%neither) (%v) : memref<?xf32>
  fagpu.launch @long grid(%blocks) if(%a) (%v) : memref<?xf32>
  return
}

// -----

// Blocks of sm_80 cannot wait for a kernel.
!row = tensor<64xf32, #fagpu.row<4>>
// CHECK-NOT: fagpu.await_previous
// CHECK-NOT: fagpu.release_dependents
func.func @first(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
func.func @second(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
// CHECK-LABEL: func.func @host(
// CHECK-NOT:     dependent
// CHECK:         return
func.func @host(%v: memref<?xf32>, %blocks: index) {
  fagpu.launch @first grid(%blocks) (%v) : memref<?xf32>
  fagpu.launch @second grid(%blocks) (%v) : memref<?xf32>
  return
}

// -----

// What a text says already stands once.
!row = tensor<64xf32, #fagpu.row<4>>
// CHECK-LABEL: func.func @first(
// CHECK-COUNT-1: fagpu.release_dependents
// CHECK-NOT:     fagpu.release_dependents
// CHECK-LABEL: func.func @second(
// CHECK-COUNT-1: fagpu.await_previous
// CHECK-NOT:     fagpu.await_previous
func.func @first(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.release_dependents
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
func.func @second(%v: memref<?xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  fagpu.await_previous
  fagpu.role @all groups(1) {
    %one = arith.constant dense<1.0> : !row
    fagpu.store %one, %v[%c0] add : !row into memref<?xf32>
  }
  return
}
// CHECK-LABEL: func.func @host(
// CHECK:         fagpu.launch @second grid(%{{.*}}) dependent (
func.func @host(%v: memref<?xf32>, %blocks: index) {
  fagpu.launch @first grid(%blocks) (%v) : memref<?xf32>
  fagpu.launch @second grid(%blocks) (%v) : memref<?xf32>
  return
}
