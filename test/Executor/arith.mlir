// RUN: fa-run %s --entry=integers --target=reference | FileCheck %s --check-prefix=INTEGERS
// RUN: fa-run %s --entry=extended --target=reference | FileCheck %s --check-prefix=EXTENDED
// RUN: fa-run %s --entry=casts --target=reference | FileCheck %s --check-prefix=CASTS
// RUN: fa-run %s --entry=compare --target=reference | FileCheck %s --check-prefix=COMPARE
// RUN: fa-run %s --entry=unrounded --target=reference --precision=float64 | FileCheck %s --check-prefix=DOUBLE
// RUN: fa-run %s --entry=unrounded --target=reference --precision=declared | FileCheck %s --check-prefix=DECLARED
// RUN: fa-run %s --entry=math --target=reference | FileCheck %s --check-prefix=MATH
// RUN: fa-run %s --entry=shaped --target=reference | FileCheck %s --check-prefix=SHAPED

// What a type does not hold of a sum or a product is a result of its own.
func.func @extended() -> (i8, i1, i8, i1, i8, i8, i8, i8, i64, i64) {
  %a = arith.constant 100 : i8
  %b = arith.constant -3 : i8
  %sum, %over = arith.addui_extended %a, %b : i8, i1
  %twice, %none = arith.addui_extended %a, %a : i8, i1
  %low, %high = arith.mulsi_extended %a, %b : i8
  %unsigned_low, %unsigned_high = arith.mului_extended %a, %b : i8
  %most = arith.constant -1 : i64
  %wide_low, %wide_high = arith.mului_extended %most, %most : i64
  return %sum, %over, %twice, %none, %low, %high, %unsigned_low, %unsigned_high, %wide_low, %wide_high
      : i8, i1, i8, i1, i8, i8, i8, i8, i64, i64
}
// EXTENDED: result 0: i8 = 97
// EXTENDED-NEXT: result 1: i1 = 1
// EXTENDED-NEXT: result 2: i8 = -56
// EXTENDED-NEXT: result 3: i1 = 0
// EXTENDED-NEXT: result 4: i8 = -44
// EXTENDED-NEXT: result 5: i8 = -2
// EXTENDED-NEXT: result 6: i8 = -44
// EXTENDED-NEXT: result 7: i8 = 98
// EXTENDED-NEXT: result 8: i64 = 1
// EXTENDED-NEXT: result 9: i64 = -2

// Integers wrap at their width; signed and unsigned forms differ.
func.func @integers() -> (i8, i8, i8, i8, i8, i32, i32, i32, index, i64) {
  %a = arith.constant 100 : i8
  %b = arith.constant -3 : i8
  %sum = arith.addi %a, %a : i8
  %quotient = arith.divsi %a, %b : i8
  %unsigned = arith.divui %b, %a : i8
  %floor = arith.floordivsi %a, %b : i8
  %ceil = arith.ceildivsi %a, %b : i8
  %c = arith.constant -8 : i32
  %one = arith.constant 1 : i32
  %shifted = arith.shrsi %c, %one : i32
  %logical = arith.shrui %c, %one : i32
  %max = arith.maxui %c, %one : i32
  %i = arith.constant -7 : index
  %n = arith.constant 4 : index
  %rem = arith.remsi %i, %n : index
  %wide = arith.constant 9223372036854775807 : i64
  %c2 = arith.constant 2 : i64
  %product = arith.muli %wide, %c2 : i64
  return %sum, %quotient, %unsigned, %floor, %ceil, %shifted, %logical, %max, %rem, %product
      : i8, i8, i8, i8, i8, i32, i32, i32, index, i64
}
// INTEGERS: result 0: i8 = -56
// INTEGERS-NEXT: result 1: i8 = -33
// INTEGERS-NEXT: result 2: i8 = 2
// INTEGERS-NEXT: result 3: i8 = -34
// INTEGERS-NEXT: result 4: i8 = -33
// INTEGERS-NEXT: result 5: i32 = -4
// INTEGERS-NEXT: result 6: i32 = 2147483644
// INTEGERS-NEXT: result 7: i32 = -8
// INTEGERS-NEXT: result 8: index = -3
// INTEGERS-NEXT: result 9: i64 = -2

