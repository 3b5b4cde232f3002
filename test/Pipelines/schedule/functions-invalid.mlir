// What a device cannot compute is refused at its place in the text, whether the
// schedule is compiled or interpreted.

// RUN: not fa-run %s --entry=wide --target=interpret 2>&1 | FileCheck %s --check-prefix=WIDE --implicit-check-not=error:
// RUN: not fa-compile %s -entry=wide -o %t 2>&1 | FileCheck %s --check-prefix=WIDE --implicit-check-not=error:
// RUN: not ls %t
// RUN: fa-run %s --entry=wide --target=cpu --verify
// WIDE: functions-invalid.mlir:[[# @LINE + 9]]:14: error: 'math.exp' op on 'f64' has no instructions on the device; expected f32, f16 or bf16

!t = tensor<1x70x2x64xf16>

func.func @wide(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %x = arith.extf %s : f32 to f64
        %y = math.exp %x : f64
        %z = arith.truncf %y : f64 to f32
        fa.yield %z : f32
      }
  return %r : !t
}

// RUN: not fa-compile %s -entry=pair -o %t 2>&1 | FileCheck %s --check-prefix=PAIR --implicit-check-not=error:
// RUN: fa-run %s --entry=pair --target=cpu --verify
// PAIR: functions-invalid.mlir:[[# @LINE + 7]]:26: error: 'math.sincos' op on 'f64' has no instructions on the device; expected f32, f16 or bf16

func.func @pair(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %x = arith.extf %s : f32 to f64
        %sine, %cosine = math.sincos %x : f64
        %w = arith.addf %sine, %cosine : f64
        %y = arith.truncf %w : f64 to f32
        fa.yield %y : f32
      }
  return %r : !t
}

func.func @other(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
  return %r : !t
}

// RUN: not fa-compile %s -o %t 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: has several public functions with attention, expected the name of one of wide, pair, other
// ENTRY: fa-compile: note: -entry=NAME chooses a function
