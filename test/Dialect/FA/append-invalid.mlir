// Each check of fa.append says what is wrong, once.
// RUN: fa-opt %s -split-input-file -verify-diagnostics

func.func @rank(%k: memref<3x4x64xf16>, %v: memref<3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{'fa.append' op key has rank 3, expected 4}}
  fa.append ins(%k, %v : memref<3x4x64xf16>, memref<3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @packed_without_starts(%k: memref<6x4x64xf16>, %v: memref<6x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has the order #fa.dims<s, h, d> but there are no key_starts, expected one with b, such as #fa.dims<b, s, h, d>}}
  fa.append ins(%k, %v : memref<6x4x64xf16>, memref<6x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @starts_of_batches(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %st: memref<3xi32>) {
  // expected-error @below {{key has the order #fa.dims<b, s, h, d> beside key_starts, expected one without b, such as #fa.dims<s, h, d>}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_starts(%st : memref<3xi32>)
  return
}

// -----

func.func @pages_without_table(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key cache has the order #fa.dims<p, s, h, d> but there are no key_pages, expected one with b, such as #fa.dims<b, s, h, d>}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) {key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @table_without_pages(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %t: memref<2x4xi32>) {
  // expected-error @below {{key cache has the order #fa.dims<b, s, h, d> beside key_pages, expected one with p, such as #fa.dims<p, s, h, d>}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_pages(%t : memref<2x4xi32>)
  return
}

// -----

func.func @value_cache_order(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %t: memref<2x4xi32>) {
  // expected-error @below {{value cache has the order #fa.dims<b, s, h, d> beside key_pages, expected one with p, such as #fa.dims<p, s, h, d>}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_pages(%t : memref<2x4xi32>) {key_cache_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @new_in_pages(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has the order #fa.dims<p, s, h, d> but there are no key_starts, expected one with b, such as #fa.dims<b, s, h, d>}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) {key_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @element(%k: memref<2x3x4x64xf64>, %v: memref<2x3x4x64xf64>, %kc: memref<2x32x4x64xf64>, %vc: memref<2x32x4x64xf64>, %l: memref<2xi32>) {
  // expected-error @below {{key has element type 'f64', expected f16, bf16 or f32}}
  fa.append ins(%k, %v : memref<2x3x4x64xf64>, memref<2x3x4x64xf64>) outs(%kc, %vc : memref<2x32x4x64xf64>, memref<2x32x4x64xf64>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @value_element(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xbf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{value has element type 'bf16', expected 'f16'}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xbf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @cache_element(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf32>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key cache has element type 'f32', expected 'f16'}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf32>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @head_dim(%k: memref<2x3x4x1024xf16>, %v: memref<2x3x4x1024xf16>, %kc: memref<2x32x4x1024xf16>, %vc: memref<2x32x4x1024xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key head dim is 1024, expected 1 to 512; the nearest is 512}}
  fa.append ins(%k, %v : memref<2x3x4x1024xf16>, memref<2x3x4x1024xf16>) outs(%kc, %vc : memref<2x32x4x1024xf16>, memref<2x32x4x1024xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @dynamic_head_dim(%k: memref<2x3x4x?xf16>, %v: memref<2x3x4x?xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key head dim is dynamic, expected a static size from 1 to 512}}
  fa.append ins(%k, %v : memref<2x3x4x?xf16>, memref<2x3x4x?xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @cache_head_dim(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x32xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 64 head dims but key cache has 32}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x32xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @value_cache_head_dim(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x32xf16>, %l: memref<2xi32>) {
  // expected-error @below {{value has 64 head dims but value cache has 32}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x32xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @heads(%k: memref<2x3x4x64xf16>, %v: memref<2x3x2x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 4 heads but value has 2}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x2x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @cache_heads(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x2x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 4 heads but key cache has 2}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x2x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @rows(%k: memref<2x3x4x64xf16>, %v: memref<2x4x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 3 rows but value has 4}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x4x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @cache_rows(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x16x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key cache has 32 rows but value cache has 16}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x16x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @batches(%k: memref<2x3x4x64xf16>, %v: memref<3x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 2 batches but value has 3}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<3x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @cache_batches(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<3x32x4x64xf16>, %vc: memref<3x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 2 batches but key cache has 3}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<3x32x4x64xf16>, memref<3x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @lengths(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<3xi32>) {
  // expected-error @below {{key has 2 batches but key_lengths has 3}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<3xi32>)
  return
}

// -----

func.func @lengths_type(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi64>) {
  // expected-error @below {{key_lengths has element type 'i64', expected 'i32'}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi64>)
  return
}

// -----

func.func @new_lengths_rank(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %n: memref<2x1xi32>) {
  // expected-error @below {{new_lengths has rank 2, expected 1}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) new_lengths(%n : memref<2x1xi32>)
  return
}

// -----

func.func @starts(%k: memref<6x4x64xf16>, %v: memref<6x4x64xf16>, %kc: memref<?x32x4x64xf16>, %vc: memref<?x32x4x64xf16>, %l: memref<2xi32>, %st: memref<4xi32>) {
  // expected-error @below {{key_lengths has 2 batches but key_starts has 3}}
  fa.append ins(%k, %v : memref<6x4x64xf16>, memref<6x4x64xf16>) outs(%kc, %vc : memref<?x32x4x64xf16>, memref<?x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_starts(%st : memref<4xi32>) {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @no_starts(%k: memref<6x4x64xf16>, %v: memref<6x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %st: memref<0xi32>) {
  // expected-error @below {{key_starts has 0 elements, expected batch + 1, so at least 1}}
  fa.append ins(%k, %v : memref<6x4x64xf16>, memref<6x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_starts(%st : memref<0xi32>) {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>}
  return
}

// -----

func.func @pages_rank(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %t: memref<2xi32>) {
  // expected-error @below {{key_pages has rank 1, expected 2}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_pages(%t : memref<2xi32>) {key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @empty_pages(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<9x0x4x64xf16>, %vc: memref<9x0x4x64xf16>, %l: memref<2xi32>, %t: memref<2x4xi32>) {
  // expected-error @below {{caches have pages of 0 rows, expected at least 1}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<9x0x4x64xf16>, memref<9x0x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_pages(%t : memref<2x4xi32>) {key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @room(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x2x4x64xf16>, %vc: memref<2x2x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key has 3 new rows of each sequence, expected at most the 2 rows that a cache has}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x2x4x64xf16>, memref<2x2x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @room_in_pages(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<9x1x4x64xf16>, %vc: memref<9x1x4x64xf16>, %l: memref<2xi32>, %t: memref<2x2xi32>) {
  // expected-error @below {{key has 3 new rows of each sequence, expected at most the 2 rows that a cache has}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<9x1x4x64xf16>, memref<9x1x4x64xf16>)
      key_lengths(%l : memref<2xi32>) key_pages(%t : memref<2x2xi32>) {key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>}
  return
}

// -----

func.func @stride(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16, strided<[?, ?, ?, 2]>>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{key cache has head dim stride 2, expected 1: the head dim must be contiguous}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16, strided<[?, ?, ?, 2]>>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>)
  return
}

// -----

func.func @tables_on_tensors(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: tensor<2xi32>) {
  // expected-error @below {{operand has type 'tensor<2xi32>' but key has type 'memref<2x3x4x64xf16>', expected all tensors or all memrefs}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : tensor<2xi32>)
  return
}

// -----

func.func @misspelt(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>) {
  // expected-error @below {{has an attribute 'key_cache_dim', which it does not know; the nearest is 'key_cache_dims'}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) {key_cache_dim = #fa.dims<b, s, h, d>}
  return
}

// -----

func.func @angles_rank(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<32xf32>, %s: memref<32xf32>) {
  // expected-error @below {{cosines has rank 1, expected 2}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<32xf32>, memref<32xf32>)
  return
}

// -----

func.func @angles_element(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x32xf64>, %s: memref<99x32xf64>) {
  // expected-error @below {{cosines has element type 'f64', expected f16, bf16 or f32}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x32xf64>, memref<99x32xf64>)
  return
}

// -----

func.func @two_elements(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x32xf32>, %s: memref<99x32xf16>) {
  // expected-error @below {{sines has element type 'f16', expected 'f32'}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x32xf32>, memref<99x32xf16>)
  return
}

// -----

func.func @two_positions(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x32xf32>, %s: memref<98x32xf32>) {
  // expected-error @below {{cosines has 99 positions but sines has 98}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x32xf32>, memref<98x32xf32>)
  return
}

// -----

func.func @two_columns(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x32xf32>, %s: memref<99x16xf32>) {
  // expected-error @below {{cosines has 32 columns but sines has 16}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x32xf32>, memref<99x16xf32>)
  return
}

// -----

func.func @dynamic_columns(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x?xf32>, %s: memref<99x?xf32>) {
  // expected-error @below {{cosines has a dynamic number of columns, expected a static one from 1 to 32, one for each pair of dims}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x?xf32>, memref<99x?xf32>)
  return
}

// -----

func.func @columns(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x33xf32>, %s: memref<99x33xf32>) {
  // expected-error @below {{cosines has 33 columns, expected 1 to 32, one for each pair of dims; the nearest is 32}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x33xf32>, memref<99x33xf32>)
  return
}

// -----

func.func @no_columns(%k: memref<2x3x4x64xf16>, %v: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %vc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x0xf32>, %s: memref<99x0xf32>) {
  // expected-error @below {{cosines has 0 columns, expected 1 to 32, one for each pair of dims; the nearest is 1}}
  fa.append ins(%k, %v : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %vc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>)
      key_lengths(%l : memref<2xi32>) rotary halves(%c, %s : memref<99x0xf32>, memref<99x0xf32>)
  return
}

// -----

func.func @half_a_rotary(%k: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x32xf32>) {
  // expected-error @below {{has a part of a rotary, expected none of it or interleaved or halves with cosines and sines}}
  "fa.append"(%k, %k, %l, %c, %kc, %kc) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 1, 1>}>
      : (memref<2x3x4x64xf16>, memref<2x3x4x64xf16>, memref<2xi32>, memref<99x32xf32>, memref<2x32x4x64xf16>, memref<2x32x4x64xf16>) -> ()
  return
}

// -----

func.func @another_rotary(%k: memref<2x3x4x64xf16>, %kc: memref<2x32x4x64xf16>, %l: memref<2xi32>, %c: memref<99x32xf32>) {
  fa.append ins(%k, %k : memref<2x3x4x64xf16>, memref<2x3x4x64xf16>) outs(%kc, %kc : memref<2x32x4x64xf16>, memref<2x32x4x64xf16>) key_lengths(%l : memref<2xi32>)
      // expected-error @below {{rotary is 'thirds', expected interleaved or halves}}
      rotary thirds(%c, %c : memref<99x32xf32>, memref<99x32xf32>)
  return
}
