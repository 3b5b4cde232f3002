//===- FAAttributes.cpp - Attributes of the fa dialect -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text form and checks of the attributes of fa: `DimsAttr`, the order of an
// operand's dimensions, and `ConfigAttr`, the tile sizes that a kernel is
// compiled with. Read `ConfigAttr::parse` first; GPUConfigAttr.cpp has the
// GPU's part.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

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
static constexpr StringLiteral dimLetters = "bshdp";

DimsAttr DimsAttr::getDefault(MLIRContext *context) {
  return DimsAttr::get(context, {0, 1, 2, 3});
}

bool DimsAttr::isDefault() const {
  return getOrder() == ArrayRef<int64_t>{0, 1, 2, 3};
}

bool DimsAttr::has(DimKind kind) const {
  return llvm::is_contained(getOrder(), static_cast<int64_t>(kind));
}

int64_t DimsAttr::positionOf(DimKind kind) const {
  return llvm::find(getOrder(), static_cast<int64_t>(kind)) -
         getOrder().begin();
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> order) {
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  ArrayRef<int64_t> kinds(sorted);
  if (kinds == ArrayRef<int64_t>{0, 1, 2, 3} ||
      kinds == ArrayRef<int64_t>{1, 2, 3} ||
      kinds == ArrayRef<int64_t>{1, 2, 3, 4})
    return success();
  return emitError()
         << "dimension order must name each of s, h and d once, and "
            "b (batch), p (pages) or neither";
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
             << "', expected b (batch), s (sequence), h (heads), d (head "
                "dim) or p (pages)";
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

ConfigAttr ConfigAttr::withKeySplits(int64_t keySplits,
                                     int64_t splitKeys) const {
  return ConfigAttr::get(getContext(), getQueryBlock(), getKeyBlock(),
                         keySplits, splitKeys, getDeterministic(), getTarget(),
                         getGradientForm(), getFromKeys(), getFromQueries(),
                         getLonger());
}

ConfigAttr ConfigAttr::withBlocks(int64_t queryBlock, int64_t keyBlock) const {
  return ConfigAttr::get(getContext(), queryBlock, keyBlock, getKeySplits(),
                         getSplitKeys(), getDeterministic(), getTarget(),
                         getGradientForm(), getFromKeys(), getFromQueries(),
                         getLonger());
}

ConfigAttr ConfigAttr::withTarget(TargetConfigAttrInterface target) const {
  return ConfigAttr::get(getContext(), getQueryBlock(), getKeyBlock(),
                         getKeySplits(), getSplitKeys(), getDeterministic(),
                         target, getGradientForm(), getFromKeys(),
                         getFromQueries(), getLonger());
}

ConfigAttr
ConfigAttr::withGradientForm(std::optional<GradientForm> form) const {
  return ConfigAttr::get(getContext(), getQueryBlock(), getKeyBlock(),
                         getKeySplits(), getSplitKeys(), getDeterministic(),
                         getTarget(), form, getFromKeys(), getFromQueries(),
                         getLonger());
}

ConfigAttr ConfigAttr::forAnyLengths() const {
  return withLengths(/*fromKeys=*/0, /*fromQueries=*/0, /*longer=*/{});
}

ConfigAttr ConfigAttr::withLengths(int64_t fromKeys, int64_t fromQueries,
                                   ConfigAttr longer) const {
  return ConfigAttr::get(getContext(), getQueryBlock(), getKeyBlock(),
                         getKeySplits(), getSplitKeys(), getDeterministic(),
                         getTarget(), getGradientForm(), fromKeys, fromQueries,
                         longer);
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

LogicalResult ConfigAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, int64_t queryBlock,
    int64_t keyBlock, int64_t keySplits, int64_t splitKeys, bool deterministic,
    TargetConfigAttrInterface target, std::optional<GradientForm> gradientForm,
    int64_t fromKeys, int64_t fromQueries, ConfigAttr longer) {
  auto checkPositive = [&](StringRef name, int64_t value) -> LogicalResult {
    if (value >= 1)
      return success();
    return emitError() << name << " is " << value << ", expected at least 1";
  };
  if (failed(checkPositive("query_block", queryBlock)) ||
      failed(checkPositive("key_block", keyBlock)) ||
      failed(checkPositive("key_splits", keySplits)))
    return failure();
  if (splitKeys < 0)
    return emitError() << "split_keys is " << splitKeys
                       << ", expected at least 0, for no parts of a fixed size";
  if (splitKeys > 0 && keySplits > 1)
    return emitError() << "has key_splits = " << keySplits
                       << " and split_keys = " << splitKeys
                       << ", expected one of them: a number of parts, or the "
                          "keys of each";
  if (splitKeys % keyBlock != 0)
    return emitError() << "split_keys is " << splitKeys
                       << ", expected a multiple of key_block = " << keyBlock
                       << "; the nearest is "
                       << llvm::divideCeil(splitKeys, keyBlock) * keyBlock;
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

static ParseResult parseGradientForm(AsmParser &parser,
                                     std::optional<GradientForm> &form) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef value;
  if (parser.parseKeyword(&value))
    return failure();
  form = symbolizeGradientForm(value);
  if (!form)
    return parser.emitError(loc)
           << "gradient_form is '" << value
           << "', expected one_pass, two_pass or three_pass";
  return success();
}

Attribute ConfigAttr::parse(AsmParser &parser, Type) {
  std::optional<int64_t> queryBlock, keyBlock, keySplits, splitKeys, fromKeys,
      fromQueries;
  std::optional<bool> deterministic;
  TargetConfigAttrInterface target;
  std::optional<GradientForm> gradientForm;
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
    if (name == "split_keys")
      return parseOnce(splitKeys, loc, name);
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
    if (name == "gradient_form")
      return parseGradientForm(parser, gradientForm);
    if (name == "from_keys")
      return parseOnce(fromKeys, loc, name);
    if (name == "from_queries")
      return parseOnce(fromQueries, loc, name);
    if (name == "longer")
      return parser.parseAttribute(longer);
    return parser.emitError(loc)
           << "unknown field '" << name
           << "', expected query_block, key_block, key_splits, split_keys, "
              "deterministic, target, gradient_form, from_keys, from_queries "
              "or longer";
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
      *keyBlock, keySplits.value_or(1), splitKeys.value_or(0),
      deterministic.value_or(true), target, gradientForm, fromKeys.value_or(0),
      fromQueries.value_or(0), longer);
}

void ConfigAttr::print(AsmPrinter &printer) const {
  printer << "<query_block = " << getQueryBlock()
          << ", key_block = " << getKeyBlock();
  if (getKeySplits() != 1)
    printer << ", key_splits = " << getKeySplits();
  if (getSplitKeys() != 0)
    printer << ", split_keys = " << getSplitKeys();
  if (!getDeterministic())
    printer << ", deterministic = false";
  if (getTarget())
    printer << ", target = " << getTarget();
  if (getGradientForm())
    printer << ", gradient_form = "
            << stringifyGradientForm(*getGradientForm());
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
