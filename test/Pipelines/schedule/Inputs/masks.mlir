// Masks of which the limits are the greatest and the least numbers too.

!qkv = tensor<3x200x2x64xbf16>

func.func @limits(%query: !qkv, %key: !qkv, %value: !qkv) -> !qkv {
  %limits = arith.constant dense<[-2147483648, 2147483647, 130]> : tensor<3xi32>
  %init = tensor.empty() : !qkv
  %output = fa.attention ins(%query, %key, %value : !qkv, !qkv, !qkv) outs(%init : !qkv)
      mask(%b, %h, %i, %j) captures(%limit = %limits : tensor<3xi32>) {
        %l = tensor.extract %limit[%b] : tensor<3xi32>
        %n = arith.index_cast %j : index to i32
        %below = arith.cmpi slt, %n, %l : i32
        %above = arith.cmpi sge, %l, %n : i32
        %ok = arith.andi %below, %above : i1
        fa.yield %ok : i1
      }
  return %output : !qkv
}

// A window of sizes that are arguments, from no size to the greatest one.
func.func @window(%query: tensor<1x200x2x64xbf16>, %key: tensor<1x333x2x64xbf16>,
                  %value: tensor<1x333x2x64xbf16>, %left: index, %right: index) -> tensor<1x200x2x64xbf16> {
  %init = tensor.empty() : tensor<1x200x2x64xbf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<1x200x2x64xbf16>, tensor<1x333x2x64xbf16>, tensor<1x333x2x64xbf16>)
      outs(%init : tensor<1x200x2x64xbf16>)
      mask window(%left, %right)
  return %output : tensor<1x200x2x64xbf16>
}

// The key on the right, and limits that are sums.
func.func @turned(%query: tensor<1x200x2x64xbf16>, %key: tensor<1x333x2x64xbf16>,
                  %value: tensor<1x333x2x64xbf16>, %shift: tensor<1xi32>) -> tensor<1x200x2x64xbf16> {
  %init = tensor.empty() : tensor<1x200x2x64xbf16>
  %output = fa.attention
      ins(%query, %key, %value : tensor<1x200x2x64xbf16>, tensor<1x333x2x64xbf16>, tensor<1x333x2x64xbf16>)
      outs(%init : tensor<1x200x2x64xbf16>)
      mask(%b, %h, %i, %j) captures(%c = %shift : tensor<1xi32>) {
        %zero = arith.constant 0 : index
        %two = arith.constant 2 : index
        %s = tensor.extract %c[%zero] : tensor<1xi32>
        %more = arith.index_cast %s : i32 to index
        %high = arith.addi %i, %more : index
        %low = arith.subi %i, %two : index
        %before = arith.cmpi sgt, %high, %j : index
        %behind = arith.cmpi slt, %low, %j : index
        %ok = arith.andi %before, %behind : i1
        fa.yield %ok : i1
      }
  return %output : tensor<1x200x2x64xbf16>
}
