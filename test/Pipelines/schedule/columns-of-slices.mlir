// Blocks of columns that are no whole tiles of products end inside of memory: what lies behind is of another block.

// RUN: fa-opt %s -fa-to-schedule=chip=sm_80 -o %t.80.mlir
// RUN: fa-run %t.80.mlir --target=interpret --verify --against=%s | FileCheck %s
// RUN: fa-opt %s -fa-to-schedule=chip=sm_90a -o %t.90.mlir
// RUN: fa-run %t.90.mlir --target=interpret --verify --against=%s | FileCheck %s
// RUN: FileCheck %s --check-prefix=ENDS --input-file=%t.90.mlir

// CHECK:      ok
// CHECK:      verified all rows

// A block of 24 columns is in a tile of 32. It ends at its own first column and 24.

// ENDS:       %[[COLUMN:.+]] = arith.muli %{{.+}}, %c24 : index
// ENDS:       %[[FIRST:.+]] = arith.index_cast %[[COLUMN]] : index to i32
// ENDS:       %[[BEHIND:.+]] = arith.addi %[[COLUMN]], %c24 : index
// ENDS:       %[[END:.+]] = arith.index_cast %[[BEHIND]] : index to i32
// ENDS:       fagpu.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}, %[[FIRST]]] sizes [1, 64, 1, 32] {{.*}}columns(%[[END]])

!part = memref<2x100x3x72xf32>
!lse = memref<2x3x100xf32>
!out = memref<2x100x3x72xbf16>
!part_slice = memref<1x50x1x24xf32, strided<[21600, 216, 72, 1], offset: ?>>
!out_slice = memref<1x50x1x24xbf16, strided<[21600, 216, 72, 1], offset: ?>>
!lse_slice = memref<1x1x50xf32, strided<[300, 100, 1], offset: ?>>
func.func @merge_columns(%a: !part, %lse_a: !lse, %b: !part, %lse_b: !lse, %out: !out) {
  scf.forall (%block, %batch, %head, %i) in (3, 2, 3, 2) {
    %c24 = arith.constant 24 : index
    %c50 = arith.constant 50 : index
    %column = arith.muli %block, %c24 overflow<nsw> : index
    %row = arith.muli %i, %c50 overflow<nsw> : index
    %of_a = memref.subview %a[%batch, %row, %head, %column] [1, 50, 1, 24] [1, 1, 1, 1] : !part to !part_slice
    %of_b = memref.subview %b[%batch, %row, %head, %column] [1, 50, 1, 24] [1, 1, 1, 1] : !part to !part_slice
    %of_out = memref.subview %out[%batch, %row, %head, %column] [1, 50, 1, 24] [1, 1, 1, 1] : !out to !out_slice
    %of_lse_a = memref.subview %lse_a[%batch, %head, %row] [1, 1, 50] [1, 1, 1] : !lse to !lse_slice
    %of_lse_b = memref.subview %lse_b[%batch, %head, %row] [1, 1, 50] [1, 1, 1] : !lse to !lse_slice
    fa.combine a(%of_a, %of_lse_a : !part_slice, !lse_slice) b(%of_b, %of_lse_b : !part_slice, !lse_slice)
        outs(%of_out : !out_slice)
  }
  return
}
