// RUN: fa-opt %s -fagpu-plan-resources -convert-fagpu-to-nvvm | FileCheck %s

// Block values become the scalars that a thread holds.

!acc = tensor<64x8xf32, #fagpu.acc<4>>
!iacc = tensor<64x8xi32, #fagpu.acc<4>>
!packed = tensor<64x16xbf16, #fagpu.acc<4>>
!wide = tensor<64x16xf32, #fagpu.acc<4>>
!operand = tensor<64x16xbf16, #fagpu.opa<4>>
!row = tensor<64xf32, #fagpu.row<4>>
!irow = tensor<64xi32, #fagpu.row<4>>
!quad = tensor<64x4xf32, #fagpu.quad<4>>

// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[S:.*]]: f32, %[[C:.*]]: i1)
func.func @elementwise(%s: f32, %c: i1) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    // CHECK: fagpu.role @only
    // CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
    %two = arith.constant dense<2.0> : !acc
    %x = tensor.splat %s : !acc
    // CHECK-COUNT-4: arith.mulf %[[S]], %[[TWO]] fastmath<nnan> : f32
    // CHECK-NOT: arith.mulf
    %y = arith.mulf %x, %two fastmath<nnan> : !acc
    // A scalar condition is for all elements.
    // CHECK-COUNT-4: arith.select %[[C]], %{{.*}}, %[[S]] : f32
    %z = arith.select %c, %y, %x : !acc
  }
  return
}

// Quotients of a row share reciprocals, two and two: one row after the other, or
// both interleaved.
// CHECK-LABEL: func.func @row_by_row
func.func @row_by_row() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    // CHECK: fagpu.role @only
    // CHECK: %[[X0:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X1:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X2:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X3:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X4:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X5:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X6:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X7:.*]] = arith.sitofp
    // CHECK: arith.divf %{{.*}}, %[[X0]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X1]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X4]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X5]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X2]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X3]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X6]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X7]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    %one = arith.constant dense<1.0> : tensor<64x16xf32, #fagpu.acc<4>>
    %column = fagpu.iota 1 : tensor<64x16xi32, #fagpu.acc<4>>
    %x = arith.sitofp %column : tensor<64x16xi32, #fagpu.acc<4>> to tensor<64x16xf32, #fagpu.acc<4>>
    %y = arith.divf %one, %x fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : tensor<64x16xf32, #fagpu.acc<4>>
  }
  return
}

// CHECK-LABEL: func.func @interleaved
func.func @interleaved() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    // CHECK: fagpu.role @only
    // CHECK: %[[X0:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X1:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X2:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X3:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X4:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X5:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X6:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X7:.*]] = arith.sitofp
    // CHECK: arith.divf %{{.*}}, %[[X0]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X1]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X2]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X3]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X4]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X5]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X6]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X7]] fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    %one = arith.constant dense<1.0> : tensor<64x16xf32, #fagpu.acc<4>>
    %column = fagpu.iota 1 : tensor<64x16xi32, #fagpu.acc<4>>
    %x = arith.sitofp %column : tensor<64x16xi32, #fagpu.acc<4>> to tensor<64x16xf32, #fagpu.acc<4>>
    %y = arith.divf %one, %x fastmath<arcp,afn> {fagpu.interleave_rows, fagpu.sharers = 2 : i64} : tensor<64x16xf32, #fagpu.acc<4>>
  }
  return
}

// Ten elements of a row share by four at most: four, three and three.
// CHECK-LABEL: func.func @groups_of_unlike_sizes
func.func @groups_of_unlike_sizes() attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    // CHECK: fagpu.role @only
    // CHECK: %[[X0:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X1:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X2:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X3:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X4:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X5:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X6:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X7:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X8:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X9:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X10:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X11:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X12:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X13:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X14:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X15:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X16:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X17:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X18:.*]] = arith.sitofp
    // CHECK-NEXT: %[[X19:.*]] = arith.sitofp
    // CHECK: arith.divf %{{.*}}, %[[X0]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X1]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X4]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X5]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X2]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X3]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X6]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X7]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X8]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X9]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X12]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X10]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X11]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X14]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X13]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X16]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X17]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X15]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X18]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    // CHECK-NEXT: arith.divf %{{.*}}, %[[X19]] fastmath<arcp,afn> {fagpu.sharers = 3 : i64} : f32
    %one = arith.constant dense<1.0> : tensor<64x40xf32, #fagpu.acc<4>>
    %column = fagpu.iota 1 : tensor<64x40xi32, #fagpu.acc<4>>
    %x = arith.sitofp %column : tensor<64x40xi32, #fagpu.acc<4>> to tensor<64x40xf32, #fagpu.acc<4>>
    %y = arith.divf %one, %x fastmath<arcp,afn> {fagpu.interleave_rows, fagpu.sharers = 4 : i64} : tensor<64x40xf32, #fagpu.acc<4>>
  }
  return
}

