// The logarithm of a softmax's sums becomes the attention's second result,
// whatever shape it has and wherever it is read. Near misses stay.

// RUN: fa-opt %s --fa-raise-attention --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --fa-raise-attention --split-input-file -o %t.once
// RUN: fa-opt %t.once --fa-raise-attention --split-input-file --verify-diagnostics=only-expected | diff %t.once -

// Read before the result, with batch and heads in one dim and queries in front.

// CHECK-LABEL: func.func @read_before
// CHECK:         %[[A:.*]]:2 = fa.attention {{.*}} outs(%{{.*}}, %{{.*}} : tensor<1x6x16x32xf32>, tensor<1x6x16xf32>)
// CHECK:         %[[O:.*]] = tensor.collapse_shape %[[A]]#0
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[A]]#1 : tensor<1x6x16xf32>) {{.*}} permutation = [0, 2, 1]
// CHECK:         %[[X:.*]] = tensor.expand_shape %[[T]]
// CHECK:         %[[L:.*]] = tensor.collapse_shape %[[X]] {{.*}} into tensor<16x6xf32>
// CHECK-NOT:     math
// CHECK:         %[[TWICE:.*]] = arith.addf %[[L]], %[[L]]
// CHECK:         return %[[O]], %[[TWICE]]
#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#moved = affine_map<(i, b) -> (b, i)>
#rows = affine_map<(i, b) -> (i, b)>
func.func @read_before(%q: tensor<6x16x32xf32>, %k: tensor<6x24x32xf32>, %v: tensor<6x24x32xf32>) -> (tensor<6x16x32xf32>, tensor<16x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x16x24xf32>
  %er = tensor.empty() : tensor<6x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<6x16x32xf32>, tensor<6x24x32xf32>) outs(%i : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %m = linalg.reduce ins(%s : tensor<6x16x24xf32>) outs(%mi : tensor<6x16xf32>) dimensions = [2]
    (%a: f32, %out: f32) {
      %r = arith.maximumf %a, %out : f32
      linalg.yield %r : f32
    }
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<6x16x24xf32>) outs(%ti : tensor<6x16xf32>) dimensions = [2]
  %el = tensor.empty() : tensor<16x6xf32>
  %l = linalg.generic {indexing_maps = [#moved, #moved, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%t, %m : tensor<6x16xf32>, tensor<6x16xf32>) outs(%el : tensor<16x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %log = math.log %a : f32
    %r = arith.addf %log, %b : f32
    linalg.yield %r : f32
  } -> tensor<16x6xf32>
  %twice = arith.addf %l, %l : tensor<16x6xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %oe = tensor.empty() : tensor<6x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<6x16x24xf32>, tensor<6x24x32xf32>) outs(%oi : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  return %o, %twice : tensor<6x16x32xf32>, tensor<16x6xf32>
}

// -----

// Without the maximum it is another number.

#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
// CHECK-LABEL: func.func @without_maximum
// CHECK-NOT:     fa.attention
func.func @without_maximum(%q: tensor<6x16x32xf32>, %k: tensor<6x24x32xf32>, %v: tensor<6x24x32xf32>) -> (tensor<6x16x32xf32>, tensor<6x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x16x24xf32>
  %er = tensor.empty() : tensor<6x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<6x16x32xf32>, tensor<6x24x32xf32>) outs(%i : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %m = linalg.reduce ins(%s : tensor<6x16x24xf32>) outs(%mi : tensor<6x16xf32>) dimensions = [2]
    (%a: f32, %out: f32) {
      %r = arith.maximumf %a, %out : f32
      linalg.yield %r : f32
    }
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<6x16x24xf32>) outs(%ti : tensor<6x16xf32>) dimensions = [2]
  %l = math.log %t : tensor<6x16xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %oe = tensor.empty() : tensor<6x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<6x16x24xf32>, tensor<6x24x32xf32>) outs(%oi : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  // expected-remark @+1 {{no 'fa.attention' is made of this: scores or their softmax are used here, too}}
  return %o, %l : tensor<6x16x32xf32>, tensor<6x16xf32>
}

// -----

// Of base 2, as is the exponential; rounded to bf16 where it is made.

