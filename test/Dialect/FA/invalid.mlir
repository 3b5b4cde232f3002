// RUN: fa-opt %s -split-input-file -verify-diagnostics

// Every message of the parser and the verifiers of the dialect. A message names
// the operand or attribute, its value, and what was expected.

//===----------------------------------------------------------------------===//
// #fa.dims
//===----------------------------------------------------------------------===//

// expected-error @+1 {{unknown dimension 'x', expected b (batch), s (sequence), h (heads), d (head dim) or p (pages)}}
func.func private @f() attributes {a = #fa.dims<b, s, h, x>}

// -----

// expected-error @+1 {{unknown dimension 'bs', expected b (batch), s (sequence), h (heads), d (head dim) or p (pages)}}
func.func private @f() attributes {a = #fa.dims<bs, h, d>}

// -----

// expected-error @+1 {{dimension order must name each of s, h and d once, and b (batch), p (pages) or neither}}
func.func private @f() attributes {a = #fa.dims<b, s, h>}

// -----

// expected-error @+1 {{dimension order must name each of s, h and d once, and b (batch), p (pages) or neither}}
func.func private @f() attributes {a = #fa.dims<b, p, s, h, d>}

// -----

// expected-error @+1 {{dimension order must name each of s, h and d once, and b (batch), p (pages) or neither}}
func.func private @f() attributes {a = #fa.dims<b, s, s, d>}

// -----

//===----------------------------------------------------------------------===//
// #fa.config
//===----------------------------------------------------------------------===//

// expected-error @+1 {{a configuration needs query_block and key_block}}
func.func private @f() attributes {a = #fa.config<query_block = 64>}

// -----

// expected-error @+1 {{query_block is 0, expected at least 1}}
func.func private @f() attributes {a = #fa.config<query_block = 0, key_block = 128>}

// -----

// expected-error @+1 {{key_block is -1, expected at least 1}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = -1>}

// -----

// expected-error @+1 {{key_splits is 0, expected at least 1}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, key_splits = 0>}

// -----

// expected-error @+1 {{split_keys is -128, expected at least 0, for no parts of a fixed size}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, split_keys = -128>}

// -----

// expected-error @+1 {{has key_splits = 2 and split_keys = 256, expected one of them: a number of parts, or the keys of each}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, key_splits = 2, split_keys = 256>}

// -----

// expected-error @+1 {{split_keys is 200, expected a multiple of key_block = 128; the nearest is 256}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, split_keys = 200>}

// -----

// expected-error @+1 {{'key_block' is given twice}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, key_block = 64>}

// -----

// expected-error @+1 {{deterministic is 'maybe', expected true or false}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, deterministic = maybe>}

// -----

// expected-error @+1 {{unknown field 'rows', expected query_block, key_block, key_splits, split_keys, deterministic, target, gradient_form, from_keys, from_queries or longer}}
func.func private @f() attributes {a = #fa.config<rows = 64>}

// -----

// expected-error @+1 {{gradient_form is 'four_pass', expected one_pass, two_pass or three_pass}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, gradient_form = four_pass>}

// -----

// expected-error @+1 {{from_keys is -1, expected at least 0}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, from_keys = -1>}

// -----

// expected-error @+1 {{from_queries is -1, expected at least 0}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, from_queries = -1>}

// -----

// expected-error @+1 {{longer is from_queries = 0, expected at least 256, as this configuration is for}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, from_queries = 256, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 512>>}

// -----

func.func @late(%q: tensor<1x?x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config has from_queries = 512, expected 0: only a 'longer' one starts later}}
  %r = fa.attention ins(%q, %q, %q : tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>) outs(%q : tensor<1x?x1x64xf32>)
      {config = #fa.config<query_block = 64, key_block = 128, from_queries = 512>}
  return
}

// -----

// expected-error @+1 {{cluster is 3, expected 1, 2, 4 or 8}}
func.func private @f() attributes {a = #fa.gpu<warp_groups<groups = 2, cluster = 3>>}

// -----

// expected-error @+1 {{unknown field 'cluster' of warps, expected column_groups, tile_order or blocks_per_sm; 'cluster' is a field of warp_groups}}
func.func private @f() attributes {a = #fa.gpu<warps<cluster = 2>>}

// -----

// expected-error @+1 {{cluster is 2, which is for tile_order = in_order}}
func.func private @f() attributes {a = #fa.gpu<warp_groups<groups = 2, tile_order = longest_first, cluster = 2>>}

// -----

// Which keys a block sees is then its own.
// expected-error @+1 {{cluster is 2, expected 1 with block_table}}
func.func private @f() attributes {a = #fa.gpu<warp_groups<groups = 2, cluster = 2>, block_table>}

// -----

// expected-error @+1 {{longer is from_keys = 512, expected at least 513, more than this configuration is for}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, from_keys = 512, longer = #fa.config<query_block = 64, key_block = 256, from_keys = 512>>}

// -----

// expected-error @+1 {{longer is from_keys = 0, expected at least 1, more than this configuration is for}}
func.func private @f() attributes {a = #fa.config<query_block = 64, key_block = 128, longer = #fa.config<query_block = 64, key_block = 256>>}

// -----

func.func @late(%q: tensor<1x?x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config has from_keys = 512, expected 0: only a 'longer' one starts later}}
  %r = fa.attention ins(%q, %q, %q : tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>) outs(%q : tensor<1x?x1x64xf32>)
      {config = #fa.config<query_block = 64, key_block = 128, from_keys = 512>}
  return
}

// -----

func.func @longer_target(%q: tensor<1x?x1x64xf32>) {
  // expected-error @below {{'fa.attention' op config query_block is 64, but warp_groups<groups = 2> holds 128 rows; the nearest is 128}}
  %r = fa.attention ins(%q, %q, %q : tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>) outs(%q : tensor<1x?x1x64xf32>)
      {config = #fa.config<query_block = 64, key_block = 128, longer =
         #fa.config<query_block = 64, key_block = 128, target = #fa.gpu<warp_groups<groups = 2>>, from_keys = 512>>}
  return
}

// -----

// expected-error @+1 {{lanes is 6, expected a power of two from 1 to 1024}}
func.func private @f() attributes {a = #fa.cpu<lanes = 6>}

// -----

// expected-error @+1 {{register_rows is 0, expected 1 to 1024}}
func.func private @f() attributes {a = #fa.cpu<register_rows = 0>}

// -----

// expected-error @+1 {{register_vectors is 0, expected 1 to 1024}}
func.func private @f() attributes {a = #fa.cpu<register_vectors = 0>}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op config query_block is 40, expected a multiple of lanes * register_vectors = 16; the nearest is 48}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      {config = #fa.config<query_block = 40, key_block = 128, target = #fa.cpu<lanes = 8>>}
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.attention: ranks, element types, tensors and memrefs
//===----------------------------------------------------------------------===//

func.func @f(%q: tensor<2x8x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has rank 3, expected 4}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<1x2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has rank 5, expected 4}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<1x2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<8x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op value has rank 2, expected 4}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<8x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x64xf32>) {
  // expected-error @+1 {{'fa.attention' op output has rank 3, expected 4}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x64xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8xf32>) {
  // expected-error @+1 {{'fa.attention' op lse has rank 2, expected 3}}
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %n: tensor<2x1xi32>) {
  // expected-error @+1 {{'fa.attention' op query_lengths has rank 2, expected 1}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      query_lengths(%n : tensor<2x1xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf64>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has element type 'f64', expected f16, bf16 or f32}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf64>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf16>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has element type 'f16', expected 'f32'}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf16>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xbf16>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op value has element type 'bf16', expected 'f32'}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xbf16>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf16>) {
  // expected-error @+1 {{'fa.attention' op output has element type 'f16', expected 'f32' (that of query) or f32}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf16>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xbf16>) {
  // expected-error @+1 {{'fa.attention' op lse has element type 'bf16', expected 'f32'}}
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xbf16>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{'fa.attention' op key_lengths has element type 'i64', expected 'i32'}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      key_lengths(%n : tensor<2xi64>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: memref<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has type 'memref<2x8x4x16xf32>' but query has type 'tensor<2x8x4x16xf32>', expected all tensors or all memrefs}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, memref<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: memref<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op destination has type 'memref<2x8x4x16xf32>' but query has type 'tensor<2x8x4x16xf32>', expected all tensors or all memrefs}}
  fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.attention: sizes
//===----------------------------------------------------------------------===//

func.func @f(%q: tensor<2x8x4x?xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query head dim is dynamic, expected a static size from 1 to 512}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x?xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x576xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query head dim is 576, expected 1 to 512; the nearest is 512}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x576xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x0xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op value head dim is 0, expected 1 to 512; the nearest is 1}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x0xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x32xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 16 head dims but key has 32}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x32xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{'fa.attention' op value has 16 head dims but output has 8}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<3x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 2 batches but key has 3}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<3x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<1x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 2 batches but value has 1}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<1x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<4x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 2 batches but output has 4}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<4x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %n: tensor<3xi32>) {
  // expected-error @+1 {{'fa.attention' op query has 2 batches but query_lengths has 3}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      query_lengths(%n : tensor<3xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %n: tensor<1xi32>) {
  // expected-error @+1 {{'fa.attention' op query has 2 batches but key_lengths has 1}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      key_lengths(%n : tensor<1xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x9x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has 8 keys but value has 9}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x9x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x7x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 8 queries but output has 7}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x7x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x2x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has 4 heads but value has 2}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x2x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 4 heads but output has 2}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x2x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x3x16xf32>, %v: tensor<2x8x3x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 4 heads and key has 3, expected a multiple of the key heads}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x8xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 4 heads but lse has 8}}
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x8x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x4xf32>) {
  // expected-error @+1 {{'fa.attention' op query has 8 queries but lse has 4}}
  %r:2 = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x4xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.attention: the head dim of a memref is contiguous
//===----------------------------------------------------------------------===//

func.func @f(%q: memref<2x8x4x16xf32, strided<[1024, 128, 32, 2]>>, %k: memref<2x8x4x16xf32>, %v: memref<2x8x4x16xf32>, %o: memref<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op query has head dim stride 2, expected 1: the head dim must be contiguous}}
  fa.attention ins(%q, %k, %v : memref<2x8x4x16xf32, strided<[1024, 128, 32, 2]>>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: memref<2x8x4x16xf32>, %k: memref<2x8x4x16xf32>, %v: memref<2x8x4x16xf32>, %o: memref<2x8x4x16xf32, strided<[?, ?, ?, ?], offset: ?>>) {
  // expected-error @+1 {{'fa.attention' op output has head dim stride ?, expected 1: the head dim must be contiguous}}
  fa.attention ins(%q, %k, %v : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32, strided<[?, ?, ?, ?], offset: ?>>)
  return
}

// -----

func.func @f(%q: memref<2x8x4x16xf32>, %k: memref<2x4x16x8xf32>, %v: memref<2x8x4x16xf32>, %o: memref<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op key has head dim stride 8, expected 1: the head dim must be contiguous}}
  fa.attention ins(%q, %k, %v : memref<2x8x4x16xf32>, memref<2x4x16x8xf32>, memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>)
      {key_dims = #fa.dims<b, h, d, s>}
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.attention: clauses
//===----------------------------------------------------------------------===//

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{ins has 2 operands, expected 3 (query, key, value)}}
  %r = fa.attention ins(%q, %k : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+2 {{outs has 3 operands, expected 1 (output) or 2 (output, lse)}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %s: f32) {
  // expected-error @+3 {{scale has 2 operands, expected 1}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      scale(%s, %s)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %i: index) {
  // expected-error @+3 {{offsets has 2 operands, expected 4}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      offsets(%i, %i)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %i: index) {
  // expected-error @+3 {{extents has 1 operands, expected 2}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      extents(%i)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %n: tensor<2xi32>) {
  // expected-error @+3 {{query_lengths has 2 operands, expected 1}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      query_lengths(%n, %n : tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %s: f32) {
  // expected-error @+3 {{expected '(' or one of softcap, approx_softcap, alibi, bias after 'score'}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      score relu(%s)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+3 {{expected '(' or one of causal, causal_top_left, window, prefix, documents after 'mask'}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      mask diagonal
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+3 {{score names 4 arguments, expected 5 (score, batch, head, query, key)}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      score(%b, %h, %i, %j) {}
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>) {
  // expected-error @+3 {{mask names 2 arguments, expected 4 (batch, head, query, key)}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      mask(%i, %j) {}
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: tensor<4xf16>) {
  // expected-error @+3 {{alibi has type 'tensor<4xf16>', expected f32 of shape heads or batch x heads}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      score alibi(%t : tensor<4xf16>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: tensor<4xf32>) {
  // expected-error @+3 {{alibi has 2 operands, expected alibi(%slopes : type) of type f32 of shape heads or batch x heads}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      score alibi(%t, %t : tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: tensor<8x8xf32>) {
  // expected-error @+3 {{bias has type 'tensor<8x8xf32>', expected f16, bf16 or f32 of shape batch x heads x queries x keys}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      score bias(%t : tensor<8x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: tensor<2xi64>) {
  // expected-error @+3 {{prefix has type 'tensor<2xi64>', expected index, or i32 of shape batch}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      mask prefix(%t : tensor<2xi64>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: index) {
  // expected-error @+3 {{prefix has 2 operands, expected prefix(%keys : type) of type index, or i32 of shape batch}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      mask prefix(%t, %t : index, index)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: tensor<8xi32>) {
  // expected-error @+3 {{documents has type 'tensor<8xi32>', expected i32 of shape batch x positions}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      mask documents(%t : tensor<8xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>, %t: tensor<2x8xi32>) {
  // expected-error @+3 {{documents has 3 operands, expected documents(%ids : type) or documents(%query_ids, %key_ids : type, type) of type i32 of shape batch x positions}}
  %r = fa.attention ins(%q, %k, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>)
      mask documents(%t, %t, %t : tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %i: index) {
  // expected-error @+1 {{'fa.attention' op has 2 offsets, expected 4 (batch, head, query, key) or none}}
  %r = "fa.attention"(%q, %q, %q, %i, %i, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0>}> ({}, {}, {}) : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, index, index, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %i: index) {
  // expected-error @+1 {{'fa.attention' op has 1 extents, expected 2 (queries, keys) or none}}
  %r = "fa.attention"(%q, %q, %q, %i, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0>}> ({}, {}, {}) : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, index, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %i: index) {
  // expected-error @+1 {{'fa.attention' op has 1 score captures but no score region}}
  %r = "fa.attention"(%q, %q, %q, %i, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0>}> ({}, {}, {}) : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, index, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Score and mask regions
//===----------------------------------------------------------------------===//

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op score region has 4 arguments, expected 5 (5 and one for each of 0 captures)}}
  %r = "fa.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>}> ({
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 0.0 : f32
    fa.yield %x : f32
  }, {}, {}) : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op score region argument 0 has type 'f16', expected 'f32'}}
  %r = "fa.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>}> ({
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 0.0 : f32
    fa.yield %x : f32
  }, {}, {}) : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op mask region has control flow, expected one block}}
  %r = "fa.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>}> ({}, {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    cf.br ^bb1
  ^bb1:
    %x = arith.constant true
    fa.yield %x : i1
  }, {}) : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op score region yields ('index'), expected ('f32')}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        fa.yield %i : index
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op mask region yields ('i32'), expected ('i1')}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) {
        %x = arith.constant 1 : i32
        fa.yield %x : i32
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op mask region yields (), expected ('i1')}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) {
        fa.yield
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'scf.if' in its score region, expected arith, math and index operations and loads from captures}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.cmpi eq, %i, %j : index
        // expected-note @+1 {{operation is here}}
        %x = scf.if %c -> f32 {
          scf.yield %s : f32
        } else {
          scf.yield %s : f32
        }
        fa.yield %x : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op mask region is empty, expected 'fa.yield'}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) {
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %table: tensor<4xf8E5M2>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'arith.extf' on 'f8E5M2' in its score region, expected integers, indices, f16, bf16, f32 or f64}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<4xf8E5M2>) {
        %narrow = tensor.extract %t[%h] : tensor<4xf8E5M2>
        %bits = arith.bitcast %narrow : f8E5M2 to i8
        // expected-note @+1 {{operation is here}}
        %x = arith.extf %narrow : f8E5M2 to f32
        fa.yield %x : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'arith.constant' on 'vector<4xi1>' in its mask region, expected integers, indices, f16, bf16, f32 or f64}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) {
        // expected-note @+1 {{operation is here}}
        %v = arith.constant dense<true> : vector<4xi1>
        %x = arith.cmpi sle, %j, %i : index
        fa.yield %x : i1
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op score region is empty, expected 'fa.yield'}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
      }
  return
}

