// RUN: fa-opt %s --fa-differentiate-score --split-input-file | FileCheck %s

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

// The division by the cap and the product with it meet and go.
// CHECK-LABEL: @softcap
// CHECK: score_gradient(%[[DX:.*]], %[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[CAP:.*]]) {
// CHECK-NEXT: %[[R:.*]] = arith.divf %[[S]], %[[CAP]] fastmath<arcp> : f32
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[R]] fastmath<arcp> : f32
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[TT:.*]] = arith.mulf %[[T]], %[[T]] fastmath<arcp> : f32
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[ONE]], %[[TT]] fastmath<arcp> : f32
// CHECK-NEXT: %[[DS:.*]] = arith.mulf %[[DX]], %[[D]] fastmath<arcp> : f32
// CHECK-NEXT: fa.yield %[[DS]] : f32
func.func @softcap(%q: !q, %r: !row, %cap: f32) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score softcap(%cap)
  return %0 : !q
}

// CHECK-LABEL: @approx_softcap
// CHECK: score_gradient(%[[DX:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[D:.*]] = arith.subf
// CHECK-NEXT: %[[DS:.*]] = arith.mulf %[[DX]], %[[D]] fastmath<reassoc,arcp,contract,afn> : f32
// CHECK-NEXT: fa.yield %[[DS]] : f32
func.func @approx_softcap(%q: !q, %r: !row, %cap: f32) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score approx_softcap(%cap)
  return %0 : !q
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

// A cap that has a gradient of its own.
// CHECK-LABEL: @cap
// CHECK: score_gradient(
// CHECK: fa.scatter_gradient %{{.*}} to %{{.*}}[] : f32, f32
func.func @cap(%q: !q, %r: !row, %cap: f32, %d: tensor<f32>) -> tensor<f32> {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(capture[0] = %d : tensor<f32>)
      score softcap(%cap)
  return %0 : tensor<f32>
}

// CHECK-LABEL: @alibi
// CHECK: score_gradient(%[[DX:.*]], %{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}, %[[T:.*]]) {
// CHECK-NOT: tensor.extract
// CHECK: %[[DISTANCE:.*]] = math.absf
// CHECK-NEXT: %[[NEGATED:.*]] = arith.negf %[[DX]] : f32
// CHECK-NEXT: %[[DT:.*]] = arith.mulf %[[NEGATED]], %[[DISTANCE]] fastmath<contract> : f32
// CHECK-NEXT: fa.scatter_gradient %[[DT]] to %[[T]][%[[H]]] : f32, tensor<2xf32>
// CHECK-NEXT: fa.yield %[[DX]] : f32
func.func @alibi(%q: !q, %r: !row, %slopes: tensor<2xf32>, %d: tensor<2xf32>) -> tensor<2xf32> {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(capture[0] = %d : tensor<2xf32>)
      score alibi(%slopes : tensor<2xf32>)
  return %0 : tensor<2xf32>
}

// Nobody asks for the gradient of the slopes.
// CHECK-LABEL: @alibi_alone
// CHECK: score_gradient(%[[DX:[^,]*]],
// CHECK-NEXT: fa.yield %[[DX]] : f32
func.func @alibi_alone(%q: !q, %r: !row, %slopes: tensor<2xf32>) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score alibi(%slopes : tensor<2xf32>)
  return %0 : !q
}

// CHECK-LABEL: @bias
// CHECK: score_gradient(%[[DX:.*]], %{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %[[J:.*]], %[[T:.*]]) {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: fa.scatter_gradient %[[DX]] to %[[T]][%[[ZERO]], %[[H]], %[[ZERO]], %[[J]]] : f32, tensor<1x2x1x8xbf16>
// CHECK-NEXT: fa.yield %[[DX]] : f32
func.func @bias(%q: !q, %r: !row, %bias: tensor<1x2x1x8xbf16>, %d: tensor<1x2x1x8xf32>) -> tensor<1x2x1x8xf32> {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q)
      outs(capture[0] = %d : tensor<1x2x1x8xf32>) score bias(%bias : tensor<1x2x1x8xbf16>)
  return %0 : tensor<1x2x1x8xf32>
}

