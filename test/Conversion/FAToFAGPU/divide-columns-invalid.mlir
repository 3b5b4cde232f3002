// RUN: fa-opt %s -fagpu-divide-columns -split-input-file -verify-diagnostics

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @reduction(%k: !m, %n: i32, %out: memref<?xf32>) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
    // expected-error @below {{'fagpu.reduce' op is in a kernel of 2 column_groups, which do not divide its block values; expected column_groups = 1}}
    %r = fagpu.reduce add %s : !s -> tensor<64xf32, #fagpu.row<4>>
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @invariant(%k: !m, %n: i32, %p: !h) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
    // expected-error @below {{'fagpu.mma' op multiplies a block value that 2 column_groups do not exchange; expected one that the same body of a loop computes}}
    %o = fagpu.mma nn %p, %kv : !h, !qv -> !o
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @panel(%k: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  %half = fagpu.channel cp_async : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
  fagpu.role @compute groups(1) {
    fagpu.put %half, %k[%c0, %c0] [64, 64] rows(%n) : !m into !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
    %hv = fagpu.acquire %half : !fagpu.channel<64x64xbf16, #fagpu.smem<128>, 1>
    // expected-error @below {{'fagpu.mma' op has 64 columns in 2 column_groups, expected a multiple of 128}}
    %o = fagpu.mma nn %hv, %hv : !fagpu.view<64x64xbf16, #fagpu.smem<128>>, !fagpu.view<64x64xbf16, #fagpu.smem<128>> -> !s
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @narrow(%k: !m, %n: i32, %x: tensor<64x24xf32>) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
    // expected-error @below {{'arith.mulf' op makes 'tensor<64x24xf32>', which 2 column_groups do not divide; expected rows, columns or a matrix of a multiple of 16 columns}}
    %y = arith.mulf %x, %x : tensor<64x24xf32>
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @transposed(%k: !m, %n: i32, %out: memref<?x64xf32>) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  fagpu.role @compute groups(1) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
    // expected-error @below {{'fagpu.store' op stores 'tensor<64x64xf32>' transposed, which 2 column_groups do not divide; expected a matrix by rows}}
    fagpu.store %s, %out[%c0, %c0] sizes [64, 64] transposed : !s into memref<?x64xf32>
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @part_of_stage(%k: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  fagpu.role @compute groups(1) {
    %h = fagpu.iota 0 : tensor<64x32xi32>
    %x = arith.sitofp %h : tensor<64x32xi32> to tensor<64x32xbf16>
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
    // expected-error @below {{'fagpu.write' op is transposed, or of a bank or part(...), which 2 column_groups do not divide; expected all of a stage}}
    fagpu.write %keys part(%c0, %c0), %x : tensor<64x32xbf16> into !q
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @half_box(%k: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  fagpu.role @compute groups(1) {
    // expected-error @below {{'fagpu.put' op copies 32 rows, which 2 column_groups do not divide; expected all rows of a stage without banks and pages, a multiple of 16}}
    fagpu.put %keys part(%c0, %c0), %k[%c0, %c0] [32, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
  }
  return
}

// -----

!q = !fagpu.channel<64x128xbf16, #fagpu.smem<128>, 1>
!qv = !fagpu.view<64x128xbf16, #fagpu.smem<128>>
!m = memref<?x128xbf16>
!s = tensor<64x64xf32>
!h = tensor<64x64xbf16>
!o = tensor<64x128xf32>
func.func @three_warps(%k: !m, %n: i32) attributes {fagpu.kernel = "sm_80", fa.config = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warps<column_groups = 2>>>} {
  %c0 = arith.constant 0 : i32
  %keys = fagpu.channel cp_async : !q
  // expected-error @below {{'fagpu.role' op has groups(1) warps(3), which 2 column_groups do not divide; expected one group of a multiple of 2 warps}}
  fagpu.role @compute groups(1) warps(3) {
    fagpu.put %keys, %k[%c0, %c0] [64, 128] rows(%n) : !m into !q
    %kv = fagpu.acquire %keys : !q
    %s = fagpu.mma nt %kv, %kv : !qv, !qv -> !s
  }
  return
}
