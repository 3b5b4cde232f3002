// RUN: fa-opt %s -fagpu-infer-layouts | FileCheck %s

!v = !fagpu.channel<128x64xbf16, #fagpu.smem<128>, 1>
!vv = !fagpu.view<128x64xbf16, #fagpu.smem<128>>

// CHECK-LABEL: func.func @product
func.func @product(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %v = fagpu.channel threads : !v
  // Constants from outside have the layouts of their uses, one by one.
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  fagpu.role @math(%g) groups(2) {
    // CHECK: arith.constant dense<0.000000e+00> : tensor<64xf32, #fagpu.row<4>>
    %s = tensor.splat %x : tensor<64x128xf32>
    // CHECK: %[[M:.*]] = fagpu.reduce max %{{.*}} : tensor<64x128xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    %m = fagpu.reduce max %s : tensor<64x128xf32> -> tensor<64xf32>
    // CHECK: arith.maxnumf %[[M]], %{{.*}} : tensor<64xf32, #fagpu.row<4>>
    %m1 = arith.maxnumf %m, %zero : tensor<64xf32>
    // CHECK: fagpu.reduce add %{{.*}} -> tensor<64x4xf32, #fagpu.quad<4>>
    %l = fagpu.reduce add %s : tensor<64x128xf32> -> tensor<64x4xf32>
    // CHECK: fagpu.reduce add %{{.*}} : tensor<64x4xf32, #fagpu.quad<4>> -> tensor<64xf32, #fagpu.row<4>>
    %ls = fagpu.reduce add %l : tensor<64x4xf32> -> tensor<64xf32>
    // The conversion stands behind the value, not before the product.
    // CHECK: %[[H:.*]] = arith.truncf %{{.*}} : tensor<64x128xf32, #fagpu.acc<4>> to tensor<64x128xbf16, #fagpu.acc<4>>
    // CHECK-NEXT: %[[P:.*]] = fagpu.convert %[[H]] : tensor<64x128xbf16, #fagpu.acc<4>> -> tensor<64x128xbf16, #fagpu.opa<4>>
    %h = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    %vt = fagpu.acquire %v : !v
    // CHECK: fagpu.mma_async nn %[[P]], %{{.*}} : tensor<64x128xbf16, #fagpu.opa<4>>, {{.*}} -> <tensor<64x64xf32, #fagpu.acc<4>> keeps tensor<64x128xbf16, #fagpu.opa<4>>>
    %f = fagpu.mma_async nn %h, %vt : tensor<64x128xbf16>, !vv
        -> !fagpu.inflight<tensor<64x64xf32> keeps tensor<64x128xbf16>>
    // CHECK: fagpu.wait %{{.*}} : <tensor<64x64xf32, #fagpu.acc<4>> keeps
    %o = fagpu.wait %f : !fagpu.inflight<tensor<64x64xf32> keeps tensor<64x128xbf16>>
    fagpu.release %vt : !vv
  }
  return
}

// A vector of one value a warp is told by its size.
// CHECK-LABEL: func.func @warps
func.func @warps(%x: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : tensor<128x64xf32>
    // CHECK: %[[W:.*]] = fagpu.reduce add %{{.*}} : tensor<128x64xf32, #fagpu.acc<4>> -> tensor<4xf32, #fagpu.warp<4>>
    %w = fagpu.reduce add %s : tensor<128x64xf32> -> tensor<4xf32>
    // CHECK: %[[R:.*]] = math.rsqrt %[[W]] : tensor<4xf32, #fagpu.warp<4>>
    %r = math.rsqrt %w : tensor<4xf32>
    // CHECK: fagpu.broadcast %[[R]] : tensor<4xf32, #fagpu.warp<4>> -> tensor<128x64xf32, #fagpu.acc<4>>
    %b = fagpu.broadcast %r : tensor<4xf32> -> tensor<128x64xf32>
    %y = arith.mulf %s, %b : tensor<128x64xf32>
    // To a square, of which no use says more than the size.
    // CHECK: fagpu.broadcast %{{.*}} : tensor<4xf32, #fagpu.warp<4>> -> tensor<64x64xf32, #fagpu.acc<4>>
    %v = tensor.splat %x : tensor<4xf32>
    %c = fagpu.broadcast %v : tensor<4xf32> -> tensor<64x64xf32>
  }
  return
}