// -----

// A region is evaluated for pairs whose result nobody reads, so that a quotient
// has a divisor that is known (fa-guard-divisors holds those of remainders).

func.func @f(%q: tensor<2x8x4x16xf32>, %n: index) {
  // expected-error @+1 {{'fa.attention' op does not allow 'arith.divui' in its mask region by a divisor that is not a constant, expected a constant that is not 0; 'arith.floordivsi' divides by a captured value too}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) captures(%x = %n : index) {
        %seven = arith.constant 7 : index
        %legal = arith.divui %j, %seven : index
        // expected-note @+1 {{operation is here}}
        %part = arith.divui %legal, %x : index
        %visible = arith.cmpi ule, %part, %i : index
        fa.yield %visible : i1
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'arith.divsi' in its mask region by -1, expected a constant that is not 0 or -1}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) {
        %minus = arith.constant -1 : index
        // expected-note @+1 {{operation is here}}
        %part = arith.divsi %j, %minus : index
        %visible = arith.cmpi ule, %part, %i : index
        fa.yield %visible : i1
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'index.divu' in its mask region, expected a division of arith}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      mask(%b, %h, %i, %j) {
        %seven = index.constant 7
        // expected-note @+1 {{operation is here}}
        %part = index.divu %j, %seven
        %visible = arith.cmpi ule, %part, %i : index
        fa.yield %visible : i1
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %t: memref<8xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'memref.store' in its score region, expected arith, math and index operations and loads from captures}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) captures(%m = %t : memref<8xf32>) {
        // expected-note @+1 {{operation is here}}
        memref.store %s, %m[%j] : memref<8xf32>
        fa.yield %s : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'func.call' in its score region, expected arith, math and index operations and loads from captures}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        // expected-note @+1 {{operation is here}}
        %x = func.call @g(%s) : (f32) -> f32
        fa.yield %x : f32
      }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'fa.attention' op does not allow 'tensor.empty' in its score region, expected arith, math and index operations and loads from captures}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        // expected-note @+1 {{operation is here}}
        %e = tensor.empty() : tensor<8xf32>
        %x = tensor.extract %e[%j] : tensor<8xf32>
        fa.yield %x : f32
      }
  return
}

