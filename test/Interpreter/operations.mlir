// The meaning of the operations on small values, exactly.

// DEFINE: %{entry} =
// DEFINE: %{more} = --grid=1
// DEFINE: %{check} = fa-run %s --entry=%{entry} --target=interpret --as-written %{more} --seed=1 | FileCheck %s --check-prefix=%{entry}

#acc = #fagpu.acc<1>
#row = #fagpu.row<1>
#pl = #fagpu.smem<0>
!s = tensor<16x8xf32, #acc>
!i = tensor<16x8xi32, #acc>
!row = tensor<16xf32, #row>
!col = tensor<8xf32, #fagpu.col<1>>
!quad = tensor<16x4xf32, #fagpu.quad<1>>
!c = !fagpu.channel<16x8xf32, #pl, 1>
!v = !fagpu.view<16x8xf32, #pl>
!o = memref<16xf32>

// Element (r, c) is 10 r + c.
func.func private @numbers() -> !s {
  %r = fagpu.iota 0 : !i
  %c = fagpu.iota 1 : !i
  %ten = arith.constant dense<10> : !i
  %x = arith.muli %r, %ten : !i
  %y = arith.addi %x, %c : !i
  %z = arith.sitofp %y : !i to !s
  return %z : !s
}

// Columns 2 q and 2 q + 1 of a row belong to thread q of four.
// REDEFINE: %{entry} = reduce
// RUN: %{check}
// reduce: argument 0: 16xf32 = [7, 17, 27, 37, 47, 57, 67, 77, 87, 97, 107, 117, 127, 137, 147, 157]
// reduce: argument 1: 16xf32 = [28, 108, 188, 268, 348, 428, 508, 588, 668, 748, 828, 908, 988, 1068, 1148, 1228]
// reduce: argument 2: 16xf32 = [13, 33, 53, 73, 93, 113, 133, 153, 173, 193, 213, 233, 253, 273, 293, 313]
// reduce: argument 3: 16xf32 = [28, 108, 188, 268, 348, 428, 508, 588, 668, 748, 828, 908, 988, 1068, 1148, 1228]
func.func @reduce(%max: !o, %sum: !o, %pairs: !o, %all: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    %m = fagpu.reduce max %x : !s -> !row
    fagpu.store %m, %max[%z] : !row into !o
    %a = fagpu.reduce add %x : !s -> !row
    fagpu.store %a, %sum[%z] : !row into !o
    %q = fagpu.reduce add %x : !s -> !quad
    %qm = fagpu.reduce max %q : !quad -> !row
    fagpu.store %qm, %pairs[%z] : !row into !o
    %qa = fagpu.reduce add %q chains(1) : !quad -> !row
    fagpu.store %qa, %all[%z] : !row into !o
  }
  return
}

// All that each of two warps holds: of 64 rows those whose number by 16 is even,
// and those where it is odd. Rows of the first hold 1 and 3, those of the second
// 2 and 4, each 16 x 8 times. A broadcast gives each row its warp's. No row has
// another sum than 512 and 768, no other maximum than 3 and 4.
// REDEFINE: %{entry} = warps
// RUN: %{check}
// warps: argument 0: 3xi32 = [0, 0, 1]
!s2 = tensor<64x8xf32, #fagpu.acc<2>>
!i2 = tensor<64x8xi32, #fagpu.acc<2>>
!b2 = tensor<64x8xi1, #fagpu.acc<2>>
!w2 = tensor<2xf32, #fagpu.warp<2>>
func.func @warps(%answers: memref<3xi32>) attributes {fagpu.kernel = "sm_80"} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  fagpu.role @all groups(1) warps(2) {
    %r = fagpu.iota 0 : !i2
    %sixteen = arith.constant dense<16> : !i2
    %one = arith.constant dense<1> : !i2
    %n = arith.divui %r, %sixteen : !i2
    %m = arith.addi %n, %one : !i2
    %x = arith.sitofp %m : !i2 to !s2
    %odd = arith.andi %n, %one : !i2
    %isSecond = arith.cmpi eq, %odd, %one : !i2
    %low = arith.constant dense<512.0> : !s2
    %high = arith.constant dense<768.0> : !s2
    %three = arith.constant dense<3.0> : !s2
    %four = arith.constant dense<4.0> : !s2
    %sums = arith.select %isSecond, %high, %low : !b2, !s2
    %most = arith.select %isSecond, %four, %three : !b2, !s2
    %s = fagpu.reduce add %x : !s2 -> !w2
    %bs = fagpu.broadcast %s : !w2 -> !s2
    %g = fagpu.reduce max %x : !s2 -> !w2
    %bg = fagpu.broadcast %g : !w2 -> !s2
    %otherSums = arith.cmpf une, %bs, %sums : !s2
    %otherMost = arith.cmpf une, %bg, %most : !s2
    %same = arith.cmpf oeq, %bs, %high : !s2
    %a = fagpu.any %otherSums : !b2
    %b = fagpu.any %otherMost : !b2
    %c = fagpu.any %same : !b2
    %na = arith.extui %a : i1 to i32
    %nb = arith.extui %b : i1 to i32
    %nc = arith.extui %c : i1 to i32
    memref.store %na, %answers[%i0] : memref<3xi32>
    memref.store %nb, %answers[%i1] : memref<3xi32>
    memref.store %nc, %answers[%i2] : memref<3xi32>
  }
  return
}

