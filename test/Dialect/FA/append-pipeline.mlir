// Caches that are arguments become out-parameters: a copy, then the new rows. On a GPU appending is a kernel ahead of attention, behind the copies..
// RUN: fa-opt %s -fa-results-to-out-parameters -canonicalize | FileCheck %s
// RUN: fa-opt %s -fa-to-cpu | FileCheck %s --check-prefix=LLVM
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a | FileCheck %s --check-prefix=GPU

!new = tensor<2x1x4x64xbf16>
!cache = tensor<2x128x4x64xbf16>

// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x1x8x64xbf16, {{.*}}>, %[[K:[a-z0-9]+]]: memref<2x1x4x64xbf16, {{.*}}>, %[[V:[a-z0-9]+]]: memref<2x1x4x64xbf16, {{.*}}>, %[[KEYS:[a-z0-9]+]]: memref<2x128x4x64xbf16, {{.*}}>, %[[VALUES:[a-z0-9]+]]: memref<2x128x4x64xbf16, {{.*}}>, %[[LENGTHS:[a-z0-9]+]]: memref<2xi32, {{.*}}>, %[[O:[a-z0-9]+]]: memref<2x1x8x64xbf16, {{.*}}>, %[[NEWKEYS:[a-z0-9]+]]: memref<2x128x4x64xbf16, {{.*}}>, %[[NEWVALUES:[a-z0-9]+]]: memref<2x128x4x64xbf16, {{.*}}>)
// CHECK-NOT: memref.alloc
// CHECK-DAG: linalg.copy ins(%[[KEYS]] : {{.*}}) outs(%[[NEWKEYS]] : {{.*}})
// CHECK-DAG: linalg.copy ins(%[[VALUES]] : {{.*}}) outs(%[[NEWVALUES]] : {{.*}})
// CHECK: fa.append ins(%[[K]], %[[V]] : {{.*}}) outs(%[[NEWKEYS]], %[[NEWVALUES]] : {{.*}}) key_lengths(%[[LENGTHS]] : {{.*}})
// CHECK-NOT: linalg.copy
// CHECK: fa.attention ins(%[[Q]], %[[NEWKEYS]], %[[NEWVALUES]] : {{.*}}) outs(%[[O]] : {{.*}}) key_lengths(%[[LENGTHS]] : {{.*}})
// CHECK-NOT: linalg.copy
// CHECK: return

// LLVM: llvm.func @step
// LLVM-NOT: fa.

// GPU: func.func @step(
// GPU-COUNT-2: fagpu.launch @step_copy
// GPU: fagpu.launch @step_append
// GPU: fagpu.launch @step_kernel
func.func @step(%q: tensor<2x1x8x64xbf16>, %k: !new, %v: !new, %keys: !cache, %values: !cache, %lengths: tensor<2xi32>)
    -> (tensor<2x1x8x64xbf16>, !cache, !cache) {
  %new:2 = fa.append ins(%k, %v : !new, !new) outs(%keys, %values : !cache, !cache) key_lengths(%lengths : tensor<2xi32>) -> !cache, !cache
  %init = tensor.empty() : tensor<2x1x8x64xbf16>
  %o = fa.attention ins(%q, %new#0, %new#1 : tensor<2x1x8x64xbf16>, !cache, !cache) outs(%init : tensor<2x1x8x64xbf16>)
      key_lengths(%lengths : tensor<2xi32>)
  return %o, %new#0, %new#1 : tensor<2x1x8x64xbf16>, !cache, !cache
}