#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#same = affine_map<(b, i) -> (b, i)>
// CHECK-LABEL: func.func @base2
// CHECK:         %[[A:.*]]:2 = fa.attention {{.*}} outs(%{{.*}}, %{{.*}} : tensor<1x6x16x32xf32>, tensor<1x6x16xf32>)
// CHECK:         %[[L:.*]] = linalg.generic {{.*}} ins(%[[A]]#1 : tensor<1x6x16xf32>) outs(%{{.*}} : tensor<1x6x16xbf16>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %{{.*}}: bf16):
// CHECK-NEXT:      %[[WIDE:.*]] = arith.constant 1.4426950408889634 : f64
// CHECK-NEXT:      %[[FACTOR:.*]] = arith.truncf %[[WIDE]] : f64 to f32
// CHECK-NEXT:      %[[BASE2:.*]] = arith.mulf %[[IN]], %[[FACTOR]] : f32
// CHECK-NEXT:      %[[R:.*]] = arith.truncf %[[BASE2]] : f32 to bf16
// CHECK-NEXT:      linalg.yield %[[R]]
// CHECK:         %[[X:.*]] = tensor.expand_shape %[[L]]
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[X]]
// CHECK:         return %{{.*}}, %[[C]]
func.func @base2(%q: tensor<6x16x32xf32>, %k: tensor<6x24x32xf32>, %v: tensor<6x24x32xf32>) -> (tensor<6x16x32xf32>, tensor<6x16xbf16>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x16x24xf32>
  %er = tensor.empty() : tensor<6x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<6x16x32xf32>, tensor<6x24x32xf32>) outs(%i : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<6x16x24xf32>) outs(%mi : tensor<6x16xf32>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp2 %d : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<6x16x24xf32>) outs(%ti : tensor<6x16xf32>) dimensions = [2]
  %el = tensor.empty() : tensor<6x16xbf16>
  %l = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%t, %m : tensor<6x16xf32>, tensor<6x16xf32>) outs(%el : tensor<6x16xbf16>) {
  ^bb0(%a: f32, %b: f32, %out: bf16):
    %log = math.log2 %a : f32
    %sum = arith.addf %b, %log : f32
    %r = arith.truncf %sum : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<6x16xbf16>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %oe = tensor.empty() : tensor<6x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<6x16x24xf32>, tensor<6x24x32xf32>) outs(%oi : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  return %o, %l : tensor<6x16x32xf32>, tensor<6x16xbf16>
}

// -----

// The natural logarithm of a sum of powers of 2: ln(2) in f32 is another number.

#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#same = affine_map<(b, i) -> (b, i)>
// CHECK-LABEL: func.func @natural_of_base2
// CHECK-NOT:     fa.attention
func.func @natural_of_base2(%q: tensor<6x16x32xf32>, %k: tensor<6x24x32xf32>, %v: tensor<6x24x32xf32>) -> (tensor<6x16x32xf32>, tensor<6x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x16x24xf32>
  %er = tensor.empty() : tensor<6x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<6x16x32xf32>, tensor<6x24x32xf32>) outs(%i : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<6x16x24xf32>) outs(%mi : tensor<6x16xf32>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp2 %d : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<6x16x24xf32>) outs(%ti : tensor<6x16xf32>) dimensions = [2]
  %l = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%t, %m : tensor<6x16xf32>, tensor<6x16xf32>) outs(%er : tensor<6x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %ln2 = arith.constant 0.693147182 : f32
    %log = math.log %a : f32
    %shift = arith.mulf %b, %ln2 : f32
    // expected-remark @+1 {{no 'fa.attention' is made of this: the maximum's factor in this logarithm of sums is 0.69314718246459961, expected 0.69314718055994529}}
    %r = arith.addf %log, %shift : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %oe = tensor.empty() : tensor<6x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<6x16x24xf32>, tensor<6x24x32xf32>) outs(%oi : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  return %o, %l : tensor<6x16x32xf32>, tensor<6x16xf32>
}

// -----

// The same in base 2, then times ln(2) in f32: one factor for both.

