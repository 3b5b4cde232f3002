// What breaks a rule of channels, views or products in flight is reported once.

// RUN: split-file %s %t
// RUN: not fa-run %t/twice.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/twice.mlir --implicit-check-not=error:
// RUN: not fa-run %t/never.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/never.mlir --implicit-check-not=error:
// RUN: not fa-run %t/after_release.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/after_release.mlir --implicit-check-not=error:
// RUN: not fa-run %t/product_after_release.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/product_after_release.mlir --implicit-check-not=error:
// RUN: not fa-run %t/issue_after_release.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/issue_after_release.mlir --implicit-check-not=error:
// RUN: not fa-run %t/drain_after_release.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/drain_after_release.mlir --implicit-check-not=error:
// RUN: not fa-run %t/in_flight.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/in_flight.mlir --implicit-check-not=error:
// RUN: not fa-run %t/slice_in_flight.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/slice_in_flight.mlir --implicit-check-not=error:
// RUN: not fa-run %t/pending.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/pending.mlir --implicit-check-not=error:
// RUN: not fa-run %t/left_full.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/left_full.mlir --implicit-check-not=error:
// RUN: not fa-run %t/half_full.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/half_full.mlir --implicit-check-not=error:
// RUN: not fa-run %t/bank.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/bank.mlir --implicit-check-not=error:
// RUN: not fa-run %t/acquired_bank.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/acquired_bank.mlir --implicit-check-not=error:
// RUN: not fa-run %t/part.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/part.mlir --implicit-check-not=error:
// RUN: not fa-run %t/overlap.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/overlap.mlir --implicit-check-not=error:
// RUN: not fa-run %t/slice.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/slice.mlir --implicit-check-not=error:
// RUN: not fa-run %t/slice_row.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/slice_row.mlir --implicit-check-not=error:
// RUN: not fa-run %t/outside.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/outside.mlir --implicit-check-not=error:
// RUN: not fa-run %t/negative.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/negative.mlir --implicit-check-not=error:
// RUN: not fa-run %t/stored_outside.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/stored_outside.mlir --implicit-check-not=error:
// RUN: not fa-run %t/over.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/over.mlir --implicit-check-not=error:
// RUN: not fa-run %t/taken_over.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/taken_over.mlir --implicit-check-not=error:
// RUN: not fa-run %t/one_bank.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/one_bank.mlir --implicit-check-not=error:
// RUN: not fa-run %t/stored_bank.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/stored_bank.mlir --implicit-check-not=error:
// RUN: not fa-run %t/put_stage.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/put_stage.mlir --implicit-check-not=error:
// RUN: not fa-run %t/acquire_stage.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/acquire_stage.mlir --implicit-check-not=error:
// RUN: not fa-run %t/added_integers.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/added_integers.mlir --implicit-check-not=error:
// RUN: not fa-run %t/written_twice.mlir --target=interpret --as-written --seed=1 --grid=3 2>&1 | FileCheck %t/written_twice.mlir --implicit-check-not=error:
// RUN: not fa-run %t/written_and_added.mlir --target=interpret --as-written --seed=1 --grid=2 2>&1 | FileCheck %t/written_and_added.mlir --implicit-check-not=error:
// RUN: not fa-run %t/written_and_read.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/written_and_read.mlir --implicit-check-not=error:
// RUN: not fa-run %t/unsynchronized_half.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/unsynchronized_half.mlir --implicit-check-not=error:
// RUN: not fa-run %t/sync_of_one.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/sync_of_one.mlir --implicit-check-not=error:
// RUN: not fa-run %t/refilled.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/refilled.mlir --implicit-check-not=error:
// RUN: not fa-run %t/empty_copy.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/empty_copy.mlir --implicit-check-not=error:
// RUN: not fa-run %t/vector_outside.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/vector_outside.mlir --implicit-check-not=error:
// RUN: not fa-run %t/vector_between.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/vector_between.mlir --implicit-check-not=error:
// RUN: not fa-run %t/fragments_outside.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/fragments_outside.mlir --implicit-check-not=error:
// RUN: not fa-run %t/fragments_between.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/fragments_between.mlir --implicit-check-not=error:
// RUN: not fa-run %t/added_and_put.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/added_and_put.mlir --implicit-check-not=error:
// RUN: not fa-run %t/stored_and_added.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/stored_and_added.mlir --implicit-check-not=error:
// RUN: not fa-run %t/scattered_and_stored.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/scattered_and_stored.mlir --implicit-check-not=error:
// RUN: not fa-run %t/scattered_outside.mlir --target=interpret --as-written --seed=1 --grid=1 2>&1 | FileCheck %t/scattered_outside.mlir --implicit-check-not=error:

