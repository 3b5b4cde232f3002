// A host function with branches, each with values that do not exist, do not fit
// or are out of bounds for calls that take another one.
func.func @first(%a: i32, %m: memref<?xf32, strided<[1], offset: ?>>)
    attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only elect {}
  return
}
func.func @second(%a: i32) attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only elect {}
  return
}
func.func @third(%a: i32, %words: memref<?xi32>, %counter: memref<2xi32>)
    attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only groups(1) elect {
    %first = arith.constant 0 : index
    %word = memref.load %words[%first] : memref<?xi32>
    %equal = arith.cmpi eq, %word, %a : i32
    scf.if %equal {
      %t = fagpu.ticket %counter : memref<2xi32>
    }
    fagpu.retire %counter : memref<2xi32>
  }
  return
}
func.func @host(%way: i32, %n: i64, %d: i64, %m: memref<?xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %one = arith.constant 1 : index
  %size = arith.index_cast %n : i64 to index
  %isPositive = arith.cmpi sgt, %way, %c0 : i32
  scf.if %isPositive {
    // A launch before a branch in a branch.
    %quotient = arith.divui %n, %d : i64
    %passed = arith.trunci %quotient : i64 to i32
    %more = arith.addi %passed, %c1 : i32
    %view = memref.subview %m[%size] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
    %slice = memref.cast %view : memref<4xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    fagpu.launch @first grid(%one) (%more, %slice) : i32, memref<?xf32, strided<[1], offset: ?>>
    %isTwo = arith.cmpi eq, %way, %c2 : i32
    scf.if %isTwo {
      %floor = arith.floordivsi %d, %n : i64
      %isSmall = arith.cmpi sle, %floor, %n : i64
      cf.assert %isSmall, "the quotient is large"
      %last = arith.trunci %floor : i64 to i32
      %next = arith.addi %last, %c1 : i32
      fagpu.launch @second grid(%one) (%next) : i32
    }
  } else {
    %square = arith.muli %d, %d : i64
    %words = arith.index_cast %square : i64 to index
    %workspace = fagpu.workspace(%words) : memref<?xi32>
    %counter = fagpu.counter : memref<2xi32>
    %small = arith.trunci %n : i64 to i32
    fagpu.launch @third grid(%one, %size) (%small, %workspace, %counter) : i32, memref<?xi32>, memref<2xi32>
  }
  return
}
