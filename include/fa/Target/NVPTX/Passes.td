//===- Passes.td - Kernels to PTX and machine code -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_PASSES_TD
#define FA_TARGET_NVPTX_PASSES_TD

include "mlir/Pass/PassBase.td"

def FAKernelsToBinaryPass
    : Pass<"fagpu-kernels-to-binary", "::mlir::ModuleOp"> {
  let summary = "Compile kernels in the LLVM dialect to PTX or machine code";
  let description = [{
    Replaces what the module holds in the LLVM dialect by a `gpu.binary` with
    one object for each format. LLVM's NVPTX back end runs in process, as `llc -O3` does and with
    no passes on LLVM IR before it: schedules are in order already. Kernels in
    modules of their own become binaries of their own, side by side. `cubin` goes
    through the `ptxas` that FA_PTXAS names, or the one in PATH, CUDA_HOME,
    CUDA_PATH or /usr/local/cuda.

    The chip is the kernels' own unless one is named that runs them. The PTX
    version is the chip's in the table of targets, or the highest that `ptxas`
    takes where that is lower. The metadata of each kernel are its discardable
    attributes (`fagpu.parameters`, `fagpu.shared_memory`, block size) and, for
    machine code, `registers`, `spill_stores`, `spill_loads` and `assembler_level`:
    where `ptxas -O3` spills, the code is assembled again with -O1, which hoists
    fewer reads past the registers that there are, and taken if it spills at most
    half as much, in each module of kernels. A remark then says what both spill
    and which one it is. Where `ptxas` waits for products over a `fagpu.schedule_barrier`, it gets the text without these, and a
    remark says so; the PTX keeps them.

    With `fail-on-spill` it is an error, and a warning otherwise, if a kernel spills or
    `ptxas` has another message with a number C75xx: it waits for matrix products where
    the kernel does not, as in a loop that runs once, or drops a request for registers.

    Before:
    ```mlir
    llvm.func @fwd(%x: i32) attributes {fagpu.kernel = "sm_90a", nvvm.kernel, ...} { ... }
    ```
    After:
    ```mlir
    gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">,
        kernels = <[#gpu.kernel_metadata<"fwd", !llvm.func<void (i32)>, metadata = {...}>]>,
        assembly = "...">]
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "",
           "Chip to compile for; the kernels' own if empty">,
    Option<"format", "format", "::mlir::fa::KernelFormat",
           "::mlir::fa::KernelFormat::ISA", "What to compile to",
           [{::llvm::cl::values(
               clEnumValN(::mlir::fa::KernelFormat::ISA, "isa", "PTX"),
               clEnumValN(::mlir::fa::KernelFormat::Cubin, "cubin",
                          "machine code, by ptxas"),
               clEnumValN(::mlir::fa::KernelFormat::Both, "both",
                          "machine code and PTX, one object each"))}]>,
    Option<"ptxVersion", "ptx-version", "unsigned", "0",
           "PTX version, for example 86; 0 chooses">,
    Option<"failOnSpill", "fail-on-spill", "bool", "false",
           "A spill or a product that ptxas serialises is an error">
  ];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
}

#endif // FA_TARGET_NVPTX_PASSES_TD
