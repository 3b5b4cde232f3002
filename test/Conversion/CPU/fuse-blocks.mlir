// RUN: fa-opt %s --fa-fuse-blocks --canonicalize --split-input-file | FileCheck %s

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#b_n = affine_map<(i, e, j) -> (j, e)>
#a_n = affine_map<(i, e, j) -> (i, j)>
#c_n = affine_map<(i, e, j) -> (i, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// A step: two products and six loops, all in place.

// CHECK-LABEL: func @step(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<32x16xf32>, %[[K:[a-z0-9]+]]: tensor<8x16xf32>
func.func @step(%q: tensor<32x16xf32>, %k: tensor<8x16xf32>, %n: index) -> (tensor<32x16xf32>, tensor<32xf32>, tensor<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %two = arith.constant dense<2.0> : tensor<32x8xf32>
  %noneRow = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zeroRow = arith.constant dense<0.0> : tensor<32xf32>
  %es = tensor.empty() : tensor<32x8xf32>
  %er = tensor.empty() : tensor<32xf32>
  %ea = tensor.empty() : tensor<32x16xf32>
  %a0 = linalg.fill ins(%zero : f32) outs(%ea : tensor<32x16xf32>) -> tensor<32x16xf32>
  %m0 = linalg.fill ins(%none : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%er : tensor<32xf32>) -> tensor<32xf32>
  // CHECK: scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[MAX:.+]] = %{{.+}}, %[[SUM:.+]] = %{{[a-z0-9_]+}})
  %r:3 = scf.for %x = %c0 to %n step %c1 iter_args(%acc = %a0, %m = %m0, %sum = %s0)
      -> (tensor<32x16xf32>, tensor<32xf32>, tensor<32xf32>) {
    // Each reduction has its own fill, just before it.
    // CHECK: %[[ZEROS:.+]] = linalg.fill
    // CHECK-NEXT: %[[S:.+]] = linalg.generic {{.+}} ins(%[[Q]], %[[K]] : {{.+}}) outs(%[[ZEROS]] : {{.+}}) attrs = {{.*}}fa.register_tile = #fa.cpu<lanes = 16>}
    // CHECK: math.fma
    // The scores go on while their maximum is taken; a maximum that starts from
    // no NaN is a comparison.
    // CHECK: %[[H:.+]]:2 = linalg.generic {{.+}}["parallel", "reduction"]} outs(%[[S]], %[[MAX]] : tensor<32x8xf32>, tensor<32xf32>)
    // CHECK-NEXT: ^bb0(%[[X:.+]]: f32, %[[OLD:.+]]: f32):
    // CHECK-NEXT: %[[Y:.+]] = arith.mulf %[[X]], %{{.+}} : f32
    // CHECK-NEXT: %[[ABOVE:.+]] = arith.cmpf ogt, %[[Y]], %[[OLD]] : f32
    // CHECK-NEXT: %[[LARGER:.+]] = arith.select %[[ABOVE]], %[[Y]], %[[OLD]] : f32
    // CHECK-NEXT: linalg.yield %[[Y]], %[[LARGER]]
    // CHECK: %[[REF:.+]] = linalg.generic {{.+}}["parallel"]} ins(%[[H]]#1 :
    // CHECK: arith.cmpf oeq
    // CHECK: %[[ROWZEROS:.+]] = linalg.fill
    // CHECK-NEXT: %[[P:.+]]:2 = linalg.generic {{.+}}["parallel", "reduction"]} ins(%[[REF]] : tensor<32xf32>) outs(%[[H]]#0, %[[ROWZEROS]] :
    // CHECK: arith.subf
    // CHECK: math.exp
    // CHECK: arith.addf
    // One loop over rows has all the rest: it also writes the new maximum over
    // the old one, which it reads.
    // CHECK: %[[ROWS:.+]]:3 = linalg.generic {{.+}}["parallel"]} ins(%[[P]]#1, %[[H]]#1 : {{.+}}) outs(%[[REF]], %[[SUM]], %[[MAX]] :
    // CHECK: math.exp
    // CHECK: math.fma
    // The product starts from 0 and is added at once.
    // CHECK: %[[PRODUCTZEROS:.+]] = linalg.fill
    // CHECK-NEXT: %[[PRODUCT:.+]] = linalg.generic {{.+}} ins(%[[P]]#0, %[[K]] : {{.+}}) outs(%[[PRODUCTZEROS]] :
    // CHECK: %[[NEWACC:.+]] = linalg.generic {{.+}}["parallel", "parallel"]} ins(%[[ROWS]]#{{.}}, %[[PRODUCT]] : {{.+}}) outs(%[[ACC]] :
    // CHECK: math.fma
    // CHECK: scf.yield %[[NEWACC]], %[[ROWS]]#2, %[[ROWS]]#{{.}}
    %f = linalg.fill ins(%zero : f32) outs(%es : tensor<32x8xf32>) -> tensor<32x8xf32>
    %s = linalg.contract indexing_maps = [#a, #b, #c] {fa.config = #fa.config<query_block = 32, key_block = 8, target = #fa.cpu<lanes = 16>>}
        ins(%q, %k : tensor<32x16xf32>, tensor<8x16xf32>) outs(%f : tensor<32x8xf32>) -> tensor<32x8xf32>
    %h = arith.mulf %s, %two : tensor<32x8xf32>
    %m1 = linalg.reduce { arith.maxnumf } ins(%h : tensor<32x8xf32>) outs(%m : tensor<32xf32>) dimensions = [1]
    %isNone = arith.cmpf oeq, %m1, %noneRow : tensor<32xf32>
    %ref = arith.select %isNone, %zeroRow, %m1 : tensor<32xi1>, tensor<32xf32>
    %refs = linalg.broadcast ins(%ref : tensor<32xf32>) outs(%es : tensor<32x8xf32>) dimensions = [1]
    %d = arith.subf %h, %refs : tensor<32x8xf32>
    %p = math.exp %d : tensor<32x8xf32>
    %dm = arith.subf %m, %ref : tensor<32xf32>
    %alpha = math.exp %dm : tensor<32xf32>
    %ps = linalg.reduce { arith.addf } ins(%p : tensor<32x8xf32>) outs(%zeroRow : tensor<32xf32>) dimensions = [1]
    %sum1 = math.fma %sum, %alpha, %ps : tensor<32xf32>
    %alphas = linalg.broadcast ins(%alpha : tensor<32xf32>) outs(%ea : tensor<32x16xf32>) dimensions = [1]
    %acc1 = arith.mulf %acc, %alphas : tensor<32x16xf32>
    %acc2 = linalg.contract indexing_maps = [#a_n, #b_n, #c_n] {fa.config = #fa.config<query_block = 32, key_block = 8, target = #fa.cpu<lanes = 16>>}
        ins(%p, %k : tensor<32x8xf32>, tensor<8x16xf32>) outs(%acc1 : tensor<32x16xf32>) -> tensor<32x16xf32>
    scf.yield %acc2, %m1, %sum1 : tensor<32x16xf32>, tensor<32xf32>, tensor<32xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<32x16xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// A comparison is repeated and not stored; arithmetic on rows is not repeated
// for each column; only the rows that are written are computed.

// CHECK-LABEL: func @end(
// CHECK-SAME: %[[ACC:[a-z0-9]+]]: tensor<8x16xf32>, %[[SUM:[a-z0-9]+]]: tensor<8xf32>, %[[N:[a-z0-9]+]]: index
// CHECK-NOT: tensor<8xi1>
// CHECK-DAG: %[[ROWS:.+]] = tensor.extract_slice %[[SUM]][0] [%[[N]]] [1]
// CHECK-DAG: %[[PART:.+]] = tensor.extract_slice %[[ACC]][0, 0] [%[[N]], 16]
// CHECK: %[[INVERSE:.+]] = linalg.generic {{.+}}["parallel"]}
// CHECK: arith.divf
// CHECK: linalg.generic {{.+}}["parallel", "parallel"]}
// CHECK-NOT: arith.divf
// CHECK: arith.mulf
// CHECK-NOT: tensor<8xi1>
// CHECK: return
func.func @end(%acc: tensor<8x16xf32>, %sum: tensor<8xf32>, %n: index) -> (tensor<?x16xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %ea = tensor.empty() : tensor<8x16xf32>
  %isEmpty = arith.cmpf oeq, %sum, %zero : tensor<8xf32>
  %q = arith.divf %one, %sum : tensor<8xf32>
  %inverse = arith.select %isEmpty, %zero, %q : tensor<8xi1>, tensor<8xf32>
  %inverses = linalg.broadcast ins(%inverse : tensor<8xf32>) outs(%ea : tensor<8x16xf32>) dimensions = [1]
  %o = arith.mulf %acc, %inverses : tensor<8x16xf32>
  %part = tensor.extract_slice %o[0, 0] [%n, 16] [1, 1] : tensor<8x16xf32> to tensor<?x16xf32>
  %log = math.log %sum : tensor<8xf32>
  %lse = arith.select %isEmpty, %one, %log : tensor<8xi1>, tensor<8xf32>
  return %part, %lse : tensor<?x16xf32>, tensor<8xf32>
}

// -----

// A maximum that may start from NaN stays what it is, a product of others too.

#a = affine_map<(i, j, e) -> (i, e)>
#b = affine_map<(i, j, e) -> (j, e)>
#c = affine_map<(i, j, e) -> (i, j)>

// CHECK-LABEL: func @others(
// CHECK: linalg.generic
// CHECK: arith.maxnumf
// CHECK: linalg.contract
func.func @others(%x: tensor<8x4xf32>, %m: tensor<8xf32>, %q: tensor<8x2xf32>, %k: tensor<4x2xf32>)
    -> (tensor<8xf32>, tensor<8x4xf32>) {
  %r = linalg.reduce { arith.maxnumf } ins(%x : tensor<8x4xf32>) outs(%m : tensor<8xf32>) dimensions = [1]
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%q, %k : tensor<8x2xf32>, tensor<4x2xf32>)
      outs(%x : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r, %s : tensor<8xf32>, tensor<8x4xf32>
}

// -----

// Rows that read two results of one producer: one loop returns all three.

// CHECK-LABEL: func @rows(
// CHECK: %[[R:.+]]:3 = linalg.generic
// CHECK: math.exp
// CHECK: math.log
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @rows(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = math.exp %x : tensor<8xf32>
  %l = math.log %e : tensor<8xf32>
  %s = arith.addf %e, %l : tensor<8xf32>
  return %e, %l, %s : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Memory of the program is marked, so that it is not taken for scratch.

// CHECK-LABEL: func @memory(
// CHECK: memref.alloc(%{{.*}}) {fa.program_memory} : memref<?xf32>
func.func @memory(%n: index, %x: f32) -> memref<?xf32> {
  %m = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%x : f32) outs(%m : memref<?xf32>)
  return %m : memref<?xf32>
}

// -----

// What is read in another block is read behind this one.

// CHECK-LABEL: func @blocks(
// CHECK: %[[R:.+]]:2 = linalg.generic
// CHECK: math.exp
// CHECK: math.log
// CHECK: cf.cond_br
// CHECK: call @use(%[[R]]#0)
// CHECK: return %[[R]]#1
func.func private @use(tensor<8xf32>)
func.func @blocks(%x: tensor<8xf32>, %f: i1) -> tensor<8xf32> {
  %e = math.exp %x : tensor<8xf32>
  %l = math.log %e : tensor<8xf32>
  cf.cond_br %f, ^bb1, ^bb2
^bb1:
  call @use(%e) : (tensor<8xf32>) -> ()
  cf.br ^bb2
^bb2:
  return %l : tensor<8xf32>
}

// -----

// A reduction that yields more than its maximum may go on from NaN.

// CHECK-LABEL: func @more_than_maximum(
// CHECK: arith.maxnumf
// CHECK: math.log
#in = affine_map<(i, j) -> (i, j)>
#out = affine_map<(i, j) -> (i)>
func.func @more_than_maximum(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %m = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%m : tensor<8xf32>) {
  ^bb0(%value: f32, %old: f32):
    %larger = arith.maxnumf %value, %old : f32
    %log = math.log %larger : f32
    linalg.yield %log : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// What a loop carries is no maximum of what it was: it may be NaN.

// CHECK-LABEL: func @carries_another(
// CHECK: scf.for
// CHECK: arith.maxnumf
// CHECK: linalg.generic
// CHECK: arith.maxnumf
func.func @carries_another(%x: tensor<8x4xf32>, %y: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %m0 = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %m = scf.for %i = %c0 to %n step %c1 iter_args(%old = %m0) -> (tensor<8xf32>) {
    %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%y : tensor<8xf32>) outs(%old : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      %max = arith.maxnumf %a, %sum : f32
      linalg.yield %max : f32
    } -> tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  }
  %r = linalg.reduce { arith.maxnumf } ins(%x : tensor<8x4xf32>) outs(%m : tensor<8xf32>) dimensions = [1]
  return %r : tensor<8xf32>
}

// -----

// A carried value that is read transposed is not written by its last reader.

// CHECK-LABEL: func @transposed(
// CHECK: scf.for {{.+}} iter_args(%[[OLD:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK: %[[NEXT:.+]] = linalg.generic {{.+}}
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK-NOT: outs({{.*}}%[[OLD]]
// CHECK: arith.addf
// CHECK: scf.yield
#id = affine_map<(i, j) -> (i, j)>
#transposed = affine_map<(i, j) -> (j, i)>
func.func @transposed(%x: tensor<8x8xf32>, %n: index) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%old = %x, %sum = %x) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %next = math.exp %sum : tensor<8x8xf32>
    %e = tensor.empty() : tensor<8x8xf32>
    %more = linalg.generic {indexing_maps = [#transposed, #transposed, #id], iterator_types = ["parallel", "parallel"]}
        ins(%old, %next : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    scf.yield %next, %more : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Columns whose number is known at run time: nobody asks a result for its size,
// so weights and their sums are one loop.

// CHECK-LABEL: func @dynamic_columns(
// CHECK-NOT: tensor.dim
// CHECK: %{{.+}}:2 = linalg.generic {{.+}}["parallel", "reduction"]}
// CHECK: arith.subf
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @dynamic_columns(%m: memref<32x?xf32>, %reference: tensor<32xf32>, %n: index) -> (tensor<32x?xf32>, tensor<32xf32>) {
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %scores = bufferization.to_tensor %m restrict : memref<32x?xf32> to tensor<32x?xf32>
  %empty = tensor.empty(%n) : tensor<32x?xf32>
  %references = linalg.broadcast ins(%reference : tensor<32xf32>) outs(%empty : tensor<32x?xf32>) dimensions = [1]
  %x = arith.subf %scores, %references : tensor<32x?xf32>
  %p = math.exp %x : tensor<32x?xf32>
  %sum = linalg.reduce { arith.addf } ins(%p : tensor<32x?xf32>) outs(%zero : tensor<32xf32>) dimensions = [1]
  return %p, %sum : tensor<32x?xf32>, tensor<32xf32>
}
