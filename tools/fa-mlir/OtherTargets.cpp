//===- OtherTargets.cpp - Back ends that are not linked in ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's passes for other GPUs initialise their back ends, and the JIT all
// of them. Only X86 and NVPTX are linked in; the rest is initialised to
// nothing, so that asking for one ends in "no such target".
//
//===----------------------------------------------------------------------===//

#define FA_ABSENT(NAME)                                                        \
  extern "C" void LLVMInitialize##NAME() {}
#define FA_ABSENT_TARGET(NAME)                                                 \
  FA_ABSENT(NAME##TargetInfo)                                                  \
  FA_ABSENT(NAME##Target)                                                      \
  FA_ABSENT(NAME##TargetMC)                                                    \
  FA_ABSENT(NAME##AsmPrinter)                                                  \
  FA_ABSENT(NAME##AsmParser)                                                   \
  FA_ABSENT(NAME##Disassembler)

FA_ABSENT_TARGET(AArch64)
FA_ABSENT_TARGET(AMDGPU)
FA_ABSENT_TARGET(ARM)
FA_ABSENT_TARGET(AVR)
FA_ABSENT_TARGET(BPF)
FA_ABSENT_TARGET(Hexagon)
FA_ABSENT_TARGET(Lanai)
FA_ABSENT_TARGET(LoongArch)
FA_ABSENT_TARGET(M68k)
FA_ABSENT_TARGET(Mips)
FA_ABSENT_TARGET(MSP430)
FA_ABSENT_TARGET(PowerPC)
FA_ABSENT_TARGET(RISCV)
FA_ABSENT_TARGET(Sparc)
FA_ABSENT_TARGET(SPIRV)
FA_ABSENT_TARGET(SystemZ)
FA_ABSENT_TARGET(VE)
FA_ABSENT_TARGET(WebAssembly)
FA_ABSENT_TARGET(XCore)
FA_ABSENT_TARGET(Xtensa)
