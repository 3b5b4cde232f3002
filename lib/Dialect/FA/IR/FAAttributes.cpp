//===- FAAttributes.cpp - Attributes of the fa dialect -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

#include "fa/Dialect/FA/IR/FAAttrInterfaces.cpp.inc"
#include "fa/Dialect/FA/IR/FAEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FA/IR/FAAttributes.cpp.inc"

void FADialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa/Dialect/FA/IR/FAAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// DimsAttr
//===----------------------------------------------------------------------===//

// Letter of each DimKind, in the order of the enumeration.
static constexpr StringLiteral dimLetters = "bshd";

DimsAttr DimsAttr::getDefault(MLIRContext *context) {
  return DimsAttr::get(context, {0, 1, 2, 3});
}

bool DimsAttr::isDefault() const {
  return getOrder() == ArrayRef<int64_t>{0, 1, 2, 3};
}

int64_t DimsAttr::positionOf(DimKind kind) const {
  return llvm::find(getOrder(), static_cast<int64_t>(kind)) -
         getOrder().begin();
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> order) {
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (ArrayRef<int64_t>(sorted) != ArrayRef<int64_t>{0, 1, 2, 3})
    return emitError() << "dimension order must name each of b, s, h and d "
                          "once";
  return success();
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> order;
  auto parseDim = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    size_t kind =
        keyword.size() == 1 ? dimLetters.find(keyword) : StringRef::npos;
    if (kind == StringRef::npos)
      return parser.emitError(loc)
             << "unknown dimension '" << keyword
             << "', expected b (batch), s (sequence), h (heads) or d (head "
                "dim)";
    order.push_back(kind);
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseDim))
    return {};
  return DimsAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), order);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getOrder(), printer, [&](int64_t kind) {
    printer << dimLetters.substr(kind, 1);
  });
  printer << '>';
}

//===----------------------------------------------------------------------===//
// ConfigAttr
//===----------------------------------------------------------------------===//

ConfigAttr ConfigAttr::withoutKeySplits() const {
  return ConfigAttr::get(getContext(), getQueryBlock(), getKeyBlock(),
                         /*keySplits=*/1, getDeterministic(), getTarget(),
                         getFromKeys(), getFromQueries(), getLonger());
}

ConfigAttr ConfigAttr::forAnyLengths() const {
  return withLengths(/*fromKeys=*/0, /*fromQueries=*/0, /*longer=*/{});
}

ConfigAttr ConfigAttr::withLengths(int64_t fromKeys, int64_t fromQueries,
                                   ConfigAttr longer) const {
  return ConfigAttr::get(getContext(), getQueryBlock(), getKeyBlock(),
                         getKeySplits(), getDeterministic(), getTarget(),
                         fromKeys, fromQueries, longer);
}

ConfigAttr ConfigAttr::getForLengths(int64_t queries, int64_t keys) const {
  ConfigAttr config = *this;
  auto isShort = [](int64_t length, int64_t least) {
    return !ShapedType::isDynamic(length) && length < least;
  };
  auto isKnown = [](int64_t length, int64_t least) {
    return least == 0 || !ShapedType::isDynamic(length);
  };
  while (ConfigAttr longer = config.getLonger()) {
    if (isShort(keys, longer.getFromKeys()) ||
        isShort(queries, longer.getFromQueries()))
      return config.forAnyLengths();
    if (!isKnown(keys, longer.getFromKeys()) ||
        !isKnown(queries, longer.getFromQueries()))
      return config.withLengths(0, 0, longer);
    config = longer;
  }
  return config.forAnyLengths();
}

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t queryBlock, int64_t keyBlock,
                                 int64_t keySplits, bool deterministic,
                                 TargetConfigAttrInterface target,
                                 int64_t fromKeys, int64_t fromQueries,
                                 ConfigAttr longer) {
  auto checkPositive = [&](StringRef name, int64_t value) -> LogicalResult {
    if (value >= 1)
      return success();
    return emitError() << name << " is " << value << ", expected at least 1";
  };
  if (failed(checkPositive("query_block", queryBlock)) ||
      failed(checkPositive("key_block", keyBlock)) ||
      failed(checkPositive("key_splits", keySplits)))
    return failure();
  if (fromKeys < 0)
    return emitError() << "from_keys is " << fromKeys
                       << ", expected at least 0";
  if (fromQueries < 0)
    return emitError() << "from_queries is " << fromQueries
                       << ", expected at least 0";
  if (longer && longer.getFromKeys() <= fromKeys)
    return emitError() << "longer is from_keys = " << longer.getFromKeys()
                       << ", expected at least " << fromKeys + 1
                       << ", more than this configuration is for";
  if (longer && longer.getFromQueries() < fromQueries)
    return emitError() << "longer is from_queries = " << longer.getFromQueries()
                       << ", expected at least " << fromQueries
                       << ", as this configuration is for";
  return success();
}

