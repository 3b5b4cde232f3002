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

static void registerDialects(mlir::DialectRegistry *registry) {
  mlir::fa::registerAllDialects(*registry);
}

static void registerPasses() { mlir::fa::registerAllPasses(); }

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FA", LLVM_VERSION_STRING, registerDialects};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FA", LLVM_VERSION_STRING, registerPasses};
}
