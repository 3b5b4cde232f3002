// Operations of math with several operands, with integers or with i1 in a score
// region. Functions of one number: functions.test.

// RUN: fa-run %s --verify --entry=clampf | FileCheck %s
// RUN: fa-run %s --verify --entry=classes | FileCheck %s
// RUN: fa-run %s --verify --entry=ipowi | FileCheck %s
// RUN: fa-run %s --verify --entry=ipowi_of_any_sign | FileCheck %s
// RUN: fa-run %s --verify --entry=ipowi_of_loaded --input=1x64x2x64xf32 --input=1x64x2x64xf32 --input=1x64x2x64xf32 --input=2xi32=[2,-1] | FileCheck %s
// RUN: fa-run %s --verify --entry=fpowi | FileCheck %s
// RUN: fa-run %s --verify --entry=fpowi_of_any_sign | FileCheck %s
// RUN: fa-run %s --verify --entry=sincos | FileCheck %s
// RUN: fa-run %s --verify --entry=atan2 | FileCheck %s
// RUN: fa-run %s --verify --entry=bits | FileCheck %s
// RUN: fa-run %s --verify --entry=bf16 --precision=declared | FileCheck %s

// CHECK: ok
// CHECK: verified all rows

!t = tensor<1x70x2x64xf32>

func.func @clampf(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %low = arith.constant -0.5 : f32
        %high = arith.constant 0.75 : f32
        %y = math.clampf %s to [%low, %high] : f32
        fa.yield %y : f32
      }
  return %r : !t
}

// A different number for each class, of numbers that the keys give.
func.func @classes(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %two = arith.constant 2.0 : f32
        %four = arith.constant 4.0 : f32
        %least = arith.constant 1.0e-40 : f32
        %five = arith.constant 5 : index
        %class = arith.remui %j, %five : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %infinite = arith.divf %one, %zero : f32
        %nan = arith.divf %zero, %zero : f32
        %is_1 = arith.cmpi eq, %class, %c1 : index
        %is_2 = arith.cmpi eq, %class, %c2 : index
        %is_3 = arith.cmpi eq, %class, %c3 : index
        %x1 = arith.select %is_1, %infinite, %s : f32
        %x2 = arith.select %is_2, %nan, %x1 : f32
        %x = arith.select %is_3, %least, %x2 : f32
        %is_nan = math.isnan %x : f32
        %is_inf = math.isinf %x : f32
        %is_finite = math.isfinite %x : f32
        %is_normal = math.isnormal %x : f32
        %y1 = arith.select %is_nan, %one, %zero : f32
        %y2 = arith.select %is_inf, %two, %y1 : f32
        %y3 = arith.select %is_finite, %four, %y2 : f32
        %y = arith.select %is_normal, %x, %y3 : f32
        fa.yield %y : f32
      }
  return %r : !t
}

func.func @ipowi(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %cube = arith.constant 3 : i32
        %factor = arith.constant 1.0e-5 : f32
        %n = arith.index_cast %j : index to i32
        %power = math.ipowi %n, %cube : i32
        %x = arith.sitofp %power : i32 to f32
        %y = arith.mulf %x, %factor : f32
        %z = arith.addf %s, %y : f32
        fa.yield %z : f32
      }
  return %r : !t
}

// Bases and exponents from -3 to 3.
func.func @ipowi_of_any_sign(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %seven = arith.constant 7 : index
        %three = arith.constant 3 : index
        %factor = arith.constant 0.0625 : f32
        %n = arith.remui %j, %seven : index
        %m = arith.remui %i, %seven : index
        %base = arith.subi %n, %three : index
        %exponent = arith.subi %m, %three : index
        %a = arith.index_cast %base : index to i32
        %c = arith.index_cast %exponent : index to i32
        %power = math.ipowi %a, %c : i32
        %x = arith.sitofp %power : i32 to f32
        %y = arith.mulf %x, %factor : f32
        %z = arith.addf %s, %y : f32
        fa.yield %z : f32
      }
  return %r : !t
}

// The compiler follows 31 squarings.
!u = tensor<1x64x2x64xf32>
func.func @ipowi_of_loaded(%q: !u, %k: !u, %v: !u, %exponents: tensor<2xi32>) -> !u {
  %e = tensor.empty() : !u
  %r = fa.attention ins(%q, %k, %v : !u, !u, !u) outs(%e : !u)
      score(%s, %b, %h, %i, %j) captures(%table = %exponents : tensor<2xi32>) {
        %exponent = tensor.extract %table[%h] : tensor<2xi32>
        %three = arith.constant 3 : i32
        %power = math.ipowi %three, %exponent : i32
        %x = arith.sitofp %power : i32 to f32
        %y = arith.addf %s, %x : f32
        fa.yield %y : f32
      }
  return %r : !u
}

func.func @fpowi(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %cube = arith.constant 3 : i32
        %x = math.tanh %s : f32
        %y = math.fpowi %x, %cube : f32, i32
        fa.yield %y : f32
      }
  return %r : !t
}

// Exponents from -3 to 3 of numbers from -1.5 to -0.5.
func.func @fpowi_of_any_sign(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %seven = arith.constant 7 : index
        %three = arith.constant 3 : index
        %half = arith.constant 0.5 : f32
        %one = arith.constant 1.0 : f32
        %n = arith.remui %j, %seven : index
        %m = arith.subi %n, %three : index
        %exponent = arith.index_cast %m : index to i32
        %bounded = math.tanh %s : f32
        %halved = arith.mulf %bounded, %half : f32
        %x = arith.subf %halved, %one : f32
        %y = math.fpowi %x, %exponent : f32, i32
        fa.yield %y : f32
      }
  return %r : !t
}

func.func @sincos(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %sine, %cosine = math.sincos %s : f32
        %two = arith.constant 2.0 : f32
        %twice = arith.mulf %cosine, %two : f32
        %y = arith.addf %sine, %twice : f32
        fa.yield %y : f32
      }
  return %r : !t
}

func.func @atan2(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.0 : f32
        %x = arith.subf %two, %s : f32
        %y = math.atan2 %s, %x : f32
        fa.yield %y : f32
      }
  return %r : !t
}

func.func @bits(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %n = arith.index_cast %j : index to i32
        %thirty = arith.constant 30 : i32
        %m = arith.subi %n, %thirty : i32
        %a = math.absi %m : i32
        %leading = math.ctlz %a : i32
        %trailing = math.cttz %a : i32
        %ones = math.ctpop %a : i32
        %sum = arith.addi %leading, %trailing : i32
        %all = arith.addi %sum, %ones : i32
        %x = arith.sitofp %all : i32 to f32
        %factor = arith.constant 0.0625 : f32
        %y = arith.mulf %x, %factor : f32
        %z = arith.addf %s, %y : f32
        fa.yield %z : f32
      }
  return %r : !t
}

// Processors convert bf16 and compute nothing in it.
func.func @bf16(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        // Numbers with few bits, so that their rounding is no question.
        %n = arith.index_cast %j : index to i32
        %x = arith.sitofp %n : i32 to bf16
        %eighth = arith.constant 0.125 : bf16
        %one = arith.constant 1.0 : bf16
        %product = arith.mulf %x, %eighth : bf16
        %sum = math.fma %x, %eighth, %one : bf16
        %root = math.floor %sum : bf16
        %larger = arith.maximumf %root, %product : bf16
        %y = arith.extf %larger : bf16 to f32
        %z = arith.subf %s, %y : f32
        fa.yield %z : f32
      }
  return %r : !t
}