//--- twice.mlir

// CHECK: error: 'fagpu.release' op releases a stage that was released at line [[# @LINE + 21]]
// CHECK: note: in @math of block 0, with --seed=1
// CHECK: note: @load: filled use 0 of the channel of line {{[0-9]+}} (line {{[0-9]+}}), ended
// CHECK: note: @math: acquired use 0 of the channel of line {{[0-9]+}} (line {{[0-9]+}}), released use 0 of the channel of line {{[0-9]+}} (line {{[0-9]+}}), goes on
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
    fagpu.release %v : !qv
  }
  return
}

//--- never.mlir

// CHECK: error: 'fagpu.acquire' op acquires a stage that @math never releases
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
  }
  return
}

//--- after_release.mlir

// CHECK: error: 'fagpu.load' op reads a stage that was released at line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
    %x = fagpu.load %v : !qv -> !h
    fagpu.store %x, %m[%z, %z] : !h into !m
  }
  return
}

//--- product_after_release.mlir

// CHECK: error: 'fagpu.mma' op reads a stage that was released at line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m, %mf: !mf) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
    %x = fagpu.mma nt %v, %v : !qv, !qv -> !s
    fagpu.store %x, %mf[%z, %z] : !s into !mf
  }
  return
}

//--- issue_after_release.mlir

// CHECK: error: 'fagpu.mma_async' op reads a stage that was released at line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m, %mf: !mf) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
    %f = fagpu.mma_async nt %v, %v : !qv, !qv -> !f
    %x = fagpu.wait %f : !f
    fagpu.store %x, %mf[%z, %z] : !s into !mf
  }
  return
}

//--- drain_after_release.mlir

// CHECK: error: 'fagpu.drain' op reads a stage that was released at line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
    fagpu.drain %v, %m[%z, %z] : !qv into !m
  }
  return
}

//--- in_flight.mlir

// CHECK: error: 'fagpu.release' op releases a stage that the product issued at line {{[0-9]+}} still reads: it is not awaited
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m, %mf: !mf) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    %f = fagpu.mma_async nt %v, %v : !qv, !qv -> !f
    fagpu.release %v : !qv
    %x = fagpu.wait %f : !f
    fagpu.store %x, %mf[%z, %z] : !s into !mf
  }
  return
}

//--- slice_in_flight.mlir

// CHECK: error: 'fagpu.release' op releases a stage that the product issued at line {{[0-9]+}} still reads: it is not awaited
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m, %mf: !mf) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    %t = fagpu.slice %v[%z, %z] : !qv to !qv
    %f = fagpu.mma_async nt %t, %t : !qv, !qv -> !f
    fagpu.release %v : !qv
    %x = fagpu.wait %f : !f
    fagpu.store %x, %mf[%z, %z] : !s into !mf
  }
  return
}

//--- pending.mlir

// CHECK: error: 'fagpu.wait' op with pending(1) leaves in flight the product that it waits for, issued at line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m, %mf: !mf) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    %f = fagpu.mma_async nt %v, %v : !qv, !qv -> !f
    %x = fagpu.wait %f pending(1) : !f
    fagpu.store %x, %mf[%z, %z] : !s into !mf
    fagpu.release %v : !qv
  }
  return
}

//--- left_full.mlir

// CHECK: error: 'fagpu.put' op fills a stage that is not acquired and released by all its readers when the block ends
// CHECK: note: in block 0, with --seed=1
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  return
}

//--- half_full.mlir

// CHECK: error: 'fagpu.put' op fills a stage that is not acquired and released by all its readers when the block ends
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c part(%z, %z), %m[%z, %z] [32, 64] : !m into !q
  }
  return
}

//--- bank.mlir

// CHECK: error: 'fagpu.put' op uses bank 2 of a channel that has 2
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma banks(2) : !q
  %two = arith.constant 2 : i32
  fagpu.role @load groups(1) elect {
    fagpu.put %c bank(%two), %m[%z, %z] [64, 64] : !m into !q
  }
  return
}

