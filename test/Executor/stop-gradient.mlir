// Gradients of scores and sinks that stop some against regions derived by hand, in float64 and compiled.

// RUN: split-file %s %t
// DEFINE: %{against} = --against=%t/by-hand.mlir --seed=7
// RUN: fa-run %t/stopped.mlir --entry=score --target=reference %{against} | FileCheck %s
// RUN: fa-run %t/stopped.mlir --entry=score --target=cpu %{against} | FileCheck %s
// RUN: fa-run %t/stopped.mlir --entry=score --target=interpret %{against} | FileCheck %s
// RUN: fa-run %t/stopped.mlir --entry=score --target=cpu --verify --seed=7 | FileCheck %s
// RUN: fa-run %t/stopped.mlir --entry=score --target=interpret --verify --seed=7 | FileCheck %s
// CHECK: argument 7: 1x24x2x16xf32 {{.*}}: ok
// CHECK-NEXT: argument 8: 1x24x2x16xf32 {{.*}}: ok
// CHECK-NEXT: argument 9: 1x24x2x16xf32 {{.*}}: ok
// CHECK-NEXT: argument 10: 2xf32 {{.*}}: ok

// GPUs have no gradients of sinks.
// RUN: fa-run %t/stopped.mlir --entry=sink --target=reference %{against} | FileCheck %s --check-prefix=SINK
// RUN: fa-run %t/stopped.mlir --entry=sink --target=cpu %{against} | FileCheck %s --check-prefix=SINK
// SINK: argument 7: 2xf32 {{.*}}: ok

// Without the stops all gradients but that of the value are others.
// RUN: sed 's/fa.stop_gradient \(%%.*\) : f32/arith.addf \1, %%none : f32/' %t/stopped.mlir > %t/whole.mlir
// RUN: not fa-run %t/whole.mlir --entry=score --target=reference %{against} | FileCheck %s --check-prefix=WHOLE
// RUN: not fa-run %t/whole.mlir --entry=sink --target=reference %{against} | FileCheck %s --check-prefix=WHOLE-SINK
// WHOLE: argument 7: {{.*}}: FAILED
// WHOLE: argument 8: {{.*}}: FAILED
// WHOLE: argument 9: {{.*}}: ok
// WHOLE: argument 10: {{.*}}: FAILED
// WHOLE-SINK: argument 7: {{.*}}: FAILED

//--- stopped.mlir
!t = memref<1x24x2x16xf32>
!l = memref<1x2x24xf32>
!n = memref<2xf32>
func.func @score(%q: !t, %k: !t, %v: !t, %do: !t, %delta: !l, %lse: !l, %table: !n, %dq: !t, %dk: !t, %dv: !t, %dt: !n) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !l) delta(%delta : !l) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t, capture[0] = %dt : !n)
      score(%s, %b, %h, %i, %j) captures(%t = %table : !n) {
        %none = arith.constant 0.0 : f32
        %w = memref.load %t[%h] : !n
        %s0 = fa.stop_gradient %s : f32
        %w0 = fa.stop_gradient %w : f32
        // stop(s) * w + s * stop(w) * tanh(w): ds = stop(w) * tanh(w), dw = s + s * w * (1 - tanh(w)^2).
        %p = arith.mulf %s0, %w : f32
        %g = math.tanh %w : f32
        %r = arith.mulf %w0, %g : f32
        %z = arith.mulf %s, %r : f32
        %x = arith.addf %p, %z : f32
        fa.yield %x : f32
      }
  return
}
func.func @sink(%q: !t, %k: !t, %v: !t, %do: !t, %delta: !l, %lse: !l, %sinks: !n, %ds: !n) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !l) delta(%delta : !l) gradients(%do : !t)
      outs(sink_capture[0] = %ds : !n)
      sink(%b, %h, %i) captures(%t = %sinks : !n) {
        %none = arith.constant 0.0 : f32
        %w = memref.load %t[%h] : !n
        %w0 = fa.stop_gradient %w : f32
        %x = arith.mulf %w, %w0 : f32
        fa.yield %x : f32
      }
  return
}

//--- by-hand.mlir
!t = memref<1x24x2x16xf32>
!l = memref<1x2x24xf32>
!n = memref<2xf32>
func.func @score(%q: !t, %k: !t, %v: !t, %do: !t, %delta: !l, %lse: !l, %table: !n, %dq: !t, %dk: !t, %dv: !t, %dt: !n) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !l) delta(%delta : !l) gradients(%do : !t)
      outs(query = %dq : !t, key = %dk : !t, value = %dv : !t, capture[0] = %dt : !n)
      score(%s, %b, %h, %i, %j) captures(%t = %table : !n) {
        %w = memref.load %t[%h] : !n
        %p = arith.mulf %s, %w : f32
        %g = math.tanh %w : f32
        %r = arith.mulf %w, %g : f32
        %z = arith.mulf %s, %r : f32
        %x = arith.addf %p, %z : f32
        fa.yield %x : f32
      }
      score_gradient(%dx, %s, %b, %h, %i, %j, %t) {
        %one = arith.constant 1.0 : f32
        %w = memref.load %t[%h] : !n
        %g = math.tanh %w : f32
        %r = arith.mulf %w, %g : f32
        %d = arith.mulf %dx, %r : f32
        %gg = arith.mulf %g, %g : f32
        %slope = arith.subf %one, %gg : f32
        %ws = arith.mulf %w, %slope : f32
        %all = arith.addf %one, %ws : f32
        %sall = arith.mulf %s, %all : f32
        %dw = arith.mulf %dx, %sall : f32
        fa.scatter_gradient %dw to %t[%h] : f32, !n
        fa.yield %d : f32
      }
  return
}
func.func @sink(%q: !t, %k: !t, %v: !t, %do: !t, %delta: !l, %lse: !l, %sinks: !n, %ds: !n) {
  fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%lse : !l) delta(%delta : !l) gradients(%do : !t)
      outs(sink_capture[0] = %ds : !n)
      sink(%b, %h, %i) captures(%t = %sinks : !n) {
        %w = memref.load %t[%h] : !n
        %x = arith.mulf %w, %w : f32
        fa.yield %x : f32
      }
      sink_gradient(%dx, %b, %h, %i, %t) {
        %w = memref.load %t[%h] : !n
        %dw = arith.mulf %dx, %w : f32
        fa.scatter_gradient %dw to %t[%h] : f32, !n
        fa.yield
      }
  return
}