// Integers become 16-bit floats by way of f32, two in a register.
// CHECK-LABEL: func.func @narrow_integers
// CHECK-SAME: (%[[I:.*]]: i32)
func.func @narrow_integers(%i: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %x = tensor.splat %i : !iacc
    // CHECK: fagpu.role @only
    // CHECK-COUNT-4: arith.sitofp %[[I]] : i32 to f32
    // CHECK-NOT: arith.sitofp
    %y = arith.sitofp %x : !iacc to tensor<64x8xbf16, #fagpu.acc<4>>
    // CHECK-COUNT-4: arith.uitofp %[[I]] : i32 to f32
    // CHECK-NOT: arith.uitofp
    %z = arith.uitofp %x : !iacc to tensor<64x8xf16, #fagpu.acc<4>>
  }
  return
}

// All that a warp holds: four elements of each thread by two chains, then the
// lanes of the warp, the farthest first.
// CHECK-LABEL: func.func @warps
// CHECK-SAME: (%[[S:.*]]: f32)
func.func @warps(%s: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %x = tensor.splat %s : !acc
    // CHECK: fagpu.role @only
    // CHECK-COUNT-3: arith.addf
    // CHECK-NOT: arith.addf
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[MINE:.*]], %[[D16:.*]], %{{.*}} {{.*}} f32
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl.sync
    // CHECK: %[[SUM:.*]] = arith.addf
    %w = fagpu.reduce add %x : !acc -> tensor<4xf32, #fagpu.warp<4>>
    // CHECK-COUNT-4: arith.mulf %[[S]], %[[SUM]] : f32
    %b = fagpu.broadcast %w : tensor<4xf32, #fagpu.warp<4>> -> !acc
    %y = arith.mulf %x, %b : !acc
  }
  return
}

// CHECK-LABEL: func.func @reductions
// CHECK-SAME: (%[[S:.*]]: f32)
func.func @reductions(%s: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %x = tensor.splat %s : !acc
    // Two rows of two elements, one chain each; lanes of a quad last.
    // CHECK: fagpu.role @only
    // CHECK: %[[R0:.*]] = arith.maxnumf %[[S]], %[[S]]
    // CHECK: %[[R1:.*]] = arith.maxnumf %[[S]], %[[S]]
    // CHECK: %[[O0:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[R0]], %[[TWO:.*]], %{{.*}}
    // CHECK: %[[O1:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[R1]], %{{.*}}, %{{.*}}
    // CHECK: %[[M0:.*]] = arith.maxnumf %[[R0]], %[[O0]]
    // CHECK: %[[M1:.*]] = arith.maxnumf %[[R1]], %[[O1]]
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[M0]]
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[M1]]
    // CHECK-COUNT-2: arith.maxnumf
    %m = fagpu.reduce max %x : !acc -> !row
    // Each thread alone: no exchange.
    // CHECK-COUNT-2: arith.addf
    // CHECK-NOT: nvvm.shfl.sync
    %q = fagpu.reduce add %x : !acc -> !quad
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl.sync
    %r = fagpu.reduce add %q : !quad -> !row
  }
  return
}

