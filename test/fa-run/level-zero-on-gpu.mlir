// A function at level 0, 1 or 2 runs on the targets of GPU schedules with the
// options that the CPU takes.

// DEFINE: %{inputs} = --input=2x70x4x64xbf16 --input=2x90x2x64xbf16 --input=2x90x2x64xbf16 --seed=3
// DEFINE: %{interpret} = fa-run --target=interpret --entry=dynamic %{inputs} --verify

// RUN: rm -rf %t && mkdir %t
// RUN: %{interpret} %s --output=@%t/o.npy --output=@%t/lse.npy --json=%t/report.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t/report.json
// RUN: %python -c "import numpy, sys; print(numpy.load(sys.argv[1]).shape, numpy.load(sys.argv[2]).dtype)" %t/o.npy %t/lse.npy | FileCheck %s --check-prefix=FILES
// RUN: %{interpret} %s --chip=sm_90 | FileCheck %s -DCHIP=sm_90 --check-prefix=CHIP
// RUN: fa-opt %s --fa-results-to-out-parameters --fa-select-config=chip=sm_80 -o %t/level1.mlir
// RUN: %{interpret} %t/level1.mlir --input=2x70x4x64xbf16 --input=2x4x70xf32 | FileCheck %s --check-prefix=MEMORY
// RUN: fa-opt %s --fa-to-level2=chip=sm_80 -o %t/level2.mlir
// RUN: %{interpret} %t/level2.mlir --input=2x70x4x64xbf16 --input=2x4x70xf32 | FileCheck %s --check-prefix=MEMORY

// The schedule is compared with the function that was written: one that a
// strategy breaks is found out. A strategy comes before the schedule.
// RUN: %{interpret} %s --strategy=%S/Inputs/small_blocks.mlir | FileCheck %s --check-prefix=CHIP -DCHIP=sm_80
// RUN: not %{interpret} %s --against=%S/Inputs/top_left_dynamic.mlir | FileCheck %s --check-prefix=OTHER

// CHECK: @dynamic, target interpret with a schedule for sm_80, seed 3
// CHECK-NEXT: result 0: 2x70x4x64xbf16 {{.*}}bound 6.0e-03 (relative): ok
// CHECK-NEXT: result 1: 2x4x70xf32 {{.*}}bound 1.0e-04 (largest): ok
// CHECK-NEXT: verified all rows
// JSON: "chip": "sm_80"
// JSON: "target": "interpret"
// JSON: "passed": true
// FILES: (2, 70, 4, 64) float32
// CHIP: target interpret with a schedule for [[CHIP]], seed 3
// CHIP: verified all rows
// MEMORY: argument 3: 2x70x4x64xbf16 {{.*}}: ok
// MEMORY-NEXT: argument 4: 2x4x70xf32 {{.*}}: ok
// OTHER: result 0: {{.*}}: FAILED

// RUN: not fa-run %s --target=interpret --entry=dynamic --chip=sm_81 2>&1 | FileCheck %s --check-prefix=UNKNOWN --implicit-check-not=error:
// UNKNOWN: error: 'dynamic' is to run on 'sm_81', expected one of sm_80, sm_86
// RUN: not fa-run %s --target=cpu --entry=dynamic --chip=sm_80 2>&1 | FileCheck %s --check-prefix=CPU --implicit-check-not=error:
// CPU: fa-run: error: --chip=sm_80 is for an attention on --target=cuda or interpret, but 'dynamic' runs on --target=cpu
// RUN: not fa-run %s --target=interpret --entry=plain --chip=sm_80 2>&1 | FileCheck %s --check-prefix=PLAIN --implicit-check-not=error:
// PLAIN: fa-run: error: --chip=sm_80 is for an attention on --target=cuda or interpret, but 'plain' has none
// RUN: not fa-run %s --target=interpret --entry=scalar 2>&1 | FileCheck %s --check-prefix=SCALAR --implicit-check-not=error:
// SCALAR: error: 'scalar' result 1 has type 'index', but a GPU schedule gives back ranked tensors only

// One attention reads what another one wrote, in memory of the device.
// RUN: fa-run %s --target=interpret --entry=twice --verify | FileCheck %s --check-prefix=TWICE
// RUN: fa-run %s --target=interpret --entry=twice --chip=sm_90a --verify | FileCheck %s --check-prefix=TWICE
// TWICE: verified all rows

// RUN: not fa-run %s --target=interpret --entry=dynamic --bench 2>&1 | FileCheck %s --check-prefix=BENCH --implicit-check-not=error:
// BENCH: fa-run: error: --bench times compiled code, but --target=interpret does not compile

func.func @dynamic(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x?x64xbf16>
  %queries = tensor.dim %q, %c1 : tensor<?x?x?x64xbf16>
  %heads = tensor.dim %q, %c2 : tensor<?x?x?x64xbf16>
  %o0 = tensor.empty(%batch, %queries, %heads) : tensor<?x?x?x64xbf16>
  %l0 = tensor.empty(%batch, %heads, %queries) : tensor<?x?x?xf32>
  %o, %lse = fa.attention ins(%q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
      outs(%o0, %l0 : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) mask causal
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

func.func @scalar(%q: tensor<1x64x1x64xbf16>) -> (tensor<1x64x1x64xbf16>, index) {
  %size = arith.constant 64 : index
  %o0 = tensor.empty() : tensor<1x64x1x64xbf16>
  %o = fa.attention ins(%q, %q, %q : tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>)
      outs(%o0 : tensor<1x64x1x64xbf16>)
  return %o, %size : tensor<1x64x1x64xbf16>, index
}

func.func @plain(%x: memref<4xf32>) {
  return
}

func.func @twice(%q: tensor<1x128x2x64xbf16>) -> tensor<1x128x2x64xbf16> {
  %o0 = tensor.empty() : tensor<1x128x2x64xbf16>
  %o = fa.attention ins(%q, %q, %q : tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>)
      outs(%o0 : tensor<1x128x2x64xbf16>)
  %p0 = tensor.empty() : tensor<1x128x2x64xbf16>
  %p = fa.attention ins(%o, %q, %q : tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>)
      outs(%p0 : tensor<1x128x2x64xbf16>)
  return %p : tensor<1x128x2x64xbf16>
}
