// RUN: fa-opt %s -fa-convert-to-online -canonicalize -cse | FileCheck %s

// CHECK-DAG: #[[$LEFT:.+]] = affine_map<()[s0, s1, s2] -> (s1 - s2, s0)>
// CHECK-DAG: #[[$END:.+]] = affine_map<()[s0, s1, s2] -> (s2, s0 + s1)>
// CHECK-DAG: #[[$POSITIVE:.+]] = affine_map<()[s0] -> (0, s0)>
// CHECK-DAG: #[[$TILES:.+]] = affine_map<()[s0] -> (64, (s0 ceildiv 32) * 32)>

// Keys end where those of the piece do, and the mask keeps the number of all.

// CHECK-LABEL: func.func @block(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x64x1x64xbf16>, %[[K:[a-z0-9]+]]: memref<1x?x1x64xbf16>, %[[V:[a-z0-9]+]]: memref<1x?x1x32xbf16>,
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<1x64x1x32xbf16>, %[[LSE:[a-z0-9]+]]: memref<1x1x64xf32>, %[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index,
// CHECK-SAME: %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %[[QUERIES:[a-z0-9]+]]: index, %[[KEYS:[a-z0-9]+]]: index, %[[SCALE:.+]]: f32
func.func @block(%q: memref<1x64x1x64xbf16>, %k: memref<1x?x1x64xbf16>, %v: memref<1x?x1x32xbf16>,
                 %o: memref<1x64x1x32xbf16>, %lse: memref<1x1x64xf32>, %b: index, %h: index, %i: index, %j: index,
                 %queries: index, %keys: index, %scale: f32) {
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[MINUS_INFINITY:.+]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[EMPTY:.+]] = tensor.empty() : tensor<64xf32>
  // CHECK-DAG: %[[ACC:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.+}} : tensor<64x32xf32>)
  // CHECK-DAG: %[[MAX:.+]] = linalg.fill ins(%[[MINUS_INFINITY]] : f32) outs(%[[EMPTY]] : tensor<64xf32>)
  // CHECK-DAG: %[[SUM:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[EMPTY]] : tensor<64xf32>)
  // CHECK-DAG: %[[SIZE:.+]] = memref.dim %[[K]], %{{.+}}
  // CHECK-DAG: %[[END:.+]] = affine.min #[[$END]]()[%[[SIZE]], %[[J]], %[[KEYS]]]
  // CHECK: %[[STATE:.+]]:3 = fa.online_attention ins(%[[Q]], %[[K]], %[[V]] :
  // CHECK-SAME: outs(%[[ACC]], %[[MAX]], %[[SUM]] : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
  // CHECK-SAME: scale(%[[SCALE]]) offsets(%[[B]], %[[H]], %[[I]], %[[J]]) extents(%[[QUERIES]], %[[END]])
  // CHECK-SAME: mask(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) captures(%[[ALL:.+]] = %[[KEYS]] : index)
  // CHECK-NOT: fa.key_length
  // CHECK: arith.subi %[[ALL]], %{{.+}} : index
  // CHECK: config = #fa.config<query_block = 64, key_block = 128>
  // CHECK: fa.finalize ins(%[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2 : {{.*}}) outs(%[[O]], %[[LSE]] : memref<1x64x1x32xbf16>, memref<1x1x64xf32>)
  // CHECK-NOT: rows
  // CHECK: return
  fa.attention ins(%q, %k, %v : memref<1x64x1x64xbf16>, memref<1x?x1x64xbf16>, memref<1x?x1x32xbf16>)
      outs(%o, %lse : memref<1x64x1x32xbf16>, memref<1x1x64xf32>) scale(%scale)
      offsets(%b, %h, %i, %j) extents(%queries, %keys) mask causal
      {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

// Lengths of this batch bound queries, keys and the rows that are stored.
// CHECK-LABEL: func.func @lengths(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x32x1x64xf32>, %[[K:[a-z0-9]+]]: memref<1x?x1x64xf32>, %[[O:[a-z0-9]+]]: memref<1x32x1x64xf32>,
// CHECK-SAME: %[[QL:[a-z0-9]+]]: memref<?xi32>, %[[KL:[a-z0-9]+]]: memref<?xi32>, %[[B:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index,
// CHECK-SAME: %[[J:[a-z0-9]+]]: index, %[[QUERIES:[a-z0-9]+]]: index, %[[KEYS:[a-z0-9]+]]: index)
func.func @lengths(%q: memref<1x32x1x64xf32>, %k: memref<1x?x1x64xf32>, %o: memref<1x32x1x64xf32>,
                   %ql: memref<?xi32>, %kl: memref<?xi32>, %b: index, %i: index, %j: index, %queries: index, %keys: index) {
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK: %[[QL0:.+]] = memref.load %[[QL]][%[[B]]] : memref<?xi32>
  // CHECK: %[[QL1:.+]] = arith.index_cast %[[QL0]] : i32 to index
  // CHECK: %[[QL2:.+]] = arith.maxsi %[[QL1]], %[[C0]] : index
  // CHECK: %[[QL3:.+]] = arith.minsi %[[QL2]], %[[QUERIES]] : index
  // CHECK: %[[KL0:.+]] = memref.load %[[KL]][%[[B]]] : memref<?xi32>
  // CHECK: %[[KL1:.+]] = arith.index_cast %[[KL0]] : i32 to index
  // CHECK: %[[KL2:.+]] = arith.maxsi %[[KL1]], %[[C0]] : index
  // CHECK: %[[KL3:.+]] = arith.minsi %[[KL2]], %[[KEYS]] : index
  // CHECK: %[[END:.+]] = affine.min #[[$END]]()[%{{.+}}, %[[J]], %[[KL3]]]
  // CHECK: %[[R0:.+]] = affine.min #{{.+}}()[%[[QL3]], %[[I]]]
  // CHECK: %[[R:.+]] = affine.max #[[$POSITIVE]]()[%[[R0]]]
  // CHECK: %[[Q1:.+]] = memref.subview %[[Q]][0, 0, 0, 0] [1, %[[R]], 1, 64]
  // CHECK: %[[N0:.+]] = affine.min #[[$LEFT]]()[%{{.+}}, %[[KL3]], %[[J]]]
  // CHECK: %[[N:.+]] = affine.max #[[$POSITIVE]]()[%[[N0]]]
  // CHECK: %[[K1:.+]] = memref.subview %[[K]][0, 0, 0, 0] [1, %[[N]], 1, 64]
  // CHECK: fa.online_attention ins(%[[Q1]], %[[K1]], %[[K1]] : memref<1x?x1x64xf32, 
  // CHECK-SAME: outs({{[^:]*}} : tensor<48x64xf32>, tensor<48xf32>, tensor<48xf32>)
  // CHECK-SAME: offsets(%[[B]], %{{.+}}, %[[I]], %[[J]]) extents(%[[QL3]], %[[END]])
  // CHECK: fa.finalize {{.*}} outs(%[[O]] : memref<1x32x1x64xf32>) rows(%[[R]])
  fa.attention ins(%q, %k, %k : memref<1x32x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>)
      outs(%o : memref<1x32x1x64xf32>) query_lengths(%ql : memref<?xi32>) key_lengths(%kl : memref<?xi32>)
      offsets(%b, %b, %i, %j) extents(%queries, %keys)
      {config = #fa.config<query_block = 48, key_block = 128>}
  return
}

// All keys of the problem: the valid length is the number of keys.
// CHECK-LABEL: func.func @all_keys
func.func @all_keys(%q: tensor<1x32x1x64xf32>, %k: tensor<1x?x1x64xf32>, %o: tensor<1x32x1x64xf32>, %kl: tensor<1xi32>)
    -> tensor<1x32x1x64xf32> {
  // CHECK: %[[LENGTH:.+]] = arith.minsi
  // CHECK-NOT: affine
  // CHECK: tensor.extract_slice %{{.+}}[0, 0, 0, 0] [1, %[[LENGTH]], 1, 64]
  // CHECK: fa.online_attention
  // CHECK: %[[O:.+]] = fa.finalize
  // CHECK: return %[[O]]
  %r = fa.attention ins(%q, %k, %k : tensor<1x32x1x64xf32>, tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>)
      outs(%o : tensor<1x32x1x64xf32>) key_lengths(%kl : tensor<1xi32>)
      {config = #fa.config<query_block = 32, key_block = 128>}
  return %r : tensor<1x32x1x64xf32>
}

// Without a config the state has a row for each query.
// CHECK-LABEL: func.func @no_config
func.func @no_config(%q: memref<1x?x1x64xf32>, %o: memref<1x?x1x64xf32>) {
  // CHECK: fa.online_attention {{.*}} outs({{.*}} : tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>)
  fa.attention ins(%q, %q, %q : memref<1x?x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>)
      outs(%o : memref<1x?x1x64xf32>)
  return
}

// All keys: extents and masks stay.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<1x64x1x64xbf16>, %[[K:[a-z0-9]+]]: memref<1x?x1x64xbf16>, %[[I:[a-z0-9]+]]: index)
// CHECK: %[[KEYS:.+]] = memref.dim %[[K]]
// CHECK-NOT: affine.min
// CHECK: fa.online_attention
// CHECK-SAME: extents(%[[KEYS]], %[[KEYS]]) mask(
// CHECK-NEXT: fa.key_length
func.func @whole(%q: memref<1x64x1x64xbf16>, %k: memref<1x?x1x64xbf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %keys = memref.dim %k, %c1 : memref<1x?x1x64xbf16>
  fa.attention ins(%q, %k, %k : memref<1x64x1x64xbf16>, memref<1x?x1x64xbf16>, memref<1x?x1x64xbf16>)
      outs(%q : memref<1x64x1x64xbf16>) offsets(%c0, %c0, %i, %c0) extents(%keys, %keys) mask causal
      {config = #fa.config<query_block = 64, key_block = 128>}
  return
}

#rows = affine_map<(d0)[s0] -> (64, s0 - d0)>

// Of the last block a CPU computes the rows that there are, up to whole register
// tiles. All of it is computed on other targets, and where it is no whole tiles.
// CHECK-LABEL: func.func @last_block(
// CHECK: %[[COUNT:.+]] = affine.min
// CHECK: %[[ROWS:.+]] = affine.min #[[$TILES]]()[%[[COUNT]]]
// CHECK: tensor.empty(%[[ROWS]]) : tensor<?x64xf32>
// CHECK: fa.online_attention {{.*}} : tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>)
// CHECK: fa.online_attention {{.*}} : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
func.func @last_block(%all: memref<1x?x1x64xf32>, %k: memref<1x?x1x64xf32>, %i: index, %n: index) {
  %rows = affine.min #rows(%i)[%n]
  %q = memref.subview %all[0, %i, 0, 0] [1, %rows, 1, 64] [1, 1, 1, 1]
      : memref<1x?x1x64xf32> to memref<1x?x1x64xf32, strided<[?, 64, 64, 1], offset: ?>>
  fa.attention ins(%q, %k, %k : memref<1x?x1x64xf32, strided<[?, 64, 64, 1], offset: ?>>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>)
      outs(%q : memref<1x?x1x64xf32, strided<[?, 64, 64, 1], offset: ?>>)
      {config = #fa.config<query_block = 64, key_block = 96, target = #fa.cpu<lanes = 16, register_rows = 12>>}
  fa.attention ins(%q, %k, %k : memref<1x?x1x64xf32, strided<[?, 64, 64, 1], offset: ?>>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>)
      outs(%q : memref<1x?x1x64xf32, strided<[?, 64, 64, 1], offset: ?>>)
      {config = #fa.config<query_block = 64, key_block = 96>}
  return
}

// A stopped gradient stays in the score, and is its operand in a sink, which is computed here.
// CHECK-LABEL: func.func @stopped(
// CHECK-SAME: %[[SINK:[a-z0-9]+]]: f32)
// CHECK: fa.online_attention
// CHECK: fa.stop_gradient
// CHECK-NOT: fa.stop_gradient
// CHECK: fa.finalize {{.*}}%[[SINK]]
func.func @stopped(%q: memref<1x64x1x64xf32>, %number: f32) {
  fa.attention ins(%q, %q, %q : memref<1x64x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32>)
      outs(%q : memref<1x64x1x64xf32>)
      score(%s, %b, %h, %i, %j) {
        %fixed = fa.stop_gradient %s : f32
        %x = arith.addf %fixed, %s : f32
        fa.yield %x : f32
      }
      sink(%b, %h, %i) captures(%t = %number : f32) {
        %x = fa.stop_gradient %t : f32
        fa.yield %x : f32
      } {config = #fa.config<query_block = 64, key_block = 64>}
  return
}