// Whether one element of all is true.
// REDEFINE: %{entry} = vote
// RUN: %{check}
// vote: argument 0: 3xi32 = [1, 0, 1]
func.func @vote(%answers: memref<3xi32>) attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    %last = arith.constant dense<157.0> : !s
    %more = arith.constant dense<158.0> : !s
    %first = arith.constant dense<0.0> : !s
    %a = arith.cmpf oge, %x, %last : !s
    %b = arith.cmpf oge, %x, %more : !s
    %c = arith.cmpf oeq, %x, %first : !s
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i2 = arith.constant 2 : index
    %p = fagpu.any %a : tensor<16x8xi1, #acc>
    %q = fagpu.any %b : tensor<16x8xi1, #acc>
    %r = fagpu.any %c : tensor<16x8xi1, #acc>
    %n = arith.extui %p : i1 to i32
    %m = arith.extui %q : i1 to i32
    %o = arith.extui %r : i1 to i32
    memref.store %n, %answers[%i0] : memref<3xi32>
    memref.store %m, %answers[%i1] : memref<3xi32>
    memref.store %o, %answers[%i2] : memref<3xi32>
  }
  return
}

// An index is the sum of the thread's part and the element's.
// REDEFINE: %{entry} = index
// RUN: %{check}
// index: argument 0: 16xf32 = [6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]
// index: argument 1: 16xf32 = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
// index: argument 2: 16xf32 = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
// index: argument 3: 16xf32 = [0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8]
func.func @index(%o0: !o, %o1: !o, %o2: !o, %o3: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  fagpu.role @all groups(1) warps(1) {
    %i0 = fagpu.iota 1 part(thread) : !i
    %x0 = arith.sitofp %i0 : !i to !s
    %m0 = fagpu.reduce max %x0 : !s -> !row
    fagpu.store %m0, %o0[%z] : !row into !o
    %i1 = fagpu.iota 1 part(element) : !i
    %x1 = arith.sitofp %i1 : !i to !s
    %m1 = fagpu.reduce max %x1 : !s -> !row
    fagpu.store %m1, %o1[%z] : !row into !o
    %i2 = fagpu.iota 0 part(thread) : !i
    %x2 = arith.sitofp %i2 : !i to !s
    %m2 = fagpu.reduce max %x2 : !s -> !row
    fagpu.store %m2, %o2[%z] : !row into !o
    %i3 = fagpu.iota 0 part(element) : !i
    %x3 = arith.sitofp %i3 : !i to !s
    %m3 = fagpu.reduce max %x3 : !s -> !row
    fagpu.store %m3, %o3[%z] : !row into !o
  }
  return
}

// Rows from 5 on read as 0; a put whose condition is false is none.
// REDEFINE: %{entry} = put
// REDEFINE: %{more} = --grid=1 --input=1x32x2x8xf32=3 --input=16xf32
// RUN: %{check}
// put: argument 1: 16xf32 = [24, 24, 24, 24, 24, 0, 0, 0, 24, 24, 24, 24, 24, 24, 0, 0]
func.func @put(%m: memref<1x32x2x8xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %c8 = arith.constant 8 : i32
  %c26 = arith.constant 26 : i32
  %false = arith.constant false
  %c = fagpu.channel tma : !c
  fagpu.role @load groups(1) elect {
    fagpu.put %c part(%z, %z), %m[%z, %z, %c1, %z] [1, 8, 1, 8] rows(%c5) : memref<1x32x2x8xf32> into !c
    fagpu.put %c part(%z, %z), %m[%z, %z, %c1, %z] [1, 8, 1, 8] if(%false) : memref<1x32x2x8xf32> into !c
    fagpu.put %c part(%c8, %z), %m[%z, %c26, %c1, %z] [1, 8, 1, 8] : memref<1x32x2x8xf32> into !c
  }
  fagpu.role @all groups(1) warps(1) {
    %v = fagpu.acquire %c : !c
    %x = fagpu.load %v : !v -> !s
    fagpu.release %v : !v
    %s = fagpu.reduce add %x : !s -> !row
    fagpu.store %s, %o[%z] : !row into !o
  }
  return
}

// A padded box reads as 0 past each end of the memory, and past its last head.
// REDEFINE: %{entry} = put_padded
// REDEFINE: %{more} = --grid=1 --input=2x5x11xf32=3 --input=16xf32
// RUN: %{check}
// put_padded: argument 1: 16xf32 = [9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
func.func @put_padded(%m: memref<2x5x11xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c8 = arith.constant 8 : i32
  %c = fagpu.channel tma : !c
  fagpu.role @load groups(1) elect {
    fagpu.put %c part(%z, %z), %m[%z, %c2, %c8] [1, 8, 8] padded : memref<2x5x11xf32> into !c
    fagpu.put %c part(%c8, %z), %m[%c2, %z, %z] [1, 8, 8] padded : memref<2x5x11xf32> into !c
  }
  fagpu.role @all groups(1) warps(1) {
    %v = fagpu.acquire %c : !c
    %x = fagpu.load %v : !v -> !s
    fagpu.release %v : !v
    %s = fagpu.reduce add %x : !s -> !row
    fagpu.store %s, %o[%z] : !row into !o
  }
  return
}

