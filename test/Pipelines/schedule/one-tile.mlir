// A problem of one tile needs no counter of tiles; no limit and unsigned captures
// mean the same on vectors of 32 bits.
//
// RUN: fa-run %s --entry=one_tile --target=interpret --chip=sm_90a --verify | FileCheck %s
// RUN: fa-run %s --entry=limits --target=interpret --chip=sm_80 --verify | FileCheck %s
// RUN: fa-run %s --entry=limits --target=interpret --chip=sm_90a --verify | FileCheck %s
// RUN: fa-run %s --entry=unsigned --target=interpret --chip=sm_80 --verify | FileCheck %s
// CHECK: ok
// CHECK: verified all rows
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=TEXT
// TEXT-LABEL: func.func @one_tile_kernel
// TEXT-NOT: fagpu.ticket
// TEXT: func.func @one_tile(

!one = tensor<1x64x1x64xbf16>
func.func @one_tile(%query: !one, %key: !one, %value: !one) -> !one {
  %init = tensor.empty() : !one
  %output = fa.attention ins(%query, %key, %value : !one, !one, !one) outs(%init : !one) mask causal
  return %output : !one
}

!t = tensor<1x70x2x64xf16>
func.func @limits(%query: !t, %key: !t, %value: !t) -> !t {
  %limit = arith.constant 9223372036854775807 : i64
  %init = tensor.empty() : !t
  %output = fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) captures(%w = %limit : i64) {
        %large = arith.constant 4294967296 : index
        %width = arith.index_cast %w : i64 to index
        %distance = arith.subi %i, %j : index
        %size = math.absi %distance : index
        %near = arith.cmpi sle, %size, %width : index
        %below = arith.cmpi slt, %i, %large : index
        %visible = arith.andi %near, %below : i1
        fa.yield %visible : i1
      }
  return %output : !t
}

func.func @unsigned(%query: !t, %key: !t, %value: !t) -> !t {
  %table = arith.constant dense<200> : tensor<70xi8>
  %init = tensor.empty() : !t
  %output = fa.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) captures(%bytes = %table : tensor<70xi8>) {
        %hundred = arith.constant 100 : index
        %byte = tensor.extract %bytes[%j] : tensor<70xi8>
        %number = arith.index_castui %byte : i8 to index
        %visible = arith.cmpi sgt, %number, %hundred : index
        fa.yield %visible : i1
      }
  return %output : !t
}
