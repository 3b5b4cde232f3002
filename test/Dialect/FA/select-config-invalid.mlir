// RUN: split-file %s %t
// RUN: not fa-opt %t/lanes.mlir -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not fa-opt %t/registers.mlir -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: fa-opt %t/registers.mlir -fa-select-config=chip=avx512 | FileCheck %s --check-prefix=FITS
// RUN: not fa-opt %t/columns.mlir -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not fa-opt %t/lanes.mlir -fa-select-config=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=PART
// RUN: sed -e s/BLOCKS/262144,key_block=64/ %t/sizes.mlir | not fa-opt -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=QUERIES --implicit-check-not=error:
// RUN: sed -e s/BLOCKS/64,key_block=4294967296/ %t/sizes.mlir | not fa-opt -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=KEYS --implicit-check-not=error:
// RUN: sed -e s/BLOCKS/64,key_block=128,key_splits=100000/ %t/sizes.mlir | not fa-opt -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=SPLITS --implicit-check-not=error:
// RUN: not fa-opt %t/form.mlir -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not fa-opt %t/gradient.mlir -fa-select-config=chip=avx2 2>&1 | FileCheck %s --check-prefix=GRADIENT
// RUN: not fa-opt %t/dims.mlir -fa-select-config=chip=sm_70 2>&1 | FileCheck %s --check-prefix=NAME

// LANES: error: 'fa.attention' op config does not fit: lanes is 16, but a vector of avx2 holds 8 f32; the nearest is 8
// PART: error: 'fa.attention' op config does not fit: its target part #fa.cpu<lanes = 16> is for 'cpu', but the target is sm_90a, expected a part for 'gpu'
//--- lanes.mlir
!t = tensor<1x?x1x64xf32>
func.func @lanes(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 128, target = #fa.cpu<lanes = 16>>}
  return %r : !t
}

// FORM: error: 'fa.attention' op config has gradient_form = one_pass, expected none: only fa.attention_gradient has a form
//--- form.mlir
!t = tensor<1x?x1x64xf32>
func.func @form(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 128, gradient_form = one_pass>}
  return %r : !t
}

// REGISTERS: a register tile of register_rows = 8 by register_vectors = 2 needs 19 vector registers, but avx2 has 16; the nearest is register_rows = 6
// FITS: register_rows = 8
//--- registers.mlir
!t = tensor<1x?x1x64xf32>
func.func @registers(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 128, target = #fa.cpu<register_rows = 8>>}
  return %r : !t
}

// COLUMNS: needs 17 vector registers, but avx2 has 16; the nearest is register_rows = 1 and register_vectors = 7
//--- columns.mlir
!t = tensor<1x?x1x64xf32>
func.func @columns(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 128, target = #fa.cpu<register_rows = 1, register_vectors = 8>>}
  return %r : !t
}

// QUERIES: error: 'fa.attention' op config does not fit: query_block is 262144, expected at most 4096 on avx2
// KEYS: error: 'fa.attention' op config does not fit: key_block is 4294967296, expected at most 4096 on avx2
// SPLITS: error: 'fa.attention' op config does not fit: key_splits is 100000, expected at most 4096 on avx2
//--- sizes.mlir
!t = tensor<1x?x1x64xf32>
func.func @sizes(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block=BLOCKS>}
  return %r : !t
}

// NAME: error: unknown chip 'sm_70', expected cpu (this machine) or one of avx512, avx2, sse, neon, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120
//--- dims.mlir
!t = tensor<1x?x1x512xf16>
func.func @dims(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}

// GRADIENT: error: 'fa.attention_gradient' op config does not fit: key_splits is 2, expected 1 for gradients
//--- gradient.mlir
!t = memref<1x70x2x64xf32>
!l = memref<1x2x70xf32>
func.func @gradient(%q: !t, %lse: !l, %dq: !t) {
  fa.attention_gradient ins(%q, %q, %q : !t, !t, !t) of(%q, %lse : !t, !l) gradients(%q : !t) outs(query = %dq : !t)
      {config = #fa.config<query_block = 64, key_block = 128, key_splits = 2>}
  return
}