// -----

func.func @f() -> index {
  // expected-error @+1 {{'fa.key_length' op expects parent op to be one of 'fa.apply, fa.attention_gradient, fa.attention, fa.gradient_keys, fa.gradient_queries, fa.online_attention, fa.scatter_add, fa.summarize_mask'}}
  %n = fa.key_length : index
  return %n : index
}

// -----

//===----------------------------------------------------------------------===//
// fa.online_attention
//===----------------------------------------------------------------------===//

func.func @f(%q: tensor<2x8x1x16xf32>, %k: tensor<2x8x1x16xf32>, %v: tensor<2x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op query has 2 batches, expected 1}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>, tensor<2x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op query has 4 heads, expected 1}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x4x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x?x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op key has ? heads, expected 1}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x?x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x16x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op query has 16 rows, expected at most the 8 rows of the state}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x16x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<1x8x1x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op accumulator has rank 4, expected 2}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<1x8x1x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf16>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op accumulator has element type 'f16', expected 'f32'}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8x1xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op maximum has rank 2, expected 1}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8x1xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf64>) {
  // expected-error @+1 {{'fa.online_attention' op sum has element type 'f64', expected 'f32'}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf64>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<4xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op accumulator has 8 rows but maximum has 4}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<4xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<16xf32>) {
  // expected-error @+1 {{'fa.online_attention' op accumulator has 8 rows but sum has 16}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<16xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %k: tensor<1x8x1x16xf32>, %v: tensor<1x8x1x16xf32>, %a: tensor<8x32xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.online_attention' op value has 16 head dims but accumulator has 32}}
  %r:3 = fa.online_attention ins(%q, %k, %v : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a, %m, %s : tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x8x1x16xf32>, %a: tensor<8x16xf32>) {
  // expected-error @+2 {{outs has 1 operands, expected 3 (accumulator, maximum, sum)}}
  %r = fa.online_attention ins(%q, %q, %q : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>)
      outs(%a : tensor<8x16xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.finalize
//===----------------------------------------------------------------------===//

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<8x16xf32>) {
  // expected-error @+1 {{'fa.finalize' op output has rank 2, expected 4}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o : tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x8x1x16xf64>) {
  // expected-error @+1 {{'fa.finalize' op output has element type 'f64', expected f16, bf16 or f32}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o : tensor<1x8x1x16xf64>) -> tensor<1x8x1x16xf64>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<2x8x1x16xf32>) {
  // expected-error @+1 {{'fa.finalize' op output has batches of size 2, expected 1}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o : tensor<2x8x1x16xf32>) -> tensor<2x8x1x16xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x8x?x16xf32>) {
  // expected-error @+1 {{'fa.finalize' op output has heads of size ?, expected 1}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o : tensor<1x8x?x16xf32>) -> tensor<1x8x?x16xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x16x1x16xf32>) {
  // expected-error @+1 {{'fa.finalize' op output has 16 rows, expected at most the 8 rows of the state}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o : tensor<1x16x1x16xf32>) -> tensor<1x16x1x16xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x8x1x8xf32>) {
  // expected-error @+1 {{'fa.finalize' op accumulator has 16 head dims but output has 8}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o : tensor<1x8x1x8xf32>) -> tensor<1x8x1x8xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8x1xf32>, %o: tensor<1x8x1x16xf32>) {
  // expected-error @+1 {{'fa.finalize' op sum has rank 2, expected 1}}
  %r = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8x1xf32>)
      outs(%o : tensor<1x8x1x16xf32>) -> tensor<1x8x1x16xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x8x1x16xf32>, %l: tensor<8xf32>) {
  // expected-error @+1 {{'fa.finalize' op lse has rank 1, expected 3}}
  %r:2 = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o, %l : tensor<1x8x1x16xf32>, tensor<8xf32>) -> tensor<1x8x1x16xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x8x1x16xf32>, %l: tensor<1x1x8xf16>) {
  // expected-error @+1 {{'fa.finalize' op lse has element type 'f16', expected 'f32'}}
  %r:2 = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o, %l : tensor<1x8x1x16xf32>, tensor<1x1x8xf16>) -> tensor<1x8x1x16xf32>, tensor<1x1x8xf16>
  return
}

