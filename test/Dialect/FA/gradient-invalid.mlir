// Each check of the gradient operations says what is wrong, once.
// RUN: fa-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @ins(%q: !q, %r: !row) {
  // expected-error @below {{ins has 2 operands, expected 3 (query, key, value)}}
  %0 = fa.attention_gradient ins(%q, %q : !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @out_name(%q: !q, %r: !row) {
  // expected-error @below {{outs expects one of query, key, value, capture, scale, sink_capture, then '=', a value and its type}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(%q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @out_twice(%q: !q, %r: !row) {
  // expected-error @below {{outs names key twice}}
  %0:2 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(key = %q : !q, key = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @no_out(%q: !q, %r: !row) {
  // expected-error @below {{has no gradient in outs, expected at least one of query, key, value, capture[n], scale, sink_capture[n]}}
  fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs()
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @arguments(%q: !q, %r: !row, %c: f32) {
  // expected-error @+2 {{score_gradient names 6 arguments, expected 7 (gradient, score, batch, head, query, key, and one for each of 1 captures of the score)}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score softcap(%c) score_gradient(%dx, %s, %b, %h, %i, %j) { fa.yield %dx : f32 }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @order(%q: !q, %r: !row) {
  // expected-error @below {{'scale' is out of place, expected each clause once, in this order: scale, query_lengths, key_lengths, query_starts, key_starts, offsets, extents, score, score_gradient, mask, sink, sink_gradient, dropout, attributes}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q) mask causal scale(%c)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @no_output(%q: !q, %r: !row) {
  // expected-error @below {{has neither the output nor delta, expected of(%output, %lse) or of(%lse) delta(%delta)}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%r : !row) gradients(%q : !q) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @both(%q: !q, %r: !row) {
  // expected-error @below {{has the output and delta, expected one of them: delta is made from the output}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) delta(%r : !row) gradients(%q : !q) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @delta_and_lse(%q: !q, %r: !row) {
  // expected-error @below {{has delta and a gradient of lse, expected one of them: delta holds the gradient of lse}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%r : !row) delta(%r : !row) gradients(%q, %r : !q, !row) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @output_shape(%q: !q, %r: !row, %o: tensor<1x9x2x16xf32>) {
  // expected-error @below {{query has 8 queries but output has 9}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%o, %r : tensor<1x9x2x16xf32>, !row) gradients(%q : !q) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @gradient_shape(%q: !q, %r: !row, %o: tensor<1x8x2x8xf32>) {
  // expected-error @below {{value has 16 head dims but gradient of the output has 8}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%o : tensor<1x8x2x8xf32>) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @lse_gradient_shape(%q: !q, %r: !row, %l: tensor<1x2x9xf32>) {
  // expected-error @below {{query has 8 queries but gradient of lse has 9}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q, %l : !q, tensor<1x2x9xf32>) outs(query = %q : !q)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @destination_type(%q: !q, %r: !row, %d: tensor<1x8x2x16xbf16>) {
  // expected-error @below {{gradient of key has element type 'bf16', expected 'f32' (that of key) or f32}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(key = %d : tensor<1x8x2x16xbf16>)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @capture_number(%q: !q, %r: !row, %t: tensor<2xf32>) {
  // expected-error @below {{capture[1] has a gradient but the score captures 1 values, expected 0 to 0}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(capture[1] = %t : tensor<2xf32>)
      score alibi(%t : tensor<2xf32>)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @capture_twice(%q: !q, %r: !row, %t: tensor<2xf32>) {
  // expected-error @below {{capture[0] has two gradients, expected one}}
  %0:2 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q)
      outs(capture[0] = %t : tensor<2xf32>, capture[0] = %t : tensor<2xf32>) score alibi(%t : tensor<2xf32>)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @capture_shape(%q: !q, %r: !row, %t: tensor<2xf32>, %d: tensor<3xf32>) {
  // expected-error @below {{capture[0] has type 'tensor<2xf32>' but its gradient has type 'tensor<3xf32>', expected the same shape}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(capture[0] = %d : tensor<3xf32>)
      score alibi(%t : tensor<2xf32>)
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @capture_integer(%q: !q, %r: !row, %t: tensor<2xi32>, %d: tensor<2xf32>) {
  // expected-error @below {{capture[0] has type 'tensor<2xi32>', which has no gradient: expected numbers of f16, bf16 or f32}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(capture[0] = %d : tensor<2xf32>)
      score(%s, %b, %h, %i, %j) captures(%c = %t : tensor<2xi32>) { fa.yield %s : f32 }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @no_score(%q: !q, %r: !row) {
  // expected-error @below {{has a score_gradient region but no score region, expected both: the gradient of no score function is the identity}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score_gradient(%dx, %s, %b, %h, %i, %j) { fa.yield %dx : f32 }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @scatter_in_score(%q: !q, %r: !row, %t: tensor<2xf32>) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) captures(%c = %t : tensor<2xf32>) {
        // expected-error @below {{stands outside of the score_gradient region, which alone adds to gradients}}
        fa.scatter_gradient %s to %c[%h] : f32, tensor<2xf32>
        fa.yield %s : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @scatter_indices(%q: !q, %r: !row, %t: tensor<2xf32>) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) captures(%c = %t : tensor<2xf32>) {
        fa.yield %s : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %c) {
        // expected-error @below {{has 2 indices, expected 1 for 'tensor<2xf32>'}}
        fa.scatter_gradient %dx to %c[%h, %i] : f32, tensor<2xf32>
        fa.yield %dx : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @scatter_at_gradient(%q: !q, %r: !row, %t: tensor<2xf32>) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) captures(%c = %t : tensor<2xf32>) {
        fa.yield %s : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %c) {
        %n = arith.fptosi %dx : f32 to i32
        %at = arith.index_cast %n : i32 to index
        // expected-error @below {{adds at an index that depends on the gradient, expected one of scores, positions and captures}}
        fa.scatter_gradient %dx to %c[%at] : f32, tensor<2xf32>
        fa.yield %dx : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @scatter_to_score(%q: !q, %r: !row, %t: f32) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      score(%s, %b, %h, %i, %j) captures(%c = %t : f32) {
        fa.yield %s : f32
      } score_gradient(%dx, %s, %b, %h, %i, %j, %c) {
        // expected-error @below {{adds to the gradient of a value that is no capture, expected an argument behind the sixth}}
        fa.scatter_gradient %dx to %s[] : f32, f32
        fa.yield %dx : f32
      }
  return
}

// -----

!q = memref<1x8x1x16xf32>
!row = memref<1x1x8xf32>

func.func @step_out(%q: !q, %r: !row) {
  // expected-error @below {{has no gradient in outs, expected at least one}}
  fa.gradient_queries ins(%q, %q, %q, %q : !q, !q, !q, !q) rows(%r, %r : !row, !row) outs()
  return
}

// -----

!q = memref<1x8x1x16xf32>
!row = memref<1x1x8xf32>

func.func @step_underived(%q: !q, %r: !row, %a: tensor<8x16xf32>, %c: f32) {
  // expected-error @below {{has a score region but no score_gradient region; fa-differentiate-score derives it before tiling}}
  %0 = fa.gradient_queries ins(%q, %q, %q, %q : !q, !q, !q, !q) rows(%r, %r : !row, !row) outs(query = %a : tensor<8x16xf32>) score softcap(%c)
  return
}

// -----

!q = memref<1x8x2x16xf32>
!row = memref<1x2x8xf32>

func.func @step_heads(%q: !q, %r: !row, %a: tensor<8x16xf32>) {
  // expected-error @below {{query has 2 heads, expected 1}}
  %0 = fa.gradient_keys ins(%q, %q, %q, %q : !q, !q, !q, !q) rows(%r, %r : !row, !row) outs(key = %a : tensor<8x16xf32>)
  return
}

// -----

!q = memref<1x8x1x16xf32>
!row = memref<1x1x8xf32>

func.func @step_query_sums(%q: !q, %r: !row, %a: tensor<8x16xf32>, %dq: memref<1x4x1x16xf32>) {
  // expected-error @below {{query has 8 rows but gradient of query has 4}}
  %0 = fa.gradient_keys ins(%q, %q, %q, %q : !q, !q, !q, !q) rows(%r, %r : !row, !row)
      outs(key = %a : tensor<8x16xf32>, query = %dq : memref<1x4x1x16xf32>)
  return
}

// -----

!q = memref<1x8x1x16xf32>
!row = memref<1x1x8xf32>

func.func @step_query_sums_narrow(%q: !q, %r: !row, %a: tensor<8x16xf32>, %dq: memref<1x8x1x16xbf16>) {
  // expected-error @below {{gradient of query has element type 'bf16', expected 'f32'}}
  %0 = fa.gradient_keys ins(%q, %q, %q, %q : !q, !q, !q, !q) rows(%r, %r : !row, !row)
      outs(key = %a : tensor<8x16xf32>, query = %dq : memref<1x8x1x16xbf16>)
  return
}

// -----

!q = memref<1x8x1x16xf32>
!row = memref<1x1x8xf32>

func.func @step_state(%q: !q, %r: !row, %a: tensor<8x32xf32>) {
  // expected-error @below {{operand has 16 head dims but gradient of value has 32}}
  %0 = fa.gradient_keys ins(%q, %q, %q, %q : !q, !q, !q, !q) rows(%r, %r : !row, !row) outs(value = %a : tensor<8x32xf32>)
  return
}

// -----

!q = memref<1x8x1x16xf32>
!row = memref<1x1x8xf32>

func.func @prepare(%q: !q, %r: !row, %n: index) {
  // expected-error @below {{has neither of the output and delta, expected one of them}}
  fa.prepare_gradient lse(%r : !row) outs(%r, %r : !row, !row) rows(%n)
  return
}

// -----

!row = memref<1x1x8xf32>

func.func @prepare_clears(%r: !row, %m: memref<8xbf16>, %n: index) {
  // expected-error @below {{what it clears has element type 'bf16', expected 'f32'}}
  fa.prepare_gradient delta(%r : !row) lse(%r : !row) outs(%r, %r : !row, !row) clears(%m : memref<8xbf16>) rows(%n)
  return
}

// -----

!row = memref<1x1x8xf32>

func.func @prepare_rows(%r: !row, %l: memref<1x1x9xf32>, %n: index) {
  // expected-error @below {{destination delta has 8 rows but lse has 9}}
  fa.prepare_gradient delta(%r : !row) lse(%l : memref<1x1x9xf32>) outs(%r, %r : !row, !row) rows(%n)
  return
}

// -----

func.func @finalize(%a: tensor<8x16xf32>, %o: memref<1x8x1x32xf32>, %n: index) {
  // expected-error @below {{operand has 32 head dims but accumulator has 16}}
  fa.finalize_gradient ins(%a : tensor<8x16xf32>) outs(%o : memref<1x8x1x32xf32>) rows(%n)
  return
}

// -----

func.func @scatter_place(%x: tensor<8x8xf32>, %t: memref<8xf32>) {
  // expected-error @below {{has no offsets, which say where its pairs stand}}
  fa.scatter_add %x : tensor<8x8xf32> to %t : memref<8xf32> pairs(%b, %h, %i, %j) { fa.yield %h : index }
  return
}

// -----

func.func @scatter_scores(%x: tensor<8x8xf32>, %s: tensor<8x4xf32>, %t: memref<8xf32>, %c: index) {
  // expected-error @below {{scores are of type 'tensor<8x4xf32>', expected the shape of 'tensor<8x8xf32>'}}
  fa.scatter_add %x : tensor<8x8xf32> to %t : memref<8xf32> scores(%s : tensor<8x4xf32>) offsets(%c, %c, %c, %c) extents(%c, %c)
      pairs(%x0, %b, %h, %i, %j) { fa.yield %h : index }
  return
}

// -----

func.func @scatter_yield(%x: tensor<8x8xf32>, %t: memref<8xf32>, %c: index) {
  // expected-error @below {{pair region yields ('index', 'index'), expected ('index')}}
  fa.scatter_add %x : tensor<8x8xf32> to %t : memref<8xf32> offsets(%c, %c, %c, %c) extents(%c, %c) pairs(%b, %h, %i, %j) { fa.yield %h, %i : index, index }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @deterministic_in_any_order(%q: !q, %r: !row) {
  // expected-error @below {{'fa.attention_gradient' op is deterministic and its config has deterministic = false, expected sums in one order; the nearest is deterministic = true, with gradient_form = two_pass on a GPU}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      {config = #fa.config<query_block = 16, key_block = 16, deterministic = false>, deterministic}
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @deterministic_up_to_some_keys(%q: !q, %r: !row) {
  // expected-error @below {{is deterministic and its config has deterministic = false}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      {config = #fa.config<query_block = 16, key_block = 16, longer = #fa.config<query_block = 16, key_block = 16, deterministic = false, from_keys = 64>>, deterministic}
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @deterministic_queries_alone(%q: !q, %r: !row) {
  // expected-error @below {{is deterministic and its fa.gradient_keys has deterministic = false}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      {config = #fa.config<query_block = 16, key_block = 16>, deterministic, fa.gradient_keys = #fa.config<query_block = 16, key_block = 16, deterministic = false>}
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @deterministic_misspelt(%q: !q, %r: !row) {
  // expected-error @below {{has an attribute 'determinstic', which it does not know; the nearest is 'deterministic'}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      {determinstic}
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @sink_number(%q: !q, %r: !row, %s: tensor<2xf32>) {
  // expected-error @below {{sink_capture[1] has a gradient but the sink captures 1 values, expected 0 to 0}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[1] = %s : tensor<2xf32>)
      sink(%b, %h, %i) captures(%t = %s : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        fa.yield %x : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @sink_shape(%q: !q, %r: !row, %s: tensor<2xf32>, %d: tensor<3xf32>) {
  // expected-error @below {{sink_capture[0] has type 'tensor<2xf32>' but its gradient has type 'tensor<3xf32>', expected the same shape}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[0] = %d : tensor<3xf32>)
      sink(%b, %h, %i) captures(%t = %s : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        fa.yield %x : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @no_sink(%q: !q, %r: !row, %s: tensor<2xf32>) {
  // expected-error @below {{sink_capture[0] has a gradient but the sink captures 0 values}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[0] = %s : tensor<2xf32>)

  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @sink_gradient_alone(%q: !q, %r: !row) {
  // expected-error @below {{has a sink_gradient region but no sink region, expected both}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(query = %q : !q)
      sink_gradient(%dx, %b, %h, %i) {
        fa.yield
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @sink_gradient_yields(%q: !q, %r: !row, %s: tensor<2xf32>) {
  // expected-error @below {{sink_gradient region yields ('f32'), expected ()}}
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[0] = %s : tensor<2xf32>)
      sink(%b, %h, %i) captures(%t = %s : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        fa.yield %x : f32
      } sink_gradient(%dx, %b, %h, %i, %t) {
        fa.yield %dx : f32
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @sink_gradient_arguments(%q: !q, %r: !row, %s: tensor<2xf32>) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[0] = %s : tensor<2xf32>)
      sink(%b, %h, %i) captures(%t = %s : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        fa.yield %x : f32
      }
      // expected-error @below {{sink_gradient names 4 arguments, expected 5 (gradient, batch, head, query, and one for each of 1 captures of the sink)}}
      sink_gradient(%dx, %b, %h, %i) {
        fa.yield
      }
  return
}

// -----

!q = tensor<1x8x2x16xf32>
!row = tensor<1x2x8xf32>

func.func @sink_adds_to_its_query(%q: !q, %r: !row, %s: tensor<2xf32>) {
  %0 = fa.attention_gradient ins(%q, %q, %q : !q, !q, !q) of(%q, %r : !q, !row) gradients(%q : !q) outs(sink_capture[0] = %s : tensor<2xf32>)
      sink(%b, %h, %i) captures(%t = %s : tensor<2xf32>) {
        %x = tensor.extract %t[%h] : tensor<2xf32>
        fa.yield %x : f32
      } sink_gradient(%dx, %b, %h, %i, %t) {
        // expected-error @below {{adds to the gradient of a value that is no capture, expected an argument behind the fourth}}
        fa.scatter_gradient %dx to %dx[] : f32, f32
        fa.yield
      }
  return
}
