// Documents are numbers beyond 32 bits that are equal in their lower halves.
!t = tensor<?x?x?x64xbf16>
func.func @wide(%q: !t, %k: !t, %v: !t, %o: !t, %bias: tensor<?x?xf64>, %near: index) -> !t {
  %ids = arith.constant dense<[0, 4294967296, 8589934592, 12884901888]> : tensor<4xi64>
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) captures(%x = %bias : tensor<?x?xf64>) {
        %y = tensor.extract %x[%i, %j] : tensor<?x?xf64>
        %wide = arith.extf %s : f32 to f64
        %sum = arith.addf %wide, %y : f64
        %z = arith.truncf %sum : f64 to f32
        fa.yield %z : f32
      }
      mask(%b, %h, %i, %j) captures(%x = %ids : tensor<4xi64>, %n = %near : index) {
        %c6 = arith.constant 6 : index
        %document = arith.shrui %i, %c6 : index
        %keyDocument = arith.shrui %j, %c6 : index
        %left = tensor.extract %x[%document] : tensor<4xi64>
        %right = tensor.extract %x[%keyDocument] : tensor<4xi64>
        %same = arith.cmpi eq, %left, %right : i64
        %distance = arith.subi %i, %j : index
        %close = arith.cmpi sle, %distance, %n : index
        %visible = arith.andi %same, %close : i1
        fa.yield %visible : i1
      }
  return %r : !t
}
