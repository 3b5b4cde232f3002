//===- Dialects.cpp - The dialects for programs on MLIR's C API -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa-c/Dialects.h"
#include "fa/InitAll.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(FA, fa, mlir::fa::FADialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(FAGPU, fagpu, mlir::fagpu::FAGPUDialect)

void faDialectRegistryInsertAll(MlirDialectRegistry registry) {
  mlir::fa::registerAllDialects(*unwrap(registry));
}

void faRegisterPasses(void) {
  static std::once_flag registered;
  std::call_once(registered, mlir::fa::registerAllPasses);
}

//===----------------------------------------------------------------------===//
// #fa.dims
//===----------------------------------------------------------------------===//

/// As in #fa.dims<b, s, h, d>, in the order of DimKind.
static constexpr StringLiteral dimNames = "bshdp";

static_assert(int(DimKind::Batch) == 0 && int(DimKind::Sequence) == 1 &&
                  int(DimKind::Heads) == 2 && int(DimKind::HeadDim) == 3 &&
                  int(DimKind::Page) == 4,
              "the order of the names");

bool faAttributeIsADims(MlirAttribute attribute) {
  return isa_and_nonnull<DimsAttr>(unwrap(attribute));
}

MlirAttribute faDimsAttrGet(MlirContext context, MlirStringRef order) {
  Location unknown = UnknownLoc::get(unwrap(context));
  unwrap(context)->loadDialect<FADialect>();
  SmallVector<int64_t> kinds;
  for (char name : unwrap(order)) {
    size_t kind = dimNames.find(name);
    if (kind == StringRef::npos) {
      emitError(unknown) << "the order of dims is '" << unwrap(order)
                         << "', expected the letters b, s, h, d and p";
      return {nullptr};
    }
    kinds.push_back(kind);
  }
  return wrap(DimsAttr::getChecked([&] { return emitError(unknown); },
                                   unwrap(context), ArrayRef<int64_t>(kinds)));
}

intptr_t faDimsAttrGetPosition(MlirAttribute dims, char kind) {
  size_t found = dimNames.find(kind);
  if (found == StringRef::npos)
    return -1;
  auto order = cast<DimsAttr>(unwrap(dims));
  auto of = static_cast<DimKind>(found);
  return order.has(of) ? order.positionOf(of) : -1;
}

//===----------------------------------------------------------------------===//
// #fa.config
//===----------------------------------------------------------------------===//

bool faAttributeIsAConfig(MlirAttribute attribute) {
  return isa_and_nonnull<ConfigAttr>(unwrap(attribute));
}

MlirAttribute faConfigAttrGet(MlirContext context, int64_t query_block,
                              int64_t key_block, int64_t key_splits,
                              bool deterministic, MlirAttribute target) {
  Location unknown = UnknownLoc::get(unwrap(context));
  unwrap(context)->loadDialect<FADialect>();
  Attribute part = unwrap(target);
  auto typed = dyn_cast_if_present<TargetConfigAttrInterface>(part);
  if (part && !typed) {
    emitError(unknown) << "the target's part of the config is " << part
                       << ", expected an attribute such as #fa.cpu<>";
    return {nullptr};
  }
  return wrap(ConfigAttr::getChecked([&] { return emitError(unknown); },
                                     unwrap(context), query_block, key_block,
                                     key_splits, deterministic, typed));
}

static ConfigAttr getConfig(MlirAttribute config) {
  return cast<ConfigAttr>(unwrap(config));
}

int64_t faConfigAttrGetQueryBlock(MlirAttribute config) {
  return getConfig(config).getQueryBlock();
}

int64_t faConfigAttrGetKeyBlock(MlirAttribute config) {
  return getConfig(config).getKeyBlock();
}

int64_t faConfigAttrGetKeySplits(MlirAttribute config) {
  return getConfig(config).getKeySplits();
}

bool faConfigAttrIsDeterministic(MlirAttribute config) {
  return getConfig(config).getDeterministic();
}

MlirAttribute faConfigAttrGetTarget(MlirAttribute config) {
  return wrap(static_cast<Attribute>(getConfig(config).getTarget()));
}
