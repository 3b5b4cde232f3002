// One tensor as query, key, value and destination, whose rows past a query
// length are kept.
// RUN: fa-run %s --verify --input=2x70x4x64xf32 --input=2xi32=[70,33] | FileCheck %s
// RUN: fa-run %s --verify --input=2x70x4x64xf32 --input=2xi32=[0,70] | FileCheck %s

// CHECK: ok
// CHECK: verified all rows

!t = tensor<?x?x4x64xf32>

func.func @self(%x: !t, %lengths: tensor<?xi32>) -> !t {
  %r = fa.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t)
      query_lengths(%lengths : tensor<?xi32>) mask causal
  return %r : !t
}