// -----

func.func @f(%a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<1x8x1x16xf32>, %l: tensor<1x1x4xf32>) {
  // expected-error @+1 {{'fa.finalize' op output has 8 rows but lse has 4}}
  %r:2 = fa.finalize ins(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
      outs(%o, %l : tensor<1x8x1x16xf32>, tensor<1x1x4xf32>) -> tensor<1x8x1x16xf32>, tensor<1x1x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.add_partial
//===----------------------------------------------------------------------===//

func.func @add_rank(%o: memref<8x16xf32>, %l: memref<1x1x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op output has rank 2, expected 4}}
  %r:3 = fa.add_partial ins(%o, %l : memref<8x16xf32>, memref<1x1x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_element(%o: memref<1x8x1x16xf16>, %l: memref<1x1x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op output has element type 'f16', expected 'f32'}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x16xf16>, memref<1x1x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_lse_rank(%o: memref<1x8x1x16xf32>, %l: memref<8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op lse has rank 1, expected 3}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x16xf32>, memref<8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_lse_element(%o: memref<1x8x1x16xf32>, %l: memref<1x1x8xf16>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op lse has element type 'f16', expected 'f32'}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x16xf32>, memref<1x1x8xf16>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_batches(%o: memref<2x8x1x16xf32>, %l: memref<1x1x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op output has batches of size 2, expected 1}}
  %r:3 = fa.add_partial ins(%o, %l : memref<2x8x1x16xf32>, memref<1x1x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_heads(%o: memref<1x8x?x16xf32>, %l: memref<1x1x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op output has heads of size ?, expected 1}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x?x16xf32>, memref<1x1x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_lse_heads(%o: memref<1x8x1x16xf32>, %l: memref<1x2x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op lse has heads of size 2, expected 1}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x16xf32>, memref<1x2x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_rows(%o: memref<1x9x1x16xf32>, %l: memref<1x1x9xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op output has 9 rows, expected at most the 8 rows of the state}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x9x1x16xf32>, memref<1x1x9xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_lse_rows(%o: memref<1x8x1x16xf32>, %l: memref<1x1x4xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op output has 8 rows but lse has 4}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x16xf32>, memref<1x1x4xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_head_dims(%o: memref<1x8x1x32xf32>, %l: memref<1x1x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'fa.add_partial' op accumulator has 16 head dims but output has 32}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x32xf32>, memref<1x1x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_state(%o: memref<1x8x1x16xf32>, %l: memref<1x1x8xf32>, %a: tensor<8x16xf32>, %m: tensor<8xf32>, %s: tensor<8x1xf32>) {
  // expected-error @+1 {{'fa.add_partial' op sum has rank 2, expected 1}}
  %r:3 = fa.add_partial ins(%o, %l : memref<1x8x1x16xf32>, memref<1x1x8xf32>) outs(%a, %m, %s : tensor<8x16xf32>, tensor<8xf32>, tensor<8x1xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.combine
//===----------------------------------------------------------------------===//

func.func @f(%oa: tensor<2x8x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_a has rank 3, expected 4}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xi32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_b has element type 'i32', expected f16, bf16 or f32}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xi32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<3x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_a has 2 batches but output_b has 3}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<3x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x9x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_a has 8 queries but output has 9}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x9x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x9x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x2x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_a has 4 heads but output_b has 2}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x2x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x32xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_a has 16 head dims but output has 32}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x32xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x32xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op lse_a has rank 2, expected 3}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf64>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'fa.combine' op lse_b has element type 'f64', expected 'f32'}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf64>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x8xf32>) {
  // expected-error @+1 {{'fa.combine' op output_a has 4 heads but lse has 8}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x8x8xf32>) -> tensor<2x8x4x16xf32>, tensor<2x8x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>, %n: tensor<2xindex>) {
  // expected-error @+1 {{'fa.combine' op query_lengths has element type 'index', expected 'i32'}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      query_lengths(%n : tensor<2xindex>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%oa: tensor<2x8x4x16xf32>, %la: tensor<2x4x8xf32>, %ob: tensor<2x8x4x16xf32>, %lb: tensor<2x4x8xf32>, %o: tensor<2x8x4x16xf32>, %l: tensor<2x4x8xf32>, %n: tensor<i32>) {
  // expected-error @+1 {{'fa.combine' op query_lengths has rank 0, expected 1}}
  %r:2 = fa.combine a(%oa, %la : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>) b(%ob, %lb : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
      query_lengths(%n : tensor<i32>) -> tensor<2x8x4x16xf32>, tensor<2x4x8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// fa.key_ranges
//===----------------------------------------------------------------------===//

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{names 1 arguments, expected 2 (first key, number of them)}}
  fa.key_ranges (%key) = [full %a to %b] step 64 {
  }
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{range kind is 'empty', expected full or partial}}
  fa.key_ranges (%key, %n) = [empty %a to %b] step 64 {
  }
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{'fa.key_ranges' op has 5 ranges, expected at most 4}}
  fa.key_ranges (%key, %n) = [full %a to %b, full %a to %b, full %a to %b, full %a to %b, full %a to %b] step 64 {
  }
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{'fa.key_ranges' op step is 0, expected at least 1}}
  fa.key_ranges (%key, %n) = [full %a to %b] step 0 {
  }
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{carries 1 values but names 2 result types}}
  %r:2 = fa.key_ranges (%key, %n) = [full %a to %b] step 64 iter_args(%i = %x) -> (f32, f32) {
    fa.yield %i, %i : f32, f32
  }
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{'fa.key_ranges' op body yields ('index'), expected ('f32')}}
  %r = fa.key_ranges (%key, %n) = [full %a to %b] step 64 iter_args(%i = %x) -> (f32) {
    fa.yield %n : index
  }
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{'fa.key_ranges' op has 1 begins and 0 ends for 1 ranges, expected one of each for a range}}
  %r = "fa.key_ranges"(%a, %x) <{full = array<i1: true>, operandSegmentSizes = array<i32: 1, 0, 1>, step = 64 : i64}> ({
  ^bb0(%key: index, %n: index, %i: f32):
    fa.yield %i : f32
  }) : (index, f32) -> f32
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{'fa.key_ranges' op carries ('f32') but returns ('index')}}
  %r = "fa.key_ranges"(%a, %b, %x) <{full = array<i1: true>, operandSegmentSizes = array<i32: 1, 1, 1>, step = 64 : i64}> ({
  ^bb0(%key: index, %n: index, %i: index):
    fa.yield %i : index
  }) : (index, index, f32) -> index
  return
}