// Powers are not negative: the largest one is that of their bits, of which an
// instruction takes three at once.
// CHECK-LABEL: func.func @largest_power
func.func @largest_power(%s: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %x = tensor.splat %s : !acc
    // CHECK: %[[P:.*]] = math.exp2
    %p = math.exp2 %x fastmath<afn> : !acc
    // CHECK: %[[B:.*]] = arith.bitcast %[[P]] : f32 to i32
    // CHECK: %[[MAX:.*]] = arith.maxsi %[[B]], %{{.*}} : i32
    // CHECK-NEXT: arith.bitcast %[[MAX]] : i32 to f32
    // CHECK-NOT: arith.maxnumf
    %m = fagpu.reduce max %p : !acc -> !quad
    // Of these nothing is known.
    // CHECK: arith.maxnumf
    // CHECK-NOT: arith.maxsi
    %n = fagpu.reduce max %m : !quad -> !row
  }
  return
}

// The thread's elements in four chains; a barrier of the block, whose one role
// this is, joins the threads' answers.
// CHECK-LABEL: func.func @vote
// CHECK-SAME: (%[[C:.*]]: i1, %[[M:.*]]: !llvm.ptr<1>)
func.func @vote(%c: i1, %m: memref<?xi1>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  fagpu.role @only groups(1) {
    %x = tensor.splat %c : tensor<64x16xi1, #fagpu.acc<4>>
    // CHECK: fagpu.role @only
    // CHECK-COUNT-7: arith.ori %{{.*}}, %{{.*}} : i1
    // CHECK-NOT: arith.ori
    // CHECK: %[[BARRIER:.*]] = arith.constant 0 : i32
    // CHECK: %[[THREADS:.*]] = arith.constant 128 : i32
    // CHECK: %[[ANY:.*]] = llvm.inline_asm has_side_effects {{.*}}"bar.red.or.pred $0, $1, $2, $3;", "=b,r,r,b" %[[BARRIER]], %[[THREADS]], %{{.*}} : (i32, i32, i1) -> i1
    %any = fagpu.any %x : tensor<64x16xi1, #fagpu.acc<4>>
    // A store of a scalar is one of all threads.
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[M]]
    // CHECK: llvm.store %[[ANY]], %[[AT]] : i1, !llvm.ptr<1>
    memref.store %any, %m[%c0] : memref<?xi1>
  }
  return
}

// Groups have barriers of their own.
// CHECK-LABEL: func.func @vote_of_groups
func.func @vote_of_groups(%c: i1) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @first groups(1) {
    %x = tensor.splat %c : tensor<64x8xi1, #fagpu.acc<4>>
  }
  // CHECK: fagpu.role @second(%[[G:.*]]) groups(2)
  fagpu.role @second(%g) groups(2) {
    %x = tensor.splat %c : tensor<64x8xi1, #fagpu.acc<4>>
    // CHECK: %[[ID:.*]] = arith.addi %[[G]], %{{.*}} : i32
    // CHECK: "bar.red.or.pred $0, $1, $2, $3;", "=b,r,r,b" %[[ID]]
    %any = fagpu.any %x : tensor<64x8xi1, #fagpu.acc<4>>
  }
  return
}

// CHECK-LABEL: func.func @layouts
func.func @layouts(%s: f32) attributes {fagpu.kernel = "sm_90a"} {
  // The thread's part of an index is computed at the entry.
  // CHECK: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[COLUMN:.*]] = arith.muli
  // CHECK: fagpu.role @only
  fagpu.role @only groups(1) {
    // CHECK: arith.constant 1 : i32
    // CHECK: arith.addi %{{.*}}, %{{.*}} : i32
    %i = fagpu.iota 1 : !iacc
    // CHECK: arith.sitofp
    %f = arith.sitofp %i : !iacc to !acc
    %x = tensor.splat %s : !wide
    // Pairs of columns are packed; the operand layout has the same order.
    // CHECK-COUNT-4: nvvm.convert.f32x2.to.bf16x2
    // CHECK-NOT: nvvm.convert
    %h = arith.truncf %x : !wide to !packed
    %p = fagpu.convert %h : !packed -> !operand
    // A number of 16 bits is a pair in each register: 0x3f803f80.
    // CHECK: arith.constant 1065369472 : i32
    %one = arith.constant dense<1.0> : !packed
    %q = fagpu.convert %one : !packed -> !operand
  }
  return
}

