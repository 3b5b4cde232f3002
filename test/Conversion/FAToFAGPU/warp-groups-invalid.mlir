// RUN: split-file %s %t
// RUN: fa-opt %t/products.mlir -fagpu-select-products -split-input-file -verify-diagnostics
// RUN: fa-opt %t/roles.mlir -fagpu-split-roles -split-input-file -verify-diagnostics
// RUN: fa-opt %t/persist.mlir -fagpu-persist -split-input-file -verify-diagnostics

//--- products.mlir
#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>

func.func @registers() attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @compute {
    %x = arith.constant dense<0.0> : tensor<64x64xf16>
    // expected-error @below {{'fagpu.product' op has a second operand in registers, expected a view; run fagpu-form-channels before}}
    %s = fagpu.product nt %x, %x : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  }
  return
}

// -----

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
func.func @chip() attributes {fagpu.kernel = "sm_90", fa.config = #groups} {
  %c = fagpu.channel tma : !channel
  fagpu.role @math {
    %v = fagpu.acquire %c : !channel
    // expected-error @below {{'fagpu.product' op is to be issued by a group of warps, but sm_90 has no asynchronous products; expected warps or sm_90a}}
    %s = fagpu.product nt %v, %v : !view, !view -> tensor<64x64xf32>
    fagpu.release %v : !view
  }
  return
}

// -----

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
func.func @warps() attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c = fagpu.channel tma : !channel
  fagpu.role @math groups(1) warps(2) {
    %v = fagpu.acquire %c : !channel
    // expected-error @below {{'fagpu.product' op is to be issued by a group of 2 warps, expected 4}}
    %s = fagpu.product nt %v, %v : !view, !view -> tensor<64x64xf32>
    fagpu.release %v : !view
  }
  return
}

// -----

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!channel = !fagpu.channel<128x64xf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<128x64xf16, #fagpu.smem<128>>
func.func @rows() attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c = fagpu.channel tma : !channel
  fagpu.role @math {
    %v = fagpu.acquire %c : !channel
    // expected-error @below {{'fagpu.product' op makes 128 rows, but a group of warps computes 64}}
    %s = fagpu.product nt %v, %v : !view, !view -> tensor<128x128xf32>
    fagpu.release %v : !view
  }
  return
}

// -----

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!wide = !fagpu.channel<264x64xf16, #fagpu.smem<128>, 1>
!wideview = !fagpu.view<264x64xf16, #fagpu.smem<128>>
func.func @columns() attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c = fagpu.channel tma : !channel
  %d = fagpu.channel tma : !wide
  fagpu.role @math {
    %v = fagpu.acquire %c : !channel
    %w = fagpu.acquire %d : !wide
    // expected-error @below {{'fagpu.product' op makes 264 columns, expected a multiple of 8 up to 256; nearest is 256}}
    %s = fagpu.product nt %v, %w : !view, !wideview -> tensor<64x264xf32>
    fagpu.release %v : !view
    fagpu.release %w : !wideview
  }
  return
}

//--- roles.mlir
#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!view = !fagpu.view<64x64xf16, #fagpu.smem<128>>
!mem = memref<?x64xf16, strided<[?, 1]>>
func.func @branch(%m: !mem, %p: i1) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c = fagpu.channel tma : !channel
  %c0 = arith.constant 0 : i32
  fagpu.role @math {
    scf.if %p {
      // expected-error @below {{'fagpu.put' op stands in 'scf.if', expected 'fagpu.for' alone around it}}
      fagpu.put %c, %m[%c0, %c0] [64, 64] : !mem into !channel
    }
  }
  return
}

// -----

#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
!channel = !fagpu.channel<64x64xf16, #fagpu.smem<128>, 1>
!mem = memref<?x64xf16, strided<[?, 1]>>
func.func @carried(%m: !mem, %n: i32) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c = fagpu.channel tma : !channel
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  fagpu.role @math {
    %end = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0) iter(%at = %c0) -> (i32) {
      // expected-error @below {{'fagpu.put' op copies to a place that a loop carries from one iteration to the next, expected one that its index alone gives}}
      fagpu.put %c, %m[%at, %c0] [64, 64] : !mem into !channel
      %next = arith.addi %at, %c64 : i32
      fagpu.yield %next : i32
    }
  }
  return
}

//--- persist.mlir
#groups = #fa.config<query_block = 64, key_block = 64, target = #fa.gpu<warp_groups>>
// expected-error @below {{'func.func' op has no role of one thread (elect) that could take the tiles; run fagpu-split-roles before}}
func.func @one_role() attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %block = gpu.block_id x
  fagpu.role @math {
  }
  return
}
func.func @host(%n: index) {
  fagpu.launch @one_role grid(%n) ()
  return
}
