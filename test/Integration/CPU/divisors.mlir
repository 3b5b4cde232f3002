// Divisors that are 0 where no key is, or -1, or a captured 0: nothing stops, on
// the CPU and in schedules of both forms.

// DEFINE: %{entry} = table
// DEFINE: %{inputs} =
// DEFINE: %{run} = fa-run %s --entry=%{entry} --verify %{inputs}
// RUN: %{run} --target=cpu | FileCheck %s
// RUN: %{run} --target=interpret --chip=sm_80 | FileCheck %s
// RUN: %{run} --target=interpret --chip=sm_90a | FileCheck %s
// REDEFINE: %{entry} = captured
// REDEFINE: %{inputs} = --input=1x70x1x64xbf16 --input=1x90x1x64xbf16 --input=1x90x1x64xbf16 --input=i32=-1
// RUN: %{run} --target=cpu | FileCheck %s
// RUN: %{run} --target=interpret --chip=sm_80 | FileCheck %s
// RUN: %{run} --target=interpret --chip=sm_90a | FileCheck %s
// REDEFINE: %{inputs} = --input=1x70x1x64xbf16 --input=1x90x1x64xbf16 --input=1x90x1x64xbf16 --input=i32=7
// RUN: %{run} --target=cpu | FileCheck %s
// RUN: %{run} --target=interpret --chip=sm_80 | FileCheck %s

// CHECK: verified all rows

// The evaluation in float64 names a division by 0 of a pair that is; compiled
// code ends.
// REDEFINE: %{inputs} = --input=1x70x1x64xbf16 --input=1x90x1x64xbf16 --input=1x90x1x64xbf16 --input=i32=0
// RUN: not %{run} --target=cpu 2>&1 | FileCheck %s --check-prefix=ZERO --implicit-check-not=error:
// RUN: fa-run %s --entry=%{entry} %{inputs} --target=cpu | FileCheck %s --check-prefix=ENDS
// ZERO: error: integer division by zero
// ENDS: 1x70x1x64xbf16

!q = tensor<1x70x1x64xbf16>
!k = tensor<1x90x1x64xbf16>

// Keys past the end read 0 of the table.
func.func @table(%q: !q, %k: !k, %v: !k) -> !q {
  %divisors = arith.constant dense<3> : tensor<90xi32>
  %o = tensor.empty() : !q
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
      mask(%b, %h, %i, %j) captures(%t = %divisors : tensor<90xi32>) {
        %one = arith.constant 1 : index
        %x = tensor.extract %t[%j] : tensor<90xi32>
        %y = arith.index_cast %x : i32 to index
        %rest = arith.remsi %j, %y : index
        %part = arith.floordivsi %i, %y : index
        %other = arith.remui %part, %y : index
        %visible = arith.cmpi sle, %rest, %one : index
        %too = arith.cmpi sle, %other, %one : index
        %either = arith.ori %visible, %too : i1
        fa.yield %either : i1
      }
  return %r : !q
}

// The least i32 by -1.
func.func @captured(%q: !q, %k: !k, %v: !k, %n: i32) -> !q {
  %o = tensor.empty() : !q
  %r = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
      mask(%b, %h, %i, %j) captures(%x = %n : i32) {
        %least = arith.constant -2147483648 : i32
        %two = arith.constant 2 : i32
        %key = arith.index_cast %j : index to i32
        %number = arith.addi %key, %least : i32
        %rest = arith.remsi %number, %x : i32
        %quotient = arith.floordivsi %number, %x : i32
        %sum = arith.addi %rest, %quotient : i32
        %other = arith.remsi %sum, %two : i32
        %zero = arith.constant 0 : i32
        %visible = arith.cmpi eq, %other, %zero : i32
        fa.yield %visible : i1
      }
  return %r : !q
}
