// Every operation of math that regions may have on a GPU, in one score function.

// RUN: fa-run %s --target=interpret --chip=sm_80 --verify --seed=1 | FileCheck %s
// RUN: fa-run %s --target=interpret --chip=sm_90a --verify --seed=1 | FileCheck %s
// RUN: env FA_PTXAS=none fa-compile %s -chip=sm_80 -o %t
// RUN: FileCheck %s --check-prefix=PTX --implicit-check-not=call --implicit-check-not=__nv < %t/functions.ptx
// RUN: env FA_PTXAS=none fa-compile %s -chip=sm_90a -o %t
// RUN: FileCheck %s --check-prefix=PTX --implicit-check-not=call --implicit-check-not=__nv < %t/functions.ptx

// CHECK: ok
// CHECK: verified all rows
// PTX: .visible .entry functions_kernel

!t = tensor<1x70x2x64xf16>

func.func @functions(%q: !t, %k: !t, %v: !t) -> !t {
  %e = tensor.empty() : !t
  %r = fa.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
      score(%s, %b, %h, %i, %j) {
        // From -1 to 1, from -0.9 to 0.9, from 2 to 4, and a key's number.
        %three = arith.constant 3.0 : f32
        %part = arith.constant 0.9 : f32
        %share = arith.constant 0.03125 : f32
        %cube = arith.constant 3 : i32
        %unit = math.tanh %s : f32
        %inner = arith.mulf %unit, %part : f32
        %positive = arith.addf %unit, %three : f32
        %n = arith.index_cast %j : index to i32
        %m = arith.index_cast %i : index to i32
        %key = arith.sitofp %n : i32 to f32
        %quarter = arith.mulf %key, %share : f32
        %acos_x = math.acos %unit : f32
        %asin_x = math.asin %unit : f32
        %sum1 = arith.addf %acos_x, %asin_x : f32
        %atanh_x = math.atanh %inner : f32
        %sum2 = arith.addf %sum1, %atanh_x : f32
        %acosh_x = math.acosh %positive : f32
        %sum3 = arith.addf %sum2, %acosh_x : f32
        %asinh_x = math.asinh %s : f32
        %sum4 = arith.addf %sum3, %asinh_x : f32
        %atan_x = math.atan %s : f32
        %sum5 = arith.addf %sum4, %atan_x : f32
        %cbrt_x = math.cbrt %s : f32
        %sum6 = arith.addf %sum5, %cbrt_x : f32
        %cos_x = math.cos %s : f32
        %sum7 = arith.addf %sum6, %cos_x : f32
        %cosh_x = math.cosh %unit : f32
        %sum8 = arith.addf %sum7, %cosh_x : f32
        %erf_x = math.erf %s : f32
        %sum9 = arith.addf %sum8, %erf_x : f32
        %erfc_x = math.erfc %s : f32
        %sum10 = arith.addf %sum9, %erfc_x : f32
        %exp_x = math.exp %unit : f32
        %sum11 = arith.addf %sum10, %exp_x : f32
        %exp2_x = math.exp2 %unit : f32
        %sum12 = arith.addf %sum11, %exp2_x : f32
        %expm1_x = math.expm1 %unit : f32
        %sum13 = arith.addf %sum12, %expm1_x : f32
        %log_x = math.log %positive : f32
        %sum14 = arith.addf %sum13, %log_x : f32
        %log10_x = math.log10 %positive : f32
        %sum15 = arith.addf %sum14, %log10_x : f32
        %log1p_x = math.log1p %positive : f32
        %sum16 = arith.addf %sum15, %log1p_x : f32
        %log2_x = math.log2 %positive : f32
        %sum17 = arith.addf %sum16, %log2_x : f32
        %rsqrt_x = math.rsqrt %positive : f32
        %sum18 = arith.addf %sum17, %rsqrt_x : f32
        %sin_x = math.sin %s : f32
        %sum19 = arith.addf %sum18, %sin_x : f32
        %sinh_x = math.sinh %unit : f32
        %sum20 = arith.addf %sum19, %sinh_x : f32
        %sqrt_x = math.sqrt %positive : f32
        %sum21 = arith.addf %sum20, %sqrt_x : f32
        %tan_x = math.tan %unit : f32
        %sum22 = arith.addf %sum21, %tan_x : f32
        %tanh_x = math.tanh %s : f32
        %sum23 = arith.addf %sum22, %tanh_x : f32
        %absf_x = math.absf %s : f32
        %sum24 = arith.addf %sum23, %absf_x : f32
        %ceil_x = math.ceil %quarter : f32
        %sum25 = arith.addf %sum24, %ceil_x : f32
        %floor_x = math.floor %quarter : f32
        %sum26 = arith.addf %sum25, %floor_x : f32
        %round_x = math.round %quarter : f32
        %sum27 = arith.addf %sum26, %round_x : f32
        %roundeven_x = math.roundeven %quarter : f32
        %sum28 = arith.addf %sum27, %roundeven_x : f32
        %trunc_x = math.trunc %quarter : f32
        %sum29 = arith.addf %sum28, %trunc_x : f32
        %angle = math.atan2 %s, %positive : f32
        %sum30 = arith.addf %sum29, %angle : f32
        %power = math.powf %positive, %unit : f32
        %sum31 = arith.addf %sum30, %power : f32
        %signed = math.copysign %part, %s : f32
        %sum32 = arith.addf %sum31, %signed : f32
        %clamped = math.clampf %s to [%share, %part] : f32
        %sum33 = arith.addf %sum32, %clamped : f32
        %cubed = math.fpowi %unit, %cube : f32, i32
        %sum34 = arith.addf %sum33, %cubed : f32
        %exponent = arith.remsi %n, %cube : i32
        %varied = math.fpowi %positive, %exponent : f32, i32
        %sum35 = arith.addf %sum34, %varied : f32
        %fused = math.fma %unit, %part, %share : f32
        %sum36 = arith.addf %sum35, %fused : f32
        %size = math.absi %n : i32
        %leading = math.ctlz %size : i32
        %trailing = math.cttz %size : i32
        %ones = math.ctpop %size : i32
        %whole = math.ipowi %exponent, %cube : i32
        %other = math.ipowi %cube, %exponent : i32
        %bits1 = arith.addi %leading, %trailing : i32
        %bits2 = arith.addi %bits1, %ones : i32
        %bits3 = arith.addi %bits2, %whole : i32
        %bits4 = arith.addi %bits3, %other : i32
        %number = arith.sitofp %bits4 : i32 to f32
        %scaled = arith.mulf %number, %share : f32
        %sum37 = arith.addf %sum36, %scaled : f32
        %nan = math.isnan %s : f32
        %inf = math.isinf %s : f32
        %finite = math.isfinite %s : f32
        %normal = math.isnormal %s : f32
        %odd1 = arith.ori %nan, %inf : i1
        %even1 = arith.andi %finite, %normal : i1
        %class1 = arith.select %odd1, %three, %part : f32
        %class2 = arith.select %even1, %class1, %three : f32
        %sum38 = arith.addf %sum37, %class2 : f32
        // The functions of an index are those of 64 bits.
        %leading_j = math.ctlz %j : index
        %trailing_j = math.cttz %j : index
        %behind = arith.subi %j, %i : index
        %ones_j = math.ctpop %behind : index
        %size_j = math.absi %behind : index
        %square_j = math.ipowi %size_j, %trailing_j : index
        %all1 = arith.addi %leading_j, %trailing_j : index
        %all2 = arith.addi %all1, %ones_j : index
        %all3 = arith.addi %all2, %size_j : index
        %sign_j = math.ctlz %square_j : index
        %all4 = arith.addi %all3, %sign_j : index
        %all_n = arith.index_cast %all4 : index to i32
        %all_f = arith.sitofp %all_n : i32 to f32
        %all_s = arith.mulf %all_f, %share : f32
        %sum39 = arith.addf %sum38, %all_s : f32
        %sine, %cosine = math.sincos %unit : f32
        %part_c = arith.mulf %cosine, %part : f32
        %pair = arith.addf %sine, %part_c : f32
        %sum40 = arith.addf %sum39, %pair : f32
        %y = arith.mulf %sum40, %share : f32
        fa.yield %y : f32
      }
  return %r : !t
}
