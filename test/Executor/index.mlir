// RUN: fa-run %s --entry=arithmetic --target=reference | FileCheck %s --check-prefix=ARITHMETIC
// RUN: fa-run %s --entry=others --target=reference | FileCheck %s --check-prefix=OTHERS
// RUN: fa-run %s --entry=mask --target=cpu --verify | FileCheck %s --check-prefix=MASK
// RUN: fa-run %s --entry=mask --target=interpret --chip=sm_80 --verify | FileCheck %s --check-prefix=MASK

func.func @arithmetic() -> (index, index, index, index, index, index, index, index, index, index) {
  %a = index.constant -7
  %b = index.constant 4
  %sum = index.add %a, %b
  %difference = index.sub %a, %b
  %product = index.mul %a, %b
  %quotient = index.divs %a, %b
  %floor = index.floordivs %a, %b
  %ceil = index.ceildivs %a, %b
  %rest = index.rems %a, %b
  %unsigned = index.divu %a, %b
  %unsigned_ceil = index.ceildivu %b, %a
  %unsigned_rest = index.remu %a, %b
  return %sum, %difference, %product, %quotient, %floor, %ceil, %rest, %unsigned, %unsigned_ceil, %unsigned_rest
      : index, index, index, index, index, index, index, index, index, index
}
// ARITHMETIC: result 0: index = -3
// ARITHMETIC-NEXT: result 1: index = -11
// ARITHMETIC-NEXT: result 2: index = -28
// ARITHMETIC-NEXT: result 3: index = -1
// ARITHMETIC-NEXT: result 4: index = -2
// ARITHMETIC-NEXT: result 5: index = -1
// ARITHMETIC-NEXT: result 6: index = -3
// ARITHMETIC-NEXT: result 7: index = 4611686018427387902
// ARITHMETIC-NEXT: result 8: index = 1
// ARITHMETIC-NEXT: result 9: index = 1

func.func @others() -> (index, index, index, index, index, index, index, index, index, index, i1, i1, i1, i8, i8, index, index) {
  %a = index.constant -7
  %b = index.constant 4
  %true = index.bool.constant true
  %max = index.maxs %a, %b
  %min = index.mins %a, %b
  %unsigned_max = index.maxu %a, %b
  %unsigned_min = index.minu %a, %b
  %and = index.and %a, %b
  %or = index.or %a, %b
  %xor = index.xor %a, %b
  %one = index.constant 1
  %left = index.shl %a, %one
  %right = index.shrs %a, %one
  %logical = index.shru %a, %one
  %below = index.cmp slt(%a, %b)
  %above = index.cmp ugt(%b, %a)
  %far = index.constant 300
  %cut = index.casts %far : index to i8
  %byte = index.casts %a : index to i8
  %signed = index.casts %byte : i8 to index
  %unsigned = index.castu %byte : i8 to index
  return %max, %min, %unsigned_max, %unsigned_min, %and, %or, %xor, %left, %right, %logical, %below, %above, %true, %cut, %byte, %signed, %unsigned
      : index, index, index, index, index, index, index, index, index, index, i1, i1, i1, i8, i8, index, index
}
// OTHERS: result 0: index = 4
// OTHERS-NEXT: result 1: index = -7
// OTHERS-NEXT: result 2: index = -7
// OTHERS-NEXT: result 3: index = 4
// OTHERS-NEXT: result 4: index = 0
// OTHERS-NEXT: result 5: index = -3
// OTHERS-NEXT: result 6: index = -3
// OTHERS-NEXT: result 7: index = -14
// OTHERS-NEXT: result 8: index = -4
// OTHERS-NEXT: result 9: index = 9223372036854775804
// OTHERS-NEXT: result 10: i1 = 1
// OTHERS-NEXT: result 11: i1 = 0
// OTHERS-NEXT: result 12: i1 = 1
// OTHERS-NEXT: result 13: i8 = 44
// OTHERS-NEXT: result 14: i8 = -7
// OTHERS-NEXT: result 15: index = -7
// OTHERS-NEXT: result 16: index = 249

!t = tensor<1x70x2x64xbf16>

func.func @mask(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      mask(%b, %h, %i, %j) {
        %two = index.constant 2
        %twice = index.mul %j, %two
        %last = index.add %i, %two
        %visible = index.cmp sle(%twice, %last)
        fa.yield %visible : i1
      }
  return %r : !t
}
// MASK: verified all rows