// The limit is of the dimension that the box has rows of, be it not the second.
// REDEFINE: %{entry} = put_heads
// REDEFINE: %{more} = --grid=1 --input=1x2x16x8xf32=3 --input=16xf32
// RUN: %{check}
// put_heads: argument 1: 16xf32 = [24, 24, 24, 24, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
func.func @put_heads(%m: memref<1x2x16x8xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %c = fagpu.channel cp_async : !c
  fagpu.role @all groups(1) warps(1) {
    fagpu.put %c, %m[%z, %c1, %z, %z] [1, 1, 16, 8] rows(%c5) : memref<1x2x16x8xf32> into !c
    %v = fagpu.acquire %c : !c
    %x = fagpu.load %v : !v -> !s
    fagpu.release %v : !v
    %s = fagpu.reduce add %x : !s -> !row
    fagpu.store %s, %o[%z] : !row into !o
  }
  return
}

// Two groups copy halves of a stage, and behind the barrier of both each sees all.
// REDEFINE: %{entry} = put_halves
// REDEFINE: %{more} = --grid=1 --input=16x8xf32=3 --input=2x16xf32
// RUN: %{check}
// put_halves: argument 1: 2x16xf32 = [24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24]
func.func @put_halves(%m: memref<16x8xf32>, %o: memref<2x16xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c = fagpu.channel cp_async : !c
  fagpu.role @all(%g) groups(2) warps(1) {
    %at = arith.muli %g, %c8 : i32
    fagpu.put %c part(%at, %z), %m[%at, %z] [8, 8] : memref<16x8xf32> into !c
    %v = fagpu.acquire %c pending(0) : !c
    fagpu.sync
    %x = fagpu.load %v : !v -> !s
    fagpu.release %v : !v
    %s = fagpu.reduce add %x : !s -> !row
    fagpu.store %s, %o[%g, %z] sizes [1, 16] : !row into memref<2x16xf32>
  }
  return
}

// Two groups write halves of a stage, and each sees both. Element (r, c) of what
// a group has is element (8 g + c, r) of the stage.
// REDEFINE: %{entry} = write
// REDEFINE: %{more} = --grid=1
// RUN: %{check}
// write: argument 0: 2x16xf32 = [150, 151, 152, 153, 154, 155, 156, 157, 150, 151, 152, 153, 154, 155, 156, 157, 150, 151, 152, 153, 154, 155, 156, 157, 150, 151, 152, 153, 154, 155, 156, 157]
func.func @write(%o: memref<2x16xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c = fagpu.channel threads : !fagpu.channel<16x16xf32, #pl, 1>
  fagpu.role @all(%g) groups(2) warps(1) {
    %x = func.call @numbers() : () -> !s
    %at = arith.muli %g, %c8 : i32
    fagpu.write %c part(%at, %z), %x transposed : !s into !fagpu.channel<16x16xf32, #pl, 1>
    %v = fagpu.acquire %c : !fagpu.channel<16x16xf32, #pl, 1>
    %y = fagpu.load %v : !fagpu.view<16x16xf32, #pl> -> tensor<16x16xf32, #acc>
    fagpu.release %v : !fagpu.view<16x16xf32, #pl>
    %m = fagpu.reduce max %y : tensor<16x16xf32, #acc> -> !row
    fagpu.store %m, %o[%g, %z] : !row into memref<2x16xf32>
  }
  return
}

// A stage is added to memory, up to row 2.
// REDEFINE: %{entry} = drain
// REDEFINE: %{more} = --grid=1 --input=4x8xf32=1
// RUN: %{check}
// drain: argument 0: 4x8xf32 = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
func.func @drain(%o: memref<4x8xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c = fagpu.channel threads : !c
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    fagpu.write %c, %x : !s into !c
    %v = fagpu.acquire %c : !c
    fagpu.drain %v, %o[%z, %z] rows(%c2) add : !v into memref<4x8xf32>
    fagpu.release %v : !v
  }
  return
}

// A column value is repeated along rows: x(r, c) - 10 r - 2 c, c from 0 to 7.
// REDEFINE: %{entry} = broadcast
// REDEFINE: %{more} = --grid=1 --input=8xf32=[0,2,4,6,8,10,12,14]
// RUN: %{check}
// broadcast: argument 1: 16xf32 = [-28, -28, -28, -28, -28, -28, -28, -28, -28, -28, -28, -28, -28, -28, -28, -28]
func.func @broadcast(%m: memref<8xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !fagpu.channel<8xf32, #pl, 1>
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z] [8] : memref<8xf32> into !fagpu.channel<8xf32, #pl, 1>
  }
  fagpu.role @all groups(1) warps(1) {
    %v = fagpu.acquire %c : !fagpu.channel<8xf32, #pl, 1>
    %twice = fagpu.load %v : !fagpu.view<8xf32, #pl> -> !col
    fagpu.release %v : !fagpu.view<8xf32, #pl>
    %x = func.call @numbers() : () -> !s
    %columns = fagpu.broadcast %twice : !col -> !s
    %y = arith.subf %x, %columns : !s
    %max = fagpu.reduce max %x : !s -> !row
    %seven = arith.constant dense<7.0> : !row
    %tens = arith.subf %max, %seven : !row
    %rows = fagpu.broadcast %tens : !row -> !s
    %d = arith.subf %y, %rows : !s
    %a = fagpu.reduce add %d : !s -> !row
    fagpu.store %a, %o[%z] : !row into !o
  }
  return
}

