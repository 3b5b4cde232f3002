// A value is stored and added in the order of threads, added row by row up to a
// limit, its elements and those of its rows are scattered, and its columns are
// added as rows.

#acc = #fagpu.acc<4>
!x = tensor<128x16xf32, #acc>
!i = tensor<128x16xi32, #acc>
!b = tensor<128x16xi1, #acc>
!row = tensor<128xf32, #fagpu.row<4>>
!irow = tensor<128xi32, #fagpu.row<4>>
!col = tensor<16xf32, #fagpu.col<4>>
func.func @additions(%stored: memref<2x2048xf32>, %added: memref<2x2048xf32>, %rows: memref<128x16xf32>,
    %scattered: memref<40x3xf32>, %sums: memref<130xf32>, %columns: memref<2xf32>,
    %turned: memref<16x128xf32>, %bounded: memref<16x132xf32>, %limit: i32)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  fagpu.role @all groups(1) {
    %r = fagpu.iota 0 : !i
    %c = fagpu.iota 1 : !i
    %hundred = arith.constant dense<100> : !i
    %n = arith.muli %r, %hundred : !i
    %m = arith.addi %n, %c : !i
    %x = arith.sitofp %m : !i to !x
    fagpu.store %x, %stored[%c1, %c0] fragments : !x into memref<2x2048xf32>
    fagpu.store %x, %added[%c1, %c0] add fragments : !x into memref<2x2048xf32>
    fagpu.store %x, %rows[%c0, %c0] rows(%limit) add : !x into memref<128x16xf32>
    %four = arith.constant dense<4> : !i
    %q = arith.divui %r, %four : !i
    %seven = arith.constant dense<7> : !i
    %ok = arith.cmpi slt, %c, %seven : !i
    fagpu.scatter_add %x, %scattered[%q, %c1] mask(%ok : !b) : !x into memref<40x3xf32>[!i, i32]
    %sum = fagpu.reduce add %x : !x -> !row
    %at = fagpu.iota 0 : !irow
    %two = arith.constant dense<2> : !irow
    %next = arith.addi %at, %two : !irow
    fagpu.scatter_add %sum, %sums[%next] : !row into memref<130xf32>[!irow]
    %eight = arith.constant dense<8.0> : !col
    fagpu.scatter_add %eight, %columns[%c1] : !col into memref<2xf32>[i32]
    fagpu.store %x, %turned[%c0, %c0] add transposed : !x into memref<16x128xf32>
    %c4 = arith.constant 4 : i32
    %c14 = arith.constant 14 : i32
    fagpu.store %x, %bounded[%c0, %c4] rows(%c14) columns(%limit) add transposed : !x into memref<16x132xf32>
  }
  return
}
