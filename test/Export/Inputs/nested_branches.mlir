// A branch in a branch, whose condition need not exist without the outer one.
func.func @first(%a: i32) attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only elect {}
  return
}
func.func @second(%a: i32) attributes {fagpu.kernel = "sm_90"} {
  fagpu.role @only elect {}
  return
}
func.func @host(%way: i32, %n: i64, %d: i64) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %big = arith.constant 100 : i64
  %one = arith.constant 1 : index
  %isPositive = arith.cmpi sgt, %way, %c0 : i32
  scf.if %isPositive {
    %nn = arith.muli %n, %n : i64
    %inner = arith.cmpi sgt, %nn, %big : i64
    fagpu.launch @first grid(%one) (%c1) : i32
    scf.if %inner {
      %e = arith.divui %d, %big : i64
      %q = arith.floordivsi %n, %e : i64
      %last = arith.trunci %q : i64 to i32
      %next = arith.addi %last, %c1 : i32
      fagpu.launch @second grid(%one) (%next) : i32
    }
  } else {
    fagpu.launch @second grid(%one) (%c0) : i32
  }
  return
}