// Elements where the mask is false touch nothing, wherever their index points.
// REDEFINE: %{entry} = gather
// REDEFINE: %{more} = --grid=1 --input=2x10xf32=[[9,9,9,9,9,9,9,9,9,9],[0,1,2,3,4,5,6,7,8,9]]
// RUN: %{check}
// gather: argument 1: 16xf32 = [28, 36, 44, 42, 39, 35, 30, 24, 17, 9, 0, 0, 0, 0, 0, 0]
func.func @gather(%m: memref<2x10xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  fagpu.role @all groups(1) warps(1) {
    %r = fagpu.iota 0 : !i
    %c = fagpu.iota 1 : !i
    %n = arith.addi %r, %c : !i
    %ten = arith.constant dense<10> : !i
    %ok = arith.cmpi slt, %n, %ten : !i
    %x = fagpu.gather %m[%c1, %n] mask(%ok : tensor<16x8xi1, #acc>) : memref<2x10xf32>[i32, !i] -> !s
    %s = fagpu.reduce add %x : !s -> !row
    fagpu.store %s, %o[%z] : !row into !o
  }
  return
}

// Products with the second operand as N x K and as K x N; a part of a view; and a
// product in flight. All elements of the memory are 2.
// REDEFINE: %{entry} = product
// REDEFINE: %{more} = --grid=1 --input=64x128xbf16=2
// RUN: %{check}
// product: argument 1: 5xf32 = [4096, 4160, 16384, 32832, 8320]
func.func @product(%m: memref<64x128xbf16>, %o: memref<5xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c64 = arith.constant 64 : i32
  %c = fagpu.channel tma : !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 128] : memref<64x128xbf16> into !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
  }
  fagpu.role @all groups(1) {
    %v = fagpu.acquire %c : !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
    %t = fagpu.slice %v[%z, %c64] : !fagpu.view<64x128xbf16, #fagpu.smem<128>> to !fagpu.view<64x64xbf16, #fagpu.smem<128>>
    %ones = arith.constant dense<1.0> : tensor<64x8xf32, #fagpu.acc<4>>
    // 64 x 64 by (16 x 64)^T: 64 times 4 in each of 16 columns.
    %few = fagpu.slice %t[%z, %z] : !fagpu.view<64x64xbf16, #fagpu.smem<128>> to !fagpu.view<16x64xbf16, #fagpu.smem<128>>
    %a = fagpu.mma nt %t, %few : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<16x64xbf16, #fagpu.smem<128>> -> tensor<64x16xf32, #fagpu.acc<4>>
    %ra = fagpu.reduce add %a : tensor<64x16xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    fagpu.store %ra, %o[%z] rows(%c1) : tensor<64xf32, #fagpu.row<4>> into memref<5xf32>
    // The same with 4 added to each of the 16.
    %four = arith.constant dense<4.0> : tensor<64x16xf32, #fagpu.acc<4>>
    %b = fagpu.mma nt %t, %few acc(%four : tensor<64x16xf32, #fagpu.acc<4>>) : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<16x64xbf16, #fagpu.smem<128>> -> tensor<64x16xf32, #fagpu.acc<4>>
    %rb = fagpu.reduce add %b : tensor<64x16xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    fagpu.store %rb, %o[%c1] rows(%c2) : tensor<64xf32, #fagpu.row<4>> into memref<5xf32>
    // Twice the first product, with 8 added to each of the 16.
    %eight = arith.constant dense<8.0> : tensor<64x16xf32, #fagpu.acc<4>>
    %sum = fagpu.mma_sum nt [%t], [%few] pairs [0, 0], [0, 0] acc(%eight : tensor<64x16xf32, #fagpu.acc<4>>) : (!fagpu.view<64x64xbf16, #fagpu.smem<128>>), (!fagpu.view<16x64xbf16, #fagpu.smem<128>>) -> tensor<64x16xf32, #fagpu.acc<4>>
    %rsum = fagpu.reduce add %sum : tensor<64x16xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    %c5 = arith.constant 5 : i32
    %at4 = arith.constant 4 : i32
    fagpu.store %rsum, %o[%at4] rows(%c5) : tensor<64xf32, #fagpu.row<4>> into memref<5xf32>
    // 64 x 64 by 64 x 64, then by 64 x 128 from registers, 2 in each element.
    %f = fagpu.mma_async nn %t, %t : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    %two = arith.constant dense<2.0> : tensor<64x64xbf16, #fagpu.opa<4>>
    %half = arith.constant dense<0.5> : tensor<64x128xf32, #fagpu.acc<4>>
    %g = fagpu.mma_async nn %two, %v acc(%half : tensor<64x128xf32, #fagpu.acc<4>>) : tensor<64x64xbf16, #fagpu.opa<4>>, !fagpu.view<64x128xbf16, #fagpu.smem<128>> -> !fagpu.inflight<tensor<64x128xf32, #fagpu.acc<4>> keeps tensor<64x64xbf16, #fagpu.opa<4>>>
    %x = fagpu.wait %f pending(1) : !fagpu.inflight<tensor<64x64xf32, #fagpu.acc<4>>>
    %rx = fagpu.reduce add %x : tensor<64x64xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    fagpu.store %rx, %o[%c2] rows(%c3) : tensor<64xf32, #fagpu.row<4>> into memref<5xf32>
    %y = fagpu.wait %g pending(0) : !fagpu.inflight<tensor<64x128xf32, #fagpu.acc<4>> keeps tensor<64x64xbf16, #fagpu.opa<4>>>
    fagpu.release %v : !fagpu.view<64x128xbf16, #fagpu.smem<128>>
    %ry = fagpu.reduce add %y : tensor<64x128xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    %c4 = arith.constant 4 : i32
    fagpu.store %ry, %o[%c3] rows(%c4) : tensor<64xf32, #fagpu.row<4>> into memref<5xf32>
  }
  return
}

// Groups take turns whatever the interleaving: the log alternates.
// REDEFINE: %{entry} = turns
// REDEFINE: %{more} = --grid=1
// RUN: %{check}
// turns: argument 0: 6xi32 = [0, 1, 0, 1, 0, 1]
func.func @turns(%log: memref<6xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %next = memref.alloc() : memref<index>
  memref.store %c0, %next[] : memref<index>
  %t = fagpu.turns 2 : !fagpu.turns
  fagpu.role @math(%g) groups(2) {
    scf.for %i = %c0 to %c3 step %c1 {
      fagpu.take %t : !fagpu.turns
      %n = memref.load %next[] : memref<index>
      memref.store %g, %log[%n] : memref<6xi32>
      %m = arith.addi %n, %c1 : index
      memref.store %m, %next[] : memref<index>
      fagpu.pass %t : !fagpu.turns
    }
  }
  return
}

// Two blocks draw tiles until there are none, and send each to two groups.
// REDEFINE: %{entry} = tiles
// REDEFINE: %{more} = --grid=2 --input=2x6xi32=0 --input=2xi32=0
// RUN: %{check}
// tiles: argument 0: 2x6xi32 = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
func.func @tiles(%done: memref<2x6xi32>, %ctr: memref<2xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c6 = arith.constant 6 : i32
  %mail = fagpu.mail : !fagpu.mail<2, i32>
  fagpu.role @load groups(1) elect {
    %cta = gpu.block_id x
    %first = arith.index_cast %cta : index to i32
    fagpu.repeat iter(%tile = %first) : i32 {
      fagpu.send %mail, %tile : !fagpu.mail<2, i32>
      %next = fagpu.ticket %ctr : memref<2xi32>
      %all = arith.cmpi slt, %tile, %c6 : i32
      fagpu.yield %all, %next : i1, i32
    }
    fagpu.retire %ctr : memref<2xi32>
  }
  fagpu.role @math(%g) groups(2) {
    %group = arith.index_cast %g : i32 to index
    fagpu.repeat {
      %tile = fagpu.recv %mail : !fagpu.mail<2, i32>
      %live = arith.cmpi slt, %tile, %c6 : i32
      scf.if %live {
        %at = arith.index_cast %tile : i32 to index
        %old = memref.load %done[%group, %at] : memref<2x6xi32>
        %new = arith.addi %old, %c1 : i32
        memref.store %new, %done[%group, %at] : memref<2x6xi32>
      }
      fagpu.yield %live : i1
    }
  }
  return
}

// Memory on the stack belongs to each group, though it is made before the roles.
// REDEFINE: %{entry} = stack
// REDEFINE: %{more} = --grid=1
// RUN: %{check}
// stack: argument 0: 3xi32 = [5, 5, 5]
func.func @stack(%o: memref<3xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %n = memref.alloca() : memref<i32>
  memref.store %one, %n[] : memref<i32>
  fagpu.role @math(%g) groups(3) {
    scf.for %i = %c0 to %c4 step %c1 {
      %old = memref.load %n[] : memref<i32>
      %new = arith.addi %old, %one : i32
      memref.store %new, %n[] : memref<i32>
    }
    %sum = memref.load %n[] : memref<i32>
    %at = arith.index_cast %g : i32 to index
    memref.store %sum, %o[%at] : memref<3xi32>
  }
  return
}

// A host function launches a kernel twice; a launch without blocks does nothing.
// REDEFINE: %{entry} = host
// REDEFINE: %{more} = --input=3x2xi32=0
// RUN: %{check}
// host: argument 0: 3x2xi32 = [2, 2, 2, 2, 2, 2]
func.func private @count(%m: memref<3x2xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %c1 = arith.constant 1 : i32
  fagpu.role @one groups(1) elect {
    %x = gpu.block_id x
    %y = gpu.block_id y
    %old = memref.load %m[%x, %y] : memref<3x2xi32>
    %new = arith.addi %old, %c1 : i32
    memref.store %new, %m[%x, %y] : memref<3x2xi32>
  }
  return
}
func.func @host(%m: memref<3x2xi32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sms = fagpu.multiprocessors : index
  fagpu.launch @count grid(%sms, %c2) (%m) : memref<3x2xi32>
  fagpu.launch @count grid(%c0) (%m) : memref<3x2xi32>
  fagpu.launch @count grid(%sms, %c2) (%m) : memref<3x2xi32>
  return
}

// Tables of constants, and the size of a dynamic dimension.
// REDEFINE: %{entry} = tables
// REDEFINE: %{more} = --grid=1 --input=16xf32
// RUN: %{check}
// tables: argument 0: 16xf32 = [1, 10.25, 4, 40.25, 16, 160.25, 64, 640.25, 16, 16, 16, 16, 16, 16, 16, 16]
memref.global "private" constant @powers : memref<2x4xf32> = dense<[[1.0, 4.0, 16.0, 64.0], [10.0, 40.0, 160.0, 640.0]]>
memref.global "private" constant @odd : memref<2xi1> = dense<[false, true]>
func.func @tables(%o: memref<?xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  fagpu.role @all groups(1) warps(1) {
    %powers = memref.get_global @powers : memref<2x4xf32>
    %odd = memref.get_global @odd : memref<2xi1>
    %size = memref.dim %o, %i0 : memref<?xf32>
    %n = arith.index_cast %size : index to i32
    %eight = arith.constant dense<8> : tensor<16xi32, #row>
    %one = arith.constant dense<1> : tensor<16xi32, #row>
    %quarter = arith.constant dense<0.25> : !row
    %i = fagpu.iota 0 : tensor<16xi32, #row>
    %row = arith.andi %i, %one : tensor<16xi32, #row>
    %column = arith.shrsi %i, %one : tensor<16xi32, #row>
    %in = arith.cmpi slt, %i, %eight : tensor<16xi32, #row>
    %x = fagpu.gather %powers[%row, %column] mask(%in : tensor<16xi1, #row>) : memref<2x4xf32>[tensor<16xi32, #row>, tensor<16xi32, #row>] -> !row
    %p = fagpu.gather %odd[%row] : memref<2xi1>[tensor<16xi32, #row>] -> tensor<16xi1, #row>
    %more = arith.addf %x, %quarter : !row
    %y = arith.select %p, %more, %x : tensor<16xi1, #row>, !row
    %f = arith.sitofp %n : i32 to f32
    %rest = tensor.splat %f : !row
    %all = arith.select %in, %y, %rest : tensor<16xi1, #row>, !row
    fagpu.store %all, %o[%z] rows(%n) : !row into memref<?xf32>
  }
  return
}

// Columns from 5 on read as 0, and only two are stored.
// REDEFINE: %{entry} = columns
// REDEFINE: %{more} = --grid=1 --input=1x32x2x6xf32=3 --input=16xf32 --input=8x2xf32=7
// RUN: %{check}
// columns: argument 1: 16xf32 = [15, 15, 15, 15, 15, 15, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0]
// columns: argument 2: 8x2xf32 = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 7, 7]
func.func @columns(%m: memref<1x32x2x6xf32>, %o: !o, %p: memref<8x2xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c5 = arith.constant 5 : i32
  %c7 = arith.constant 7 : i32
  %c = fagpu.channel tma : !c
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z, %c1, %z] [1, 16, 1, 8] rows(%c7) columns(%c5) : memref<1x32x2x6xf32> into !c
  }
  fagpu.role @all groups(1) warps(1) {
    %v = fagpu.acquire %c : !c
    %x = fagpu.load %v : !v -> !s
    fagpu.release %v : !v
    %s = fagpu.reduce add %x : !s -> !row
    fagpu.store %s, %o[%z] : !row into !o
    fagpu.store %x, %p[%z, %z] rows(%c7) columns(%c2) : !s into memref<8x2xf32>
  }
  return
}

// Threads copy heads of tokens as rows, to one bank; to the other by halves, up to
// the end of the dimension.
// REDEFINE: %{entry} = copied
// REDEFINE: %{more} = --grid=1 --input=2x9x10x64xbf16=1 --input=50x64xbf16=2 --input=16x1xf32
// RUN: %{check}
// copied: argument 2: 16x1xf32 = [128, 128, 128, 128, 128, 128, 128, 128, 0, 0, 0, 0, 0, 0, 0, 0]
!tile = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!tiles = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
func.func @copied(%m: memref<2x9x10x64xbf16>, %k: memref<50x64xbf16>, %o: memref<16x1xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c49 = arith.constant 49 : i32
  %c = fagpu.channel cp_async banks(2) : !tile
  fagpu.role @all groups(1) {
    fagpu.put %c bank(%z), %m[%c1, %c1, %c1, %z] [1, 8, 8, 64] rows(%c2) : memref<2x9x10x64xbf16> into !tile
    fagpu.put %c bank(%c1) part(%z, %z), %k[%c49, %z] [32, 64] : memref<50x64xbf16> into !tile
    fagpu.put %c bank(%c1) part(%c32, %z), %k[%c32, %z] [32, 64] : memref<50x64xbf16> into !tile
    %a = fagpu.acquire %c bank(%z) : !tile
    %b = fagpu.acquire %c bank(%c1) : !tile
    %x = fagpu.mma nt %a, %b : !tiles, !tiles -> tensor<64x64xf32, #fagpu.acc<4>>
    fagpu.release %a : !tiles
    fagpu.release %b : !tiles
    fagpu.store %x, %o[%z, %z] rows(%c16) columns(%c1) : tensor<64x64xf32, #fagpu.acc<4>> into memref<16x1xf32>
  }
  return
}

// The first operand stored by columns, as the transpose of one that is stored by
// rows: the products are the same, element by element.
// REDEFINE: %{entry} = forms
// REDEFINE: %{more} = --grid=1 --input=64x64xbf16 --input=64x64xbf16
// RUN: %{check}
// forms: argument 2: 3xi32 = [0, 0, 0]
!f64 = tensor<64x64xf32, #fagpu.acc<4>>
!h64 = tensor<64x64xbf16, #fagpu.acc<4>>
!c64 = !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
!v64 = !fagpu.view<64x64xbf16, #fagpu.smem<128>>
func.func @forms(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %other: memref<3xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %ca = fagpu.channel tma : !c64
  %cb = fagpu.channel tma : !c64
  %ct = fagpu.channel threads : !c64
  fagpu.role @load groups(1) elect {
    fagpu.put %ca, %a[%z, %z] [64, 64] : memref<64x64xbf16> into !c64
    fagpu.put %cb, %b[%z, %z] [64, 64] : memref<64x64xbf16> into !c64
  }
  fagpu.role @all groups(1) {
    %va = fagpu.acquire %ca : !c64
    %vb = fagpu.acquire %cb : !c64
    %h = fagpu.load %va : !v64 -> !h64
    fagpu.write %ct, %h transposed : !h64 into !c64
    %vt = fagpu.acquire %ct : !c64
    %f0 = fagpu.mma_async nn %va, %vb : !v64, !v64 -> !fagpu.inflight<!f64>
    %x0 = fagpu.wait %f0 pending(0) : !fagpu.inflight<!f64>
    %f1 = fagpu.mma_async tn %vt, %vb : !v64, !v64 -> !fagpu.inflight<!f64>
    %x1 = fagpu.wait %f1 pending(0) : !fagpu.inflight<!f64>
    %f2 = fagpu.mma_async nt %va, %vb : !v64, !v64 -> !fagpu.inflight<!f64>
    %x2 = fagpu.wait %f2 pending(0) : !fagpu.inflight<!f64>
    %f3 = fagpu.mma_async tt %vt, %vb : !v64, !v64 -> !fagpu.inflight<!f64>
    %x3 = fagpu.wait %f3 pending(0) : !fagpu.inflight<!f64>
    %x4 = fagpu.mma tn %vt, %vb : !v64, !v64 -> !f64
    fagpu.release %va : !v64
    fagpu.release %vb : !v64
    fagpu.release %vt : !v64
    %n = arith.cmpf une, %x0, %x1 : !f64
    %t = arith.cmpf une, %x2, %x3 : !f64
    %w = arith.cmpf une, %x0, %x4 : !f64
    %someW = fagpu.any %w : tensor<64x64xi1, #fagpu.acc<4>>
    %wordW = arith.extui %someW : i1 to i32
    memref.store %wordW, %other[%i2] : memref<3xi32>
    %someN = fagpu.any %n : tensor<64x64xi1, #fagpu.acc<4>>
    %someT = fagpu.any %t : tensor<64x64xi1, #fagpu.acc<4>>
    %wordN = arith.extui %someN : i1 to i32
    %wordT = arith.extui %someT : i1 to i32
    memref.store %wordN, %other[%i0] : memref<3xi32>
    memref.store %wordT, %other[%i1] : memref<3xi32>
  }
  return
}

// Two groups add to one memory; rows from 2 on are left alone.
// REDEFINE: %{entry} = add
// REDEFINE: %{more} = --grid=1 --input=4x8xf32=1 --input=16xf32=1
// RUN: %{check}
// add: argument 0: 4x8xf32 = [1, 3, 5, 7, 9, 11, 13, 15, 21, 23, 25, 27, 29, 31, 33, 35, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
// add: argument 1: 16xf32 = [15, 35, 55, 75, 95, 115, 135, 155, 175, 195, 215, 235, 255, 275, 295, 315]
func.func @add(%m: memref<4x8xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  fagpu.role @all(%g) groups(2) warps(1) {
    %x = func.call @numbers() : () -> !s
    fagpu.store %x, %m[%z, %z] rows(%c2) add : !s into memref<4x8xf32>
    %max = fagpu.reduce max %x : !s -> !row
    fagpu.store %max, %o[%z] add : !row into !o
  }
  return
}

// Element (r, c) of fragments of 32 threads is at 16 (r mod 8) + 4 (c / 2) + 2 (r / 8)
// + c mod 2. What one launch has stored, or added to 1, another finds there, and
// reads in the same order. By words it is at 4 (r mod 8) + c / 2 + 64 (r / 8) + 32 (c mod 2).
// REDEFINE: %{entry} = in_fragments
// REDEFINE: %{more} = --input=128xf32 --input=128xf32=1 --input=128xf32=1 --input=4xi32
// RUN: %{check}
// in_fragments: argument 3: 4xi32 = [0, 0, 0, 0]
!fragments = memref<128xf32>
!piece = !fagpu.channel<128xf32, #pl, 1>
func.func @store_fragments(%m: !fragments, %p: !fragments, %w: !fragments) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %st = fagpu.channel tma_store : !piece
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    fagpu.store %x, %m[%z] fragments : !s into !fragments
    fagpu.store %x, %p[%z] add fragments via(%st : !piece) : !s into !fragments
    fagpu.store %x, %w[%z] add fragments by_words : !s into !fragments
  }
  return
}
func.func @compare_fragments(%m: !fragments, %p: !fragments, %w: !fragments, %other: memref<4xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i3 = arith.constant 3 : index
  %ch = fagpu.channel tma : !piece
  fagpu.role @load groups(1) elect {
    fagpu.put %ch, %m[%z] [128] : !fragments into !piece
  }
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    %one = arith.constant dense<1.0> : !s
    %x1 = arith.addf %x, %one : !s
    %r = fagpu.iota 0 : !i
    %c = fagpu.iota 1 : !i
    %two = arith.constant dense<2> : !i
    %four = arith.constant dense<4> : !i
    %eight = arith.constant dense<8> : !i
    %sixteen = arith.constant dense<16> : !i
    %thirtytwo = arith.constant dense<32> : !i
    %r8 = arith.remui %r, %eight : !i
    %lower = arith.divui %r, %eight : !i
    %pair = arith.divui %c, %two : !i
    %odd = arith.remui %c, %two : !i
    %a = arith.muli %r8, %sixteen : !i
    %b = arith.muli %pair, %four : !i
    %d = arith.muli %lower, %two : !i
    %ab = arith.addi %a, %b : !i
    %de = arith.addi %d, %odd : !i
    %at = arith.addi %ab, %de : !i
    %stored = fagpu.gather %m[%at] : !fragments[!i] -> !s
    %added = fagpu.gather %p[%at] : !fragments[!i] -> !s
    %thread4 = arith.divui %ab, %four : !i
    %word = arith.muli %de, %thirtytwo : !i
    %at_word = arith.addi %thread4, %word : !i
    %by_words = fagpu.gather %w[%at_word] : !fragments[!i] -> !s
    %v = fagpu.acquire %ch : !piece
    %read = fagpu.load %v fragments : !fagpu.view<128xf32, #pl> -> !s
    fagpu.release %v : !fagpu.view<128xf32, #pl>
    %n0 = arith.cmpf une, %stored, %x : !s
    %n1 = arith.cmpf une, %added, %x1 : !s
    %n2 = arith.cmpf une, %read, %x : !s
    %n3 = arith.cmpf une, %by_words, %x1 : !s
    %a0 = fagpu.any %n0 : tensor<16x8xi1, #acc>
    %a1 = fagpu.any %n1 : tensor<16x8xi1, #acc>
    %a2 = fagpu.any %n2 : tensor<16x8xi1, #acc>
    %a3 = fagpu.any %n3 : tensor<16x8xi1, #acc>
    %w0 = arith.extui %a0 : i1 to i32
    %w1 = arith.extui %a1 : i1 to i32
    %w2 = arith.extui %a2 : i1 to i32
    %w3 = arith.extui %a3 : i1 to i32
    memref.store %w0, %other[%i0] : memref<4xi32>
    memref.store %w1, %other[%i1] : memref<4xi32>
    memref.store %w2, %other[%i2] : memref<4xi32>
    memref.store %w3, %other[%i3] : memref<4xi32>
  }
  return
}
func.func @in_fragments(%m: !fragments, %p: !fragments, %w: !fragments, %other: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  fagpu.launch @store_fragments grid(%c1) (%m, %p, %w) : !fragments, !fragments, !fragments
  fagpu.launch @compare_fragments grid(%c1) (%m, %p, %w, %other) : !fragments, !fragments, !fragments, memref<4xi32>
  return
}