// -----

func.func @f(%a: index, %b: index, %x: f32) {
  // expected-error @+1 {{'fa.key_ranges' op body has arguments ('index', 'f32'), expected ('index', 'index', 'f32')}}
  %r = "fa.key_ranges"(%a, %b, %x) <{full = array<i1: true>, operandSegmentSizes = array<i32: 1, 1, 1>, step = 64 : i64}> ({
  ^bb0(%key: index, %i: f32):
    fa.yield %i : f32
  }) : (index, index, f32) -> f32
  return
}

// -----

// Sizes behind short spellings.

!t = tensor<2x16x4x64xf32>

func.func @alibi_heads(%q: !t, %s: tensor<2x8xf32>) {
  // expected-error @below {{alibi has 8 heads, expected 4}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score alibi(%s : tensor<2x8xf32>)
  return
}

// -----

!t = tensor<2x16x4x64xf32>

func.func @shared_alibi_heads(%q: !t, %s: tensor<2xf32>) {
  // expected-error @below {{alibi has 2 heads, expected 4}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score alibi(%s : tensor<2xf32>)
  return
}

// -----

!t = tensor<2x16x4x64xf32>

func.func @bias_keys(%q: !t, %s: tensor<1x4x16x15xf32>) {
  // expected-error @below {{bias has 15 keys, expected 16 or 1}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score bias(%s : tensor<1x4x16x15xf32>)
  return
}

