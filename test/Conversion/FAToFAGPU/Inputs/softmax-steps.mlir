// Steps of online softmax as fa-decompose-to-blocks writes them. The passes that
// rewrite them have a test each.

!bf16 = tensor<64x64xbf16>
!f16 = tensor<64x64xf16>
!block = tensor<64x64xf32>
!bits = tensor<64x64xi1>
!row = tensor<64xf32, #fagpu.row<4>>
!rowBits = tensor<64xi1, #fagpu.row<4>>

// A product and its default scale, which has more digits than f32.
func.func @plain(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = arith.constant 0.223606795 : f32
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %scales = tensor.splat %scale : !block
      %x = arith.mulf %s, %scales fastmath<contract, reassoc> {fa.default_scale} : !block
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
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// Exponents to base 2 reach 43.3.
func.func @bounded(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// The same with weights of f16.
func.func @bounded_f16(%q: !f16, %k: !f16, %v: !f16, %visible: !bits, %n: index, %end: index)
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
      %s = fagpu.product nt %q, %k : !f16, !f16 -> !block
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
      %ph = arith.truncf %p : !block to !f16
      %a1 = fagpu.product nn %ph, %v acc(%scaled : !block) : !f16, !f16 -> !block
      fa.yield %a1, %m1, %l1 : !block, !row, !row
    }
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// Exponents to base 2 reach 86.6.
func.func @large_bound(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %cap = arith.constant dense<60.0> : !block
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
    %ln = math.log %r#2 fastmath<afn> : !row
    %lse = arith.addf %r#1, %ln : !row
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// A factor of run time between bounds, whose sign is not known, and another one.
func.func @two_factors(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index, %given: f32)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %half = arith.constant dense<0.5> : !block
  %least = arith.constant -50.0 : f32
  %greatest = arith.constant 50.0 : f32
  %above = arith.maximumf %given, %least : f32
  %cap = arith.minimumf %above, %greatest : f32
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %t = math.tanh %s fastmath<arcp> : !block
      %caps = tensor.splat %cap : !block
      %y = arith.mulf %caps, %t : !block
      %x = arith.mulf %y, %half fastmath<reassoc> : !block
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
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// A sum, and no branch that hides.
func.func @biased(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index, %bias: !block)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %x = arith.addf %s, %bias : !block
      %mb = fagpu.reduce max %x : !block -> !row
      %m1 = arith.maxnumf %m, %mb : !row
      %isNone = arith.cmpf oeq, %m1, %noneRow : !row
      %reference = arith.select %isNone, %zeroRow, %m1 : !rowBits, !row
      %references = fagpu.broadcast %reference : !row -> !block
      %d = arith.subf %x, %references : !block
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

// A scale of run time.
func.func @any_sign(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index, %scale: f32)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %scales = tensor.splat %scale : !block
      %x = arith.mulf %s, %scales fastmath<contract, reassoc> : !block
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
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// A scale of run time that is not below 0.
func.func @not_negative(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index, %given: f32)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  %scale = math.absf %given : f32
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %scales = tensor.splat %scale : !block
      %x = arith.mulf %s, %scales fastmath<contract, reassoc> : !block
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
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// A factor whose product is rounded before anything else.
func.func @ordered(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
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
      %x = arith.mulf %s, %scale : !block
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
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}

// A factor of a key block.
func.func @of_block(%q: !bf16, %k: !bf16, %v: !bf16, %visible: !bits, %n: index, %end: index)
    attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : !block
  %none = arith.constant dense<0xFF800000> : !block
  %noneRow = arith.constant dense<0xFF800000> : !row
  %zeroRow = arith.constant dense<0.0> : !row
  fagpu.role @compute groups(1) {
    %r:3 = fa.key_ranges (%key, %count) = [full %c0 to %n, partial %n to %end] step 64
        iter_args(%a = %zeros, %m = %noneRow, %l = %zeroRow) -> (!block, !row, !row) {
      %s = fagpu.product nt %q, %k : !bf16, !bf16 -> !block
      %whole = arith.index_cast %key : index to i32
      %real = arith.uitofp %whole : i32 to f32
      %scale = math.absf %real : f32
      %scales = tensor.splat %scale : !block
      %x = arith.mulf %s, %scales fastmath<contract, reassoc> : !block
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
    "keep"(%r#0, %r#2, %lse) : (!block, !row, !row) -> ()
  }
  return
}
