// Few queries and parts of the keys: of a fixed size, by number with a window and a sink, and of a head dim
// that no block of columns divides.
!q = tensor<2x1x8x64xbf16>
!k = tensor<2x?x2x64xbf16>
func.func @sizes(%q: !q, %k: !k, %v: !k) -> (!q, tensor<2x8x1xf32>) {
  %o = tensor.empty() : !q
  %l = tensor.empty() : tensor<2x8x1xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o, %l : !q, tensor<2x8x1xf32>) mask causal
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 128>}
  return %r#0, %r#1 : !q, tensor<2x8x1xf32>
}

!qt = tensor<?x?x4x128xf16>
func.func @counts(%q: !qt, %k: !qt, %v: !qt, %sinks: tensor<4xf32>) -> !qt {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %left = arith.constant 100 : index
  %b = tensor.dim %q, %c0 : !qt
  %n = tensor.dim %q, %c1 : !qt
  %o = tensor.empty(%b, %n) : !qt
  %r = fa.attention ins(%q, %k, %v : !qt, !qt, !qt) outs(%o : !qt) mask window(%left, %c0)
      sink(%i, %h, %j) captures(%t = %sinks : tensor<4xf32>) {
        %x = tensor.extract %t[%h] : tensor<4xf32>
        fa.yield %x : f32
      }
      {config = #fa.config<query_block = 64, key_block = 64, key_splits = 3>}
  return %r : !qt
}

!qw = tensor<2x1x6x72xf16>
!kw = tensor<2x?x2x72xf16>
func.func @whole(%q: !qw, %k: !kw, %v: !kw) -> (!qw, tensor<2x6x1xf32>) {
  %o = tensor.empty() : !qw
  %l = tensor.empty() : tensor<2x6x1xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !qw, !kw, !kw) outs(%o, %l : !qw, tensor<2x6x1xf32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 64>}
  return %r#0, %r#1 : !qw, tensor<2x6x1xf32>
}

// As many parts as a device has multiprocessors: three in the interpreter.
!q1 = tensor<1x1x4x64xbf16>
!k1 = tensor<1x?x1x64xbf16>
func.func @parts(%q: !q1, %k: !k1, %v: !k1, %lengths: tensor<1xi32>) -> (!q1, tensor<1x4x1xf32>) {
  %o = tensor.empty() : !q1
  %l = tensor.empty() : tensor<1x4x1xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !q1, !k1, !k1) outs(%o, %l : !q1, tensor<1x4x1xf32>)
      key_lengths(%lengths : tensor<1xi32>)
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 128>}
  return %r#0, %r#1 : !q1, tensor<1x4x1xf32>
}

// Sequences of lengths of their own, in shares on sm_90a: three in the interpreter.
!qr = tensor<?x1x4x64xbf16>
!kr = tensor<?x?x1x64xbf16>
func.func @ragged(%q: !qr, %k: !kr, %v: !kr, %lengths: tensor<?xi32>) -> (!qr, tensor<?x4x1xf32>) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %q, %c0 : !qr
  %o = tensor.empty(%b) : !qr
  %l = tensor.empty(%b) : tensor<?x4x1xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !qr, !kr, !kr) outs(%o, %l : !qr, tensor<?x4x1xf32>)
      key_lengths(%lengths : tensor<?xi32>) mask causal
      {config = #fa.config<query_block = 64, key_block = 64, split_keys = 64>}
  return %r#0, %r#1 : !qr, tensor<?x4x1xf32>
}

// Rows of several tokens and two groups of warps, which are read and written where they lie.
!qm = tensor<?x16x8x64xbf16>
func.func @rows(%q: !qm, %k: !kr, %v: !kr, %lengths: tensor<?xi32>) -> (!qm, tensor<?x8x16xf32>) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %q, %c0 : !qm
  %o = tensor.empty(%b) : !qm
  %l = tensor.empty(%b) : tensor<?x8x16xf32>
  %r:2 = fa.attention ins(%q, %k, %v : !qm, !kr, !kr) outs(%o, %l : !qm, tensor<?x8x16xf32>)
      key_lengths(%lengths : tensor<?xi32>) mask causal
  return %r#0, %r#1 : !qm, tensor<?x8x16xf32>
}
