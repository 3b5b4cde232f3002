// A strategy changes how the code runs, never what is verified: the reference is
// the file as written.
// RUN: fa-run %S/Inputs/causal.mlir --strategy=%fa_src_root/strategies/cpu_blocks.mlir --verify | FileCheck %s
// RUN: fa-run %S/Inputs/causal.mlir --strategy=%fa_src_root/strategies/cpu_blocks.mlir --verify --target=reference | FileCheck %s
// CHECK: result 0: 1x6x2x4xf32 relative error {{.*}}: ok
// CHECK-NEXT: result 1: 1x2x6xf32 relative error {{.*}}: ok
// CHECK-NEXT: verified all rows

// RUN: rm -rf %t && split-file %s %t
// RUN: not fa-run %S/Inputs/causal.mlir --strategy=%t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY --implicit-check-not=error:
// EMPTY: fa-run: error: --strategy={{.*}}empty.mlir has no named sequence '@__transform_main'
// RUN: not fa-run %S/Inputs/causal.mlir --strategy=%t.none 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=error:
// NONE: fa-run: error: cannot open input file '{{.*}}.none': No such file or directory

// What matches nothing is no strategy.
// RUN: not fa-run %S/Inputs/causal.mlir --strategy=%t/no_match.mlir --verify 2>&1 | FileCheck %s --check-prefix=NOTHING --implicit-check-not=error:
// NOTHING: fa-run: error: --strategy={{.*}}no_match.mlir changes nothing: the program has nothing that it matches
// RUN: not fa-run %S/Inputs/causal.mlir --strategy=%t/misspelled.mlir --verify 2>&1 | FileCheck %s --check-prefix=MISSPELLED --implicit-check-not=error:
// MISSPELLED: error: 'transform.fa.configure' has no operation to apply to: what gave its handle matched none

//--- no_match.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [4, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

//--- misspelled.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %problem = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    %function = transform.fa.results_to_out_parameters %problem : (!transform.any_op) -> !transform.any_op
    %op = transform.structured.match ops{["fa.atention"]} in %function : (!transform.any_op) -> !transform.any_op
    transform.fa.configure %op with(#fa.config<query_block = 16, key_block = 128>) : !transform.any_op
    transform.yield
  }
}

//--- empty.mlir
module {
}
