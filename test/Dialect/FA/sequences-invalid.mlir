// RUN: fa-opt %s -split-input-file -verify-diagnostics

// Every message on packed sequences, pages and sinks.

// Orders belong to what says where a sequence is.

func.func @query_without_starts(%q: memref<30x2x16xf32>, %k: memref<2x8x2x16xf32>, %o: memref<2x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has the order #fa.dims<s, h, d> but there are no query_starts, which say where each sequence begins; expected these or an order with b}}
  fa.attention ins(%q, %k, %k : memref<30x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>) outs(%o : memref<2x8x2x16xf32>)
      {query_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @query_with_batch(%q: memref<2x8x2x16xf32>, %s: memref<3xi32>) {
  // expected-error @+1 {{'fa.attention' op query has the order #fa.dims<b, s, h, d> beside query_starts, expected one without b, such as #fa.dims<s, h, d>}}
  fa.attention ins(%q, %q, %q : memref<2x8x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>) outs(%q : memref<2x8x2x16xf32>)
      query_starts(%s : memref<3xi32>)
  return
}

// -----

func.func @output_with_batch(%q: memref<30x2x16xf32>, %k: memref<2x8x2x16xf32>, %s: memref<3xi32>) {
  // expected-error @+1 {{'fa.attention' op output has the order #fa.dims<b, s, h, d> beside query_starts, expected one without b, such as #fa.dims<s, h, d>}}
  fa.attention ins(%q, %k, %k : memref<30x2x16xf32>, memref<2x8x2x16xf32>, memref<2x8x2x16xf32>) outs(%k : memref<2x8x2x16xf32>)
      query_starts(%s : memref<3xi32>) {query_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @pages_of_queries(%q: memref<4x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has the order #fa.dims<p, s, h, d>, expected one without p: only keys and values lie in pages}}
  fa.attention ins(%q, %q, %q : memref<4x8x2x16xf32>, memref<4x8x2x16xf32>, memref<4x8x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      {query_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @pages_without_table(%q: memref<4x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has the order #fa.dims<p, s, h, d> but there are no key_pages, which say where the keys of a sequence are}}
  fa.attention ins(%q, %q, %q : memref<4x8x2x16xf32>, memref<4x8x2x16xf32>, memref<4x8x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      {key_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @table_without_pages(%q: memref<4x8x2x16xf32>, %l: memref<4xi32>, %t: memref<4x2xi32>) {
  // expected-error @+1 {{'fa.attention' op key has the order #fa.dims<b, s, h, d> beside key_pages, expected one with p, such as #fa.dims<p, s, h, d>}}
  fa.attention ins(%q, %q, %q : memref<4x8x2x16xf32>, memref<4x8x2x16xf32>, memref<4x8x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      key_lengths(%l : memref<4xi32>) key_pages(%t : memref<4x2xi32>)
  return
}

// -----

func.func @starts_and_pages(%q: memref<4x8x2x16xf32>, %l: memref<4xi32>, %s: memref<5xi32>, %t: memref<4x2xi32>) {
  // expected-error @+1 {{'fa.attention' op has key_starts and key_pages, expected one of them: keys lie one sequence behind the other, or in pages}}
  fa.attention ins(%q, %q, %q : memref<4x8x2x16xf32>, memref<4x8x2x16xf32>, memref<4x8x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      key_lengths(%l : memref<4xi32>) key_starts(%s : memref<5xi32>) key_pages(%t : memref<4x2xi32>)
  return
}

// -----

func.func @pages_without_lengths(%q: memref<4x8x2x16xf32>, %t: memref<4x2xi32>) {
  // expected-error @+1 {{'fa.attention' op has key_pages but no key_lengths, expected the number of keys of each sequence, i32 of shape batch}}
  fa.attention ins(%q, %q, %q : memref<4x8x2x16xf32>, memref<4x8x2x16xf32>, memref<4x8x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      key_pages(%t : memref<4x2xi32>) {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @pages_without_rows(%q: memref<4x8x2x16xf32>, %k: memref<9x0x2x16xf32>, %l: memref<4xi32>, %t: memref<4x2xi32>) {
  // expected-error @+1 {{'fa.attention' op key has pages of 0 rows, expected at least 1}}
  fa.attention ins(%q, %k, %k : memref<4x8x2x16xf32>, memref<9x0x2x16xf32>, memref<9x0x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      key_lengths(%l : memref<4xi32>) key_pages(%t : memref<4x2xi32>) {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @piece_of_packed(%q: memref<30x2x16xf32>, %s: memref<3xi32>, %i: index) {
  // expected-error @+1 {{'fa.attention' op has offsets beside starts of sequences, expected none: packed sequences and pages are whole problems}}
  fa.attention ins(%q, %q, %q : memref<30x2x16xf32>, memref<30x2x16xf32>, memref<30x2x16xf32>) outs(%q : memref<30x2x16xf32>)
      query_starts(%s : memref<3xi32>) key_starts(%s : memref<3xi32>) offsets(%i, %i, %i, %i)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @batches_of_tables(%q: memref<30x2x16xf32>, %s: memref<3xi32>, %t: memref<4xi32>) {
  // expected-error @+1 {{'fa.attention' op query_starts has 2 batches but key_starts has 3}}
  fa.attention ins(%q, %q, %q : memref<30x2x16xf32>, memref<30x2x16xf32>, memref<30x2x16xf32>) outs(%q : memref<30x2x16xf32>)
      query_starts(%s : memref<3xi32>) key_starts(%t : memref<4xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @no_starts(%q: memref<30x2x16xf32>, %s: memref<0xi32>) {
  // expected-error @+1 {{'fa.attention' op query_starts has 0 elements, expected batch + 1, so at least 1}}
  fa.attention ins(%q, %q, %q : memref<30x2x16xf32>, memref<30x2x16xf32>, memref<30x2x16xf32>) outs(%q : memref<30x2x16xf32>)
      query_starts(%s : memref<0xi32>) key_starts(%s : memref<0xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @wide_starts(%q: memref<30x2x16xf32>, %s: memref<3xi64>) {
  // expected-error @+1 {{'fa.attention' op query_starts has element type 'i64', expected 'i32'}}
  fa.attention ins(%q, %q, %q : memref<30x2x16xf32>, memref<30x2x16xf32>, memref<30x2x16xf32>) outs(%q : memref<30x2x16xf32>)
      query_starts(%s : memref<3xi64>) key_starts(%s : memref<3xi64>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @flat_table(%q: memref<4x8x2x16xf32>, %l: memref<4xi32>) {
  // expected-error @+1 {{'fa.attention' op key_pages has rank 1, expected 2}}
  fa.attention ins(%q, %q, %q : memref<4x8x2x16xf32>, memref<4x8x2x16xf32>, memref<4x8x2x16xf32>) outs(%q : memref<4x8x2x16xf32>)
      key_lengths(%l : memref<4xi32>) key_pages(%l : memref<4xi32>) {key_dims = #fa.dims<p, s, h, d>, value_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @lse_of_packed(%q: memref<30x2x16xf32>, %s: memref<3xi32>, %l: memref<2x2x30xf32>) {
  // expected-error @+1 {{'fa.attention' op lse has rank 3, expected 2}}
  fa.attention ins(%q, %q, %q : memref<30x2x16xf32>, memref<30x2x16xf32>, memref<30x2x16xf32>) outs(%q, %l : memref<30x2x16xf32>, memref<2x2x30xf32>)
      query_starts(%s : memref<3xi32>) key_starts(%s : memref<3xi32>)
      {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>, output_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @step_of_packed(%q: tensor<8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op query has the order #fa.dims<s, h, d>, expected one with b, such as #fa.dims<b, s, h, d>: only 'fa.attention' takes packed sequences and pages}}
  %r:3 = fa.online_attention ins(%q, %k, %k : tensor<8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %m : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) {query_dims = #fa.dims<s, h, d>}
  return
}

// -----

// Sinks.

func.func @sink_of_keys(%q: memref<1x8x2x16xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x8x2x16xf32>, memref<1x8x2x16xf32>, memref<1x8x2x16xf32>) outs(%q : memref<1x8x2x16xf32>)
      // expected-error @+1 {{sink names 4 arguments, expected 3 (batch, head, query)}}
      sink(%b, %h, %i, %j) {
        %x = arith.constant 1.0 : f32
        fa.yield %x : f32
      }
  return
}

// -----

func.func @sink_of_words(%q: memref<1x8x2x16xf32>) {
  fa.attention ins(%q, %q, %q : memref<1x8x2x16xf32>, memref<1x8x2x16xf32>, memref<1x8x2x16xf32>) outs(%q : memref<1x8x2x16xf32>)
      // expected-error @+1 {{sink argument has type 'i32', expected 'index'}}
      sink(%b, %h, %i: i32) {
        %x = arith.constant 1.0 : f32
        fa.yield %x : f32
      }
  return
}

// -----

func.func @sink_of_f16(%q: memref<1x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op sink region yields ('f16'), expected ('f32')}}
  fa.attention ins(%q, %q, %q : memref<1x8x2x16xf32>, memref<1x8x2x16xf32>, memref<1x8x2x16xf32>) outs(%q : memref<1x8x2x16xf32>)
      sink(%b, %h, %i) {
        %x = arith.constant 1.0 : f16
        fa.yield %x : f16
      }
  return
}

// -----

func.func @finalize_sink(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %o: tensor<1x8x1x16xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'fa.finalize' op accumulator has 8 rows but sink has 4}}
  %r = fa.finalize ins(%a, %m, %m : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<1x8x1x16xf32>)
      sink(%s : tensor<4xf32>) -> tensor<1x8x1x16xf32>
  return
}

// -----

// What depends on the batch.

func.func @invariant_splits(%q: memref<1x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op is batch_invariant and its config has key_splits = 2, expected parts of a fixed size, which are the same in any batch; the nearest is split_keys = 128}}
  fa.attention ins(%q, %q, %q : memref<1x8x2x16xf32>, memref<1x8x2x16xf32>, memref<1x8x2x16xf32>) outs(%q : memref<1x8x2x16xf32>)
      {batch_invariant, config = #fa.config<query_block = 16, key_block = 16, key_splits = 2>}
  return
}

// -----

func.func @invariant_longer(%q: memref<1x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op is batch_invariant and its config has a longer one from 64 keys on, expected one for all lengths: which one holds depends on the batch}}
  fa.attention ins(%q, %q, %q : memref<1x8x2x16xf32>, memref<1x8x2x16xf32>, memref<1x8x2x16xf32>) outs(%q : memref<1x8x2x16xf32>)
      {batch_invariant, config = #fa.config<query_block = 16, key_block = 16, longer = #fa.config<query_block = 16, key_block = 32, from_keys = 64>>}
  return
}

// -----

// Rows in pages.

func.func @rows_without_pages(%p: memref<4x8x2x16xf32>, %t: memref<1x4xi32>, %i: index) {
  // expected-error @+1 {{'fa.paged_rows' op pool has the order #fa.dims<b, s, h, d>, expected one with p, such as #fa.dims<p, s, h, d>}}
  %r = fa.paged_rows %p[%i] pages(%t[%i]) count(%i) {dims = #fa.dims<b, s, h, d>} : memref<4x8x2x16xf32>, memref<1x4xi32> -> memref<1x?x1x16xf32>
  return
}

// -----

func.func @rows_of_heads(%p: memref<4x8x2x16xf32>, %t: memref<1x4xi32>, %i: index) {
  // expected-error @+1 {{'fa.paged_rows' op result has type 'memref<1x?x2x16xf32>', expected the shape 1 x keys x 1 x 16}}
  %r = fa.paged_rows %p[%i] pages(%t[%i]) count(%i) {dims = #fa.dims<p, s, h, d>} : memref<4x8x2x16xf32>, memref<1x4xi32> -> memref<1x?x2x16xf32>
  return
}
