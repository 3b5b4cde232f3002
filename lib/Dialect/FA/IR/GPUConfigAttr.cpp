//===- GPUConfigAttr.cpp - The GPU's part of a configuration --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tables say which fields stand between which brackets of the text. One
// parser and one printer read them, and the verifier names fields by them.
// Read `brackets`, then `readBrackets`; the checks stand behind it.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <variant>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

namespace {
/// A field is a number, a flag, a choice, or brackets of its own.
struct Field {
  using Member =
      std::variant<ArrayRef<Field>, int64_t GPUPart::*, bool GPUPart::*,
                   Overlap GPUPart::*, RescalePlace GPUPart::*,
                   TileOrder GPUPart::*, Captures GPUPart::*>;
  StringLiteral name;
  Member member;
};

struct Brackets {
  StringLiteral owner;
  ArrayRef<Field> fields;
};
} // namespace

static const Field overlapFields[] = {{"turns", &GPUPart::turns},
                                      {"rescale", &GPUPart::rescale}};
static const Field groupFields[] = {
    {"groups", &GPUPart::groups},
    {"overlap", &GPUPart::overlap},
    {"tile_order", &GPUPart::tileOrder},
    {"cluster", &GPUPart::cluster},
    {"captures", &GPUPart::captures},
    {"copying_registers", &GPUPart::copyingRegisters}};
static const Field warpFields[] = {{"column_groups", &GPUPart::columnGroups},
                                   {"tile_order", &GPUPart::tileOrder},
                                   {"blocks_per_sm", &GPUPart::blocksPerSM}};
static const Field termFields[] = {{"columns", &GPUPart::columns},
                                   {"keep_queries", &GPUPart::keepsQueries},
                                   {"common_stages", &GPUPart::commonStages},
                                   {"rolled", &GPUPart::rolled}};
static const Field tanhFields[] = {
    {"sharers", &GPUPart::tanhSharers},
    {"interleave_rows", &GPUPart::tanhInterleavesRows}};
static const Field partFields[] = {{"stages", &GPUPart::stages},
                                   {"terms", ArrayRef<Field>(termFields)},
                                   {"tanh", ArrayRef<Field>(tanhFields)},
                                   {"block_table", &GPUPart::blockTable}};

static const Brackets brackets[] = {
    {"#fa.gpu", partFields},      {"warps", warpFields},
    {"warp_groups", groupFields}, {"overlap", overlapFields},
    {"terms", termFields},        {"tanh", tanhFields}};

/// What only one form reads.
static ArrayRef<Field> getFormFields(bool hasGroups) {
  return hasGroups ? ArrayRef<Field>(groupFields) : ArrayRef<Field>(warpFields);
}

/// The first of these fields that is not what it is by default; null if none.
static const Field *findGiven(const GPUPart &part, ArrayRef<Field> fields) {
  for (const Field &field : fields) {
    bool isGiven = std::visit(
        [&](auto member) {
          if constexpr (std::is_same_v<decltype(member), ArrayRef<Field>>)
            return findGiven(part, member) != nullptr;
          else
            return part.*member != GPUPart().*member;
        },
        field.member);
    if (isGiven)
      return &field;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printBrackets(AsmPrinter &printer, const GPUPart &part,
                          ArrayRef<Field> fields);

static void printField(AsmPrinter &printer, const GPUPart &part,
                       const Field &field) {
  printer << field.name;
  std::visit(
      [&](auto member) {
        if constexpr (std::is_same_v<decltype(member), ArrayRef<Field>>) {
          printBrackets(printer, part, member);
        } else {
          using Value = std::decay_t<decltype(part.*member)>;
          if constexpr (std::is_enum_v<Value>)
            printer << " = " << stringifyEnum(part.*member);
          else if constexpr (!std::is_same_v<Value, bool>)
            printer << " = " << part.*member;
          if constexpr (std::is_same_v<Value, Overlap>)
            printBrackets(printer, part, overlapFields);
        }
      },
      field.member);
}

/// `<field, ...>` of those that are given; nothing if none is.
static void printBrackets(AsmPrinter &printer, const GPUPart &part,
                          ArrayRef<Field> fields) {
  StringRef before = "<";
  for (const Field &field : fields)
    if (findGiven(part, field)) {
      printer << before;
      printField(printer, part, field);
      before = ", ";
    }
  if (before != "<")
    printer << '>';
}

void GPUConfigAttr::print(AsmPrinter &printer) const {
  const GPUPart &part = getPart();
  printer << '<' << stringifyKernelForm(part.form);
  printBrackets(printer, part, getFormFields(part.hasGroups()));
  for (const Field &field : partFields)
    if (findGiven(part, field)) {
      printer << ", ";
      printField(printer, part, field);
    }
  printer << '>';
}

/// "a, b or c".
static std::string listNames(ArrayRef<StringRef> names) {
  std::string list = llvm::join(names.drop_back(), ", ");
  return (list.empty() ? "" : list + " or ") + names.back().str();
}

static SmallVector<StringRef> getNames(ArrayRef<Field> fields) {
  return llvm::map_to_vector(
      fields, [](const Field &field) -> StringRef { return field.name; });
}

/// One word of an enumeration.
template <typename Enum>
static ParseResult readChoice(AsmParser &parser, StringRef name, Enum &value) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  (void)parser.parseOptionalKeyword(&word);
  if (std::optional<Enum> choice = symbolizeEnum<Enum>(word)) {
    value = *choice;
    return success();
  }
  SmallVector<StringRef> words;
  while (!stringifyEnum(static_cast<Enum>(words.size())).empty())
    words.push_back(stringifyEnum(static_cast<Enum>(words.size())));
  return parser.emitError(loc)
         << name << " is '" << word << "', expected " << listNames(words);
}

static ParseResult readBrackets(AsmParser &parser, GPUPart &part,
                                StringRef owner);

/// What stands behind the name of a field.
static ParseResult readField(AsmParser &parser, GPUPart &part,
                             const Field &field) {
  return std::visit(
      [&](auto member) -> ParseResult {
        if constexpr (std::is_same_v<decltype(member), ArrayRef<Field>>) {
          return readBrackets(parser, part, field.name);
        } else {
          auto &value = part.*member;
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, bool>)
            value = true;
          else if (parser.parseEqual())
            return failure();
          else if constexpr (!std::is_enum_v<Value>)
            return parser.parseInteger(value);
          else if (readChoice(parser, field.name, value))
            return failure();
          if constexpr (std::is_same_v<Value, Overlap>)
            return readBrackets(parser, part, field.name);
          return success();
        }
      },
      field.member);
}

