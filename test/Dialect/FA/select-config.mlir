// RUN: fa-opt %s -fa-select-config=chip=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: fa-opt %s -fa-select-config=chip=avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: fa-opt %s -fa-select-config | FileCheck %s --check-prefix=HOST
// RUN: fa-opt %s -fa-select-config=chip=avx2 --remark-format=emitRemark --remarks-filter=fa-select-config 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REMARK

!t = tensor<2x?x8x64xf32>

// CHECK-LABEL: func.func @plain(
// AVX2: config = #fa.config<query_block = 64, key_block = 128, target = #fa.cpu<>>
// AVX512: config = #fa.config<query_block = 128, key_block = 96, target = #fa.cpu<lanes = 16, register_rows = 12>>
// Whatever this machine is, it has a configuration.
// HOST: config = #fa.config<query_block = {{[0-9]+}}, key_block = {{[0-9]+}}, target = #fa.cpu<
// REMARK: remark: [Analysis] Config | Category:fa-select-config | Remark="#fa.config<query_block = 64, key_block = 128, target = #fa.cpu<>>: table row avx2, head dims up to 256"
func.func @plain(%q: !t, %o: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

!wide = tensor<1x?x1x200xf32>

// REMARK: head dims up to 256
func.func @wide(%q: !wide, %o: !wide) -> !wide {
  %r = fa.attention ins(%q, %q, %q : !wide, !wide, !wide) outs(%o : !wide)
  return %r : !wide
}

!one = tensor<1x1x8x64xf32>
!keys = tensor<1x?x8x64xf32>

// One query takes one vector of lanes.
// CHECK-LABEL: func.func @decode(
// AVX2: config = #fa.config<query_block = 8, key_block = 128, target = #fa.cpu<register_vectors = 1>>
// AVX512: config = #fa.config<query_block = 16, key_block = 96, target = #fa.cpu<lanes = 16, register_rows = 12, register_vectors = 1>>
// REMARK: query_block for the 1 queries there are
func.func @decode(%q: !one, %k: !keys, %o: !one) -> !one {
  %r = fa.attention ins(%q, %k, %k : !one, !keys, !keys) outs(%o : !one)
  return %r : !one
}

// What is given stays; what it leaves to the target is filled in so that the
// query block is a whole number of register tiles.
// CHECK-LABEL: func.func @given(
// AVX2: config = #fa.config<query_block = 40, key_block = 32, target = #fa.cpu<register_vectors = 1>>
// AVX512: config = #fa.config<query_block = 40, key_block = 32, target = #fa.cpu<register_rows = 12, register_vectors = 1>>
// REMARK: given by hand
func.func @given(%q: !t, %o: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      {config = #fa.config<query_block = 40, key_block = 32>}
  return %r : !t
}

!few = tensor<1x?x1x64xf32>
!many = tensor<64x?x64x64xf32>
!row = tensor<?x?x?xf32>

// One key head keeps no two threads busy; of another machine their number is
// not known. 4096 are enough for any.
// CHECK-LABEL: func.func @gradients(
// AVX2: fa.attention_gradient {{.*}} gradient_form = two_pass
// AVX2: fa.attention_gradient {{.*}} gradient_form = two_pass
// AVX2: fa.attention_gradient {{.*}} gradient_form = three_pass
// HOST-LABEL: func.func @gradients(
// HOST: fa.attention_gradient
// HOST: fa.attention_gradient {{.*}} gradient_form = one_pass
// HOST: fa.attention_gradient {{.*}} gradient_form = three_pass
func.func @gradients(%q: !few, %lse: !row, %m: !many) {
  %a:2 = fa.attention_gradient ins(%q, %q, %q : !few, !few, !few) of(%q, %lse : !few, !row) gradients(%q : !few)
      outs(query = %q : !few, key = %q : !few)
  %b:2 = fa.attention_gradient ins(%m, %m, %m : !many, !many, !many) of(%m, %lse : !many, !row) gradients(%m : !many)
      outs(query = %m : !many, key = %m : !many)
  %c:2 = fa.attention_gradient ins(%m, %m, %m : !many, !many, !many) of(%m, %lse : !many, !row) gradients(%m : !many)
      outs(query = %m : !many, key = %m : !many) {config = #fa.config<query_block = 64, key_block = 128, gradient_form = three_pass>}
  return
}

!gradient = tensor<1x?x8x64xf32>
!gradient_wide = tensor<1x?x8x512xf32>

// Blocks of keys are smaller where a mask hides parts of them or rows are long.
// CHECK-LABEL: func.func @keys_of_gradients(
// AVX2: fa.attention_gradient {{.*}} #fa.config<query_block = 64, key_block = 128,
// AVX2: fa.attention_gradient {{.*}} mask(
// AVX2: {config = #fa.config<query_block = 64, key_block = 64,
// AVX2: fa.attention_gradient {{.*}} #fa.config<query_block = 64, key_block = 64,
// AVX512: fa.attention_gradient {{.*}} #fa.config<query_block = 128, key_block = 128,
// AVX512: fa.attention_gradient {{.*}} mask(
// AVX512: {config = #fa.config<query_block = 128, key_block = 64,
// AVX512: fa.attention_gradient {{.*}} #fa.config<query_block = 64, key_block = 64,
func.func @keys_of_gradients(%q: !gradient, %lse: !row, %w: !gradient_wide) {
  %a = fa.attention_gradient ins(%q, %q, %q : !gradient, !gradient, !gradient) of(%q, %lse : !gradient, !row)
      gradients(%q : !gradient) outs(key = %q : !gradient)
  %b = fa.attention_gradient ins(%q, %q, %q : !gradient, !gradient, !gradient) of(%q, %lse : !gradient, !row)
      gradients(%q : !gradient) outs(key = %q : !gradient) mask causal
  %c = fa.attention_gradient ins(%w, %w, %w : !gradient_wide, !gradient_wide, !gradient_wide) of(%w, %lse : !gradient_wide, !row)
      gradients(%w : !gradient_wide) outs(key = %w : !gradient_wide)
  return
}
