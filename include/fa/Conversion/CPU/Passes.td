//===- Passes.td - From linalg to CPU code --------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What makes CPU code of block algebra, in the order in which fa-to-cpu runs
// it: products and blocks as linalg operations, scratch memory, register tiles,
// math as arithmetic, threads. The last two prepare for LLVM: vectors of odd
// widths are loaded by bytes, and entries get an interface of C.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_CPU_PASSES_TD
#define FA_CONVERSION_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def FAPackProducts : Pass<"fa-pack-products"> {
  let summary = "Copy what products read from memory into f32 scratch";
  let description = [{
    A product (`linalg.contract` with a `fa.config`) reads each element of its
    operands many times. What it reads from memory is copied once, as f32, before
    the outermost loop that does not change it. A multiplication of the whole
    product that may be reassociated is done on the copy.

    Before:

    ```mlir
    scf.for %j = ... {
      %q = bufferization.to_tensor %query restrict : memref<64x64xbf16> to tensor<64x64xbf16>
      %k = bufferization.to_tensor %key restrict : memref<?x64xbf16> to tensor<?x64xbf16>
      %s = linalg.contract ... ins(%q, %k : ...) outs(%zeros : tensor<64x?xf32>)
      %x = arith.mulf %s, %scales fastmath<reassoc,contract> : tensor<64x?xf32>
    ```

    After:

    ```mlir
    %q1 = linalg.generic ... // extends and scales
    scf.for %j = ... {
      %k1 = linalg.copy ins(%k : tensor<?x64xbf16>) outs(%e : tensor<?x64xf32>)
      %x = linalg.contract ... ins(%q1, %k1 : tensor<64x64xf32>, tensor<?x64xf32>) outs(%zeros : ...)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAFuseBlocks : Pass<"fa-fuse-blocks"> {
  let summary = "Write block algebra as few linalg operations";
  let description = [{
    Elementwise operations and reductions on tensors become `linalg.generic`, and
    each goes into its only reader. One that others read too goes into a reduction
    of its rows, which then returns both. Products stay as they are; one that is
    added to a scaled accumulator starts from 0, and one multiply-add for each
    element follows. Results are written where an operand is read last, so that
    bufferization makes no copies. Allocations of the program are marked
    `fa.program_memory`: others, which bufferization makes, are scratch.

    Before:

    ```mlir
    %d = arith.subf %x, %refs : tensor<64x?xf32>
    %p = math.exp %d : tensor<64x?xf32>
    %sums = linalg.reduce { arith.addf } ins(%p : ...) outs(%zeros : tensor<64xf32>) dimensions = [1]
    ```

    After:

    ```mlir
    %p:2 = linalg.generic {indexing_maps = [...], iterator_types = ["parallel", "reduction"]}
        ins(%ref : tensor<64xf32>) outs(%x, %zeros : tensor<64x?xf32>, tensor<64xf32>) {
    ^bb0(%r: f32, %s: f32, %sum: f32):
      %d = arith.subf %s, %r : f32
      %e = math.exp %d : f32
      %t = arith.addf %e, %sum : f32
      linalg.yield %e, %t : f32, f32
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAPlaceScratch : Pass<"fa-place-scratch"> {
  let summary = "Give the memory of a block its order and static size";
  let description = [{
    Matrices and rows that bufferization has allocated and nobody frees get memory
    of static size; a dynamic size has to have a constant bound. Allocations that
    are marked `fa.program_memory` stay. A matrix has its
    rows contiguous, so that they lie along vectors, but for the right operand of
    a product. Lines of it lie an odd number of cache lines apart. Copies become
    linalg operations, and each linalg operation gets the register tile of the
    products beside it.

    Before:

    ```mlir
    %s = memref.alloc(%keys) : memref<64x?xf32> // %keys at most 96
    ```

    After:

    ```mlir
    %memory = memref.alloca() {alignment = 64 : i64} : memref<96x80xf32>
    %s = memref.reinterpret_cast %memory to offset: [0], sizes: [64, %keys], strides: [1, 80]
        : memref<96x80xf32> to memref<64x?xf32, strided<[1, 80]>>
    ```
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"
  ];
}

def FAVectorizeLanes : Pass<"fa-vectorize-lanes"> {
  let summary = "Turn linalg operations on memrefs into register tiles";
  let description = [{
    Replaces every linalg operation by loops over tiles that live in registers.
    One parallel loop, the innermost one whose elements follow each other in
    memory in all operands that it indexes, becomes the lane loop: its
    iterations lie along vectors of `lanes` elements. An operation with a
    reduction is computed `register-rows` iterations of another parallel loop
    by `register-vectors` vectors at a time, and what it reduces into stays in
    registers from the first to the last iteration of the reduction; a fill
    just before it that sets all of its output becomes the starting value. An
    operation without a lane loop becomes scalar loops.

    The rest of a dynamic loop runs in narrower tiles, down to single elements.
    In the body a value that is the same in every lane stays scalar; loads at
    computed indices, and operations without a vector form, are done lane by
    lane.

    An attribute `fa.register_tile` (`#fa.cpu<...>`) on an operation takes the
    place of the options.

    Before:

    ```mlir
    linalg.fill ins(%zero : f32) outs(%c : memref<?x8xf32>)
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
                                     affine_map<(i, j, k) -> (k, j)>,
                                     affine_map<(i, j, k) -> (i, j)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<?x64xf32>, memref<64x8xf32>) outs(%c : memref<?x8xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %r = math.fma %x, %y, %z : f32
        linalg.yield %r : f32
    }
    ```

    After, with `lanes=8 register-rows=1 register-vectors=1`:

    ```mlir
    scf.for %j = %c0 to %c8 step %c8 {
      scf.for %i = %c0 to %rows step %c1 {
        %start = vector.broadcast %zero : f32 to vector<8xf32>
        %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%z = %start) -> (vector<8xf32>) {
          %x = memref.load %a[%i, %k] : memref<?x64xf32>
          %y = vector.load %b[%k, %j] : memref<64x8xf32>, vector<8xf32>
          %xs = vector.broadcast %x : f32 to vector<8xf32>
          %r = math.fma %xs, %y, %z : vector<8xf32>
          scf.yield %r : vector<8xf32>
        }
        vector.store %sum, %c[%i, %j] : memref<?x8xf32>, vector<8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", /*default=*/"8",
           "Elements of a vector">,
    Option<"registerRows", "register-rows", "int64_t", /*default=*/"6",
           "Rows of a register tile">,
    Option<"registerVectors", "register-vectors", "int64_t", /*default=*/"2",
           "Vectors in each row of a register tile">
  ];
  let dependentDialects = [
    "::mlir::fa::FADialect",
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def FAExpandMath : Pass<"fa-expand-math"> {
  let summary = "Write functions of math in arithmetic";
  let description = [{
    Replaces these operations on f32 scalars and vectors, so that they need no
    library and stay in vectors. Errors, relative to the exact value:

    | operation | error | range |
    |---|---|---|
    | `math.exp` | 1e-7 | 0 below -86.99, infinity above 88.73 |
    | `math.exp2` | 1e-7 | 0 below -125.5, infinity from 128 |
    | `math.log` | 1e-7, absolute near 1 | -infinity at 0, NaN below |
    | `math.tanh` | 3e-7 | all |

    NaN gives NaN. Of any type, these become a few simpler operations: `clampf`,
    `isnan`, `isinf`, `isfinite`, `isnormal`, `sincos`, `ipowi` (products and
    selects, modulo 2^width) and `fpowi` (products for a constant from 0 to 8, else
    `math.powf` of f64). Other functions stay as they are and become calls of the
    C library for each element.

    Before:

    ```mlir
    %y = math.exp %x : vector<8xf32>
    ```

    After: about 15 operations of `arith` and `math.fma`, without a branch:

    ```mlir
    %shifted = math.fma %clamped, %log2e, %shift : vector<8xf32>
    %n = arith.subf %shifted, %shift : vector<8xf32>
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FAOutlineParallel : Pass<"fa-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "Turn parallel loops into calls of the runtime";
  let description = [{
    The body of every outermost `scf.forall` on memrefs becomes a function, and
    the loop a call of `fa_parallel_for(body, context, count, scratch bytes)`,
    which runs it for each iteration on the threads of OpenMP. Values from
    outside travel in a struct on the caller's stack; constants are copied.
    Allocations of static size in the body, in inner loops too, become parts of
    the scratch that the runtime gives to each thread: no iteration allocates.
    An `scf.forall` inside another runs in order. Outside of parallel loops,
    buffers of static size that nobody frees or that a loop allocates lie on the
    stack, once for the function.

    Before:

    ```mlir
    scf.forall (%i) in (%n) {
      %t = memref.alloca() : memref<64xf32>
      ...
    }
    ```

    After:

    ```mlir
    %context = llvm.alloca ...
    %body = func.constant @f_block : (!llvm.ptr, i64, !llvm.ptr) -> ()
    ...
    func.call @fa_parallel_for(%address, %context, %count, %bytes) : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def FAUnpackVectors : Pass<"fa-unpack-vectors"> {
  let summary = "Load and store vectors of i1 and other odd widths by whole bytes";
  let description = [{
    Memory holds an element of i1 to i7 in a byte, and one of another odd width in
    the next power of two of bytes, but a vector of LLVM packs its bits. Loads and
    stores of such vectors (`vector.load`, `store`, `transfer_read`,
    `transfer_write`, `maskedload`, `maskedstore`, `gather`, `scatter`,
    `expandload`, `compressstore`) become those of integers of whole bytes: what
    is loaded is truncated, what is stored is extended by zeros.

    Before:

    ```mlir
    %v = vector.load %m[%i] : memref<?xi1>, vector<8xi1>
    ```

    After:

    ```mlir
    %bytes = builtin.unrealized_conversion_cast %m : memref<?xi1> to memref<?xi8>
    %0 = vector.load %bytes[%i] : memref<?xi8>, vector<8xi8>
    %v = arith.trunci %0 : vector<8xi8> to vector<8xi1>
    ```

    The cast goes away with the conversion to LLVM, where both are one type.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def FAMarkEntries : Pass<"fa-mark-entries", "::mlir::ModuleOp"> {
  let summary = "Ask for a C interface of every public function with a body";
  let description = [{
    Sets `llvm.emit_c_interface`, by which the conversion to LLVM adds
    `_mlir_ciface_NAME` with memrefs passed as pointers to their descriptors.
    Unlike `llvm-request-c-wrappers` it leaves declarations and private
    functions alone: the runtime's functions and the bodies of parallel loops
    take no memrefs.

    Before: `func.func @f(%x: memref<?xf32>) {...}`

    After: `func.func @f(%x: memref<?xf32>) attributes {llvm.emit_c_interface} {...}`
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // FA_CONVERSION_CPU_PASSES_TD
