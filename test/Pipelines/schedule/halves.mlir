// Arithmetic of regions on f16 and bf16 goes by way of f32, with results that are
// rounded or not.

// RUN: fa-run %s --entry=halves --precision=declared --target=interpret --chip=sm_80 --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=halves --precision=declared --target=interpret --chip=sm_90a --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=halves --precision=declared --target=cpu --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=choice --precision=declared --target=interpret --chip=sm_80 --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --entry=choice --precision=declared --target=cpu --verify --seed=1 | FileCheck %s
// CHECK: ok
// CHECK: verified all rows

// RUN: env FA_PTXAS=none fa-compile %s -entry=halves -chip=sm_80 -o %t
// RUN: ls %t/halves.ptx

// The interpreter refuses what the lowering does.
// RUN: not fa-run %s --entry=bits --target=interpret 2>&1 | FileCheck %s --check-prefix=BITS --implicit-check-not=error:
// RUN: not fa-compile %s -entry=bits -o %t/none 2>&1 | FileCheck %s --check-prefix=BITS --implicit-check-not=error:
// RUN: not ls %t/none
// BITS: error: 'arith.bitcast' op computes on 'tensor<128x{{.*}}f16, {{.*}}>', expected 32-bit elements: arith.extf before it, and arith.truncf after it

!t = tensor<1x70x2x64xf16>

func.func @halves(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %n = arith.index_cast %j : index to i32
        %x = arith.sitofp %n : i32 to f16
        %y = arith.sitofp %n : i32 to bf16
        %part = arith.constant 0.0625 : f16
        %eighth = arith.constant 0.125 : bf16
        %a = arith.mulf %x, %part : f16
        %c = math.sin %a : f16
        %d = arith.mulf %y, %eighth : bf16
        %f = math.floor %d : bf16
        %first = arith.extf %c : f16 to f32
        %second = arith.extf %f : bf16 to f32
        %sum = arith.addf %first, %second : f32
        %z = arith.addf %s, %sum : f32
        fa.yield %z : f32
      }
  return %r : !t
}

func.func @choice(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %x = arith.truncf %s : f32 to f16
        %zero = arith.constant 0.0 : f16
        %c1 = arith.constant 1 : index
        %isBefore = arith.cmpi slt, %j, %i : index
        %isSecond = arith.cmpi eq, %h, %c1 : index
        %y = arith.select %isBefore, %x, %zero : f16
        %z = arith.select %isSecond, %x, %y : f16
        %w = arith.extf %z : f16 to f32
        fa.yield %w : f32
      }
  return %r : !t
}

func.func @bits(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        %x = arith.truncf %s : f32 to f16
        %y = arith.bitcast %x : f16 to i16
        %z = arith.sitofp %y : i16 to f32
        fa.yield %z : f32
      }
  return %r : !t
}