// CHECK-LABEL: func.func @gather
// CHECK-SAME: (%[[M:.*]]: !llvm.ptr<1>, %[[ROW_STRIDE:.*]]: i64, %[[H:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>)
func.func @gather(%m: memref<?x?xf32, strided<[?, 1]>>, %h: memref<?xbf16, strided<[1]>>, %bits: memref<?xi1, strided<[1]>>)
    attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %i = fagpu.iota 0 : !iacc
    %j = fagpu.iota 1 : !iacc
    %ok = arith.cmpi sle, %j, %i : !iacc
    // Each element by its own address and predicate; no branch.
    // CHECK: fagpu.role @only
    // CHECK: arith.muli %{{.*}}, %[[ROW_STRIDE]] : i64
    // CHECK-COUNT-4: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0; @$2 ld.global.nc.b32 $0, [$1];"
    %x = fagpu.gather %m[%i, %j] mask(%ok : tensor<64x8xi1, #fagpu.acc<4>>)
        : memref<?x?xf32, strided<[?, 1]>>[!iacc, !iacc] -> !acc
    // Without a mask the predicate is true; 16-bit elements are packed.
    // CHECK: %[[TRUE:.*]] = arith.constant true
    // CHECK: %[[LOW:.*]] = llvm.inline_asm {{.*}}ld.global.nc.b16{{.*}} %[[TRUE]] : (!llvm.ptr<1>, i1) -> i32
    // CHECK: %[[HIGH:.*]] = llvm.inline_asm
    // CHECK: arith.shli %[[HIGH2:.*]], %{{.*}} : i32
    // CHECK: arith.ori
    %y = fagpu.gather %h[%j] : memref<?xbf16, strided<[1]>>[!iacc]
        -> tensor<64x8xbf16, #fagpu.acc<4>>
    // A byte that is not 0 is true.
    // CHECK: %[[BYTE:.*]] = llvm.inline_asm {{.*}}ld.global.nc.u8
    // CHECK: arith.cmpi ne, %[[BYTE]], %{{.*}} : i32
    %z = fagpu.gather %bits[%j] : memref<?xi1, strided<[1]>>[!iacc]
        -> tensor<64x8xi1, #fagpu.acc<4>>
  }
  return
}

// Elements beside each other are read at constant distances from the first one;
// a sum of two indices of the thread gives no such.
// CHECK-LABEL: func.func @consecutive
func.func @consecutive(%m: memref<?x?xi32>, %b: i32, %first: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %j = fagpu.iota 0 : tensor<16xi32, #fagpu.col<4>>
    %all = tensor.splat %first : tensor<16xi32, #fagpu.col<4>>
    %at = arith.addi %all, %j : tensor<16xi32, #fagpu.col<4>>
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    // CHECK: ld.global.nc.b32 {{.*}} %[[FIRST]]
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[FIRST]][1]
    // CHECK: ld.global.nc.b32 {{.*}} %[[SECOND]]
    // CHECK: %[[THIRD:.*]] = llvm.getelementptr %[[FIRST]][8]
    // CHECK: ld.global.nc.b32 {{.*}} %[[THIRD]]
    // CHECK: %[[FOURTH:.*]] = llvm.getelementptr %[[FIRST]][9]
    // CHECK: ld.global.nc.b32 {{.*}} %[[FOURTH]]
    %x = fagpu.gather %m[%b, %at] : memref<?x?xi32>[i32, tensor<16xi32, #fagpu.col<4>>]
        -> tensor<16xi32, #fagpu.col<4>>
    %twice = arith.addi %j, %j : tensor<16xi32, #fagpu.col<4>>
    // CHECK-NOT: llvm.getelementptr %{{.*}}[1]
    // CHECK-COUNT-4: ld.global.nc.b32
    %y = fagpu.gather %m[%b, %twice] : memref<?x?xi32>[i32, tensor<16xi32, #fagpu.col<4>>]
        -> tensor<16xi32, #fagpu.col<4>>
  }
  return
}

// Each warp reads 32 elements at a time, and asks no other one.
// CHECK-LABEL: func.func @extremes
func.func @extremes(%m: memref<?x?xi32>, %b: i32, %first: i32, %n: i32)
    attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    // CHECK-COUNT-2: ld.global.nc.b32
    // CHECK-NOT: bar.
    // CHECK: nvvm.redux.sync min
    // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
    // CHECK: nvvm.redux.sync max
    %least, %greatest = fagpu.extremes %m[%b, %first] 64 count(%n) : memref<?x?xi32>
  }
  return
}

