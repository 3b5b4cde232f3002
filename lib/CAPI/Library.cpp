//===- Library.cpp - What the C API says of itself ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa-c/Compiler.h"
#include "fa/JIT/CPUCompiler.h"
#include "fa/Target/NVPTX/Assembler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include <elf.h>
#include <link.h>

const char *faGetVersion(void) {
  return FA_VERSION ", LLVM " LLVM_VERSION_STRING;
}

const char *faGetHostCPU(void) {
  static const std::string cpu = mlir::fa::describeCPU();
  return cpu.c_str();
}

const char *faGetAssembler(void) {
  thread_local std::string path;
  path = mlir::fa::findAssembler();
  return path.c_str();
}

/// This library, among those that are loaded.
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/// The linker's digest of the library's contents, which it leaves in a note.
static std::string findBuildId() {
  const char *base = reinterpret_cast<const char *>(&__ehdr_start);
  llvm::ArrayRef<ElfW(Phdr)> segments(
      reinterpret_cast<const ElfW(Phdr) *>(base + __ehdr_start.e_phoff),
      __ehdr_start.e_phnum);
  auto align = [](size_t size) { return (size + 3) & ~size_t(3); };
  for (const ElfW(Phdr) &segment : segments) {
    if (segment.p_type != PT_NOTE)
      continue;
    for (size_t at = 0; at < segment.p_memsz;) {
      const char *start = base + segment.p_vaddr + at;
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(start);
      const char *name = start + sizeof(*note);
      const char *digest = name + align(note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID)
        return llvm::toHex(llvm::StringRef(digest, note->n_descsz), true);
      at += sizeof(*note) + align(note->n_namesz) + align(note->n_descsz);
    }
  }
  llvm_unreachable("the library is linked with a build id");
}

const char *faGetBuildId(void) {
  static const std::string id = findBuildId();
  return id.c_str();
}