Attribute ConfigAttr::parse(AsmParser &parser, Type) {
  std::optional<int64_t> queryBlock, keyBlock, keySplits, fromKeys, fromQueries;
  std::optional<bool> deterministic;
  TargetConfigAttrInterface target;
  ConfigAttr longer;
  SMLoc start = parser.getCurrentLocation();
  auto parseOnce = [&](auto &field, SMLoc loc, StringRef name) -> ParseResult {
    if (field)
      return parser.emitError(loc) << "'" << name << "' is given twice";
    typename std::decay_t<decltype(field)>::value_type value;
    if (parser.parseInteger(value))
      return failure();
    field = value;
    return success();
  };
  auto parseField = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "query_block")
      return parseOnce(queryBlock, loc, name);
    if (name == "key_block")
      return parseOnce(keyBlock, loc, name);
    if (name == "key_splits")
      return parseOnce(keySplits, loc, name);
    if (name == "deterministic") {
      StringRef value;
      if (parser.parseKeyword(&value))
        return failure();
      if (value != "true" && value != "false")
        return parser.emitError(loc)
               << "deterministic is '" << value << "', expected true or false";
      deterministic = value == "true";
      return success();
    }
    if (name == "target")
      return parser.parseAttribute(target);
    if (name == "from_keys")
      return parseOnce(fromKeys, loc, name);
    if (name == "from_queries")
      return parseOnce(fromQueries, loc, name);
    if (name == "longer")
      return parser.parseAttribute(longer);
    return parser.emitError(loc)
           << "unknown field '" << name
           << "', expected query_block, key_block, key_splits, deterministic, "
              "target, from_keys, from_queries or longer";
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseField))
    return {};
  if (!queryBlock || !keyBlock) {
    parser.emitError(start) << "a configuration needs query_block and "
                               "key_block";
    return {};
  }
  return ConfigAttr::getChecked(
      [&] { return parser.emitError(start); }, parser.getContext(), *queryBlock,
      *keyBlock, keySplits.value_or(1), deterministic.value_or(true), target,
      fromKeys.value_or(0), fromQueries.value_or(0), longer);
}

void ConfigAttr::print(AsmPrinter &printer) const {
  printer << "<query_block = " << getQueryBlock()
          << ", key_block = " << getKeyBlock();
  if (getKeySplits() != 1)
    printer << ", key_splits = " << getKeySplits();
  if (!getDeterministic())
    printer << ", deterministic = false";
  if (getTarget())
    printer << ", target = " << getTarget();
  if (getFromKeys())
    printer << ", from_keys = " << getFromKeys();
  if (getFromQueries())
    printer << ", from_queries = " << getFromQueries();
  if (getLonger())
    printer << ", longer = " << getLonger();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// CPUConfigAttr
//===----------------------------------------------------------------------===//

LogicalResult
CPUConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t lanes, int64_t registerRows,
                      int64_t registerVectors) {
  // More than any processor has, so that products of them fit their type.
  constexpr int64_t most = 1024;
  if (lanes < 1 || lanes > most || !llvm::isPowerOf2_64(lanes))
    return emitError() << "lanes is " << lanes
                       << ", expected a power of two from 1 to " << most;
  auto check = [&](StringRef name, int64_t value) -> LogicalResult {
    if (value >= 1 && value <= most)
      return success();
    return emitError() << name << " is " << value << ", expected 1 to " << most;
  };
  return success(succeeded(check("register_rows", registerRows)) &&
                 succeeded(check("register_vectors", registerVectors)));
}

StringRef CPUConfigAttr::getTargetName() const { return "cpu"; }

LogicalResult
CPUConfigAttr::verifyConfig(function_ref<InFlightDiagnostic()> emitError,
                            int64_t queryBlock, int64_t keyBlock,
                            int64_t queryHeadDim, int64_t valueHeadDim,
                            Type elementType) const {
  int64_t tile = getLanes() * getRegisterVectors();
  if (queryBlock % tile != 0)
    return emitError() << "query_block is " << queryBlock
                       << ", expected a multiple of lanes * register_vectors "
                          "= "
                       << tile << "; the nearest is "
                       << llvm::alignTo(queryBlock, tile);
  return success();
}

//===----------------------------------------------------------------------===//
// GPUConfigAttr
//===----------------------------------------------------------------------===//

