// Where lse is stored, what divides the result of bounded scores has the largest
// weight of a row rounded, as the product of the weights has it.
//
// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-drop-maximum -canonicalize -cse | FileCheck %s
// RUN: fa-opt %s -allow-unregistered-dialect -fagpu-drop-maximum -fagpu-partial-sums -canonicalize -cse | FileCheck %s --check-prefix=PARTS

!bf16 = tensor<64x64xbf16>
!block = tensor<64x64xf32>
!bits = tensor<64x64xi1>
!row = tensor<64xf32, #fagpu.row<4>>
!rowBits = tensor<64xi1, #fagpu.row<4>>


// CHECK-LABEL: func.func @divided
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32, #fagpu.row<4>>
// CHECK: %[[LOOP:.*]]:3 = fa.key_ranges {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[BEFORE:.*]] = %[[ZEROS]], %{{.*}} = %[[ZEROS]])
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[OF_BLOCK:.*]] = fagpu.reduce max %[[P]]
// CHECK: %[[LARGEST:.*]] = arith.maxnumf %[[BEFORE]], %[[OF_BLOCK]]
// CHECK: fa.yield %{{.*}}, %[[LARGEST]], %{{.*}}
// CHECK: %[[BITS:.*]] = arith.truncf %[[LOOP]]#1 : tensor<64xf32, #fagpu.row<4>> to tensor<64xbf16, #fagpu.row<4>>
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.extf %[[BITS]]
// CHECK-NEXT: %[[CHANGE:.*]] = arith.subf %[[ROUNDED]], %[[LOOP]]#1
// CHECK-NEXT: %[[DIVISOR:.*]] = arith.addf %[[LOOP]]#2, %[[CHANGE]]
// CHECK-NEXT: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[DIVISOR]] fastmath<arcp,afn>
// CHECK-NEXT: math.log2 %[[LOOP]]#2

// Threads carry the largest weights of their own too.
// PARTS-LABEL: func.func @divided
// PARTS: %[[LOOP:.*]]:3 = fa.key_ranges {{.*}} -> (tensor<64x64xf32>, tensor<64x4xf32>, tensor<64x4xf32>)
// PARTS: fagpu.reduce max %{{.*}} : tensor<64x64xf32> -> tensor<64x4xf32>
// PARTS-NEXT: arith.maxnumf %{{.*}} : tensor<64x4xf32>
// PARTS: fagpu.reduce max %[[LOOP]]#1 : tensor<64x4xf32> -> tensor<64xf32, #fagpu.row<4>>
func.func @divided(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %cap = arith.constant dense<30.0> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %t = math.tanh %s fastmath<arcp> : !block
      %x = arith.mulf %t, %cap fastmath<reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        scf.yield %x : !block
      }
      %mb = fagpu.reduce max %h : !block -> !row
      %m1 = arith.maxnumf %m, %mb : !row
      %isNone = arith.cmpf oeq, %m1, %noneRow : !row
      %reference = arith.select %isNone, %zeroRow, %m1 : !rowBits, !row
      %references = fagpu.broadcast %reference : !row -> !block
      %d = arith.subf %h, %references : !block
      %p = math.exp %d fastmath<afn> : !block
      %dm = arith.subf %m, %reference : !row
      %alpha = math.exp %dm fastmath<afn> : !row
      %sum = fagpu.reduce add %p : !block -> !row
      %l1 = math.fma %l, %alpha, %sum : !row
      %alphas = fagpu.broadcast %alpha : !row -> !block
      %scaled = arith.mulf %a, %alphas : !block
      %ph = arith.truncf %p : !block to !bf16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %inverse = arith.divf %one, %r#2 fastmath<arcp, afn> : !row
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %inverse, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// A sink rescales the sum, and what is added to it.
// CHECK-LABEL: func.func @with_sink
// CHECK: %[[CHANGE:.*]] = arith.subf %{{.*}}, %{{.*}}#1
// CHECK: %[[ALL:.*]] = math.fma %{{.*}}#2, %[[WEIGHT:.*]], %{{.*}}
// CHECK-NEXT: %[[OWN:.*]] = arith.mulf %[[CHANGE]], %[[WEIGHT]]
// CHECK-NEXT: %[[DIVISOR:.*]] = arith.addf %[[ALL]], %[[OWN]]
// CHECK-NEXT: arith.divf %[[WEIGHT]], %[[DIVISOR]]
// CHECK: math.log %[[ALL]]
func.func @with_sink(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index, %sink: !row)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %cap = arith.constant dense<30.0> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %t = math.tanh %s fastmath<arcp> : !block
      %x = arith.mulf %t, %cap fastmath<reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        scf.yield %x : !block
      }
      %mb = fagpu.reduce max %h : !block -> !row
      %m1 = arith.maxnumf %m, %mb : !row
      %isNone = arith.cmpf oeq, %m1, %noneRow : !row
      %reference = arith.select %isNone, %zeroRow, %m1 : !rowBits, !row
      %references = fagpu.broadcast %reference : !row -> !block
      %d = arith.subf %h, %references : !block
      %p = math.exp %d fastmath<afn> : !block
      %dm = arith.subf %m, %reference : !row
      %alpha = math.exp %dm fastmath<afn> : !row
      %sum = fagpu.reduce add %p : !block -> !row
      %l1 = math.fma %l, %alpha, %sum : !row
      %alphas = fagpu.broadcast %alpha : !row -> !block
      %scaled = arith.mulf %a, %alphas : !block
      %ph = arith.truncf %p : !block to !bf16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %both = arith.maximumf %r#1, %sink : !row
    %mo = arith.subf %r#1, %both : !row
    %weight = math.exp %mo fastmath<afn> : !row
    %so = arith.subf %sink, %both : !row
    %more = math.exp %so fastmath<afn> : !row
    %all = math.fma %r#2, %weight, %more : !row
    %inverse = arith.divf %weight, %all fastmath<arcp, afn> : !row
    %ln = math.log %all fastmath<afn> : !row
    %lse = arith.addf %both, %ln : !row
    "keep"(%r#0, %inverse, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// Nobody asks for lse, and so for no gradient.
// CHECK-LABEL: func.func @no_lse
// CHECK-NOT: fagpu.reduce max
func.func @no_lse(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %cap = arith.constant dense<30.0> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %t = math.tanh %s fastmath<arcp> : !block
      %x = arith.mulf %t, %cap fastmath<reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        scf.yield %x : !block
      }
      %mb = fagpu.reduce max %h : !block -> !row
      %m1 = arith.maxnumf %m, %mb : !row
      %isNone = arith.cmpf oeq, %m1, %noneRow : !row
      %reference = arith.select %isNone, %zeroRow, %m1 : !rowBits, !row
      %references = fagpu.broadcast %reference : !row -> !block
      %d = arith.subf %h, %references : !block
      %p = math.exp %d fastmath<afn> : !block
      %dm = arith.subf %m, %reference : !row
      %alpha = math.exp %dm fastmath<afn> : !row
      %sum = fagpu.reduce add %p : !block -> !row
      %l1 = math.fma %l, %alpha, %sum : !row
      %alphas = fagpu.broadcast %alpha : !row -> !block
      %scaled = arith.mulf %a, %alphas : !block
      %ph = arith.truncf %p : !block to !bf16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %inverse = arith.divf %one, %r#2 fastmath<arcp, afn> : !row
    "keep"(%r#0, %inverse) : (!block, !row) -> ()
  }
  return
}

