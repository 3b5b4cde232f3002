// Blocks of few sequences are halved, with parts that are merged, and without any. Not of f32.
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=HALVES
// DEFINE: %{run} = fa-run %s --target=interpret --chip=sm_90a --verify
// RUN: %{run} --entry=odd --multiprocessors=4 | FileCheck %s
// RUN: %{run} --entry=floats | FileCheck %s
// RUN: %{run} --entry=halved --multiprocessors=4 | FileCheck %s
// RUN: %{run} --entry=whole --multiprocessors=4 | FileCheck %s
// RUN: %{run} --entry=wide --multiprocessors=5 | FileCheck %s
// CHECK: ok
// CHECK: verified all rows

// HALVES-LABEL: func.func @odd(
// HALVES-COUNT-6: fagpu.launch
// HALVES-NOT:   fagpu.launch
// HALVES-LABEL: func.func @floats(
// HALVES-COUNT-3: fagpu.launch
// HALVES-NOT:   fagpu.launch
// HALVES-LABEL: func.func @halved(
// HALVES-COUNT-6: fagpu.launch
// HALVES-NOT:   fagpu.launch
// HALVES-LABEL: func.func @whole(
// HALVES-COUNT-6: fagpu.launch
// HALVES-NOT:   fagpu.launch
// HALVES-LABEL: func.func @wide(
// HALVES-COUNT-6: fagpu.launch
// HALVES-NOT:   fagpu.launch

!odd = memref<1x100x1x192xbf16>
!odd_keys = memref<1x500x1x192xbf16>
func.func @odd(%query: !odd, %key: !odd_keys, %value: !odd_keys, %output: !odd) {
  fa.attention ins(%query, %key, %value : !odd, !odd_keys, !odd_keys) outs(%output : !odd)
      {config = #fa.config<query_block = 128, key_block = 112, split_keys = 224>}
  return
}

!floats = memref<1x100x1x128xf32>
!float_keys = memref<1x300x1x128xf32>
func.func @floats(%query: !floats, %key: !float_keys, %value: !float_keys, %output: !floats) {
  fa.attention ins(%query, %key, %value : !floats, !float_keys, !float_keys) outs(%output : !floats)
      {config = #fa.config<query_block = 128, key_block = 64, split_keys = 128>}
  return
}

!halved = memref<1x100x1x64xf16>
!halved_keys = memref<1x700x1x64xf16>
func.func @halved(%query: !halved, %key: !halved_keys, %value: !halved_keys, %output: !halved) {
  fa.attention ins(%query, %key, %value : !halved, !halved_keys, !halved_keys) outs(%output : !halved)
      {config = #fa.config<query_block = 128, key_block = 128, split_keys = 256>}
  return
}

!pair = memref<2x100x1x128xbf16>
!pair_keys = memref<2x600x1x128xbf16>
func.func @whole(%query: !pair, %key: !pair_keys, %value: !pair_keys, %output: !pair) {
  fa.attention ins(%query, %key, %value : !pair, !pair_keys, !pair_keys) outs(%output : !pair)
      {config = #fa.config<query_block = 128, key_block = 128, split_keys = 256>}
  return
}

!wide = memref<1x100x1x256xbf16>
!wide_keys = memref<1x500x1x256xbf16>
func.func @wide(%query: !wide, %key: !wide_keys, %value: !wide_keys, %output: !wide) {
  fa.attention ins(%query, %key, %value : !wide, !wide_keys, !wide_keys) outs(%output : !wide)
      {config = #fa.config<query_block = 128, key_block = 64, split_keys = 128>}
  return
}
