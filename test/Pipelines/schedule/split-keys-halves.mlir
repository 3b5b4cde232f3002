// Blocks of one sequence are halved where half the keys are whole products: not of 112 keys, and not of 64 in f32.
//
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a -o /dev/null
// RUN: fa-run %s --entry=wide --target=interpret --chip=sm_90a --verify | FileCheck %s
// RUN: fa-run %s --entry=floats --target=interpret --chip=sm_90a --verify | FileCheck %s
// RUN: fa-run %s --entry=halved --target=interpret --chip=sm_90a --verify | FileCheck %s
// CHECK: ok
// CHECK: verified all rows

!wide = memref<1x100x1x192xbf16>
!wide_keys = memref<1x500x1x192xbf16>
func.func @wide(%query: !wide, %key: !wide_keys, %value: !wide_keys, %output: !wide) {
  fa.attention ins(%query, %key, %value : !wide, !wide_keys, !wide_keys) outs(%output : !wide)
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
