// An option that a pass or a pipeline does not have is one error, which says
// which options there are, the nearest first.
// DEFINE: %{option} =
// DEFINE: %{check} = not fa-opt %s %{option} 2>&1 | FileCheck %s --implicit-check-not=error: --implicit-check-not=failed

// REDEFINE: %{option} = -fa-to-cpu=target=avx3
// RUN: %{check} --check-prefix=NONE
// NONE: fa-opt: error: 'fa-to-cpu' has no option 'target', expected none
// REDEFINE: %{option} = -fagpu-to-llvm=target=avx3
// RUN: %{check} --check-prefix=LLVM
// LLVM: fa-opt: error: 'fagpu-to-llvm' has no option 'target', expected peepholes
// REDEFINE: %{option} = -fa-to-schedule=target=avx3
// RUN: %{check} --check-prefix=ONE
// ONE: fa-opt: error: 'fa-to-schedule' has no option 'target', expected one of {{chip, peepholes|peepholes, chip}}
// REDEFINE: %{option} = -fa-to-ptx="chip=sm_80 fromat=isa"
// RUN: %{check} --check-prefix=NEAREST
// NEAREST: fa-opt: error: 'fa-to-ptx' has no option 'fromat', expected one of format, chip,
// REDEFINE: %{option} = -fa-select-config=target=avx2
// RUN: %{check} --check-prefix=PASS
// PASS: fa-opt: error: 'fa-select-config' has no option 'target', expected chip
// REDEFINE: %{option} = --fa-expand-key-ranges=x=1
// RUN: %{check} --check-prefix=EMPTY
// EMPTY: fa-opt: error: 'fa-expand-key-ranges' has no option 'x', expected none
// REDEFINE: %{option} = --pass-pipeline="builtin.module(canonicalize{top-down=true},func.func(fa-tile{rows=3}))"
// RUN: %{check} --check-prefix=NESTED
// NESTED: fa-opt: error: 'fa-tile' has no option 'rows', expected combine-rows

// A value that is none of the option is one error too.
// REDEFINE: %{check} = not fa-opt %s %{option} 2>&1 | FileCheck %s --implicit-check-not=error: --implicit-check-not='for the'
// REDEFINE: %{option} = -fa-tile=combine-rows=many
// RUN: %{check} --check-prefix=NUMBER
// NUMBER: fa-opt: error: 'fa-tile' has an illegal value for the option combine-rows: 'many' value invalid for long argument
// REDEFINE: %{option} = -fa-to-ptx="chip=sm_80 format=text"
// RUN: %{check} --check-prefix=FORMAT
// FORMAT: fa-opt: error: 'fa-to-ptx' has an illegal value for the option format: Cannot find option named 'text'
// REDEFINE: %{option} = --pass-pipeline="builtin.module(func.func(fa-tile{combine-rows=many}))"
// RUN: %{check} --check-prefix=NUMBER

// RUN: fa-opt %s --pass-pipeline="builtin.module(canonicalize{top-down=true},func.func(fa-tile{combine-rows=32}))"

// A pipeline of modules in one of functions.
// RUN: not fa-opt %s --pass-pipeline='builtin.module(func.func(fa-to-cpu))' 2>&1 | FileCheck %s --check-prefix=ANCHOR
// ANCHOR: error: 'fa-to-cpu' stands in a pipeline of 'func.func', expected one of 'builtin.module'
