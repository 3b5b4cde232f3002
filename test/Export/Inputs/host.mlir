// A kernel that takes one parameter of each kind, and a host function with every
// operation that a manifest expresses.
func.func @kernel(%m: memref<?x8xf32, strided<[?, 1]>>, %flat: memref<?xi32>,
    %a: i32, %b: i32, %c: i32, %d: i32, %e: i32, %f: i32, %g: i32, %wide: i64,
    %x: f32, %y: f32, %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only groups(1) elect {
    %row = arith.constant 0 : index
    %first = memref.load %m[%row, %row] : memref<?x8xf32, strided<[?, 1]>>
    %second = memref.load %flat[%row] : memref<?xi32>
    %above = arith.cmpf ogt, %first, %x : f32
    %equal = arith.cmpi eq, %second, %a : i32
    %both = arith.andi %above, %equal : i1
    scf.if %both {
      %t = fagpu.ticket %counter : memref<2xi32>
    }
    fagpu.retire %counter : memref<2xi32>
  }
  return
}
func.func private @rows(%m: memref<?x8xf32, strided<[?, 1]>>) -> index {
  %c0 = arith.constant 0 : index
  %rows = memref.dim %m, %c0 : memref<?x8xf32, strided<[?, 1]>>
  return %rows : index
}
func.func @host(%m: memref<?x8xf32, strided<[?, 1]>>, %table: memref<?x3xi32>,
    %n: i32, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %half = arith.constant 0.5 : f32
  %rows = call @rows(%m) : (memref<?x8xf32, strided<[?, 1]>>) -> index
  %columns = memref.dim %m, %c1 : memref<?x8xf32, strided<[?, 1]>>
  %count = fagpu.multiprocessors : index
  %blocks = arith.ceildivui %rows, %c7 : index
  %grid = arith.minui %blocks, %count : index
  %quotient = arith.divui %rows, %c7 : index
  %rest = arith.remui %rows, %c7 : index
  %sum = arith.addi %quotient, %columns : index
  %product = arith.muli %sum, %rest : index
  %difference = arith.subi %product, %rows : index
  %isSmall = arith.cmpi slt, %rows, %c7 : index
  %isOdd = arith.cmpi ne, %rest, %c0 : index
  %either = arith.ori %isSmall, %isOdd : i1
  %both = arith.andi %isSmall, %isOdd : i1
  %chosen = arith.select %either, %rows, %c7 : index
  %other = arith.select %both, %c1, %c0 : index
  %large = arith.cmpi sge, %rows, %c1 : index
  cf.assert %large, "there are no rows"
  %a = arith.index_cast %quotient : index to i32
  %b = arith.index_cast %rest : index to i32
  %c = arith.index_cast %difference : index to i32
  %d = arith.index_cast %chosen : index to i32
  %e = arith.index_cast %other : index to i32
  %f = arith.maxsi %n, %b : i32
  %wide = arith.index_cast %product : index to i64
  %float = arith.sitofp %n : i32 to f32
  %scaled = arith.mulf %x, %half : f32
  %negative = arith.negf %scaled : f32
  %less = arith.addf %float, %negative : f32
  // Where -2.5 < x <= 3 it is less; where 0.25 <= x < 1, half of x.
  %low = arith.constant -2.5 : f32
  %high = arith.constant 3.0 : f32
  %isAbove = arith.cmpf ogt, %x, %low : f32
  %isBelow = arith.cmpf ole, %x, %high : f32
  %isInside = arith.andi %isAbove, %isBelow : i1
  %inside = arith.select %isInside, %less, %float : f32
  %quarter = arith.constant 0.25 : f32
  %one = arith.constant 1.0 : f32
  %isFraction = arith.cmpf oge, %x, %quarter : f32
  %isBelowOne = arith.cmpf olt, %x, %one : f32
  %isPart = arith.andi %isFraction, %isBelowOne : i1
  %y = arith.select %isPart, %scaled, %inside : f32
  %flat = memref.collapse_shape %table [[0, 1]] : memref<?x3xi32> into memref<?xi32>
  %counter = fagpu.counter : memref<2xi32>
  fagpu.launch @kernel grid(%grid, %c1)
      (%m, %flat, %a, %b, %c, %d, %e, %f, %n, %wide, %scaled, %y, %counter)
      : memref<?x8xf32, strided<[?, 1]>>, memref<?xi32>, i32, i32, i32, i32, i32,
        i32, i32, i64, f32, f32, memref<2xi32>
  return
}
