func.func @ambiguous(%m: memref<64x64xf32>, %x: f32) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  fagpu.role @math groups(1) {
    %r = tensor.splat %x : tensor<64xf32>
    %w = fagpu.broadcast %r : tensor<64xf32> -> tensor<64x64xf32>
    fagpu.store %w, %m[%z, %z] : tensor<64x64xf32> into memref<64x64xf32>
  }
  return
}