//--- acquired_bank.mlir

// CHECK: error: 'fagpu.acquire' op uses bank 2 of a channel that has 2
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma banks(2) : !q
  %two = arith.constant 2 : i32
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c bank(%two) : !q
    fagpu.release %v : !qv
  }
  return
}

//--- part.mlir

// CHECK: error: 'fagpu.put' op fills 32x64 elements from row 48, column 0 of a tile of 64x64
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %r = arith.constant 48 : i32
  fagpu.role @load groups(1) elect {
    fagpu.put %c part(%r, %z), %m[%z, %z] [32, 64] : !m into !q
  }
  return
}

//--- overlap.mlir

// CHECK: error: 'fagpu.put' op fills elements of use 0 that are filled already
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %r = arith.constant 16 : i32
  fagpu.role @load groups(1) elect {
    fagpu.put %c part(%z, %z), %m[%z, %z] [32, 64] : !m into !q
    fagpu.put %c part(%r, %z), %m[%z, %z] [32, 64] : !m into !q
  }
  return
}

//--- slice.mlir

// CHECK: error: 'fagpu.slice' op takes 32x64 elements from row 40, column 0 of a view of 64x64
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    %r = arith.constant 40 : i32
    %t = fagpu.slice %v[%r, %z] : !qv to !fagpu.view<32x64xbf16, #sw>
    fagpu.release %v : !qv
  }
  return
}

//--- slice_row.mlir

// CHECK: error: 'fagpu.slice' op starts at row 4, column 0, expected a row that is a multiple of 8 and the first column of a panel
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    %r = arith.constant 4 : i32
    %t = fagpu.slice %v[%r, %z] : !qv to !fagpu.view<32x64xbf16, #sw>
    fagpu.release %v : !qv
  }
  return
}

//--- outside.mlir

// CHECK: error: 'fagpu.put' op touches index 79 of dimension 0 of the memory, which has 64
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %n = arith.constant 100 : i32
  %r = arith.constant 16 : i32
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%r, %z] [64, 64] rows(%n) : !m into !q
  }
  return
}

//--- negative.mlir

// CHECK: error: 'fagpu.put' op touches index -1 of dimension 0 of the memory, which has 64
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %n = arith.constant 100 : i32
  %r = arith.constant -1 : i32
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%r, %z] [64, 64] rows(%n) : !m into !q
  }
  return
}

//--- stored_outside.mlir

// CHECK: error: 'fagpu.store' op touches index 79 of dimension 1 of the memory, which has 64
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%mf: !mf) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %r = arith.constant 16 : i32
  %x = arith.constant dense<0.0> : !s
  fagpu.role @math groups(1) {
    fagpu.store %x, %mf[%z, %r] : !s into !mf
  }
  return
}

//--- over.mlir

// CHECK: error: 'fagpu.store' op uses memory that it shares with the channel of line {{[0-9]+}}, whose stage 0 is not released yet
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %o = fagpu.channel tma_store over(%c : !q) : !q
  %h = arith.constant dense<0.0> : !h
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.store %h, %m[%z, %z] via(%o : !q) : !h into !m
    fagpu.release %v : !qv
  }
  return
}

//--- taken_over.mlir

// CHECK: error: 'fagpu.put' op uses a stage of the channel of line {{[0-9]+}} whose memory another channel has taken over at line
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !q
  %o = fagpu.channel tma_store over(%c : !q) : !q
  %h = arith.constant dense<0.0> : !h
  %mail = fagpu.mail : !fagpu.mail<1, i32>
  fagpu.role @math groups(1) {
    fagpu.store %h, %m[%z, %z] via(%o : !q) : !h into !m
    fagpu.send %mail, %z : !fagpu.mail<1, i32>
  }
  fagpu.role @load groups(1) elect {
    %w = fagpu.recv %mail : !fagpu.mail<1, i32>
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  return
}

//--- one_bank.mlir

// CHECK: error: 'fagpu.store' op stores through bank 0 of the channel of line {{[0-9]+}}, as does group {{[01]}} of @math: nothing orders the two
// CHECK: note: in group {{[01]}} of @math of block 0
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %o = fagpu.channel tma_store : !q
  %h = arith.constant dense<0.0> : !h
  fagpu.role @math groups(2) {
    fagpu.store %h, %m[%z, %z] via(%o : !q) : !h into !m
  }
  return
}