// -----

!t = tensor<2x4x16x64xf32>

func.func @bias_queries(%q: !t, %s: tensor<1x4x4x16xf32>) {
  // expected-error @below {{bias has 4 queries, expected 16 or 1}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) score bias(%s : tensor<1x4x4x16xf32>)
      {query_dims = #fa.dims<b, h, s, d>, key_dims = #fa.dims<b, h, s, d>, value_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
  return
}

// -----

!t = tensor<2x16x4x64xf32>

func.func @prefix_batches(%q: !t, %p: tensor<3xi32>) {
  // expected-error @below {{prefix has 3 batches, expected 2}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask prefix(%p : tensor<3xi32>)
  return
}

// -----

!t = tensor<2x16x4x64xf32>

func.func @document_positions(%q: !t, %k: tensor<2x20x4x64xf32>, %ids: tensor<2x16xi32>) {
  // expected-error @below {{documents has 16 positions, expected at least 20}}
  fa.attention ins(%q, %k, %k : !t, tensor<2x20x4x64xf32>, tensor<2x20x4x64xf32>) outs(%q : !t) mask documents(%ids : tensor<2x16xi32>)
  return
}

// -----

!t = tensor<2x16x4x64xf32>

func.func @document_keys(%q: !t, %ids: tensor<2x16xi32>, %more: tensor<2x20xi32>) {
  // expected-error @below {{documents has 20 keys, expected 16}}
  fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask documents(%ids, %more : tensor<2x16xi32>, tensor<2x20xi32>)
  return
}

// -----

// expected-error @below {{'builtin.module' op 'fa.implements' is for functions only}}
module attributes {fa.implements = @reference} {
}

// -----

// expected-error @below {{'func.func' op 'fa.implements' is @reference, expected the name of a function}}
func.func @absent_reference(%x: f32) attributes {fa.implements = @reference} {
  return
}

// -----

// expected-error @below {{'func.func' op 'fa.implements' is 3 : i64, expected the name of a function}}
func.func @unnamed_reference() attributes {fa.implements = 3} {
  return
}

// -----

func.func private @reference(f32)

// expected-error @below {{'func.func' op has the type '(i32) -> ()', but @reference, which it implements, has the type '(f32) -> ()'}}
func.func @other_arguments(%x: i32) attributes {fa.implements = @reference} {
  return
}

// -----

func.func @partial_outside() -> i1 {
  // expected-error @below {{'fa.is_partial' op stands outside of 'fa.key_ranges' and 'fa.query_ranges', whose blocks it asks about}}
  %p = fa.is_partial : i1
  return %p : i1
}

// -----

func.func @first_outside() {
  // expected-error @below {{'fa.is_first' op stands outside of 'fa.key_ranges' and 'fa.query_ranges', whose blocks it asks about}}
  %p = fa.is_first : i1
  return
}

// -----

// expected-error @below {{'fa.config' is 3 : i64, expected a #fa.config on a function or a product}}
func.func private @config() attributes {fa.config = 3}

// -----

func.func @summary_offsets(%i: index) {
  // expected-error @below {{'fa.summarize_mask' op has 3 offsets, expected 4: batch, head, query, key}}
  %s, %e = fa.summarize_mask 64 by 64 offsets(%i, %i, %i) extents(%i, %i) {
  ^bb0(%batch: index, %head: index, %query: index, %key: index):
    %x = arith.constant true
    fa.yield %x : i1
  }
  return
}

// -----

func.func @summary_extents(%i: index) {
  // expected-error @below {{'fa.summarize_mask' op has 1 extents, expected 2: queries, keys}}
  %s, %e = fa.summarize_mask 64 by 64 offsets(%i, %i, %i, %i) extents(%i) {
  ^bb0(%batch: index, %head: index, %query: index, %key: index):
    %x = arith.constant true
    fa.yield %x : i1
  }
  return
}

// -----

func.func @summary_region(%i: index) {
  // expected-error @below {{mask}}
  %s, %e = fa.summarize_mask 64 by 64 offsets(%i, %i, %i, %i) extents(%i, %i) {
  ^bb0(%batch: index, %head: index, %query: index, %key: index):
    fa.yield %key : index
  }
  return
}

// -----

func.func @misspelt(%q: tensor<2x8x4x64xf32>) -> tensor<2x8x4x64xf32> {
  // expected-error @below {{'fa.attention' op has an attribute 'qury_dims', which it does not know; the nearest is 'query_dims'}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>)
      outs(%q : tensor<2x8x4x64xf32>) {qury_dims = #fa.dims<b, h, s, d>}
  return %r : tensor<2x8x4x64xf32>
}

// -----

func.func @misspelt_step(%q: memref<1x64x1x64xf32>, %a: tensor<64x64xf32>, %m: tensor<64xf32>) {
  // expected-error @below {{'fa.online_attention' op has an attribute 'confg', which it does not know; the nearest is 'config'}}
  %r:3 = fa.online_attention ins(%q, %q, %q : memref<1x64x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32>)
      outs(%a, %m, %m : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {confg = 1}
  return
}

// -----

func.func @clauses_out_of_order(%q: tensor<2x8x4x64xf32>, %s: f32) -> tensor<2x8x4x64xf32> {
  // expected-error @below {{'scale' is out of place, expected each clause once, in this order: ins, outs, scale, query_lengths, key_lengths, query_starts, key_starts, key_pages, offsets, extents, score, mask, sink, dropout, attributes}}
  %o = fa.attention ins(%q, %q, %q : tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>) outs(%q : tensor<2x8x4x64xf32>) mask causal scale(%s)
  return %o : tensor<2x8x4x64xf32>
}

// -----

func.func @clause_twice(%q: tensor<2x8x4x64xf32>, %s: f32) -> tensor<2x8x4x64xf32> {
  // expected-error @below {{'scale' is out of place}}
  %o = fa.attention ins(%q, %q, %q : tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>) outs(%q : tensor<2x8x4x64xf32>) scale(%s) scale(%s)
  return %o : tensor<2x8x4x64xf32>
}

// -----

func.func @clause_after_attributes(%q: tensor<2x8x4x64xf32>) -> tensor<2x8x4x64xf32> {
  // expected-error @below {{'mask' is out of place}}
  %o = fa.attention ins(%q, %q, %q : tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>) outs(%q : tensor<2x8x4x64xf32>) {query_dims = #fa.dims<b, s, h, d>} mask causal
  return %o : tensor<2x8x4x64xf32>
}

// -----

func.func @lengths_of_a_step(%q: tensor<1x8x1x64xf32>, %a: tensor<8x64xf32>, %m: tensor<8xf32>, %i: index, %n: tensor<1xi32>) {
  // expected-error @below {{'key_lengths' is out of place, expected each clause once, in this order: ins, outs, scale, offsets, extents, score, mask, dropout, attributes}}
  fa.online_attention ins(%q, %q, %q : tensor<1x8x1x64xf32>, tensor<1x8x1x64xf32>, tensor<1x8x1x64xf32>) outs(%a, %m, %m : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) key_lengths(%n : tensor<1xi32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      // expected-error @+1 {{custom op 'fa.attention' attribute 'query_dims' failed to satisfy constraint}}
      {query_dims = 3}
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>)
      // expected-error @+1 {{custom op 'fa.attention' attribute 'config' failed to satisfy constraint}}
      {config = #fa.cpu<lanes = 8>}
  return
}

// -----

// Operands of short spellings: how many, and of which type. A type is written
// where more than one is legal.

func.func @f(%q: tensor<2x8x4x16xf32>, %x: index) {
  // expected-error @below {{causal has 1 operand, expected none; a region names 4 arguments (batch, head, query, key)}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask causal(%x)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %x: index) {
  // expected-error @below {{causal has 1 operand, expected none; a region names 4 arguments (batch, head, query, key)}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask causal(%x : index)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @below {{causal_top_left has 0 operands, expected none; a region names 4 arguments (batch, head, query, key)}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask causal_top_left()
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @below {{window has no operands, expected window(%left, %right) of type index}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask window
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %l: index) {
  // expected-error @below {{window has 1 operand, expected window(%left, %right) of type index}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask window(%l)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %l: i32) {
  // expected-error @below {{window has type 'i32', expected index}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask window(%l, %l : i32, i32)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %l: index) {
  // expected-error @below {{window has 1 types for 2 operands, expected window(%left, %right) of type index}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask window(%l, %l : index)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %n: index) {
  // expected-error @below {{prefix has no type, expected prefix(%keys : type) of type index, or i32 of shape batch}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask prefix(%n)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %n: tensor<2x8xi32>) {
  // expected-error @below {{documents has no type, expected documents(%ids : type) or documents(%query_ids, %key_ids : type, type) of type i32 of shape batch x positions}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) mask causal documents(%n)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  // expected-error @below {{softcap has 0 operands, expected softcap(%cap) of type f32}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) score softcap()
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %c: f64) {
  // expected-error @below {{softcap has type 'f64', expected f32}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) score softcap(%c : f64)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %t: tensor<4xf32>) {
  // expected-error @below {{alibi has no type, expected alibi(%slopes : type) of type f32 of shape heads or batch x heads}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) score alibi(%t)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %s: f64) {
  // expected-error @below {{scale has type 'f64', expected 'f32'}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) scale(%s : f64)
  return
}

// -----

// Regions that are combined with other pieces.

func.func @f(%q: tensor<2x8x4x16xf32>, %cap: f32) {
  // expected-error @below {{score argument 0 has type 'f16', expected 'f32' (score, batch, head, query, key)}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) score(%s: f16, %b: index, %h: index, %i: index, %j: index) {
    fa.yield %s : f16
  }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %cap: f32) {
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>)
    score(%s, %b, %h, %i, %j) {
      fa.yield %i : index
    // expected-error @below {{a score region that is combined with others has one block, which ends in 'fa.yield' of one 'f32'}}
    } softcap(%cap)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>) {
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>)
    // expected-error @below {{a mask region that is combined with others has one block, which ends in 'fa.yield' of one 'i1'}}
    mask causal (%b, %h, %i, %j) {
    }
  return
}

// -----

// The verifier sees the combination.

func.func @f(%q: tensor<2x8x4x16xf32>, %n: index) {
  // expected-error @below {{'fa.attention' op does not allow 'arith.divui' in its mask region by a divisor that is not a constant}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>)
    mask window(%n, %n) (%b, %h, %i, %j) captures(%d = %n : index) {
      // expected-note @below {{operation is here}}
      %part = arith.divui %j, %d : index
      %seen = arith.cmpi eq, %part, %i : index
      fa.yield %seen : i1
    }
  return
}

// -----

// What is not captured.

func.func @f(%q: tensor<2x8x4x16xf32>, %left: index) {
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>)
    mask(%b, %h, %i, %j) {
      %zero = arith.constant 0 : index
      // expected-error @below {{'%left' is made outside of the mask region; capture it by captures(%x = %left : index), and use %x}}
      %last = arith.addi %i, %left : index
      %seen = arith.cmpi sle, %j, %last : index
      fa.yield %seen : i1
    }
  return
}

// -----

func.func @f(%q: tensor<2x8x4x16xf32>, %slopes: tensor<4xf32>, %cap: f32) {
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>)
    score softcap(%cap) (%s, %b, %h, %i, %j) {
      // expected-error @below {{'%slopes' is made outside of the score region; capture it by captures(%x = %slopes : tensor<4xf32>), and use %x}}
      %slope = tensor.extract %slopes[%h] : tensor<4xf32>
      %x = arith.addf %s, %slope : f32
      fa.yield %x : f32
    }
  return
}

// -----

func.func @apply_arguments(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{pairs names 4 arguments, expected 5 (an element of each input, batch, head, query, key)}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%b, %h, %q, %k) {
    fa.yield %b : index
  } -> tensor<4x8xindex>
  return
}

