// Gradients of what a sink captures are sums over packed sequences. One whose keys cannot be has
// results of NaN and adds nothing to them; rows past a length add nothing either. Without keys
// the sink is all that a row sees. Squares keep what is summed of one sign: rounding to bf16 is
// bounded by the sum's terms, and terms that cancel would leave less than that.

// RUN: split-file %s %t
// RUN: fa-opt %t/packed.mlir -fa-differentiate | fa-run - --entry=f_vjp --verify --target=cpu \
// RUN:   --input=40x4x16xf32 --input=40x2x16xf32 --input=40x2x16xf32 --input=4xf32 --input=1xf32 --input=40x4x16xf32=1.0 | FileCheck %s
// RUN: fa-opt %t/lengths.mlir -fa-differentiate | fa-run - --entry=f_vjp --verify --target=cpu \
// RUN:   --input=2x40x4x16xbf16 --input=2x50x2x16xbf16 --input=2x50x2x16xbf16 --input=4xf32 --input=1xf32 --input=2x40x4x16xbf16=1.0 | FileCheck %s
// RUN: fa-run %t/no_keys.mlir --verify --target=cpu | FileCheck %s --check-prefix=NOKEYS
// NOKEYS: result 0: 2x7x4x16xf32  relative error 0.00e+00{{.*}}: ok
// NOKEYS: result 1: 4xf32  relative error {{[1-9].*}}: ok
// CHECK: result 3: 4xf32  relative error {{[0-9].*}}: ok
// CHECK: result 4: 1xf32  relative error {{[0-9].*}}: ok
// CHECK: verified all rows

//--- packed.mlir
!q = tensor<40x4x16xf32>
!k = tensor<40x2x16xf32>
func.func @f(%q: !q, %k: !k, %v: !k, %sinks: tensor<4xf32>, %more: tensor<1xf32>) -> !q {
  %query_starts = arith.constant dense<[2, 13, 13, 35]> : tensor<4xi32>
  %key_starts = arith.constant dense<[0, 20, 20, 99]> : tensor<4xi32>
  %v_squares = arith.mulf %v, %v : !k
  %sinks_squares = arith.mulf %sinks, %sinks : tensor<4xf32>
  %e = arith.constant dense<0.0> : !q
  %o = fa.attention ins(%q, %k, %v_squares : !q, !k, !k) outs(%e : !q)
      query_starts(%query_starts : tensor<4xi32>) key_starts(%key_starts : tensor<4xi32>) mask causal
      sink(%b, %h, %i) captures(%t = %sinks_squares : tensor<4xf32>, %m = %more : tensor<1xf32>) {
        %x = tensor.extract %t[%h] : tensor<4xf32>
        %zero = arith.constant 0 : index
        %factor = tensor.extract %m[%zero] : tensor<1xf32>
        %y = arith.mulf %x, %factor : f32
        fa.yield %y : f32
      }
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return %o : !q
}

//--- lengths.mlir
!q = tensor<2x40x4x16xbf16>
!k = tensor<2x50x2x16xbf16>
func.func @f(%q: !q, %k: !k, %v: !k, %sinks: tensor<4xf32>, %more: tensor<1xf32>) -> !q {
  %query_lengths = arith.constant dense<[33, 7]> : tensor<2xi32>
  %key_lengths = arith.constant dense<[21, 0]> : tensor<2xi32>
  %v_squares = arith.mulf %v, %v : !k
  %sinks_squares = arith.mulf %sinks, %sinks : tensor<4xf32>
  %e = arith.constant dense<0.0> : !q
  %o = fa.attention ins(%q, %k, %v_squares : !q, !k, !k) outs(%e : !q)
      query_lengths(%query_lengths : tensor<2xi32>) key_lengths(%key_lengths : tensor<2xi32>)
      sink(%b, %h, %i) captures(%t = %sinks_squares : tensor<4xf32>, %m = %more : tensor<1xf32>) {
        %x = tensor.extract %t[%h] : tensor<4xf32>
        %zero = arith.constant 0 : index
        %factor = tensor.extract %m[%zero] : tensor<1xf32>
        %y = arith.mulf %x, %factor : f32
        fa.yield %y : f32
      }
  return %o : !q
}

//--- no_keys.mlir
!q = tensor<2x7x4x16xf32>
!k = tensor<2x0x2x16xf32>
!l = tensor<2x4x7xf32>
func.func @f(%q: !q, %k: !k, %v: !k, %o: !q, %do: !q, %dlse: !l, %sinks: tensor<4xf32>) -> (!q, tensor<4xf32>) {
  %lse = arith.constant dense<0.5> : !l
  %e = tensor.empty() : !q
  %s = tensor.empty() : tensor<4xf32>
  %r:2 = fa.attention_gradient ins(%q, %k, %v : !q, !k, !k) of(%o, %lse : !q, !l) gradients(%do, %dlse : !q, !l)
      outs(query = %e : !q, sink_capture[0] = %s : tensor<4xf32>)
      sink(%b, %h, %i) captures(%t = %sinks : tensor<4xf32>) {
        %x = tensor.extract %t[%h] : tensor<4xf32>
        fa.yield %x : f32
      } {deterministic}
  return %r#0, %r#1 : !q, tensor<4xf32>
}