// Nor where lse is computed, but not read.
// CHECK-LABEL: func.func @unread_lse
// CHECK-NOT: fagpu.reduce max
func.func @unread_lse(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %cap = arith.constant dense<30.0> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %t = math.tanh %s fastmath<arcp> : !block
      %x = arith.mulf %t, %cap fastmath<reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        scf.yield %x : !block
      }
      %mb = fagpu.reduce max %h : !block -> !row
      %m1 = arith.maxnumf %m, %mb : !row
      %isNone = arith.cmpf oeq, %m1, %noneRow : !row
      %reference = arith.select %isNone, %zeroRow, %m1 : !rowBits, !row
      %references = fagpu.broadcast %reference : !row -> !block
      %d = arith.subf %h, %references : !block
      %p = math.exp %d fastmath<afn> : !block
      %dm = arith.subf %m, %reference : !row
      %alpha = math.exp %dm fastmath<afn> : !row
      %sum = fagpu.reduce add %p : !block -> !row
      %l1 = math.fma %l, %alpha, %sum : !row
      %alphas = fagpu.broadcast %alpha : !row -> !block
      %scaled = arith.mulf %a, %alphas : !block
      %ph = arith.truncf %p : !block to !bf16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %inverse = arith.divf %one, %r#2 fastmath<arcp, afn> : !row
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %inverse) : (!block, !row) -> ()
  }
  return
}

// Weights of an approximate tanh err by more than their rounding.
// CHECK-LABEL: func.func @approximate
// CHECK-NOT: fagpu.reduce max
func.func @approximate(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %cap = arith.constant dense<30.0> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %t = math.tanh %s fastmath<afn> : !block
      %x = arith.mulf %t, %cap fastmath<reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        scf.yield %x : !block
      }
      %mb = fagpu.reduce max %h : !block -> !row
      %m1 = arith.maxnumf %m, %mb : !row
      %isNone = arith.cmpf oeq, %m1, %noneRow : !row
      %reference = arith.select %isNone, %zeroRow, %m1 : !rowBits, !row
      %references = fagpu.broadcast %reference : !row -> !block
      %d = arith.subf %h, %references : !block
      %p = math.exp %d fastmath<afn> : !block
      %dm = arith.subf %m, %reference : !row
      %alpha = math.exp %dm fastmath<afn> : !row
      %sum = fagpu.reduce add %p : !block -> !row
      %l1 = math.fma %l, %alpha, %sum : !row
      %alphas = fagpu.broadcast %alpha : !row -> !block
      %scaled = arith.mulf %a, %alphas : !block
      %ph = arith.truncf %p : !block to !bf16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %inverse = arith.divf %one, %r#2 fastmath<arcp, afn> : !row
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %inverse, %lse) : (!block, !row, !row) -> ()
  }
  return
}
