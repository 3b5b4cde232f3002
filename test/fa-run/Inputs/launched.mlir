// A kernel and the function that launches it, both public.
func.func @fill(%m: memref<64xf32>) attributes {fagpu.kernel = "sm_80"} {
  %c0 = arith.constant 0 : i32
  %one = arith.constant dense<1.0> : tensor<64xf32, #fagpu.row<4>>
  fagpu.role @math groups(1) {
    fagpu.store %one, %m[%c0] : tensor<64xf32, #fagpu.row<4>> into memref<64xf32>
  }
  return
}

func.func @host(%m: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  fagpu.launch @fill grid(%c1) (%m) : memref<64xf32>
  return
}