#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#same = affine_map<(b, i) -> (b, i)>
// CHECK-LABEL: func.func @base2_times_ln2
// CHECK:         %[[A:.*]]:2 = fa.attention
// CHECK:         arith.constant 1.00000000274{{[0-9]*}} : f64
// CHECK-NOT:     math.log
// CHECK:         return
func.func @base2_times_ln2(%q: tensor<6x16x32xf32>, %k: tensor<6x24x32xf32>, %v: tensor<6x24x32xf32>) -> (tensor<6x16x32xf32>, tensor<6x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x16x24xf32>
  %er = tensor.empty() : tensor<6x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<6x16x32xf32>, tensor<6x24x32xf32>) outs(%i : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<6x16x24xf32>) outs(%mi : tensor<6x16xf32>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp2 %d : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<6x16x24xf32>) outs(%ti : tensor<6x16xf32>) dimensions = [2]
  %l = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%t, %m : tensor<6x16xf32>, tensor<6x16xf32>) outs(%er : tensor<6x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %ln2 = arith.constant 0.693147182 : f32
    %log = math.log2 %a : f32
    %sum = arith.addf %log, %b : f32
    %r = arith.mulf %sum, %ln2 : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %oe = tensor.empty() : tensor<6x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<6x16x24xf32>, tensor<6x24x32xf32>) outs(%oi : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  return %o, %l : tensor<6x16x32xf32>, tensor<6x16xf32>
}

// -----

// The maximum is of another base than the logarithm.

#id = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#same = affine_map<(b, i) -> (b, i)>
// CHECK-LABEL: func.func @another_base
// CHECK-NOT:     fa.attention
func.func @another_base(%q: tensor<6x16x32xf32>, %k: tensor<6x24x32xf32>, %v: tensor<6x24x32xf32>) -> (tensor<6x16x32xf32>, tensor<6x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x16x24xf32>
  %er = tensor.empty() : tensor<6x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %s = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<6x16x32xf32>, tensor<6x24x32xf32>) outs(%i : tensor<6x16x24xf32>) -> tensor<6x16x24xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<6x16x24xf32>) outs(%mi : tensor<6x16xf32>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp2 %d : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<6x16xf32>) -> tensor<6x16xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<6x16x24xf32>) outs(%ti : tensor<6x16xf32>) dimensions = [2]
  %l = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%t, %m : tensor<6x16xf32>, tensor<6x16xf32>) outs(%er : tensor<6x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %log = math.log %a : f32
    // expected-remark @+1 {{no 'fa.attention' is made of this: the maximum's factor in this logarithm of sums is 1, expected 0.69314718055994529}}
    %r = arith.addf %log, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %t : tensor<6x16x24xf32>, tensor<6x16xf32>) outs(%e : tensor<6x16x24xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x16x24xf32>
  %oe = tensor.empty() : tensor<6x16x32xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %o = linalg.batch_matmul ins(%n, %v : tensor<6x16x24xf32>, tensor<6x24x32xf32>) outs(%oi : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  return %o, %l : tensor<6x16x32xf32>, tensor<6x16xf32>
}

// -----

// One query without batch or heads: no index of the logarithm's tensor varies.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#same = affine_map<(i) -> (i)>
#q = affine_map<(i, j, d) -> (i, d)>
#k = affine_map<(i, j, d) -> (j, d)>
#s = affine_map<(i, j, d) -> (i, j)>
// CHECK-LABEL: func.func @one_query
// CHECK:         fa.attention {{.*}} outs({{.*}} : tensor<1x1x1x4xf32>, tensor<1x1x1xf32>)
// CHECK-NOT:     math.
func.func @one_query(%q: tensor<1x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>) -> (tensor<1x4xf32>, tensor<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x7xf32>
  %er = tensor.empty() : tensor<1xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x7xf32>) -> tensor<1x7xf32>
  %s = linalg.matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<1x8xf32>, tensor<7x8xf32>) outs(%i : tensor<1x7xf32>) -> tensor<1x7xf32>
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<1xf32>) -> tensor<1xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<1x7xf32>) outs(%mi : tensor<1xf32>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %m : tensor<1x7xf32>, tensor<1xf32>) outs(%e : tensor<1x7xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<1x7xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%er : tensor<1xf32>) -> tensor<1xf32>
  %t = linalg.reduce { arith.addf } ins(%p : tensor<1x7xf32>) outs(%ti : tensor<1xf32>) dimensions = [1]
  %l = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
      ins(%t, %m : tensor<1xf32>, tensor<1xf32>) outs(%er : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %log = math.log %a : f32
    %r = arith.addf %log, %b : f32
    linalg.yield %r : f32
  } -> tensor<1xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %t : tensor<1x7xf32>, tensor<1xf32>) outs(%e : tensor<1x7xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x7xf32>
  %oe = tensor.empty() : tensor<1x4xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<1x4xf32>) -> tensor<1x4xf32>
  %o = linalg.matmul ins(%n, %v : tensor<1x7xf32>, tensor<7x4xf32>) outs(%oi : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %o, %l : tensor<1x4xf32>, tensor<1xf32>
}
