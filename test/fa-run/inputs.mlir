// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/make_arrays.py %t

// Specifications.
// RUN: fa-run %s --entry=same --target=reference --input=2x3xf32=0.5 --input=i32=-7 --input=4xi32=[3,5,[7,0]] --input=bf16=1.00390625 | FileCheck %s --check-prefix=SPECS
// SPECS: result 0: 2x3xf32 = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
// SPECS-NEXT: result 1: i32 = -7
// SPECS-NEXT: result 2: 4xi32 = [3, 5, 7, 0]
// SPECS-NEXT: result 3: bf16 = 1{{$}}

// A seed gives the same values again; another one others.
// RUN: fa-run %s --entry=same --target=reference --seed=5 --input=2x3xf32 > %t/a
// RUN: fa-run %s --entry=same --target=reference --seed=5 --input=2x3xf32=random > %t/b
// RUN: fa-run %s --entry=same --target=reference --seed=6 --input=2x3xf32 > %t/c
// RUN: diff %t/a %t/b
// RUN: not diff %t/a %t/c
// RUN: FileCheck %s --check-prefix=SEED < %t/a
// SEED: seed 5

// Arrays: each type as NumPy and ml_dtypes write it, Fortran order and scalars.
// RUN: fa-run %s --entry=types --target=reference --input=@%t/f16.npy --input=@%t/bf16.npy --input=@%t/f64.npy --input=@%t/i8.npy --input=@%t/i1.npy --input=@%t/i64.npy --input=@%t/fortran.npy --output=@%t/o_f16.npy --output=@%t/o_bf16.npy --output=@%t/o_f64.npy --output=@%t/o_i8.npy --output=@%t/o_i1.npy --output=@%t/o_i64.npy --output=@%t/o_fortran.npy | FileCheck %s --check-prefix=ARRAYS
// RUN: %python %S/Inputs/compare_arrays.py %t f16 bf16 f64 i8 i1 i64 fortran
// The file as a word of its own.
// RUN: fa-run %s --entry=types --target=reference --input @%t/f16.npy -input @%t/bf16.npy --input=@%t/f64.npy --input=@%t/i8.npy --input=@%t/i1.npy --input=@%t/i64.npy --input=@%t/fortran.npy --output @%t/word.npy | FileCheck %s --check-prefix=ARRAYS
// RUN: cmp %t/word.npy %t/o_f16.npy
// ARRAYS: result 0: 2x3xf16 = [0, 0.5, 1, 1.5, 2, 2.5]
// ARRAYS-NEXT: result 1: 2x3xbf16 = [0, 0.5, 1, 1.5, 2, 2.5]
// ARRAYS-NEXT: result 2: f64 = 0.25
// ARRAYS-NEXT: result 3: 3xi8 = [-1, 0, 1]
// ARRAYS-NEXT: result 4: 3xi1 = [1, 0, 1]
// ARRAYS-NEXT: result 5: 2xindex = [1, 2]
// ARRAYS-NEXT: result 6: 2x3xf32 = [0, 1, 2, 3, 4, 5]

// Outputs among the arguments start as NaN unless a value is given.
// RUN: fa-run %s --entry=half --target=reference --input=f32=2 | FileCheck %s --check-prefix=POISON
// RUN: fa-run %s --entry=half --target=reference --input=f32=2 --input=2xf32=4 | FileCheck %s --check-prefix=GIVEN
// POISON: argument 1: 2xf32 = [2, nan]
// GIVEN: argument 1: 2xf32 = [2, 4]

// The report as JSON.
// RUN: fa-run %s --entry=half --target=reference --input=f32=2 --verify --seed=9 --json=%t/report.json
// RUN: FileCheck %s --check-prefix=JSON < %t/report.json
// RUN: %python -c "import json; r = json.load(open('%t/report.json')); assert r['arguments'] == ['f32', '2xf32'], r; assert r['verify']['results'][0]['bound'] == 2e-6, r"
// JSON: "entry": "half"
// JSON: "seed": "9"
// JSON: "name": "argument 1"
// JSON: "type": "2xf32"

func.func @same(%a: tensor<2x3xf32>, %b: i32, %c: tensor<4xi32>, %d: bf16)
    -> (tensor<2x3xf32>, i32, tensor<4xi32>, bf16) {
  return %a, %b, %c, %d : tensor<2x3xf32>, i32, tensor<4xi32>, bf16
}

func.func @types(%a: tensor<2x?xf16>, %b: tensor<?x?xbf16>, %c: f64, %d: tensor<?xi8>, %e: tensor<3xi1>, %f: tensor<2xindex>, %g: tensor<2x3xf32>)
    -> (tensor<2x?xf16>, tensor<?x?xbf16>, f64, tensor<?xi8>, tensor<3xi1>, tensor<2xindex>, tensor<2x3xf32>) {
  return %a, %b, %c, %d, %e, %f, %g : tensor<2x?xf16>, tensor<?x?xbf16>, f64, tensor<?xi8>, tensor<3xi1>, tensor<2xindex>, tensor<2x3xf32>
}

func.func @half(%x: f32, %m: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  memref.store %x, %m[%c0] : memref<2xf32>
  return
}