static ParseResult readField(AsmParser &parser, GPUPart &part,
                             const Brackets &list, llvm::StringSet<> &given) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (!given.insert(name).second)
    return parser.emitError(loc) << "'" << name << "' is given twice";
  for (const Field &field : list.fields)
    if (field.name == name)
      return readField(parser, part, field);
  InFlightDiagnostic diagnostic = parser.emitError(loc)
                                  << "unknown field '" << name << "' of "
                                  << list.owner << ", expected "
                                  << listNames(getNames(list.fields));
  for (const Brackets &other : brackets)
    if (llvm::is_contained(getNames(other.fields), name))
      diagnostic << "; '" << name << "' is a field of " << other.owner;
  return diagnostic;
}

/// `<field, ...>`, or nothing where the name before them says something alone.
static ParseResult readBrackets(AsmParser &parser, GPUPart &part,
                                StringRef owner) {
  const Brackets &list = *llvm::find_if(
      brackets, [&](const Brackets &other) { return other.owner == owner; });
  SMLoc loc = parser.getCurrentLocation();
  bool mayBeLeftOut = owner != "terms" && owner != "tanh";
  bool isOpen = succeeded(parser.parseOptionalLess());
  if (!isOpen && mayBeLeftOut)
    return success();
  if (!isOpen || succeeded(parser.parseOptionalGreater()))
    return parser.emitError(loc) << "no field in brackets, expected "
                                 << listNames(getNames(list.fields))
                                 << (mayBeLeftOut ? ", or no brackets" : "");
  llvm::StringSet<> given;
  return failure(parser.parseCommaSeparatedList([&] {
    return readField(parser, part, list, given);
  }) || parser.parseGreater());
}

Attribute GPUConfigAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  GPUPart part;
  if (parser.parseLess() || readChoice(parser, "the form", part.form) ||
      readBrackets(parser, part, stringifyKernelForm(part.form)))
    return {};
  llvm::StringSet<> given;
  while (succeeded(parser.parseOptionalComma()))
    if (readField(parser, part, brackets[0], given))
      return {};
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    part);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Fields that only another one gives a meaning.
static LogicalResult checkOwners(function_ref<InFlightDiagnostic()> emitError,
                                 const GPUPart &part) {
  ArrayRef<Field> own = getFormFields(part.hasGroups());
  for (const Field &field : getFormFields(!part.hasGroups()))
    if (findGiven(part, field) &&
        !llvm::is_contained(getNames(own), field.name))
      return emitError() << field.name << " is a field of "
                         << (part.hasGroups() ? "warps, not of warp_groups"
                                              : "warp_groups, not of warps");
  const Field *ofOverlap = findGiven(part, overlapFields);
  if (ofOverlap && !part.hasOverlap())
    return emitError()
           << ofOverlap->name
           << " is a field of overlap = keys, tiles or stores, not of none";
  const Field *ofTerms = findGiven(part, termFields);
  if (ofTerms && part.hasOverlap())
    return emitError() << "terms is for overlap = none, not for "
                       << stringifyOverlap(part.overlap);
  if (part.commonStages && part.hasGroups())
    return emitError() << "common_stages is for warps, not for warp_groups";
  if (part.keepsQueries && !part.columns)
    return emitError() << "keep_queries is for columns above 0";
  return success();
}

