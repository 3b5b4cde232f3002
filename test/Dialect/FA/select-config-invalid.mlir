// RUN: split-file %s %t
// RUN: not fa-opt %t/lanes.mlir -fa-select-config=target=avx2 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not fa-opt %t/registers.mlir -fa-select-config=target=avx2 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: fa-opt %t/registers.mlir -fa-select-config=target=avx512 | FileCheck %s --check-prefix=FITS
// RUN: not fa-opt %t/columns.mlir -fa-select-config=target=avx2 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not fa-opt %t/lanes.mlir -fa-select-config=target=sm_90a 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not fa-opt %t/dims.mlir -fa-select-config=target=sm_70 2>&1 | FileCheck %s --check-prefix=NAME

// LANES: error: 'fa.attention' op config does not fit: lanes is 16, but a vector of avx2 holds 8 f32; the nearest is 8
// PART: error: 'fa.attention' op config does not fit: its target part #fa.cpu<lanes = 16> is for 'cpu', but the target is sm_90a, expected a part for 'gpu'
//--- lanes.mlir
!t = tensor<1x?x1x64xf32>
func.func @lanes(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      {config = #fa.config<query_block = 64, key_block = 128, target = #fa.cpu<lanes = 16>>}
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

// NAME: error: unknown target 'sm_70', expected cpu (this machine) or one of avx512, avx2, sse, neon, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120
//--- dims.mlir
!t = tensor<1x?x1x512xf16>
func.func @dims(%q: !t) -> !t {
  %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %r : !t
}
