// A loop that lacks a part of a step keeps its maximum and its exponentials.
//
// RUN: fa-opt %s -allow-unregistered-dialect -split-input-file > %t.before
// RUN: fa-opt %s -allow-unregistered-dialect -split-input-file -fagpu-drop-maximum -fagpu-exponents-to-base2 > %t.after
// RUN: diff %t.before %t.after
// RUN: fa-opt %s -allow-unregistered-dialect -split-input-file -fagpu-skip-empty-row-check -fagpu-partial-sums \
// RUN:   -fagpu-skip-first-rescale | FileCheck %s

!bf16 = tensor<64x64xbf16>
!block = tensor<64x64xf32>
!bits = tensor<64x64xi1>
!row = tensor<64xf32, #fagpu.row<4>>
!rowBits = tensor<64xi1, #fagpu.row<4>>

// The result is no product.
// CHECK-LABEL: func.func @result_is_no_product
func.func @result_is_no_product(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      %a1 = math.absf %scaled : !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The product adds to nothing.
// CHECK-LABEL: func.func @no_accumulator
func.func @no_accumulator(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      %a1 = fagpu.product nn %ph, %v : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The loop carries no maximum.
// CHECK-LABEL: func.func @no_maximum
func.func @no_maximum(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      fa.yield %a1, %m, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The sum forgets the one before.
// CHECK-LABEL: func.func @own_sum
func.func @own_sum(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      fa.yield %a1, %m1, %sum : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// Something else reads the maximum.
// CHECK-LABEL: func.func @maximum_is_read
func.func @maximum_is_read(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      "keep"(%m1) : (!row) -> ()
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// Something else reads the weights.
// CHECK-LABEL: func.func @weights_are_read
func.func @weights_are_read(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      "keep"(%p) : (!block) -> ()
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The maximum is stored as it is.
// CHECK-LABEL: func.func @result_is_read
func.func @result_is_read(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#1, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// Exponents are taken from the maximum before.
// CHECK-LABEL: func.func @other_reference
func.func @other_reference(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      %before = fagpu.broadcast %m : !row -> !block
      %d = arith.subf %h, %before : !block
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The result is rescaled by another factor than the sum.
// CHECK-LABEL: func.func @other_alpha
func.func @other_alpha(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
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
      %alphas = fagpu.broadcast %sum : !row -> !block
      %scaled = arith.mulf %a, %alphas : !block
      %ph = arith.truncf %p : !block to !bf16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The least of a row.
// CHECK-LABEL: func.func @minimum
func.func @minimum(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        scf.yield %x : !block
      }
      %mb = fagpu.reduce max %h : !block -> !row
      %m1 = arith.minnumf %m, %mb : !row
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// What is hidden is 0, which a factor keeps and a maximum does not.
// CHECK-LABEL: func.func @hidden_by_zero
func.func @hidden_by_zero(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %zeros : !bits, !block
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// One side of the branch has other scores.
// CHECK-LABEL: func.func @other_scores
func.func @other_scores(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant dense<0.125> : !block
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.mulf %s, %scale fastmath<contract, reassoc> : !block
      %partial = fa.is_partial : i1
      %h = scf.if %partial -> (!block) {
        %g = arith.select %visible, %x, %none : !bits, !block
        scf.yield %g : !block
      } else {
        %y = math.absf %x : !block
        scf.yield %y : !block
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// CHECK-LABEL: func.func @two_values
func.func @two_values(%q: !bf16, %zeros: !block, %row: !row, %n: index) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  fagpu.role @compute groups(1) {
    %r:2 = fa.key_ranges (%key, %count) = [full %c0 to %n] step 64 iter_args(%a = %zeros, %m = %row) -> (!block, !row) {
      %a1 = fagpu.product nn %q, %q acc(%a : !block) : !bf16, !bf16 -> !block
      fa.yield %a1, %m : !block, !row
    }
    "keep"(%r#0, %r#1) : (!block, !row) -> ()
  }
  return
}
