// One head of 65,536 tokens; fa-select-config fills in the rest.
!t = tensor<1x65536x1x64xf32>
!row = tensor<1x1x65536xf32>

func.func @main(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !row, %do: !t) -> (!t, !t, !t) {
  %left = arith.constant 256 : index
  %right = arith.constant 0 : index
  %e = tensor.empty() : !t
  %g:3 = fa.attention_gradient ins(%q, %k, %v : !t, !t, !t) of(%o, %lse : !t, !row) gradients(%do : !t)
      outs(query = %e : !t, key = %e : !t, value = %e : !t) mask window(%left, %right)
      {config = #fa.config<query_block = 64, key_block = 64, gradient_form = FORM>}
  return %g#0, %g#1, %g#2 : !t, !t, !t
}