// Row r, column c of the value is row c, column r of the tile; rows from 2 on are
// outside of the memory, and are left alone.
// REDEFINE: %{entry} = turned
// REDEFINE: %{more} = --grid=1 --input=2x16xf32=-1
// RUN: %{check}
// turned: argument 0: 2x16xf32 = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 1, 11, 21, 31, 41, 51, 61, 71, 81, 91, 101, 111, 121, 131, 141, 151]
func.func @turned(%m: memref<2x16xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %st = fagpu.channel tma_store : !fagpu.channel<8x16xf32, #fagpu.smem<64>, 1>
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    fagpu.store %x, %m[%z, %z] rows(%c2) transposed via(%st : !fagpu.channel<8x16xf32, #fagpu.smem<64>, 1>) : !s into memref<2x16xf32>
  }
  return
}

// Sums by column of what the mask leaves, rows up to 2: three rows a column, and by
// row r the sum 80 r + 28 of all its elements, in order. Many elements go to one place.
// REDEFINE: %{entry} = scatter
// REDEFINE: %{more} = --grid=1 --input=2x8xf32=1 --input=16xf32=0
// RUN: %{check}
// scatter: argument 0: 2x8xf32 = [1, 1, 1, 1, 1, 1, 1, 1, 31, 34, 37, 40, 43, 46, 49, 52]
// scatter: argument 1: 16xf32 = [28, 108, 188, 268, 348, 428, 508, 588, 668, 748, 828, 908, 988, 1068, 1148, 1228]
func.func @scatter(%m: memref<2x8xf32>, %o: !o) attributes {fagpu.kernel = "sm_80"} {
  %one = arith.constant 1 : i32
  fagpu.role @all groups(1) warps(1) {
    %x = func.call @numbers() : () -> !s
    %r = fagpu.iota 0 : !i
    %c = fagpu.iota 1 : !i
    %three = arith.constant dense<3> : !i
    %ok = arith.cmpi slt, %r, %three : !i
    fagpu.scatter_add %x, %m[%one, %c] mask(%ok : tensor<16x8xi1, #acc>) : !s into memref<2x8xf32>[i32, !i]
    fagpu.scatter_add %x, %o[%r] : !s into !o[!i]
  }
  return
}