// -----

func.func @apply_mask_arguments(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{pairs names 3 arguments, expected 4 (batch, head, query, key)}}
  %y = fa.apply offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%b, %h, %q) {
    fa.yield %b : index
  } -> tensor<4x8xindex>
  return
}

// -----

func.func @apply_offsets(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{offsets has 2 operands, expected 4}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_extents(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{extents has 1 operands, expected 2}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_no_place(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op has no offsets, which say where its pairs stand}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_no_extents(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op has no extents, which say where its pairs stand}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_rows(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{expected 'keys'}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) rows(heads) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_rank(%x: tensor<8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op result has rank 1, expected 2}}
  %y = fa.apply ins(%x : tensor<8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @apply_shape(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op input 0 has type 'tensor<4x8xf32>' but result 0 has type 'tensor<4x?xf32>', expected one shape}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x?xf32>
  return
}

// -----

func.func @apply_result_shape(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op result 1 has type 'tensor<8x4xf32>' but result 0 has type 'tensor<4x8xf32>', expected one shape}}
  %y:2 = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e, %e : f32, f32
  } -> (tensor<4x8xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @apply_sizes(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op has 0 sizes, expected 1: one for each dynamic size of a result}}
  %y = fa.apply offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%b, %h, %q, %k) {
    fa.yield %k : index
  } -> tensor<4x?xindex>
  return
}