//--- stored_bank.mlir

// CHECK: error: 'fagpu.store' op uses bank 2 of a channel that has 2
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %o = fagpu.channel tma_store banks(2) : !q
  %h = arith.constant dense<0.0> : !h
  %two = arith.constant 2 : i32
  fagpu.role @math groups(1) {
    fagpu.store %h, %m[%z, %z] via(%o : !q) bank(%two) : !h into !m
  }
  return
}

//--- put_stage.mlir

// CHECK: error: 'fagpu.put' op is given stage 0 and phase 0, but use 0 is of stage 0 and phase 1
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] stage(%z, %z) : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !q
    fagpu.release %v : !qv
  }
  return
}

//--- acquire_stage.mlir

// CHECK: error: 'fagpu.acquire' op is given stage 1 and phase 0, but use 0 is of stage 0 and phase 0
#sw = #fagpu.smem<128>
#acc = #fagpu.acc<4>
!q = !fagpu.channel<64x64xbf16, #sw, 1>
!qv = !fagpu.view<64x64xbf16, #sw>
!s = tensor<64x64xf32, #acc>
!h = tensor<64x64xbf16, #acc>
!f = !fagpu.inflight<!s>
!m = memref<64x64xbf16>
!mf = memref<64x64xf32>
func.func @kernel(%m: !m) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = fagpu.channel tma : !q
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %z] [64, 64] : !m into !q
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c stage(%one, %z) : !q
    fagpu.release %v : !qv
  }
  return
}

//--- added_integers.mlir

// CHECK: error: the evaluator does not cover 'fagpu.drain' that adds integers
!c = !fagpu.channel<64xi32, #fagpu.smem<0>, 1>
func.func @kernel(%m: memref<64xi32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel threads : !c
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !c
    fagpu.drain %v, %m[%z] add : !fagpu.view<64xi32, #fagpu.smem<0>> into memref<64xi32>
    fagpu.release %v : !fagpu.view<64xi32, #fagpu.smem<0>>
  }
  return
}

//--- written_twice.mlir

// CHECK: error: 'fagpu.store' op touches memory that @math of block {{[0-2]}} has written at line {{[0-9]+}}: nothing orders the two
// CHECK: note: in @math of block
func.func @kernel(%m: memref<96xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %c32 = arith.constant 32 : i32
  %c96 = arith.constant 96 : i32
  %x = arith.constant dense<0.0> : tensor<64xf32, #fagpu.row<4>>
  %cta = gpu.block_id x
  %t = arith.index_cast %cta : index to i32
  %at = arith.muli %t, %c32 : i32
  fagpu.role @math groups(1) {
    fagpu.store %x, %m[%at] rows(%c96) : tensor<64xf32, #fagpu.row<4>> into memref<96xf32>
  }
  return
}

//--- written_and_added.mlir

// CHECK: error: 'fagpu.drain' op touches memory that @math of block {{[01]}} has written at line {{[0-9]+}}: nothing orders the two
!c = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
!v = !fagpu.view<64xf32, #fagpu.smem<0>>
func.func @kernel(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<0.0> : tensor<64xf32, #fagpu.row<4>>
  %c = fagpu.channel threads : !c
  %cta = gpu.block_id x
  %isFirst = arith.cmpi eq, %cta, %c0 : index
  fagpu.role @math groups(1) {
    fagpu.write %c, %x : tensor<64xf32, #fagpu.row<4>> into !c
    %v = fagpu.acquire %c : !c
    scf.if %isFirst {
      fagpu.drain %v, %m[%z] : !v into memref<64xf32>
    } else {
      fagpu.drain %v, %m[%z] add : !v into memref<64xf32>
    }
    fagpu.release %v : !v
  }
  return
}

//--- written_and_read.mlir

// CHECK: error: 'fagpu.put' op touches memory that @math of block 0 has written at line {{[0-9]+}}: nothing orders the two
!c = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
!v = !fagpu.view<64xf32, #fagpu.smem<0>>
func.func @kernel(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %x = arith.constant dense<0.0> : tensor<64xf32, #fagpu.row<4>>
  %c = fagpu.channel tma : !c
  fagpu.role @math groups(1) {
    fagpu.store %x, %m[%z] : tensor<64xf32, #fagpu.row<4>> into memref<64xf32>
    fagpu.put %c, %m[%z] [64] : memref<64xf32> into !c
    %v = fagpu.acquire %c : !c
    fagpu.release %v : !v
  }
  return
}

