// Rows of a view become columns: element (r, c) is 10 r + c before, and 10 c + r behind.
// RUN: fa-run %s --entry=kernel --target=interpret --as-written --grid=1 --seed=1 | FileCheck %s
// CHECK: argument 0: 16xf32 = [150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165]

#acc = #fagpu.acc<1>
!s = tensor<16x16xf32, #acc>
!i = tensor<16x16xi32, #acc>
!h = tensor<16x16xbf16, #acc>
!row = tensor<16xf32, #fagpu.row<1>>
!c = !fagpu.channel<16x16xbf16, #fagpu.smem<32>, 1>
!v = !fagpu.view<16x16xbf16, #fagpu.smem<32>>
func.func @kernel(%o: memref<16xf32>) attributes {fagpu.kernel = "sm_90a"} {
  %z = arith.constant 0 : i32
  %ch = fagpu.channel threads : !c
  fagpu.role @all groups(1) warps(1) {
    %r = fagpu.iota 0 : !i
    %c = fagpu.iota 1 : !i
    %ten = arith.constant dense<10> : !i
    %x = arith.muli %r, %ten : !i
    %y = arith.addi %x, %c : !i
    %f = arith.sitofp %y : !i to !s
    %h = arith.truncf %f : !s to !h
    fagpu.write %ch, %h : !h into !c
    %v = fagpu.acquire %ch : !c
    %t = fagpu.load %v {fagpu.transposed} : !v -> !h
    fagpu.release %v : !v
    %w = arith.extf %t : !h to !s
    %most = fagpu.reduce max %w : !s -> !row
    fagpu.store %most, %o[%z] : !row into memref<16xf32>
  }
  return
}
