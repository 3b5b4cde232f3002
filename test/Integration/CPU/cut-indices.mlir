// Casts of indices to fewer bits in a score function cut them, as the evaluator
// does.

// RUN: fa-run %s --target=cpu --verify --input=1x300x2x64xbf16 --input=1x300x2x64xbf16 --input=1x300x2x64xbf16 --input=index=-700 | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --input=1x300x2x64xbf16 --input=1x300x2x64xbf16 --input=1x300x2x64xbf16 --input=index=-700 | FileCheck %s
// CHECK: verified all rows

!t = tensor<1x300x2x64xbf16>
func.func @cut_indices(%q: !t, %k: !t, %v: !t, %n: index) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) captures(%c = %n : index) {
        %byte = arith.index_cast %j : index to i8
        %key = arith.index_cast %byte : i8 to index
        %capture_byte = arith.index_castui %c : index to i8
        %capture = arith.index_castui %capture_byte : i8 to index
        %behind = arith.subi %i, %j : index
        %short = arith.index_castui %behind : index to i16
        %distance = arith.index_castui %short : i16 to index
        %both = arith.addi %key, %capture : index
        %sum = arith.addi %both, %distance : index
        %long = arith.index_cast %sum : index to i64
        %real = arith.sitofp %long : i64 to f32
        %share = arith.constant 1.0e-3 : f32
        %part = arith.mulf %real, %share : f32
        %y = arith.addf %s, %part : f32
        fa.yield %y : f32
      }
  return %r : !t
}
