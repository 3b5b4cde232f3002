// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-expand-tanh -canonicalize -cse | FileCheck %s

!half = tensor<64x64xf16>
!scores = tensor<64x64xf32>
!wide = tensor<64x96xf32>

// A cap of run time that is held to small numbers. In partial blocks what is
// hidden becomes 0 first: it may be no number, and shares a reciprocal with the
// others.
// CHECK-LABEL: func.func @cap
// CHECK-SAME: (%[[GIVEN:.*]]: f32, %[[INVERSE:.*]]: f32, %[[N:.*]]: index)
func.func @cap(%given: f32, %inverse: f32, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %least = arith.constant -50.0 : f32
  %greatest = arith.constant 50.0 : f32
  %above = arith.maximumf %given, %least : f32
  %cap = arith.minimumf %above, %greatest : f32
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !half
  %none = arith.constant dense<0xFF800000> : !scores
  %scale = arith.constant dense<0.125> : !scores
  %zero = arith.constant dense<0.0> : !scores
  fagpu.role @compute groups(1) {
    // CHECK: fa.key_ranges
    %r = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 iter_args(%a = %zero) -> (!scores) {
      // CHECK: %[[S:.*]] = fagpu.product nt
      // CHECK: %[[PARTIAL:.*]] = fa.is_partial
      // CHECK-NEXT: arith.mulf %[[INVERSE]], %cst{{.*}} : f32
      // CHECK: %[[CLEAN:.*]] = scf.if %[[PARTIAL]]
      // CHECK: %[[VISIBLE:.*]] = arith.cmpi
      // CHECK-NEXT: %[[KEPT:.*]] = arith.select %[[VISIBLE]], %[[S]], %{{.*}}
      // CHECK-NEXT: scf.yield %[[KEPT]]
      // CHECK-NEXT: } else {
      // CHECK-NEXT: scf.yield %[[S]]
      // CHECK: %[[ALL:.*]] = tensor.splat
      // CHECK: %[[E:.*]] = arith.mulf %[[CLEAN]], %[[ALL]]
      // CHECK: %[[M:.*]] = arith.minimumf %[[E]], %
      // CHECK: %[[P:.*]] = math.exp2 %[[M]] fastmath<afn>
      // CHECK: %[[D:.*]] = arith.addf %[[P]], %
      // CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[D]] fastmath<arcp,afn> {fagpu.sharers = 4 : i64}
      // CHECK: %[[CAPPED:.*]] = math.fma %[[R]], %
      // CHECK-NOT: math.tanh
      // CHECK: arith.select %{{.*}}, %[[CAPPED]], %
      %s = fagpu.product nt %one, %one : !half, !half -> !scores
      %x = arith.mulf %s, %scale : !scores
      %i = tensor.splat %inverse : !scores
      %y = arith.mulf %x, %i : !scores
      %t = math.tanh %y fastmath<arcp> : !scores
      %c = tensor.splat %cap : !scores
      %z = arith.mulf %t, %c : !scores
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!scores) {
        %column = fagpu.iota 1 : tensor<64x64xi32>
        %row = fagpu.iota 0 : tensor<64x64xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x64xi32>
        %w = arith.select %ok, %z, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %z : !scores
      }
      fa.yield %h : !scores
    }
    "keep"(%r) : (!scores) -> ()
  }
  return
}

