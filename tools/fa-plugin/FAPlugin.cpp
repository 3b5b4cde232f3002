//===- FAPlugin.cpp - The project as a plugin of stock mlir-opt -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt-22 --load-dialect-plugin=FAPlugin.so --load-pass-plugin=FAPlugin.so
//   --pass-pipeline='...' FILE
//
// mlir-opt parses its options before it loads a pass plugin, so passes of a
// plugin are reached by --pass-pipeline and not by an option of their own.
//
//===----------------------------------------------------------------------===//

#include "fa/InitAll.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"
#include <dlfcn.h>
#include <link.h>

/// Where the program or library begins that an address is in.
static const void *getImage(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

/// Whether the program had the libMLIR.so of this plugin before it loaded the
/// plugin. If not, its MLIR is another one, whose objects have other layouts.
static bool sharesMLIR() {
  struct Images {
    const void *mlir, *plugin;
    bool isShared;
  } images = {getImage(reinterpret_cast<const void *>(&mlir::registerPass)),
              getImage(reinterpret_cast<const void *>(&getImage)), false};
  // In the order in which they were loaded.
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto *images = static_cast<Images *>(data);
        auto *image = reinterpret_cast<const void *>(info->dlpi_addr);
        images->isShared = image == images->mlir;
        return int(images->isShared || image == images->plugin);
      },
      &images);
  return images.isShared;
}

/// The version that a host expects of a plugin; another one where it must not
/// load this one.
static uint32_t getAPIVersion() {
  if (sharesMLIR())
    return MLIR_PLUGIN_API_VERSION;
  llvm::errs() << "FAPlugin.so: error: this program does not use the LLVM "
                  "that the plugin is built with, " LLVM_VERSION_STRING
                  "; load it into mlir-opt of that LLVM\n";
  return 0;
}

// fa-opt has all of it already.
static void registerDialects(mlir::DialectRegistry *registry) {
  if (!registry->getDialectAllocator("fa"))
    mlir::fa::registerAllDialects(*registry);
}

static void registerPasses() {
  if (!mlir::PassInfo::lookup("fa-tile"))
    mlir::fa::registerAllPasses();
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {getAPIVersion(), "FA", LLVM_VERSION_STRING, registerDialects};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {getAPIVersion(), "FA", LLVM_VERSION_STRING, registerPasses};
}
