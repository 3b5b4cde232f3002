// A scale that is known at run time only: where its sign is known, as that of a
// magnitude, it is folded into the exponent's; else it multiplies each score.
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: fa-run %s --entry=magnitude --chip=sm_90a --target=interpret --verify --input=1x70x2x64xbf16 --input=1x90x2x64xbf16 --input=1x90x2x64xbf16 --input=f32=-0.2 | FileCheck %s --check-prefix=VERIFIED
// RUN: fa-run %s --entry=magnitude --chip=sm_80 --target=interpret --verify --input=1x70x2x64xbf16 --input=1x90x2x64xbf16 --input=1x90x2x64xbf16 --input=f32=0.0 | FileCheck %s --check-prefix=VERIFIED
// RUN: fa-run %s --entry=any --chip=sm_90a --target=interpret --verify --input=1x70x2x64xbf16 --input=1x90x2x64xbf16 --input=1x90x2x64xbf16 --input=f32=-0.2 | FileCheck %s --check-prefix=VERIFIED
// VERIFIED: verified all rows

// CHECK-LABEL: func.func @any_kernel
// CHECK: fagpu.role @math
// CHECK: %[[SCORES:.*]] = fagpu.wait
// CHECK: arith.mulf %[[SCORES]], %
func.func @any(%query: tensor<1x70x2x64xbf16>, %key: tensor<1x90x2x64xbf16>, %value: tensor<1x90x2x64xbf16>, %scale: f32) -> tensor<1x70x2x64xbf16> {
  %init = tensor.empty() : tensor<1x70x2x64xbf16>
  %output = fa.attention ins(%query, %key, %value : tensor<1x70x2x64xbf16>, tensor<1x90x2x64xbf16>, tensor<1x90x2x64xbf16>)
      outs(%init : tensor<1x70x2x64xbf16>) scale(%scale) mask causal
  return %output : tensor<1x70x2x64xbf16>
}

// The kernel computes the magnitude itself. 0 becomes the least normal number:
// 0 times the -inf of a hidden key would be no number.
// CHECK-LABEL: func.func @magnitude_kernel
// CHECK: fagpu.role @math
// CHECK: %[[MAGNITUDE:.*]] = math.absf %{{.*}} : f32
// CHECK: %[[POSITIVE:.*]] = arith.maximumf %[[MAGNITUDE]], %{{.*}} : f32
// CHECK: arith.mulf %[[POSITIVE]], %{{.*}} : f32
// CHECK: %[[SCORES:.*]] = fagpu.wait
// CHECK-NOT: arith.mulf %[[SCORES]], %
// CHECK: fagpu.reduce max
// CHECK-LABEL: func.func @magnitude(
// CHECK-NOT: math.absf
// CHECK: fagpu.launch
func.func @magnitude(%query: tensor<1x70x2x64xbf16>, %key: tensor<1x90x2x64xbf16>, %value: tensor<1x90x2x64xbf16>, %scale: f32) -> tensor<1x70x2x64xbf16> {
  %init = tensor.empty() : tensor<1x70x2x64xbf16>
  %magnitude = math.absf %scale : f32
  %output = fa.attention ins(%query, %key, %value : tensor<1x70x2x64xbf16>, tensor<1x90x2x64xbf16>, tensor<1x90x2x64xbf16>)
      outs(%init : tensor<1x70x2x64xbf16>) scale(%magnitude) mask causal
  return %output : tensor<1x70x2x64xbf16>
}