// A constant one is known to be small enough, or not.
// CHECK-LABEL: func.func @constants
func.func @constants(%n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !half
  %none = arith.constant dense<0xFF800000> : !scores
  %small = arith.constant dense<30.0> : !scores
  %large = arith.constant dense<81.0> : !scores
  %zero = arith.constant dense<0.0> : !scores
  fagpu.role @compute groups(1) {
    // CHECK: fa.key_ranges
    // CHECK: fagpu.sharers
    // CHECK-NOT: fagpu.sharers
    // CHECK: math.tanh
    // CHECK: fa.yield
    %r:2 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 iter_args(%a = %zero, %b = %zero) -> (!scores, !scores) {
      %s = fagpu.product nt %one, %one : !half, !half -> !scores
      %partial = fa.is_partial : i1
      %t = math.tanh %s fastmath<arcp> : !scores
      %z = arith.mulf %t, %small : !scores
      %h = scf.if %partial -> (!scores) {
        %column = fagpu.iota 1 : tensor<64x64xi32>
        %row = fagpu.iota 0 : tensor<64x64xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x64xi32>
        %w = arith.select %ok, %z, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %z : !scores
      }
      %t2 = math.tanh %h fastmath<arcp> : !scores
      %z2 = arith.mulf %t2, %large : !scores
      %h2 = scf.if %partial -> (!scores) {
        %column = fagpu.iota 1 : tensor<64x64xi32>
        %row = fagpu.iota 0 : tensor<64x64xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x64xi32>
        %w = arith.select %ok, %z2, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %z2 : !scores
      }
      fa.yield %h, %h2 : !scores, !scores
    }
    "keep"(%r#0, %r#1) : (!scores, !scores) -> ()
  }
  return
}

// Where something else reads the capped scores, no element shares a reciprocal
// with one that may be hidden.
// CHECK-LABEL: func.func @summed
func.func @summed(%bias: !scores, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : !half
  %none = arith.constant dense<0xFF800000> : !scores
  %cap = arith.constant dense<30.0> : !scores
  %zero = arith.constant dense<0.0> : !scores
  fagpu.role @compute groups(1) {
    // CHECK: fa.key_ranges
    // CHECK: %[[S:.*]] = fagpu.product nt
    // CHECK-NOT: scf.if
    // CHECK: %[[E:.*]] = arith.mulf %[[S]], %
    // CHECK: %[[M:.*]] = arith.minimumf %[[E]], %
    // CHECK: %[[P:.*]] = math.exp2 %[[M]] fastmath<afn>
    // CHECK: %[[D:.*]] = arith.addf %[[P]], %
    // CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[D]] fastmath<arcp,afn> :
    // CHECK: %[[CAPPED:.*]] = math.fma %[[R]], %
    // CHECK-NOT: math.tanh
    // CHECK: arith.addf %[[CAPPED]], %
    %r = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 iter_args(%a = %zero) -> (!scores) {
      %s = fagpu.product nt %one, %one : !half, !half -> !scores
      %t = math.tanh %s fastmath<arcp> : !scores
      %z = arith.mulf %t, %cap : !scores
      %x = arith.addf %z, %bias : !scores
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!scores) {
        %column = fagpu.iota 1 : tensor<64x64xi32>
        %row = fagpu.iota 0 : tensor<64x64xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x64xi32>
        %w = arith.select %ok, %x, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %x : !scores
      }
      fa.yield %h : !scores
    }
    "keep"(%r) : (!scores) -> ()
  }
  return
}

