//===- Passes.td - From the fagpu dialect to NVVM -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way from a planned GPU schedule to threads. ConvertFAGPUToNVVMPass does
// most of it: read its description first, for it says what a thread holds. Then
// FAGPULowerKernelPass, which makes the function that is launched. The three
// others are about math: shared reciprocals, hardware approximations,
// expansions.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FAGPUTONVVM_PASSES_TD
#define FA_CONVERSION_FAGPUTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertFAGPUToNVVMPass
    : Pass<"convert-fagpu-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Spread block values over threads and lower channels";
  let description = [{
    Inside the roles of each kernel a block value becomes the scalars that one
    thread holds (16-bit floats packed in pairs), a view its address and the
    barrier that frees it, a value in flight its registers and those that are
    still read. Elementwise operations are repeated for each scalar. Channels
    become shared memory at their planned offsets, mbarriers and bulk tensor
    copies. Inline PTX stands only where NVVM has no operation: a product with
    its fence and commit, a wait tied to its registers, predicated arrivals and
    stores.

    The memref arguments of a kernel become parameters: a tensor map for each
    box that is copied in bulk, an address and the dynamic strides where elements
    are read or written, the dynamic sizes that `memref.dim` reads.
    `fagpu.parameters` on the kernel says for each parameter what a launcher
    passes. Constant tables, by `memref.get_global`, become globals of the device.

    With `rows(%n)`, the map of a bulk copy makes one dimension of rows end at n
    (see docs/GPU/TensorMaps.md), so that rows from n on read as zero and are not
    written.

    Needs fagpu-assign-waits, fagpu-assign-stages and fagpu-plan-resources.

    Before, in a role of 128 threads:
    ```mlir
    %y = arith.mulf %x, %s : tensor<64x8xf32, #fagpu.acc<4>>
    ```
    After:
    ```mlir
    %y0 = arith.mulf %x0, %s0 : f32
    %y1 = arith.mulf %x1, %s1 : f32
    %y2 = arith.mulf %x2, %s2 : f32
    %y3 = arith.mulf %x3, %s3 : f32
    ```

    Before:
    ```mlir
    memref.global "private" constant @ids : memref<2xi32> = dense<[7, 9]>
    func.func @kernel(%m: memref<?xf32>) attributes {fagpu.kernel = "sm_80", ...} {
      fagpu.role @all groups(1) {
        %ids = memref.get_global @ids : memref<2xi32>
        %id = memref.load %ids[%i] : memref<2xi32>
        %n = memref.dim %m, %c0 : memref<?xf32>
    ```
    After:
    ```mlir
    llvm.mlir.global internal constant @fagpu_table_ids(dense<[7, 9]> : tensor<2xi32>)
      {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<2 x i32>
    func.func @kernel(%size: i64) attributes {fagpu.kernel = "sm_80", ...,
        fagpu.parameters = [{argument = 0, dim = 0, kind = "size"} ]} {
      %ids = llvm.mlir.addressof @fagpu_table_ids : !llvm.ptr<1>
      fagpu.role @all groups(1) {
        %at = llvm.getelementptr %ids[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
        %id = llvm.load %at : !llvm.ptr<1> -> i32
        %n = arith.index_cast %size : i64 to index
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAGPULowerKernelPass
    : Pass<"fagpu-lower-kernel", "::mlir::ModuleOp"> {
  let summary = "Turn roles into branches on the warp, kernels into llvm.func";
  let description = [{
    Each role gets the next groups of four warps. The number of a warp is read
    from its first lane, so that the assembler sees a uniform branch. A role
    starts by asking for its registers; `elect` leaves one thread of its first
    warp.

    Before:
    ```mlir
    func.func @kernel(...) attributes {fagpu.kernel = "sm_90a"} {
      fagpu.role @load groups(1) regs(40) elect { ... }
      fagpu.role @math(%g) groups(2) regs(232) { ... }
      return
    }
    ```
    After:
    ```mlir
    llvm.func @kernel(...) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 384>, ...} {
      scf.if %is_load {
        nvvm.setmaxregister decrease 40
        scf.if %first_warp { %e = nvvm.elect.sync; scf.if %e { ... } }
      }
      scf.if %is_math {
        nvvm.setmaxregister increase 232
        ...
      }
      llvm.return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAGPUShareReciprocalsPass : Pass<"fagpu-share-reciprocals"> {
  let summary = "Take one reciprocal for several quotients";
  let description = [{
    Scalar f32 quotients of a block that carry `fagpu.sharers = N`, N of them at a
    time, become products with reciprocals that come from one: that of the
    product of their divisors. Reciprocals take a fourth of the throughput of
    products on the device, or less. Each level of the tree of products adds a
    relative error of 2^-23 at most. Whoever sets the attribute knows that the
    product of any N divisors or fewer, and its reciprocal, are normal numbers.
    What is left over, and what is read before the last of its N, keeps its own.

    Before:
    ```mlir
    %a = arith.divf %one, %x fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    %b = arith.divf %one, %y fastmath<arcp,afn> {fagpu.sharers = 2 : i64} : f32
    ```
    After:
    ```mlir
    %xy = arith.mulf %x, %y : f32
    %r = arith.divf %one, %xy fastmath<arcp,afn> : f32
    %a = arith.mulf %r, %y : f32
    %b = arith.mulf %r, %x : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ConvertMathToNVVMApproximationsPass
    : Pass<"convert-math-to-nvvm-approximations"> {
  let summary = "Lower f32 math that asks for approximations";
  let description = [{
    Only operations that carry the fast-math flag for it are changed; relative
    errors are those of the PTX instructions.

    | operation | instruction | error |
    |---|---|---|
    | `math.exp2 fastmath<afn>` | `ex2.approx.ftz.f32` | 2^-22, subnormals are zero |
    | `math.log2 fastmath<afn>` | `lg2.approx.ftz.f32` | 2^-22 absolute in [0.5, 2], 2^-22 elsewhere |
    | `math.rsqrt fastmath<afn>` | `rsqrt.approx.ftz.f32` | 2^-22.9, subnormals are zero |
    | `math.tanh fastmath<afn>` | `tanh.approx.f32` | 2^-11 |
    | `math.tanh fastmath<arcp>` | `ex2.approx.ftz.f32`, `rcp.approx.ftz.f32`, near zero a polynomial | 2^-21.9 by the errors of the instructions |
    | `arith.divf fastmath<arcp, afn>` | `rcp.approx.ftz.f32` and a product | 1 ulp of the reciprocal |

    Before: `%y = math.exp2 %x fastmath<afn> : f32`
    After: `%y = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x) : (f32) -> f32`
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def FAGPUExpandMathPass : Pass<"fagpu-expand-math"> {
  let summary = "Write elementary functions of f32 in arithmetic";
  let description = [{
    What asks for no approximation, or has none, needs no library of the device
    either. Errors over all arguments, in units of the last place of the exact
    value (of 2^-149 where it is subnormal): the bound that the unit tests check at
    every thousandth f32, and the largest of all 2^32 arguments on an H200 (of
    4e8 pairs for functions of two).

    | operation | bound | measured |
    |---|---|---|
    | `math.exp` | 1.5 ulp | 1.013 |
    | `math.exp2` | 1.5 ulp | 0.878 |
    | `math.log` | 1 ulp | 0.848 |
    | `math.log2` | 1.5 ulp | 1.047 |
    | `math.tanh` | 1.5 ulp | 1.332 |
    | `math.erf` | 1.5 ulp | 1.122 |
    | `math.sin`, `math.cos` | 2 ulp | 1.578 |
    | `math.powf`, by way of f64 | 1 ulp | 0.501 |
    | `arith.remf`, by way of f64, of quotients below 2^53 | 0 ulp | |
    | `math.fpowi`, by way of f64; products for a constant from 0 to 8 | 1 ulp; 4 ulp | |
    | `math.log10`, `math.log1p` | 1.5 ulp | |
    | `math.expm1`, `math.cosh` | 2 ulp | |
    | `math.sinh`, `math.asinh`, `math.acosh`, `math.atanh` | 2.5 ulp | |
    | `math.asin`, `math.acos`, `math.atan` | 2 ulp | |
    | `math.atan2` | 3 ulp | |
    | `math.tan` | 4.5 ulp | |
    | `math.erfc` | 5 ulp | |
    | `math.cbrt` | 1 ulp | |
    | `math.sqrt`, `arith.divf`, by `sqrt.rn` and `div.rn` | 0.5 ulp | 0.5 |
    | `math.rsqrt`, by those two | 1.5 ulp | 1.490 |

    So `math.tanh` errs by less than 1.8e-7 of its value. Infinities, NaN,
    subnormal numbers and signed zeros give what C's functions give. f16 and bf16
    go by way of f32: `math.sqrt` of them is rounded correctly, the others err by
    less than 0.51 ulp of their type. Of any type, a few simpler operations stand
    for `clampf`, `isnan`, `isinf`, `isfinite` and `isnormal`, and for `ipowi` but
    of i1 (fa-expand-math). Functions of other types are refused.

    Before: `%y = math.exp2 %x : f32`
    After: 18 operations of `arith` and `math.fma`, without a branch.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // FA_CONVERSION_FAGPUTONVVM_PASSES_TD