// A gradient of 0 stays 0 where the log of what is not chosen has none. What
// is compared, and a bucket of the score, have no gradient.
// CHECK-LABEL: @own
// CHECK: score_gradient(%[[DX:.*]], %[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[S]], %[[ZERO]] : f32
// CHECK: %[[CHOSEN:.*]] = arith.select %[[ABOVE]], %[[DX]], %[[ZERO]] : f32
// CHECK: %[[OTHER:.*]] = arith.select %[[ABOVE]], %[[ZERO]], %[[DX]] : f32
// CHECK: %[[Q:.*]] = arith.divf %[[CHOSEN]], %[[S]] : f32
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[CHOSEN]], %[[ZERO]] : f32
// CHECK: %[[KEPT:.*]] = arith.select %[[NONE]], %[[ZERO]], %[[Q]] : f32
// CHECK: %[[DS:.*]] = arith.addf %[[OTHER]], %[[KEPT]] : f32
// CHECK: fa.yield %[[DS]] : f32
func.func @own(%q: !q, %r: !row, %table: tensor<4xf32>) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<4xf32>) {
        %zero = arith.constant 0.0 : f32
        %above = arith.cmpf ogt, %s, %zero : f32
        %log = math.log %s : f32
        %n = arith.fptosi %s : f32 to i32
        %bucket = arith.index_cast %n : i32 to index
        %w = tensor.extract %t[%bucket] : tensor<4xf32>
        %f = math.floor %s : f32
        %wf = arith.addf %w, %f : f32
        %chosen = arith.select %above, %log, %s : f32
        %x = arith.addf %chosen, %wf : f32
        fa.yield %x : f32
      }
  return %0 : !q
}

// What is stopped is a constant: of t * stop(s) + s the score has dx, and of what stands before the stop nothing has a
// gradient, not even a cast that has none. The values stay, without the stops.
// CHECK-LABEL: @stopped
// CHECK: score(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures
// CHECK-NOT: fa.stop_gradient
// CHECK: %[[N:.*]] = arith.sitofp
// CHECK: %[[W:.*]] = tensor.extract
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[W]], %[[N]] : f32
// CHECK: score_gradient(%[[DX:[^,]*]], %{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}, %[[T:.*]]) {
// CHECK: %[[N:.*]] = arith.sitofp
// CHECK-NOT: arith.mulf
// CHECK: %[[DT:.*]] = arith.mulf %[[DX]], %[[N]] : f32
// CHECK-NOT: arith.mulf
// CHECK: fa.scatter_gradient %[[DT]] to %[[T]][%[[H]]] : f32, tensor<2xf32>
// CHECK-NEXT: fa.yield %[[DX]] : f32
func.func @stopped(%q: !q, %r: !row, %table: tensor<2xf32>) -> (!q, tensor<2xf32>) {
  %0:2 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q)
      outs(query = %q : !q, capture[0] = %table : tensor<2xf32>)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<2xf32>) {
        %n = arith.fptosi %s : f32 to i32
        %f = arith.sitofp %n : i32 to f32
        %fixed = fa.stop_gradient %f : f32
        %w = tensor.extract %t[%h] : tensor<2xf32>
        %p = arith.mulf %w, %fixed : f32
        %x = arith.addf %p, %s : f32
        fa.yield %x : f32
      }
  return %0#0, %0#1 : !q, tensor<2xf32>
}

// A table that is read twice has the gradient of the reading that is not stopped. Attention and arithmetic lose their stops
// as well.
// CHECK-LABEL: @stopped_load
// CHECK-NOT: fa.stop_gradient
// CHECK: fa.attention_gradient
// CHECK: score_gradient(%[[DX:[^,]*]],
// CHECK-NOT: arith.addf
// CHECK: fa.scatter_gradient %[[DX]] to
// CHECK: fa.attention ins
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: fa.yield %[[S]] : f32
func.func @stopped_load(%q: !q, %r: !row, %table: tensor<2xf32>, %a: f16) -> (tensor<2xf32>, !q, f16) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q)
      outs(capture[0] = %table : tensor<2xf32>)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<2xf32>) {
        %w = tensor.extract %t[%h] : tensor<2xf32>
        %fixed = fa.stop_gradient %w : f32
        %y = arith.addf %w, %fixed : f32
        %x = arith.addf %y, %s : f32
        fa.yield %x : f32
      }
  %1 = fa.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      score(%s, %b, %h, %i, %j) {
        %x = fa.stop_gradient %s : f32
        fa.yield %x : f32
      }
  %2 = fa.stop_gradient %a : f16
  return %0, %1, %2 : tensor<2xf32>, !q, f16
}