//--- unsynchronized_half.mlir

// CHECK: error: 'fagpu.load' op reads what other warps have copied: no 'fagpu.sync' has followed the acquire at line
!c = !fagpu.channel<16x8xf32, #fagpu.smem<0>, 1>
!v = !fagpu.view<16x8xf32, #fagpu.smem<0>>
func.func @kernel(%m: memref<16x8xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c = fagpu.channel cp_async : !c
  fagpu.role @all(%g) groups(2) warps(1) {
    %at = arith.muli %g, %c8 : i32
    fagpu.put %c part(%at, %z), %m[%at, %z] [8, 8] : memref<16x8xf32> into !c
    %v = fagpu.acquire %c pending(0) : !c
    %x = fagpu.load %v : !v -> tensor<16x8xf32, #fagpu.acc<1>>
    fagpu.release %v : !v
  }
  return
}

//--- sync_of_one.mlir

// A barrier is one of all groups of a role.
// CHECK: error: 'fagpu.sync' op waits forever: no role of the block can go on
// CHECK: note: group 0 of @all: waits for the other groups of @all
func.func @kernel(%m: memref<16x8xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  fagpu.role @all(%g) groups(2) warps(1) {
    %is_first = arith.cmpi eq, %g, %z : i32
    scf.if %is_first {
      fagpu.sync
    }
  }
  return
}

//--- refilled.mlir

// CHECK: error: 'fagpu.put' op fills memory that other warps may still read: no 'fagpu.sync' has followed the release at line
!c = !fagpu.channel<64xf32, #fagpu.smem<0>, 1>
!v = !fagpu.view<64xf32, #fagpu.smem<0>>
func.func @kernel(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel cp_async : !c
  fagpu.role @all groups(1) {
    fagpu.put %c, %m[%z] [64] : memref<64xf32> into !c
    %v = fagpu.acquire %c pending(0) : !c
    fagpu.sync
    fagpu.release %v : !v
    fagpu.put %c, %m[%z] [64] : memref<64xf32> into !c
    %w = fagpu.acquire %c pending(0) : !c
    fagpu.release %w : !v
  }
  return
}

//--- empty_copy.mlir

// A put that does not happen starts an empty copy, which counts.
// CHECK: error: 'fagpu.acquire' op with pending(2) leaves in flight the copy of use 0 that it acquires
!c = !fagpu.channel<64xf32, #fagpu.smem<0>, 2>
!v = !fagpu.view<64xf32, #fagpu.smem<0>>
func.func @kernel(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %z = arith.constant 0 : i32
  %false = arith.constant false
  %c = fagpu.channel cp_async : !c
  fagpu.role @all groups(1) {
    fagpu.put %c, %m[%z] [64] : memref<64xf32> into !c
    fagpu.put %c, %m[%z] [64] if(%false) : memref<64xf32> into !c
    %v = fagpu.acquire %c pending(2) : !c
    fagpu.release %v : !v
  }
  return
}

//--- vector_outside.mlir

// CHECK: error: 'fagpu.put' op touches index 127 of dimension 1 of the memory, which has 96
!l = !fagpu.channel<32xf32, #fagpu.smem<0>, 1>
func.func @kernel(%m: memref<2x96xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %n = arith.constant 96 : i32
  %c = fagpu.channel tma : !l
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%z, %n] [1, 32] : memref<2x96xf32> into !l
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !l
    fagpu.release %v : !fagpu.view<32xf32, #fagpu.smem<0>>
  }
  return
}

//--- vector_between.mlir

// CHECK: error: 'fagpu.put' op moves a piece from byte 392 of the memory on, expected a multiple of 16
!l = !fagpu.channel<32xf32, #fagpu.smem<0>, 1>
func.func @kernel(%m: memref<2x96xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %one = arith.constant 1 : i32
  %n = arith.constant 2 : i32
  %c = fagpu.channel tma : !l
  fagpu.role @load groups(1) elect {
    fagpu.put %c, %m[%one, %n] [1, 32] : memref<2x96xf32> into !l
  }
  fagpu.role @math groups(1) {
    %v = fagpu.acquire %c : !l
    fagpu.release %v : !fagpu.view<32xf32, #fagpu.smem<0>>
  }
  return
}

