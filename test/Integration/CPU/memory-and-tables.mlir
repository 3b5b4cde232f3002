// Attention on memory whose region reads a table that is a constant tensor.

// RUN: fa-run %s --target=cpu --verify | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_80 --verify | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify | FileCheck %s
// CHECK: verified all rows

// RUN: fa-opt %s -fa-results-to-out-parameters | FileCheck %s --check-prefix=TABLE
// TABLE: memref.global "private" constant @[[NAME:.*]] : memref<70xi32> = dense<3>
// TABLE: %[[TABLE:.*]] = memref.get_global @[[NAME]] : memref<70xi32>
// TABLE: captures(%{{.*}} = %[[TABLE]] : memref<70xi32>)

!q = memref<1x70x1x64xbf16>

func.func @attention(%q: !q, %k: !q, %v: !q, %o: !q) {
  %s = arith.constant dense<3> : tensor<70xi32>
  fa.attention ins(%q, %k, %v : !q, !q, !q) outs(%o : !q)
      mask(%b, %h, %i, %j) captures(%x = %s : tensor<70xi32>) {
        %c = tensor.extract %x[%j] : tensor<70xi32>
        %y = arith.index_cast %c : i32 to index
        %r = arith.remsi %j, %y : index
        %z = arith.constant 1 : index
        %visible = arith.cmpi sle, %r, %z : index
        fa.yield %visible : i1
      }
  return
}
