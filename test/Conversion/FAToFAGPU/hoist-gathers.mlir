// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-hoist-gathers -canonicalize -cse -split-input-file | FileCheck %s

!half = tensor<64x64xf16>
!scores = tensor<64x64xf32>
!col = tensor<64xi32, #fagpu.col<4>>
!row = tensor<64xi32, #fagpu.row<4>>
#groups = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>>>

// Column values that a partial block compares are loaded before the product, in
// a branch of their own; a value of the block's own scores stays.
// CHECK-LABEL: func.func @early
func.func @early(%ids: memref<?xi32>, %n: index, %ofRows: !row) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !half
  %none = arith.constant dense<0xFF800000> : !scores
  %zero = arith.constant dense<0.0> : !scores
  fagpu.role @math groups(1) {
    // CHECK: fa.key_ranges
    // CHECK: %[[PARTIAL:.*]] = fa.is_partial
    // CHECK-NEXT: %[[IDS:.*]] = scf.if %[[PARTIAL]] -> (tensor<64xi32, #fagpu.col<4>>) {
    // CHECK: fagpu.iota 0
    // CHECK: %[[LOADED:.*]] = fagpu.gather
    // CHECK-NEXT: scf.yield %[[LOADED]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT: scf.yield %{{.*}} : tensor<64xi32, #fagpu.col<4>>
    // CHECK: fagpu.product nt
    // CHECK: scf.if
    // CHECK-NOT: fagpu.gather %{{.*}} -> tensor<64xi32, #fagpu.col<4>>
    // CHECK: fagpu.broadcast %[[IDS]]
    %r = fa.key_ranges (%key, %count) = [full %c0 to %c0, partial %c0 to %n] step 64 iter_args(%a = %zero) -> (!scores) {
      %s = fagpu.product nt %one, %one : !half, !half -> !scores
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!scores) {
        %first = arith.index_cast %key : index to i32
        %column = fagpu.iota 0 : !col
        %all = tensor.splat %first : !col
        %at = arith.addi %column, %all : !col
        %x = fagpu.gather %ids[%at] : memref<?xi32>[!col] -> !col
        %xs = fagpu.broadcast %x : !col -> tensor<64x64xi32>
        %ys = fagpu.broadcast %ofRows : !row -> tensor<64x64xi32>
        %same = arith.cmpi eq, %xs, %ys : tensor<64x64xi32>
        %w = arith.select %same, %s, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %s : !scores
      }
      fa.yield %h : !scores
    }
    "keep"(%r) : (!scores) -> ()
  }
  return
}

// -----

!half = tensor<64x128xf16>
!scores = tensor<64x256xf32>
!keys = tensor<256x128xf16>
!col = tensor<256xi32, #fagpu.col<4>>
#groups = #fa.config<query_block = 128, key_block = 256, target = #fa.gpu<warp_groups<groups = 2, overlap = keys>>>

// Scores of 128 registers and 64 for the column leave nothing for a second one.
// CHECK-LABEL: func.func @registers
func.func @registers(%ids: memref<?xi32>, %n: index) attributes {fagpu.kernel = "sm_90a", fa.config = #groups} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !half
  %two = arith.constant dense<1.0> : !keys
  %none = arith.constant dense<0xFF800000> : !scores
  %zero = arith.constant dense<0.0> : !scores
  fagpu.role @math groups(1) {
    // CHECK: fa.key_ranges
    // CHECK: fagpu.gather
    // CHECK: fagpu.product nt
    // CHECK: fagpu.gather
    // CHECK-NOT: fagpu.gather
    %r = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 256 iter_args(%a = %zero) -> (!scores) {
      %s = fagpu.product nt %one, %two : !half, !keys -> !scores
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!scores) {
        %column = fagpu.iota 0 : !col
        %x = fagpu.gather %ids[%column] : memref<?xi32>[!col] -> !col
        %next = arith.addi %column, %column : !col
        %y = fagpu.gather %ids[%next] : memref<?xi32>[!col] -> !col
        %same = arith.cmpi eq, %x, %y : !col
        %all = fagpu.broadcast %same : tensor<256xi1, #fagpu.col<4>> -> tensor<64x256xi1>
        %w = arith.select %all, %s, %none : tensor<64x256xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %s : !scores
      }
      fa.yield %h : !scores
    }
    "keep"(%r) : (!scores) -> ()
  }
  return
}

// -----

!half = tensor<64x64xf16>
!scores = tensor<64x64xf32>
!col = tensor<64xi32, #fagpu.col<4>>
#warps = #fa.config<query_block = 128, key_block = 64, target = #fa.gpu<warps>>

// Warps that overlap nothing load where they compare.
// CHECK-LABEL: func.func @warps
// CHECK: fagpu.product nt
// CHECK: fagpu.gather
func.func @warps(%ids: memref<?xi32>, %n: index) attributes {fagpu.kernel = "sm_80", fa.config = #warps} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !half
  %none = arith.constant dense<0xFF800000> : !scores
  %zero = arith.constant dense<0.0> : !scores
  fagpu.role @compute groups(1) {
    %r = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 iter_args(%a = %zero) -> (!scores) {
      %s = fagpu.product nt %one, %one : !half, !half -> !scores
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!scores) {
        %column = fagpu.iota 0 : !col
        %x = fagpu.gather %ids[%column] : memref<?xi32>[!col] -> !col
        %y = arith.cmpi eq, %x, %column : !col
        %all = fagpu.broadcast %y : tensor<64xi1, #fagpu.col<4>> -> tensor<64x64xi1>
        %w = arith.select %all, %s, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %s : !scores
      }
      fa.yield %h : !scores
    }
    "keep"(%r) : (!scores) -> ()
  }
  return
}
