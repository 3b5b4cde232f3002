// RUN: fa-opt %s -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -canonicalize -cse -split-input-file | FileCheck %s

// The destination is updated in place, captures and lengths are read.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x8x2x4xf32>, %[[SLOPES:[a-z0-9]+]]: memref<2xf32>, %[[LENGTHS:[a-z0-9]+]]: memref<1xi32>
// CHECK: %[[O:.+]] = memref.alloc() {{.*}} : memref<1x8x2x4xf32>
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.attention ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[O]] : memref<1x8x2x4xf32>) key_lengths(%[[LENGTHS]] : memref<1xi32>)
// CHECK-SAME: score({{.*}}) captures(%[[TABLE:.+]] = %[[SLOPES]] : memref<2xf32>)
// CHECK: memref.load %[[TABLE]]
// CHECK: mask({{.*}}) captures(%[[IDS:.+]] = %{{.+}} : memref<1x?xi32>)
// CHECK: memref.dim %[[IDS]]
// CHECK: return %[[O]]
func.func @attention(%q: tensor<1x8x2x4xf32>, %slopes: tensor<2xf32>, %lengths: tensor<1xi32>, %ids: tensor<1x?xi32>)
    -> tensor<1x8x2x4xf32> {
  %c1 = arith.constant 1 : index
  %init = tensor.empty() : tensor<1x8x2x4xf32>
  %o = fa.attention ins(%q, %q, %q : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
      outs(%init : tensor<1x8x2x4xf32>) key_lengths(%lengths : tensor<1xi32>)
      score alibi(%slopes : tensor<2xf32>)
      mask(%b, %h, %i, %j) captures(%t = %ids : tensor<1x?xi32>) {
        %one = arith.constant 1 : index
        %size = tensor.dim %t, %one : tensor<1x?xi32>
        %x = tensor.extract %t[%b, %i] : tensor<1x?xi32>
        %y = arith.index_cast %x : i32 to index
        %s = arith.addi %y, %size : index
        %v = arith.cmpi sle, %j, %s : index
        fa.yield %v : i1
      }
  return %o : tensor<1x8x2x4xf32>
}

// -----

// The query must not be overwritten: its memory is no place for the output.
// CHECK-LABEL: func.func @alias(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x8x2x4xf32>
// CHECK: %[[O:.+]] = memref.alloc
// CHECK-NOT: copy
// CHECK: fa.attention ins(%[[Q]], {{.*}} outs(%[[O]] :
func.func @alias(%q: tensor<1x8x2x4xf32> {bufferization.writable = true}) -> tensor<1x8x2x4xf32> {
  %o = fa.attention ins(%q, %q, %q : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
      outs(%q : tensor<1x8x2x4xf32>)
  return %o : tensor<1x8x2x4xf32>
}

// -----

// With query lengths the destination is read: an argument that must stay is copied.
// CHECK-LABEL: func.func @kept_rows(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<1x8x2x4xf32>, %[[INIT:[a-z0-9]+]]: memref<1x8x2x4xf32>, %{{.+}}: memref<1xi32>)
// CHECK: %[[O:.+]] = memref.alloc
// CHECK: memref.copy %[[INIT]], %[[O]]
// CHECK: fa.attention {{.*}} outs(%[[O]] :
func.func @kept_rows(%q: tensor<1x8x2x4xf32>, %init: tensor<1x8x2x4xf32> {bufferization.writable = false}, %lengths: tensor<1xi32>) -> tensor<1x8x2x4xf32> {
  %o = fa.attention ins(%q, %q, %q : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
      outs(%init : tensor<1x8x2x4xf32>) query_lengths(%lengths : tensor<1xi32>)
  return %o : tensor<1x8x2x4xf32>
}

// -----

// A state in memory, keys in ranges: everything in place.
// CHECK-LABEL: func.func @steps(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x8x1x4xf32>, %[[K:[a-z0-9]+]]: memref<1x64x1x4xf32>
// CHECK-COUNT-3: memref.alloc
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: %[[STATE:.+]]:3 = fa.key_ranges (%{{.+}}, %{{.+}}) = [full %{{.+}} to %{{.+}}] step 16
// CHECK-SAME: iter_args(%[[ACC:.+]] = %{{.+}}, %[[MAX:.+]] = %{{.+}}, %[[SUM:.+]] = %{{.+}}) -> (memref<8x4xf32>, memref<8xf32>, memref<8xf32>)
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.online_attention ins(%[[Q]], {{.*}} outs(%[[ACC]], %[[MAX]], %[[SUM]] : memref<8x4xf32>, memref<8xf32>, memref<8xf32>)
// CHECK: fa.yield %[[ACC]], %[[MAX]], %[[SUM]]
// CHECK: %[[O:.+]] = memref.alloc
// CHECK: fa.finalize ins(%[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2 : {{.*}}) outs(%[[O]] :
func.func @steps(%q: tensor<1x8x1x4xf32>, %k: tensor<1x64x1x4xf32>) -> tensor<1x8x1x4xf32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %a0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %m0 = linalg.fill ins(%infinity : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %c64] step 16 iter_args(%a = %a0, %m = %m0, %s = %s0)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>) {
    %k1 = tensor.extract_slice %k[0, %key, 0, 0] [1, %count, 1, 4] [1, 1, 1, 1] : tensor<1x64x1x4xf32> to tensor<1x?x1x4xf32>
    %t:3 = fa.online_attention ins(%q, %k1, %k1 : tensor<1x8x1x4xf32>, tensor<1x?x1x4xf32>, tensor<1x?x1x4xf32>)
        outs(%a, %m, %s : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>)
    fa.yield %t#0, %t#1, %t#2 : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
  }
  %init = tensor.empty() : tensor<1x8x1x4xf32>
  %o = fa.finalize ins(%r#0, %r#1, %r#2 : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%init : tensor<1x8x1x4xf32>) -> tensor<1x8x1x4xf32>
  return %o : tensor<1x8x1x4xf32>
}

// -----

// A partial result may hold the combined one.
// CHECK-LABEL: func.func @combine(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<1x8x1x4xf32>, %[[LA:[a-z0-9]+]]: memref<1x1x8xf32>, %[[B:[a-z0-9]+]]: memref<1x8x1x4xf32>, %[[LB:[a-z0-9]+]]: memref<1x1x8xf32>)
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: fa.combine a(%[[A]], %[[LA]] : {{.*}}) b(%[[B]], %[[LB]] : {{.*}}) outs(%[[A]], %[[LA]] :
// CHECK-NOT: {{memref.alloc|copy}}
// CHECK: return
func.func @combine(%a: tensor<1x8x1x4xf32>, %la: tensor<1x1x8xf32>, %b: tensor<1x8x1x4xf32>, %lb: tensor<1x1x8xf32>)
    -> (tensor<1x8x1x4xf32>, tensor<1x1x8xf32>) {
  %r:2 = fa.combine a(%a, %la : tensor<1x8x1x4xf32>, tensor<1x1x8xf32>) b(%b, %lb : tensor<1x8x1x4xf32>, tensor<1x1x8xf32>)
      outs(%a, %la : tensor<1x8x1x4xf32>, tensor<1x1x8xf32>) -> tensor<1x8x1x4xf32>, tensor<1x1x8xf32>
  return %r#0, %r#1 : tensor<1x8x1x4xf32>, tensor<1x1x8xf32>
}
