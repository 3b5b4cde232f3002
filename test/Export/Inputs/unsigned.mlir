// A host function whose unsigned operations and casts read scalar arguments.
func.func @kernel(%a: i32, %b: i32, %c: i32, %d: i32, %e: i64, %f: i64, %g: i32)
    attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only elect {}
  return
}
func.func @host(%n: i32, %m: i32, %wide: i64) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  %smaller = arith.minui %n, %c8 : i32
  %quotient = arith.divui %n, %c3 : i32
  %difference = arith.subi %n, %m : i32
  %rest = arith.remui %difference, %c3 : i32
  %isLess = arith.cmpi ult, %rest, %quotient : i32
  %minusOne = arith.extsi %isLess : i1 to i32
  %signed = arith.addi %m, %minusOne : i32
  %extended = arith.extui %smaller : i32 to i64
  %cut = arith.trunci %wide : i64 to i32
  %sum = arith.addi %cut, %m : i32
  %larger = arith.addi %wide, %extended : i64
  %passed = arith.trunci %larger : i64 to i32
  fagpu.launch @kernel grid(%c1)
      (%smaller, %quotient, %rest, %signed, %extended, %wide, %passed)
      : i32, i32, i32, i32, i64, i64, i32
  %odd = arith.cmpi ne, %sum, %c3 : i32
  cf.assert %odd, "a sum of three"
  return
}