LogicalResult GPUConfigAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, KernelForm form,
    int64_t groups, int64_t stages, Overlap overlap, RescalePlace rescale,
    bool turns, TileOrder tileOrder, bool blockTable, Captures captures,
    int64_t copyingRegisters, int64_t columns, bool keepsQueries,
    bool commonStages, bool rolled, int64_t cluster) {
  // Registers are given out for one, two or three groups that multiply.
  constexpr int64_t maxGroups = 3;
  if (groups < 1 || groups > maxGroups)
    return emitError() << "groups is " << groups << ", expected 1 to "
                       << maxGroups;
  if (stages < 1)
    return emitError() << "stages is " << stages << ", expected at least 1";
  // What a thread needs to copy at all, and what one group can spare.
  constexpr int64_t leastRegisters = 32, mostRegisters = 96;
  if (copyingRegisters != 0 &&
      (copyingRegisters % 8 != 0 || copyingRegisters < leastRegisters ||
       copyingRegisters > mostRegisters))
    return emitError() << "copying_registers is " << copyingRegisters
                       << ", expected 0 or a multiple of 8 from "
                       << leastRegisters << " to " << mostRegisters;
  if (commonStages && form != KernelForm::warps)
    return emitError() << "common_stages is for form = warps";
  if (rolled && overlap != Overlap::none)
    return emitError() << "rolled is for overlap = none, not for "
                       << stringifyOverlap(overlap);
  // The columns of the narrowest panel of shared memory.
  if (columns < 0 || columns % 16)
    return emitError() << "columns is " << columns
                       << ", expected a multiple of 16; the nearest is "
                       << llvm::alignTo(std::max<int64_t>(columns, 1), 16);
  if (keepsQueries && !columns)
    return emitError() << "keeps_queries is for columns above 0";
  if (columns && overlap != Overlap::none)
    return emitError() << "columns is for overlap = none, not for "
                       << stringifyOverlap(overlap);
  // What would have no effect: threads fill the one stage of each part.
  auto hasNoColumns = [&](StringRef field) {
    return emitError() << field << " is not for columns above 0";
  };
  if (columns && stages != 1)
    return hasNoColumns("stages above 1");
  if (columns && turns)
    return hasNoColumns("turns");
  if (columns && cluster != 1)
    return hasNoColumns("cluster above 1");
  if (columns && copyingRegisters != 0)
    return hasNoColumns("copying_registers");
  // Larger clusters are not portable.
  if (cluster < 1 || cluster > 8 || !llvm::isPowerOf2_64(cluster))
    return emitError() << "cluster is " << cluster << ", expected 1, 2, 4 or 8";
  if (cluster > 1 && tileOrder != TileOrder::in_order)
    return emitError() << "cluster is " << cluster
                       << ", which is for tile_order = in_order";
  // A table says which keys each query block sees, so that none are shared.
  if (cluster > 1 && blockTable)
    return emitError() << "cluster is " << cluster
                       << ", expected 1 with block_table = true";
  if (form == KernelForm::warp_groups)
    return success();
  if (groups != 1)
    return emitError() << "groups is " << groups
                       << ", but only form = warp_groups has more than 1";
  auto needsGroups = [&](StringRef field) {
    return emitError() << field << " is for form = warp_groups";
  };
  if (overlap != Overlap::none)
    return needsGroups("overlap");
  if (rescale != RescalePlace::after_product)
    return needsGroups("rescale");
  if (turns)
    return needsGroups("turns");
  if (tileOrder != TileOrder::in_order)
    return needsGroups("tile_order");
  if (captures != Captures::elements)
    return needsGroups("captures = tiles");
  if (copyingRegisters != 0)
    return needsGroups("copying_registers");
  if (cluster != 1)
    return needsGroups("cluster");
  return success();
}

StringRef GPUConfigAttr::getTargetName() const { return "gpu"; }

// Blocks of a cluster share the copies of keys.
bool GPUConfigAttr::needsEqualKeyRanges() const { return getCluster() > 1; }

LogicalResult
GPUConfigAttr::verifyConfig(function_ref<InFlightDiagnostic()> emitError,
                            int64_t queryBlock, int64_t keyBlock,
                            int64_t queryHeadDim, int64_t valueHeadDim,
                            Type elementType) const {
  if (getColumns() && elementType.getIntOrFloatBitWidth() <= 16)
    return emitError() << "columns is " << getColumns()
                       << ", but only f32 operands are split, not "
                       << elementType << "; the nearest is 0";
  if (getCommonStages() && elementType.getIntOrFloatBitWidth() <= 16)
    return emitError() << "common_stages is for f32 operands, not for "
                       << elementType << "; the nearest is false";
  if (getRolled() && elementType.getIntOrFloatBitWidth() <= 16)
    return emitError() << "rolled is for f32 operands, not for " << elementType
                       << "; the nearest is false";
  // A group of four warps multiplies 64 rows at once, and writes as many.
  int64_t rows = 64 * getGroups();
  // Of a key block that they cannot share by rows, groups write columns.
  int64_t multiple = 16 * getGroups();
  if (keyBlock % rows != 0 && getColumns() % multiple != 0)
    return emitError() << "columns is " << getColumns()
                       << ", expected a multiple of " << multiple << ", as "
                       << getGroups()
                       << " groups share key_block = " << keyBlock
                       << "; the nearest is "
                       << llvm::alignTo(getColumns(), multiple);
  if (getForm() == KernelForm::warp_groups && queryBlock != rows)
    return emitError() << "query_block is " << queryBlock
                       << ", but groups = " << getGroups()
                       << " of form = warp_groups hold " << rows
                       << " rows; the nearest is " << rows;
  return success();
}