// Vectors of rows and of columns; one index for both.
// CHECK-LABEL: func.func @vectors
func.func @vectors() attributes {fagpu.kernel = "sm_80"} {
  fagpu.role @math(%g) groups(1) warps(2) {
    // CHECK: %[[COLUMN:.*]] = fagpu.iota 0 : tensor<64xi32, #fagpu.col<2>>
    // CHECK: %[[ROW:.*]] = fagpu.iota 0 : tensor<32xi32, #fagpu.row<2>>
    %j = fagpu.iota 0 : tensor<64xi32>
    %i = fagpu.iota 0 : tensor<32xi32>
    // CHECK: fagpu.broadcast %[[COLUMN]] : tensor<64xi32, #fagpu.col<2>> -> tensor<32x64xi32, #fagpu.acc<2>>
    %jj = fagpu.broadcast %j : tensor<64xi32> -> tensor<32x64xi32>
    // CHECK: fagpu.broadcast %[[ROW]] : tensor<32xi32, #fagpu.row<2>> -> tensor<32x64xi32, #fagpu.acc<2>>
    %ii = fagpu.broadcast %i : tensor<32xi32> -> tensor<32x64xi32>
    // Limits are of rows, though the matrix is square.
    // CHECK: fagpu.between %{{.*}}, %{{.*}} : tensor<32xi32, #fagpu.row<2>> -> tensor<32x32xi1, #fagpu.acc<2>>
    %limit = fagpu.iota 0 : tensor<32xi32>
    %between = fagpu.between %limit, %limit : tensor<32xi32> -> tensor<32x32xi1>
  }
  return
}

// Loops and branches join; the text's own layouts stay.
// CHECK-LABEL: func.func @control_flow
func.func @control_flow(%n: i32, %c: i1, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : tensor<64x64xf32>
    %m = tensor.splat %x : tensor<64xf32, #fagpu.col<4>>
    %r0 = tensor.splat %x : tensor<64xf32>
    // CHECK: fagpu.for {{.*}} -> (tensor<64xf32, #fagpu.row<4>>, tensor<64xf32, #fagpu.col<4>>) {
    %r:2 = fagpu.for %i = %n step 1 segments(%all: to %n) iter(%a = %r0, %b = %m)
        -> (tensor<64xf32>, tensor<64xf32, #fagpu.col<4>>) {
      %k = fagpu.reduce max %s : tensor<64x64xf32> -> tensor<64xf32>
      // CHECK: scf.if %{{.*}} -> (tensor<64xf32, #fagpu.row<4>>) {
      %y = scf.if %c -> (tensor<64xf32>) {
        scf.yield %k : tensor<64xf32>
      } else {
        scf.yield %a : tensor<64xf32>
      }
      // A square matrix does not say which it is; the loop does.
      // CHECK: fagpu.broadcast %{{.*}} : tensor<64xf32, #fagpu.row<4>> -> tensor<64x64xf32, #fagpu.acc<4>>
      %w = fagpu.broadcast %a : tensor<64xf32> -> tensor<64x64xf32>
      fagpu.yield %y, %b : tensor<64xf32>, tensor<64xf32, #fagpu.col<4>>
    }
  }
  return
}

// A constant outside of the role says its layout to what it meets.
// CHECK-LABEL: func.func @stated_outside
func.func @stated_outside(%m: memref<?xf32>, %c0: i32, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %one = arith.constant dense<1.0> : tensor<64xf32, #fagpu.row<4>>
  fagpu.role @math(%g) groups(1) {
    %s = tensor.splat %x : tensor<64x8xf32>
    // CHECK: fagpu.reduce max %{{.*}} : tensor<64x8xf32, #fagpu.acc<4>> -> tensor<64xf32, #fagpu.row<4>>
    %r = fagpu.reduce max %s : tensor<64x8xf32> -> tensor<64xf32, #fagpu.row<4>>
    %y = arith.mulf %r, %one : tensor<64xf32, #fagpu.row<4>>
    fagpu.store %y, %m[%c0] : tensor<64xf32, #fagpu.row<4>> into memref<?xf32>
  }
  return
}

// What is added has the layout of its indices and of its mask.
// CHECK-LABEL: func.func @scattered
func.func @scattered(%m: memref<?xf32>, %x: f32, %n: i32) attributes {fagpu.kernel = "sm_90a"} {
  fagpu.role @math(%g) groups(1) {
    // CHECK: %[[VALUE:.*]] = tensor.splat %{{.*}} : tensor<64xf32, #fagpu.row<4>>
    %s = tensor.splat %x : tensor<64xf32>
    // CHECK: %[[INDEX:.*]] = fagpu.iota 0 : tensor<64xi32, #fagpu.row<4>>
    %i = fagpu.iota 0 : tensor<64xi32>
    %last = tensor.splat %n : tensor<64xi32, #fagpu.row<4>>
    %ok = arith.cmpi slt, %last, %last : tensor<64xi32, #fagpu.row<4>>
    // CHECK: fagpu.scatter_add %[[VALUE]], %{{.*}}[%[[INDEX]]] mask(
    fagpu.scatter_add %s, %m[%i] mask(%ok : tensor<64xi1, #fagpu.row<4>>) : tensor<64xf32> into memref<?xf32>[tensor<64xi32>]
  }
  return
}
