// A mask that hides every key leaves zeros and -inf, also where the problem is
// one tile.
//
// RUN: fa-run %s --entry=never --target=interpret --chip=sm_80 --verify | FileCheck %s
// RUN: fa-run %s --entry=never --target=interpret --chip=sm_90a --verify | FileCheck %s
// RUN: fa-run %s --entry=one_tile --target=interpret --chip=sm_80 --verify | FileCheck %s
// RUN: fa-run %s --entry=gradients --target=interpret --chip=sm_80 --verify | FileCheck %s
// RUN: fa-run %s --entry=gradients --target=interpret --chip=sm_90a --verify | FileCheck %s
// CHECK: result 0: {{.*}}largest 0.00e+00{{.*}}: ok
// CHECK: verified all rows
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | FileCheck %s --check-prefix=TEXT
// TEXT-NOT: fagpu.product
// TEXT: fagpu.store %cst
// TEXT-NOT: fagpu.mma
//
// The constant of 16 bits is a pair in each register.
// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 | fa-opt -fagpu-to-llvm | FileCheck %s --check-prefix=LLVM
// LLVM: llvm.func @never_kernel

!q = tensor<1x70x2x64xbf16>
!k = tensor<1x90x2x64xbf16>
!l = tensor<1x2x70xf32>
func.func @never(%query: !q, %key: !k, %value: !k) -> (!q, !l) {
  %init = tensor.empty() : !q
  %lse_init = tensor.empty() : !l
  %output, %lse = fa.attention ins(%query, %key, %value : !q, !k, !k) outs(%init, %lse_init : !q, !l)
      mask(%b, %h, %i, %j) {
        %no = arith.constant false
        fa.yield %no : i1
      }
  return %output, %lse : !q, !l
}

!one = tensor<1x20x1x64xf16>
func.func @one_tile(%query: !one, %key: !one, %value: !one) -> !one {
  %init = tensor.empty() : !one
  %output = fa.attention ins(%query, %key, %value : !one, !one, !one) outs(%init : !one)
      mask(%b, %h, %i, %j) {
        %no = arith.constant false
        fa.yield %no : i1
      }
  return %output : !one
}

// Without a step the rows of a tile say how many warps it takes.
!f = tensor<1x70x1x24xf32>
!r = tensor<1x1x70xf32>
func.func @gradients(%query: !f, %key: !f, %value: !f, %output: !f, %lse: !r, %output_gradient: !f) -> !f {
  %init = tensor.empty() : !f
  %gradient = fa.attention_gradient ins(%query, %key, %value : !f, !f, !f) of(%output, %lse : !f, !r)
      gradients(%output_gradient : !f) outs(query = %init : !f)
      mask(%b, %h, %i, %j) {
        %no = arith.constant false
        fa.yield %no : i1
      } {config = #fa.config<query_block = 32, key_block = 32, gradient_form = two_pass>}
  return %gradient : !f
}