// Pairs of columns are read at once, each by the address of its row.
// CHECK-LABEL: func.func @pairs
func.func @pairs(%m: memref<?x?xf32, strided<[?, 1]>>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %i = fagpu.iota 0 : tensor<64x16xi32, #fagpu.acc<4>>
    %j = fagpu.iota 1 : tensor<64x16xi32, #fagpu.acc<4>>
    // CHECK-COUNT-4: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0; mov.b32 $1, 0; @$3 ld.global.nc.v2.b32 {$0, $1}, [$2 + {{[0-9]+}}];"
    // CHECK-NOT: llvm.inline_asm
    %x = fagpu.gather %m[%i, %j] pairs
        : memref<?x?xf32, strided<[?, 1]>>[tensor<64x16xi32, #fagpu.acc<4>>, tensor<64x16xi32, #fagpu.acc<4>>]
        -> tensor<64x16xf32, #fagpu.acc<4>>
  }
  return
}

// So are those of a vector of columns.
// CHECK-LABEL: func.func @pairs_of_columns
func.func @pairs_of_columns(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @only groups(1) {
    %j = fagpu.iota 0 : tensor<16xi32, #fagpu.col<4>>
    // CHECK-COUNT-2: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0; mov.b32 $1, 0; @$3 ld.global.nc.v2.b32 {$0, $1}, [$2 + {{[0-9]+}}];"
    // CHECK-NOT: llvm.inline_asm
    %x = fagpu.gather %m[%j] pairs : memref<?xf32>[tensor<16xi32, #fagpu.col<4>>] -> tensor<16xf32, #fagpu.col<4>>
  }
  return
}

// Pairs of 16-bit elements are the words of a packed value.
// CHECK-LABEL: func.func @packed_pairs
func.func @packed_pairs(%m: memref<?x?xbf16, strided<[?, 1]>>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %i = fagpu.iota 0 : tensor<64x16xi32, #fagpu.acc<4>>
    %j = fagpu.iota 1 : tensor<64x16xi32, #fagpu.acc<4>>
    // CHECK-COUNT-4: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0; @$2 ld.global.nc.b32 $0, [$1];", "=&r,l,b"
    // CHECK-NOT: llvm.inline_asm
    %x = fagpu.gather %m[%i, %j] pairs
        : memref<?x?xbf16, strided<[?, 1]>>[tensor<64x16xi32, #fagpu.acc<4>>, tensor<64x16xi32, #fagpu.acc<4>>]
        -> tensor<64x16xbf16, #fagpu.acc<4>>
  }
  return
}

// CHECK-LABEL: func.func @pin
// CHECK-SAME: (%[[S:.*]]: f32, %[[I:.*]]: i32)
func.func @pin(%s: f32, %i: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %x = tensor.splat %s : !row
    %y = tensor.splat %i : !irow
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "", "=f,=f,=r,=r,0,1,2,3" %[[S]], %[[S]], %[[I]], %[[I]]
    %p:2 = fagpu.pin %x, %y : !row, !irow
  }
  return
}

// What is read in order stays behind barriers; parts of a row have one address,
// and places of their own behind it.
// CHECK-LABEL: func.func @parts
func.func @parts(%m: memref<?x?xf32, strided<[?, 1]>>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @only groups(1) {
    %i = fagpu.iota 0 : tensor<64x8xi32, #fagpu.acc<4>>
    %j = fagpu.iota 1 : tensor<64x8xi32, #fagpu.acc<4>>
    %c48 = arith.constant dense<48> : tensor<64x8xi32, #fagpu.acc<4>>
    %k = arith.addi %j, %c48 : tensor<64x8xi32, #fagpu.acc<4>>
    // CHECK-COUNT-2: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0; mov.b32 $1, 0; @$3 ld.global.v2.b32 {$0, $1}, [$2 + 192];"
    // CHECK-NOT: llvm.inline_asm
    %x = fagpu.gather %m[%i, %k] pairs in_order
        : memref<?x?xf32, strided<[?, 1]>>[tensor<64x8xi32, #fagpu.acc<4>>, tensor<64x8xi32, #fagpu.acc<4>>]
        -> tensor<64x8xf32, #fagpu.acc<4>>
  }
  return
}