// One number of which a long chain of choices is made is looked at once. The
// smaller one of a number and of none, which the other may be, is the number.
// CHECK-LABEL: func.func @choices
func.func @choices(%given: f32, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %one = arith.constant dense<1.0> : !half
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !scores
  %zero = arith.constant dense<0.0> : !scores
  %least = arith.constant -50.0 : f32
  %greatest = arith.constant 50.0 : f32
  %thousand = arith.constant 1000.0 : f32
  %above = arith.maximumf %given, %least : f32
  %cap0 = arith.minimumf %above, %greatest : f32
  %cap1 = arith.maximumf %cap0, %cap0 : f32
  %cap2 = arith.minimumf %cap1, %cap1 : f32
  %cap3 = arith.maximumf %cap2, %cap2 : f32
  %cap4 = arith.minimumf %cap3, %cap3 : f32
  %cap5 = arith.maximumf %cap4, %cap4 : f32
  %cap6 = arith.minimumf %cap5, %cap5 : f32
  %cap7 = arith.maximumf %cap6, %cap6 : f32
  %cap8 = arith.minimumf %cap7, %cap7 : f32
  %cap9 = arith.maximumf %cap8, %cap8 : f32
  %cap10 = arith.minimumf %cap9, %cap9 : f32
  %cap11 = arith.maximumf %cap10, %cap10 : f32
  %cap12 = arith.minimumf %cap11, %cap11 : f32
  %cap13 = arith.maximumf %cap12, %cap12 : f32
  %cap14 = arith.minimumf %cap13, %cap13 : f32
  %cap15 = arith.maximumf %cap14, %cap14 : f32
  %cap16 = arith.minimumf %cap15, %cap15 : f32
  %cap17 = arith.maximumf %cap16, %cap16 : f32
  %cap18 = arith.minimumf %cap17, %cap17 : f32
  %cap19 = arith.maximumf %cap18, %cap18 : f32
  %cap20 = arith.minimumf %cap19, %cap19 : f32
  %cap21 = arith.maximumf %cap20, %cap20 : f32
  %cap22 = arith.minimumf %cap21, %cap21 : f32
  %cap23 = arith.maximumf %cap22, %cap22 : f32
  %cap24 = arith.minimumf %cap23, %cap23 : f32
  %cap25 = arith.maximumf %cap24, %cap24 : f32
  %cap26 = arith.minimumf %cap25, %cap25 : f32
  %cap27 = arith.maximumf %cap26, %cap26 : f32
  %cap28 = arith.minimumf %cap27, %cap27 : f32
  %cap29 = arith.maximumf %cap28, %cap28 : f32
  %cap30 = arith.minimumf %cap29, %cap29 : f32
  %cap31 = arith.maximumf %cap30, %cap30 : f32
  %cap32 = arith.minimumf %cap31, %cap31 : f32
  %open = arith.minnumf %cap0, %thousand : f32
  fagpu.role @compute groups(1) {
    %small = tensor.splat %cap32 : !scores
    %large = tensor.splat %open : !scores
    // CHECK: fa.key_ranges
    // CHECK: fagpu.sharers
    // CHECK-NOT: fagpu.sharers
    // CHECK: math.tanh
    // CHECK: fa.yield
    %r:2 = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 64 iter_args(%a = %zero, %b = %zero) -> (!scores, !scores) {
      %s = fagpu.product nt %one, %one : !half, !half -> !scores
      %partial = fa.is_partial : i1
      %t = math.tanh %s fastmath<arcp> : !scores
      %z = arith.mulf %t, %small : !scores
      %h = scf.if %partial -> (!scores) {
        %column = fagpu.iota 1 : tensor<64x64xi32>
        %row = fagpu.iota 0 : tensor<64x64xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x64xi32>
        %w = arith.select %ok, %z, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %z : !scores
      }
      %t2 = math.tanh %h fastmath<arcp> : !scores
      %z2 = arith.mulf %t2, %large : !scores
      %h2 = scf.if %partial -> (!scores) {
        %column = fagpu.iota 1 : tensor<64x64xi32>
        %row = fagpu.iota 0 : tensor<64x64xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x64xi32>
        %w = arith.select %ok, %z2, %none : tensor<64x64xi1>, !scores
        scf.yield %w : !scores
      } else {
        scf.yield %z2 : !scores
      }
      fa.yield %h, %h2 : !scores, !scores
    }
    "keep"(%r#0, %r#1) : (!scores, !scores) -> ()
  }
  return
}

// How many elements share a reciprocal, and whether rows are interleaved, is
// what the configuration says; exp(2 x) of five is held to 2^24, of three to
// 2^40.
// CHECK-LABEL: func.func @five(
// CHECK-DAG: %[[MOST:.*]] = arith.constant dense<2.400000e+01>
// CHECK: arith.minimumf %{{.*}}, %[[MOST]]
// CHECK: fastmath<arcp,afn> {fagpu.interleave_rows, fagpu.sharers = 5 : i64}
func.func @five(%n: index, %given: f32, %query: tensor<64x128xbf16>, %keys: tensor<96x128xbf16>, %weights: tensor<64x96xbf16>,
    %values: tensor<96x128xbf16>) attributes {fa.config = #fa.config<query_block = 64, key_block = 96,
    target = #fa.gpu<warp_groups<groups = 1, overlap = tiles>, stages = 2, tanh<sharers = 5, interleave_rows>>>, fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !wide
  %least = arith.constant -50.0 : f32
  %greatest = arith.constant 50.0 : f32
  %above = arith.maximumf %given, %least : f32
  %held = arith.minimumf %above, %greatest : f32
  %cap = tensor.splat %held : !wide
  %zero = arith.constant dense<0.0> : !wide
  fagpu.role @compute groups(1) {
    %r = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 96 iter_args(%a = %zero) -> (!wide) {
      %s = fagpu.product nt %query, %keys : tensor<64x128xbf16>, tensor<96x128xbf16> -> !wide
      %t = math.tanh %s fastmath<arcp> : !wide
      %z = arith.mulf %t, %cap : !wide
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!wide) {
        %column = fagpu.iota 1 : tensor<64x96xi32>
        %row = fagpu.iota 0 : tensor<64x96xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x96xi32>
        %w = arith.select %ok, %z, %none : tensor<64x96xi1>, !wide
        scf.yield %w : !wide
      } else {
        scf.yield %z : !wide
      }
      %o = fagpu.product nn %weights, %values : tensor<64x96xbf16>, tensor<96x128xbf16> -> tensor<64x128xf32>
      "keep"(%o) : (tensor<64x128xf32>) -> ()
      fa.yield %h : !wide
    }
    "keep"(%r) : (!wide) -> ()
  }
  return
}