// A region that is there stays as it is; no score needs none.
// CHECK-LABEL: @written
// CHECK: score_gradient(
// CHECK-NEXT: %[[TWICE:.*]] = arith.addf
// CHECK-NEXT: fa.yield %[[TWICE]]
// CHECK-LABEL: @no_score
// CHECK-NOT: score_gradient
func.func @written(%q: !q, %r: !row, %cap: f32) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score softcap(%cap) score_gradient(%dx, %s, %b, %h, %i, %j, %c) {
        %twice = arith.addf %dx, %dx : f32
        fa.yield %twice : f32
      }
  return %0 : !q
}
func.func @no_score(%q: !q, %r: !row) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
  return %0 : !q
}

// f16 and a function of integers: gradients are f32.
// CHECK-LABEL: @narrow
// CHECK: score_gradient(%[[DX:[^,]*]],
// CHECK: %[[F:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.mulf %[[DX]], %[[F]] : f32
// CHECK-NOT: arith.truncf %[[DX]]
func.func @narrow(%q: !q, %r: !row) -> !q {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) {
        %n = arith.truncf %s : f32 to f16
        %d = arith.index_cast %j : index to i32
        %f = arith.sitofp %d : i32 to f16
        %m = arith.mulf %n, %f : f16
        %x = arith.extf %m : f16 to f32
        fa.yield %x : f32
      }
  return %0 : !q
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

// A sink is differentiated where the gradient of a capture is asked for.
// CHECK-LABEL: @sink
// CHECK: sink_gradient(%[[DX:.*]], %{{.*}}, %[[H:.*]], %{{.*}}, %[[T:.*]]) {
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[D:.*]] = arith.mulf
// CHECK: arith.select
// CHECK: fa.scatter_gradient %{{.*}} to %[[T]][%[[H]]] : f32, tensor<2xf32>
// CHECK-NEXT: fa.yield
func.func @sink(%q: !q, %r: !row, %s: tensor<2xf32>) -> tensor<2xf32> {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[0] = %s : tensor<2xf32>)
      sink(%b, %h, %i) captures(%t = %s : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        %y = math.exp %x : f32
        fa.yield %y : f32
      }
  return %0 : tensor<2xf32>
}

// Of two equal numbers each has half of the gradient.

// CHECK-LABEL: func.func @larger
// CHECK: score_gradient(%[[G:.*]], %[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[X:.*]]) {
// CHECK-DAG: %[[ABOVE:.*]] = arith.cmpf ogt, %[[S]], %[[X]] : f32
// CHECK-DAG: %[[TIE:.*]] = arith.cmpf oeq, %[[S]], %[[X]] : f32
// CHECK-DAG: %[[HALF:.*]] = arith.mulf %[[G]], %{{.*}} : f32
// CHECK-DAG: %[[OR_NONE:.*]] = arith.select %[[TIE]], %[[HALF]], %{{.*}} : f32
// CHECK-DAG: %[[OF_S:.*]] = arith.select %[[ABOVE]], %[[G]], %[[OR_NONE]] : f32
// CHECK-DAG: %[[OR_ALL:.*]] = arith.select %[[TIE]], %[[HALF]], %[[G]] : f32
// CHECK-DAG: %[[OF_X:.*]] = arith.select %[[ABOVE]], %{{.*}}, %[[OR_ALL]] : f32
// CHECK: fa.scatter_gradient %[[OF_X]]
// CHECK: fa.yield %[[OF_S]] : f32
func.func @larger(%q: !q, %r: !row, %x: f32, %d: tensor<f32>) {
  %0:2 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q)
      outs(query = %q : !q, capture[0] = %d : tensor<f32>)
      score(%s, %b, %h, %i, %j) captures(%c = %x : f32) {
        %m = arith.maximumf %s, %c : f32
        fa.yield %m : f32
      }
  return
}

// An integer that is cast from a score is constant but for jumps.

// CHECK-LABEL: func.func @steps
// CHECK: score_gradient(%[[G:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NOT: arith.
// CHECK: fa.yield %[[G]] : f32
func.func @steps(%q: !q, %r: !row) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) {
        %n = arith.fptosi %s : f32 to i32
        %x = arith.sitofp %n : i32 to f32
        %y = arith.addf %s, %x : f32
        fa.yield %y : f32
      }
  return
}
