// A strategy changes how the code runs, never what is verified: the reference is
// the file as written.
// RUN: fa-run %S/Inputs/causal.mlir --strategy=%fa_src_root/strategies/cpu_blocks.mlir --verify | FileCheck %s
// RUN: fa-run %S/Inputs/causal.mlir --strategy=%fa_src_root/strategies/cpu_blocks.mlir --verify --target=reference | FileCheck %s
// CHECK: result 0: 1x6x2x4xf32 relative error {{.*}}: ok
// CHECK-NEXT: result 1: 1x2x6xf32 relative error {{.*}}: ok
// CHECK-NEXT: verified all rows

// RUN: not fa-run %S/Inputs/causal.mlir --strategy=%s 2>&1 | FileCheck %s --check-prefix=EMPTY --implicit-check-not=error:
// EMPTY: fa-run: error: --strategy={{.*}}strategy.mlir has no named sequence '@__transform_main'
// RUN: not fa-run %S/Inputs/causal.mlir --strategy=%t.none 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=error:
// NONE: fa-run: error: cannot open input file '{{.*}}.none': No such file or directory

module {
}