/// What would have no effect: threads fill the one stage of each part.
static LogicalResult checkColumns(function_ref<InFlightDiagnostic()> emitError,
                                  const GPUPart &part) {
  // The columns of the narrowest panel of shared memory.
  constexpr int64_t panel = 16;
  if (part.columns < 0 || part.columns % panel)
    return emitError() << "columns is " << part.columns
                       << ", expected a multiple of " << panel
                       << "; the nearest is "
                       << llvm::alignTo(std::max<int64_t>(part.columns, 1),
                                        panel);
  if (!part.columns)
    return success();
  auto refuse = [&](StringRef field) {
    return emitError() << field << " is not for columns above 0";
  };
  if (part.stages != 1)
    return refuse("stages above 1");
  if (part.cluster != 1)
    return refuse("cluster above 1");
  if (part.copyingRegisters != 0)
    return refuse("copying_registers");
  return success();
}

static LogicalResult checkCluster(function_ref<InFlightDiagnostic()> emitError,
                                  const GPUPart &part) {
  // Larger clusters are not portable.
  if (part.cluster < 1 || part.cluster > 8 ||
      !llvm::isPowerOf2_64(part.cluster))
    return emitError() << "cluster is " << part.cluster
                       << ", expected 1, 2, 4 or 8";
  if (part.cluster > 1 && part.tileOrder != TileOrder::in_order)
    return emitError() << "cluster is " << part.cluster
                       << ", which is for tile_order = in_order";
  // A table says which keys each query block sees, so that none are shared.
  if (part.cluster > 1 && part.blockTable)
    return emitError() << "cluster is " << part.cluster
                       << ", expected 1 with block_table";
  return success();
}

LogicalResult
GPUConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      GPUPart part) {
  // Registers are given out for one, two or three groups that multiply.
  constexpr int64_t maxGroups = 3;
  if (part.groups < 1 || part.groups > maxGroups)
    return emitError() << "groups is " << part.groups << ", expected 1 to "
                       << maxGroups;
  if (part.stages < 1)
    return emitError() << "stages is " << part.stages
                       << ", expected at least 1";
  if (part.columnGroups != 1 && part.columnGroups != 2)
    return emitError() << "column_groups is " << part.columnGroups
                       << ", expected 1 or 2";
  // What a multiprocessor of any GPU runs at a time.
  constexpr int64_t mostBlocks = 32;
  if (part.blocksPerSM < 1 || part.blocksPerSM > mostBlocks)
    return emitError() << "blocks_per_sm is " << part.blocksPerSM
                       << ", expected 1 to " << mostBlocks;
  if (part.tanhSharers < 1 || part.tanhSharers > mostTanhSharers)
    return emitError() << "sharers is " << part.tanhSharers
                       << ", expected 1 to " << mostTanhSharers
                       << "; the nearest is "
                       << std::clamp<int64_t>(part.tanhSharers, 1,
                                              mostTanhSharers);
  // What a thread needs to copy at all, and what one group can spare.
  constexpr int64_t leastRegisters = 24, mostRegisters = 96;
  int64_t copying = part.copyingRegisters;
  if (copying != 0 &&
      (copying % 8 != 0 || copying < leastRegisters || copying > mostRegisters))
    return emitError() << "copying_registers is " << copying
                       << ", expected 0 or a multiple of 8 from "
                       << leastRegisters << " to " << mostRegisters;
  return success(succeeded(checkOwners(emitError, part)) &&
                 succeeded(checkColumns(emitError, part)) &&
                 succeeded(checkCluster(emitError, part)));
}

LogicalResult
GPUConfigAttr::verifyConfig(function_ref<InFlightDiagnostic()> emitError,
                            int64_t queryBlock, int64_t keyBlock,
                            int64_t queryHeadDim, int64_t valueHeadDim,
                            Type elementType) const {
  const GPUPart &part = getPart();
  if (elementType.getIntOrFloatBitWidth() <= 16 && findGiven(part, termFields))
    return emitError() << "terms is for f32 operands, not for " << elementType
                       << "; expected none";
  if (elementType.getIntOrFloatBitWidth() > 16 && findGiven(part, tanhFields))
    return emitError() << "tanh is for operands of 16 bits, not for "
                       << elementType << "; expected none";
  // A group of four warps multiplies 64 rows at once, and writes as many.
  int64_t rows = 64 * part.groups;
  // Of a key block that they cannot share by rows, groups write columns.
  int64_t multiple = 16 * part.groups;
  if (keyBlock % rows != 0 && part.columns % multiple != 0)
    return emitError() << "columns is " << part.columns
                       << ", expected a multiple of " << multiple << ", as "
                       << part.groups
                       << " groups share key_block = " << keyBlock
                       << "; the nearest is "
                       << llvm::alignTo(part.columns, multiple);
  if (part.hasGroups() && queryBlock != rows)
    return emitError() << "query_block is " << queryBlock
                       << ", but warp_groups<groups = " << part.groups
                       << "> holds " << rows << " rows; the nearest is "
                       << rows;
  return success();
}

StringRef GPUConfigAttr::getTargetName() const { return "gpu"; }

// Blocks of a cluster share the copies of keys.
bool GPUConfigAttr::needsEqualKeyRanges() const {
  return getPart().cluster > 1;
}