//--- fragments_outside.mlir

// CHECK: error: 'fagpu.store' op touches index 575 of dimension 0 of the memory, which has 512
!s = tensor<64x8xf32, #fagpu.acc<4>>
func.func @kernel(%m: memref<512xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %n = arith.constant 64 : i32
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    fagpu.store %x, %m[%n] fragments : !s into memref<512xf32>
  }
  return
}

//--- fragments_between.mlir

// CHECK: error: 'fagpu.store' op moves a piece from byte 4 of the memory on, expected a multiple of 16
!s = tensor<64x8xf32, #fagpu.acc<4>>
func.func @kernel(%m: memref<1024xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %n = arith.constant 1 : i32
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    fagpu.store %x, %m[%n] add fragments : !s into memref<1024xf32>
  }
  return
}

//--- added_and_put.mlir

// CHECK: error: 'fagpu.put' op touches memory that @math of block 0 has written at line {{[0-9]+}}: nothing orders the two
!s = tensor<64x8xf32, #fagpu.acc<4>>
!l = !fagpu.channel<512xf32, #fagpu.smem<0>, 1>
!t = !fagpu.mail<1, i32>
func.func @kernel(%m: memref<512xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %c = fagpu.channel tma : !l
  %d = fagpu.channel threads : !fagpu.channel<64x8xf32, #fagpu.smem<32>, 1>
  fagpu.role @load groups(1) elect {
    %v = fagpu.acquire %d : !fagpu.channel<64x8xf32, #fagpu.smem<32>, 1>
    fagpu.release %v : !fagpu.view<64x8xf32, #fagpu.smem<32>>
    fagpu.put %c, %m[%z] [512] : memref<512xf32> into !l
  }
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    fagpu.store %x, %m[%z] add fragments : !s into memref<512xf32>
    fagpu.write %d, %x : !s into !fagpu.channel<64x8xf32, #fagpu.smem<32>, 1>
    %v = fagpu.acquire %c : !l
    fagpu.release %v : !fagpu.view<512xf32, #fagpu.smem<0>>
  }
  return
}

//--- stored_and_added.mlir

// CHECK: error: 'fagpu.store' op touches memory that @math of block 0 has written at line {{[0-9]+}}: nothing orders the two
!s = tensor<64x8xf32, #fagpu.acc<4>>
func.func @kernel(%m: memref<64x8xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    fagpu.store %x, %m[%z, %z] : !s into memref<64x8xf32>
    fagpu.store %x, %m[%z, %z] add : !s into memref<64x8xf32>
  }
  return
}

//--- scattered_and_stored.mlir

// CHECK: error: 'fagpu.store' op touches memory that @math of block 0 has written at line {{[0-9]+}}: nothing orders the two
!s = tensor<64x8xf32, #fagpu.acc<4>>
!i = tensor<64x8xi32, #fagpu.acc<4>>
func.func @kernel(%m: memref<64x8xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    %i = fagpu.iota 0 : !i
    fagpu.scatter_add %x, %m[%i, %z] : !s into memref<64x8xf32>[!i, i32]
    fagpu.store %x, %m[%z, %z] : !s into memref<64x8xf32>
  }
  return
}

//--- owned_twice.mlir

// CHECK: error: 'fagpu.scatter_add' op touches memory that @math of block 0 has written at line {{[0-9]+}}: nothing orders the two
!s = tensor<64x8xf32, #fagpu.acc<4>>
!i = tensor<64x8xi32, #fagpu.acc<4>>
func.func @kernel(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    %i = fagpu.iota 0 : !i
    fagpu.scatter_add %x, %m[%i] {fagpu.owned} : !s into memref<64xf32>[!i]
  }
  return
}

//--- scattered_outside.mlir

// CHECK: error: 'fagpu.scatter_add' index 64 is out of bounds for dimension 0 of size 64
!s = tensor<128x8xf32, #fagpu.acc<4>>
!i = tensor<128x8xi32, #fagpu.acc<4>>
func.func @kernel(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math groups(1) {
    %x = arith.constant dense<1.0> : !s
    %i = fagpu.iota 0 : !i
    fagpu.scatter_add %x, %m[%i] : !s into memref<64xf32>[!i]
  }
  return
}