// -----

func.func @apply_sizes_twice(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op has 1 sizes, expected 0: the inputs have them}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) sizes(%i) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_no_result(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op has no result, expected one for each yielded value}}
  fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield
  } -> ()
  return
}

// -----

func.func @apply_yield(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op pair region yields ('f32', 'f32'), expected ('f32')}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    fa.yield %e, %e : f32, f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_body(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op does not allow 'scf.if' in its pair region, expected arith, math and index operations and loads from captures}}
  %y = fa.apply ins(%x : tensor<4x8xf32>) offsets(%i, %i, %i, %i) extents(%i, %i) pairs(%e, %b, %h, %q, %k) {
    %c = arith.cmpi slt, %q, %k : index
    // expected-note @below {{operation is here}}
    %z = scf.if %c -> f32 {
      scf.yield %e : f32
    } else {
      scf.yield %e : f32
    }
    fa.yield %z : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_generic_extents(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op has 1 extents, expected 2 (queries, keys) or none}}
  %y = "fa.apply"(%x, %i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 0, 4, 1, 0>}> ({
  ^bb0(%e: f32, %b: index, %h: index, %q: index, %k: index):
    fa.yield %e : f32
  }) : (tensor<4x8xf32>, index, index, index, index, index) -> tensor<4x8xf32>
  return
}

// -----

func.func @apply_generic_argument(%x: tensor<4x8xf32>, %i: index) {
  // expected-error @below {{'fa.apply' op pair region argument 0 has type 'f64', expected 'f32'}}
  %y = "fa.apply"(%x, %i, %i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 0, 4, 2, 0>}> ({
  ^bb0(%e: f64, %b: index, %h: index, %q: index, %k: index):
    fa.yield %e : f64
  }) : (tensor<4x8xf32>, index, index, index, index, index, index) -> tensor<4x8xf32>
  return
}

// -----

func.func @ordered_arithmetic(%x: f32) {
  // expected-error @below {{'arith.negf' op 'fa.ordered_sums' is unit, expected it without a value on a step of gradients}}
  %y = arith.negf %x {fa.ordered_sums} : f32
  return
}

// -----

func.func @sole_reader_of_arithmetic(%x: f32) {
  // expected-error @below {{'arith.negf' op 'fa.sole_reader' is 1 : i64, expected it without a value on an fa.finalize}}
  %y = arith.negf %x {fa.sole_reader = 1} : f32
  return
}

// -----

func.func @same_heads_of_arithmetic(%x: f32) {
  // expected-error @below {{'arith.negf' op 'fa.same_heads' is unit, expected it without a value on an fa.attention_gradient}}
  %y = arith.negf %x {fa.same_heads} : f32
  return
}

// -----

func.func @same_heads_of_groups(%q: memref<1x8x4x16xbf16>, %k: memref<1x8x2x16xbf16>, %lse: memref<1x4x8xf32>) {
  // expected-error @below {{'fa.attention_gradient' op has 4 query heads and 'fa.same_heads', expected as many as the 2 key heads}}
  fa.attention_gradient ins(%q, %k, %k : memref<1x8x4x16xbf16>, memref<1x8x2x16xbf16>, memref<1x8x2x16xbf16>)
      of(%q, %lse : memref<1x8x4x16xbf16>, memref<1x4x8xf32>) gradients(%q : memref<1x8x4x16xbf16>)
      outs(query = %q : memref<1x8x4x16xbf16>) {fa.same_heads}
  return
}

// -----

func.func @stop_gradient_of_an_integer(%x: i32) {
  // expected-error @below {{'fa.stop_gradient' op operand #0 must be 16-bit float or bfloat16 type or 32-bit float or 64-bit float, but got 'i32'}}
  %y = fa.stop_gradient %x : i32
  return
}

// -----

func.func @stop_gradient_of_another_type(%x: f32) {
  // expected-error @below {{'fa.stop_gradient' op requires the same type for all operands and results}}
  %y = "fa.stop_gradient"(%x) : (f32) -> f16
  return
}

// -----

func.func @scale_of_no_value(%q: tensor<2x8x4x16xf32>) {
  // expected-error @below {{scale names no value, expected 1, as in scale(%x), of type 'f32'}}
  %r = fa.attention ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%q : tensor<2x8x4x16xf32>) scale(0.125)
  return
}