// CHECK-LABEL: func.func @three(
// CHECK-DAG: %[[MOST:.*]] = arith.constant dense<4.000000e+01>
// CHECK: arith.minimumf %{{.*}}, %[[MOST]]
// CHECK: fastmath<arcp,afn> {fagpu.sharers = 3 : i64}
func.func @three(%n: index, %query: tensor<64x128xbf16>, %keys: tensor<96x128xbf16>, %weights: tensor<64x96xbf16>,
    %values: tensor<96x128xbf16>) attributes {fa.config = #fa.config<query_block = 64, key_block = 96,
    target = #fa.gpu<warp_groups<groups = 1, overlap = tiles>, stages = 2, tanh<sharers = 3>>>, fagpu.kernel = "sm_90a"} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !wide
  %cap = arith.constant dense<50.0> : !wide
  %zero = arith.constant dense<0.0> : !wide
  fagpu.role @compute groups(1) {
    %r = fa.key_ranges (%key, %count) = [partial %c0 to %n] step 96 iter_args(%a = %zero) -> (!wide) {
      %s = fagpu.product nt %query, %keys : tensor<64x128xbf16>, tensor<96x128xbf16> -> !wide
      %t = math.tanh %s fastmath<arcp> : !wide
      %z = arith.mulf %t, %cap : !wide
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!wide) {
        %column = fagpu.iota 1 : tensor<64x96xi32>
        %row = fagpu.iota 0 : tensor<64x96xi32>
        %ok = arith.cmpi sle, %column, %row : tensor<64x96xi32>
        %w = arith.select %ok, %z, %none : tensor<64x96xi1>, !wide
        scf.yield %w : !wide
      } else {
        scf.yield %z : !wide
      }
      %o = fagpu.product nn %weights, %values : tensor<64x96xbf16>, tensor<96x128xbf16> -> tensor<64x128xf32>
      "keep"(%o) : (tensor<64x128xf32>) -> ()
      fa.yield %h : !wide
    }
    "keep"(%r) : (!wide) -> ()
  }
  return
}

// f32 products keep all digits, and a tanh that is read elsewhere too is kept.
// CHECK-LABEL: func.func @stays
func.func @stays(%n: index, %s: tensor<64x64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %small = arith.constant dense<30.0> : !scores
  fagpu.role @compute groups(1) {
    // CHECK: math.tanh
    // CHECK-NOT: fagpu.sharers
    %p = fagpu.product nt %s, %s : !scores, !scores -> !scores
    %t = math.tanh %p fastmath<arcp> : !scores
    %z = arith.mulf %t, %small : !scores
    "keep"(%z) : (!scores) -> ()
  }
  return
}
