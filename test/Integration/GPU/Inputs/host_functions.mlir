// What host functions pass to kernels and choose between.

!q = tensor<1x70x2x64xbf16>
!k = tensor<1x90x1x64xbf16>
// Numbers of every type, in a score function and a mask.
func.func @captured(%query: !q, %key: !k, %flag: i1, %byte: i8, %word: i32, %long: i64,
                    %half: f16, %brain: bf16, %single: f32, %double: f64) -> !q {
  %init = tensor.empty() : !q
  %o = fa.attention ins(%query, %key, %key : !q, !k, !k) outs(%init : !q)
    score(%s, %b, %h, %i, %j)
      captures(%x = %half : f16, %y = %brain : bf16, %z = %single : f32, %w = %double : f64) {
      %x32 = arith.extf %x : f16 to f32
      %y32 = arith.extf %y : bf16 to f32
      %w32 = arith.truncf %w : f64 to f32
      %0 = arith.mulf %s, %y32 : f32
      %1 = arith.addf %0, %x32 : f32
      %2 = arith.mulf %1, %z : f32
      %3 = arith.mulf %2, %w32 : f32
      fa.yield %3 : f32
    }
    mask(%b, %h, %i, %j)
      captures(%f = %flag : i1, %c = %byte : i8, %m = %word : i32, %n = %long : i64) {
      %zero = arith.constant 0 : i64
      %c64 = arith.extsi %c : i8 to i64
      %m64 = arith.extsi %m : i32 to i64
      %i64 = arith.index_cast %i : index to i64
      %j64 = arith.index_cast %j : index to i64
      %shifted = arith.addi %i64, %c64 : i64
      %last = arith.addi %shifted, %m64 : i64
      %is_before = arith.cmpi sle, %j64, %last : i64
      %remainder = arith.remsi %j64, %n : i64
      %is_seventh = arith.cmpi eq, %remainder, %zero : i64
      %is_kept = arith.ori %is_seventh, %f : i1
      %is_visible = arith.andi %is_kept, %is_before : i1
      fa.yield %is_visible : i1
    }
  return %o : !q
}

// A branch on one of the arguments.
!two_heads = tensor<1x90x2x64xbf16>
func.func @choice(%query: !q, %key: !two_heads, %c: i1) -> !q {
  %init = tensor.empty() : !q
  %o = scf.if %c -> (!q) {
    %n = fa.attention ins(%query, %key, %key : !q, !two_heads, !two_heads) outs(%init : !q) mask causal
    scf.yield %n : !q
  } else {
    %n = fa.attention ins(%query, %key, %key : !q, !two_heads, !two_heads) outs(%init : !q)
    scf.yield %n : !q
  }
  return %o : !q
}
