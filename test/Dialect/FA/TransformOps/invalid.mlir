// RUN: fa-opt %s -transform-interpreter -split-input-file -verify-diagnostics

func.func @splits(%q: memref<1x64x2x8xf32>) {
  // expected-error @below {{'fa.attention' op has no config with key_splits of at least 2, expected one to split the keys by}}
  fa.attention ins(%q, %q, %q : memref<1x64x2x8xf32>, memref<1x64x2x8xf32>, memref<1x64x2x8xf32>)
      outs(%q : memref<1x64x2x8xf32>) {config = #fa.config<query_block = 16, key_block = 16>}
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    %part, %parts = transform.fa.split_keys %op : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @target(%q: memref<1x64x2x8xf32>) {
  // expected-error-re @below {{'fa.attention' op config {{.*}}}}
  fa.attention ins(%q, %q, %q : memref<1x64x2x8xf32>, memref<1x64x2x8xf32>, memref<1x64x2x8xf32>)
      outs(%q : memref<1x64x2x8xf32>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %op with(#fa.config<query_block = 20, key_block = 16, target = #fa.cpu<lanes = 8>>) : !transform.any_op
    transform.yield
  }
}

// -----

func.func @kind(%q: memref<1x64x2x8xf32>) {
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["func.return"]} in %module : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{target is 'func.return', expected 'fa.online_attention', 'fa.finalize' or 'fa.combine'}}
    transform.fa.decompose %op : !transform.any_op
    transform.yield
  }
}

// -----

func.func @too_large(%q: memref<1x?x2x128xbf16>) {
  // expected-error @below {{config does not fit: query_block = 128 and key_block = 128 of warps need at least 304 registers a thread, but there are 255; the nearest is query_block = 128 and key_block = 64}}
  fa.attention ins(%q, %q, %q : memref<1x?x2x128xbf16>, memref<1x?x2x128xbf16>, memref<1x?x2x128xbf16>)
      outs(%q : memref<1x?x2x128xbf16>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %op with(#fa.config<query_block = 128, key_block = 128>) on("sm_80") : !transform.any_op
    transform.yield
  }
}

// -----

func.func @no_target(%q: memref<1x?x2x128xbf16>) {
  fa.attention ins(%q, %q, %q : memref<1x?x2x128xbf16>, memref<1x?x2x128xbf16>, memref<1x?x2x128xbf16>)
      outs(%q : memref<1x?x2x128xbf16>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fa.attention"]} in %module : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{unknown chip 'sm_70', expected cpu (this machine) or one of}}
    transform.fa.configure %op with(#fa.config<query_block = 128, key_block = 128>) on("sm_70") : !transform.any_op
    transform.yield
  }
}