func.func @casts() -> (i32, i32, i32, i8, f32, f32, i32, f32, i16, i32) {
  %true = arith.constant true
  %signed = arith.extsi %true : i1 to i32
  %unsigned = arith.extui %true : i1 to i32
  %x = arith.constant -2.75 : f32
  %toward = arith.fptosi %x : f32 to i32
  %big = arith.constant 300 : i32
  %narrow = arith.trunci %big : i32 to i8
  %b = arith.constant -1 : i8
  %s = arith.sitofp %b : i8 to f32
  %u = arith.uitofp %b : i8 to f32
  %bits = arith.bitcast %x : f32 to i32
  %one = arith.constant 0x3F800000 : i32
  %float = arith.bitcast %one : i32 to f32
  %h = arith.constant 1.0 : bf16
  %half = arith.bitcast %h : bf16 to i16
  %i = arith.constant 4294967298 : index
  %cast = arith.index_cast %i : index to i32
  return %signed, %unsigned, %toward, %narrow, %s, %u, %bits, %float, %half, %cast
      : i32, i32, i32, i8, f32, f32, i32, f32, i16, i32
}
// CASTS: result 0: i32 = -1
// CASTS-NEXT: result 1: i32 = 1
// CASTS-NEXT: result 2: i32 = -2
// CASTS-NEXT: result 3: i8 = 44
// CASTS-NEXT: result 4: f32 = -1
// CASTS-NEXT: result 5: f32 = 255
// CASTS-NEXT: result 6: i32 = -1070596096
// CASTS-NEXT: result 7: f32 = 1
// CASTS-NEXT: result 8: i16 = 16256
// CASTS-NEXT: result 9: i32 = 2

func.func @compare() -> (i1, i1, i1, i1, f32, f32, f32, f32) {
  %nan = arith.constant 0x7FC00000 : f32
  %a = arith.constant 1.0 : f32
  %b = arith.constant -1 : i32
  %c = arith.constant 1 : i32
  %slt = arith.cmpi slt, %b, %c : i32
  %ult = arith.cmpi ult, %b, %c : i32
  %ordered = arith.cmpf olt, %nan, %a : f32
  %unordered = arith.cmpf ult, %nan, %a : f32
  %maximum = arith.maximumf %nan, %a : f32
  %maxnum = arith.maxnumf %nan, %a : f32
  %select = arith.select %ult, %nan, %a : f32
  %neg = arith.negf %a : f32
  return %slt, %ult, %ordered, %unordered, %maximum, %maxnum, %select, %neg
      : i1, i1, i1, i1, f32, f32, f32, f32
}
// COMPARE: result 0: i1 = 1
// COMPARE-NEXT: result 1: i1 = 0
// COMPARE-NEXT: result 2: i1 = 0
// COMPARE-NEXT: result 3: i1 = 1
// COMPARE-NEXT: result 4: f32 = nan
// COMPARE-NEXT: result 5: f32 = 1
// COMPARE-NEXT: result 6: f32 = 1
// COMPARE-NEXT: result 7: f32 = -1

// A sum that f32 and bf16 cannot hold; truncf and extf change nothing.
func.func @unrounded() -> (f32, f32) {
  %big = arith.constant 16777216.0 : f32
  %one = arith.constant 1.0 : f32
  %sum = arith.addf %big, %one : f32
  %rest = arith.subf %sum, %big : f32
  %x = arith.constant 1.00390625 : f32
  %half = arith.truncf %x : f32 to bf16
  %back = arith.extf %half : bf16 to f32
  return %rest, %back : f32, f32
}
// DOUBLE: result 0: f32 = 1
// DOUBLE-NEXT: result 1: f32 = 1.003906
// DECLARED: result 0: f32 = 0
// DECLARED-NEXT: result 1: f32 = 1

func.func @math() -> (f32, f32, f32, f32, i32, i1, f32, i32) {
  %x = arith.constant 2.0 : f32
  %e = math.exp %x : f32
  %t = math.tanh %x : f32
  %r = math.rsqrt %x : f32
  %f = math.fma %x, %x, %x : f32
  %c = arith.constant 40 : i32
  %z = math.ctlz %c : i32
  %n = math.isnan %x : f32
  %p = math.fpowi %x, %c : f32, i32
  %three = arith.constant 3 : i32
  %i = math.ipowi %c, %three : i32
  return %e, %t, %r, %f, %z, %n, %p, %i : f32, f32, f32, f32, i32, i1, f32, i32
}
// MATH: result 0: f32 = 7.389056
// MATH-NEXT: result 1: f32 = 0.9640276
// MATH-NEXT: result 2: f32 = 0.7071068
// MATH-NEXT: result 3: f32 = 6
// MATH-NEXT: result 4: i32 = 26
// MATH-NEXT: result 5: i1 = 0
// MATH-NEXT: result 6: f32 = 1.099512e+12
// MATH-NEXT: result 7: i32 = 64000

// The same operations work on tensors and vectors.
func.func @shaped() -> (tensor<2x2xf32>, tensor<4xi1>) {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<0.5> : tensor<2x2xf32>
  %sum = arith.addf %a, %b : tensor<2x2xf32>
  %i = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %j = arith.constant dense<3> : tensor<4xi32>
  %less = arith.cmpi slt, %i, %j : tensor<4xi32>
  return %sum, %less : tensor<2x2xf32>, tensor<4xi1>
}
// SHAPED: result 0: 2x2xf32 = [1.5, 2.5, 3.5, 4.5]
// SHAPED-NEXT: result 1: 4xi1 = [1, 1, 0, 0]
