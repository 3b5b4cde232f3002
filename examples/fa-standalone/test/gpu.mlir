// An operation of this compiler on a GPU, stopping at the level of its choice:
//   standalone-opt --standalone-to-gpu="chip=sm_90 stop-at=schedule" gpu.mlir

// ATTENTION-LABEL: func.func @capped
// ATTENTION: fa.attention
// ATTENTION: score(
// ATTENTION: math.tanh
// ATTENTION: mask(
// TILED-LABEL: func.func @capped
// TILED: scf.forall
// TILED: fa.key_ranges
// TILED: fa.online_attention
// SCHEDULE-LABEL: func.func @capped_kernel
// SCHEDULE-SAME: fagpu.kernel = "sm_90"
// SCHEDULE: fagpu.role @compute
// SCHEDULE: fagpu.mma
// SCHEDULE-LABEL: func.func @capped(
// SCHEDULE: fagpu.launch @capped_kernel
// PTX: gpu.binary @kernels
// PTX-SAME: .target sm_90
// PTX-SAME: .entry capped_kernel(
// CUBIN: gpu.binary @kernels
// CUBIN-SAME: chip = "sm_90"
// CUBIN-SAME: registers =
// CUBIN-SAME: bin = "\7FELF
func.func @capped(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>, %v: tensor<2x?x2x64xbf16>)
    -> tensor<2x?x8x64xbf16> {
  %0 = standalone.capped_attention %q, %k, %v cap(30.0)
      : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>
  return %0 : tensor<2x?x8x64xbf16>
}
