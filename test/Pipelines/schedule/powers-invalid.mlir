// A power of i1 is refused at its place in the text.

// RUN: not fa-compile %s -o %t 2>&1 | FileCheck %s --check-prefix=BIT --implicit-check-not=error:
// BIT: powers-invalid.mlir:[[# @LINE + 9]]:14: error: 'math.ipowi' op on 'i1' has no instructions on the device; expected i8, i16, i32 or i64

!t = tensor<1x70x2x64xf16>

func.func @bit(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      mask(%b, %h, %i, %j) {
        %x = arith.cmpi sle, %j, %i : index
        %y = math.ipowi %x, %x : i1
        fa.yield %y : i1
      }
  return %r : !t
}
