// Loads from captures that are smaller than the problem, or at indices of the
// region's own, read 0 out of bounds and nothing behind the memory.

// RUN: fa-run %s --entry=static --verify | FileCheck %s
// RUN: fa-run %s --entry=dynamic --verify --input=1x96x4x64xf32 --input=1x50xi32 --input=2xf32 | FileCheck %s
// RUN: fa-run %s --entry=dynamic --verify --input=1x96x4x64xf32 --input=1x0xi32 --input=0xf32 | FileCheck %s
// RUN: fa-run %s --entry=shifted --verify --input=1x96x4x64xf32 --input=96xf32 | FileCheck %s

// CHECK: ok
// CHECK-NOT: FAILED

!t = tensor<1x96x4x64xf32>

func.func @static(%q: !t, %ids: tensor<1x50xi32>, %slopes: tensor<2xf32>) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) captures(%t = %slopes : tensor<2xf32>) {
        %slope = tensor.extract %t[%h] : tensor<2xf32>
        %x = arith.addf %s, %slope : f32
        fa.yield %x : f32
      }
      mask(%b, %h, %i, %j) captures(%t = %ids : tensor<1x50xi32>) {
        %x = tensor.extract %t[%b, %i] : tensor<1x50xi32>
        %y = tensor.extract %t[%b, %j] : tensor<1x50xi32>
        %same = arith.cmpi eq, %x, %y : i32
        fa.yield %same : i1
      }
  return %r : !t
}

func.func @dynamic(%q: !t, %ids: tensor<?x?xi32>, %slopes: tensor<?xf32>) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%e : !t)
      score alibi(%slopes : tensor<?xf32>) mask documents(%ids : tensor<?x?xi32>)
  return %r : !t
}

func.func @shifted(%q: !t, %table: tensor<?xf32>) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<?xf32>) {
        %distance = arith.subi %i, %j : index
        %x = tensor.extract %t[%distance] : tensor<?xf32>
        %y = arith.addf %s, %x : f32
        fa.yield %y : f32
      }
  return %r : !t
}
