//===- AttentionAssembly.cpp - Text form of the attention operations -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   fa.attention ins(%q, %k, %v : types) outs(%o, %lse : types)
//       [scale(%s)] [query_lengths(%l : type)] [key_lengths(%l : type)]
//       [offsets(%b, %h, %i, %j)] [extents(%queries, %keys)]
//       [score(args) [captures(%arg = %value : type, ...)] { ... }
//        | score short...]
//       [mask(args) [captures(%arg = %value : type, ...)] { ... }
//        | mask short...]
//       [attr-dict]
//
//===----------------------------------------------------------------------===//

#include "CaptureSizes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

namespace {

/// Operands of one clause with their types, not yet resolved.
struct TypedOperands {
  SmallVector<UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc;
};

/// A score or mask region while it is parsed.
struct RegionClause {
  TypedOperands captures;
  std::unique_ptr<Region> region = std::make_unique<Region>();
};

/// Reads the clauses that both attention operations share.
class AttentionParser {
public:
  AttentionParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result), builder(parser.getContext()) {}

  ParseResult parse(bool hasLengths);

private:
  ParseResult parseTypedGroup(TypedOperands &group);
  ParseResult parseOptionalTyped(StringRef keyword, TypedOperands &group);
  ParseResult parseOptionalPlain(StringRef keyword, Type type, unsigned count,
                                 TypedOperands &group);
  ParseResult parseRegionClause(bool isScore, RegionClause &clause);
  ParseResult checkNoClause(bool hasLengths);
  ParseResult parseAttributes();
  ParseResult parseExplicitRegion(bool isScore, RegionClause &clause);
  ParseResult parseShortSpellings(bool isScore, RegionClause &clause);
  ParseResult parseShortMask(StringRef name, SMLoc loc, Block &block,
                             RegionClause &clause, Value &visible);
  ParseResult parseShortScore(StringRef name, SMLoc loc, Block &block,
                              RegionClause &clause, Value &score);
  ParseResult parseCapture(Block &block, RegionClause &clause, Type type,
                           Value &argument);
  ParseResult parseShapedCapture(Block &block, RegionClause &clause,
                                 StringRef what, ArrayRef<int64_t> ranks,
                                 function_ref<bool(Type)> isElement,
                                 StringRef expected, Value &argument);
  ParseResult resolve(const TypedOperands &group);
  PairIndices getPair(Block &block, bool isScore) {
    unsigned first = isScore ? 1 : 0;
    return {block.getArgument(first), block.getArgument(first + 1),
            block.getArgument(first + 2), block.getArgument(first + 3)};
  }

  DimsAttr getOrder(StringRef name);

  OpAsmParser &parser;
  OperationState &result;
  OpBuilder builder;
  CaptureSizes captureSizes;
};

} // namespace

// `(` operands `:` types `)`
ParseResult AttentionParser::parseTypedGroup(TypedOperands &group) {
  group.loc = parser.getCurrentLocation();
  return failure(
      parser.parseLParen() || parser.parseOperandList(group.operands) ||
      parser.parseColonTypeList(group.types) || parser.parseRParen());
}

ParseResult AttentionParser::parseOptionalTyped(StringRef keyword,
                                                TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  if (parseTypedGroup(group))
    return failure();
  if (group.operands.size() != 1)
    return parser.emitError(loc) << keyword << " has " << group.operands.size()
                                 << " operands, expected 1";
  return success();
}

ParseResult AttentionParser::parseOptionalPlain(StringRef keyword, Type type,
                                                unsigned count,
                                                TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  group.loc = parser.getCurrentLocation();
  if (parser.parseOperandList(group.operands, OpAsmParser::Delimiter::Paren))
    return failure();
  if (group.operands.size() != count)
    return parser.emitError(group.loc)
           << keyword << " has " << group.operands.size()
           << " operands, expected " << count;
  group.types.assign(count, type);
  return success();
}

ParseResult AttentionParser::parseRegionClause(bool isScore,
                                               RegionClause &clause) {
  if (failed(parser.parseOptionalKeyword(isScore ? "score" : "mask")))
    return success();
  if (succeeded(parser.parseOptionalLParen()))
    return parseExplicitRegion(isScore, clause);
  return parseShortSpellings(isScore, clause);
}

// args `)` [`captures` `(` %arg = %value : type, ... `)`] region
ParseResult AttentionParser::parseExplicitRegion(bool isScore,
                                                 RegionClause &clause) {
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments) || parser.parseRParen())
    return failure();
  unsigned expected = isScore ? 5 : 4;
  if (arguments.size() != expected)
    return parser.emitError(loc)
           << (isScore ? "score" : "mask") << " names " << arguments.size()
           << " arguments, expected " << expected
           << (isScore ? " (score, batch, head, query, key)"
                       : " (batch, head, query, key)");
  for (auto [position, argument] : llvm::enumerate(arguments))
    argument.type = isScore && position == 0 ? Type(builder.getF32Type())
                                             : builder.getIndexType();
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument argument;
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(clause.captures.operands.emplace_back()) ||
        parser.parseColonType(clause.captures.types.emplace_back()))
      return failure();
    argument.type = clause.captures.types.back();
    arguments.push_back(argument);
    return success();
  };
  clause.captures.loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("captures")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  return parser.parseRegion(*clause.region, arguments);
}

// `%value`: appends a capture of a known type and its block argument.
ParseResult AttentionParser::parseCapture(Block &block, RegionClause &clause,
                                          Type type, Value &argument) {
  clause.captures.loc = parser.getCurrentLocation();
  if (parser.parseOperand(clause.captures.operands.emplace_back()))
    return failure();
  clause.captures.types.push_back(type);
  argument = block.addArgument(type, builder.getUnknownLoc());
  return success();
}

// Checks that the type of a shaped capture is one a short spelling can read.
static ParseResult checkShapedCapture(OpAsmParser &parser, SMLoc loc, Type type,
                                      StringRef what, ArrayRef<int64_t> ranks,
                                      function_ref<bool(Type)> isElement,
                                      StringRef expected) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && shaped.hasRank() &&
      llvm::is_contained(ranks, shaped.getRank()) &&
      isElement(shaped.getElementType()))
    return success();
  return parser.emitError(loc)
         << what << " has type " << type << ", expected " << expected;
}

// `(` %value `:` type `)`
ParseResult AttentionParser::parseShapedCapture(
    Block &block, RegionClause &clause, StringRef what, ArrayRef<int64_t> ranks,
    function_ref<bool(Type)> isElement, StringRef expected, Value &argument) {
  SMLoc loc = parser.getCurrentLocation();
  TypedOperands group;
  if (parseTypedGroup(group))
    return failure();
  if (group.operands.size() != 1 || group.types.size() != 1)
    return parser.emitError(loc)
           << what << " takes one operand, got " << group.operands.size();
  if (checkShapedCapture(parser, loc, group.types[0], what, ranks, isElement,
                         expected))
    return failure();
  clause.captures.loc = loc;
  clause.captures.operands.push_back(group.operands[0]);
  clause.captures.types.push_back(group.types[0]);
  argument = block.addArgument(group.types[0], builder.getUnknownLoc());
  return success();
}

static bool isI32(Type type) { return type.isSignlessInteger(32); }

ParseResult AttentionParser::parseShortMask(StringRef name, SMLoc loc,
                                            Block &block, RegionClause &clause,
                                            Value &visible) {
  Location opLoc = parser.getEncodedSourceLoc(loc);
  PairIndices pair = getPair(block, /*isScore=*/false);
  Type index = builder.getIndexType();
  Value atom;
  if (name == "causal") {
    atom = buildCausalMask(builder, opLoc, pair, CausalAlignment::BottomRight);
  } else if (name == "causal_top_left") {
    atom = buildCausalMask(builder, opLoc, pair, CausalAlignment::TopLeft);
  } else if (name == "window") {
    Value left, right;
    if (parser.parseLParen() || parseCapture(block, clause, index, left) ||
        parser.parseComma() || parseCapture(block, clause, index, right) ||
        parser.parseRParen())
      return failure();
    atom = buildWindowMask(builder, opLoc, pair, left, right);
  } else if (name == "prefix") {
    TypedOperands group;
    SMLoc groupLoc = parser.getCurrentLocation();
    if (parseTypedGroup(group))
      return failure();
    if (group.operands.size() != 1)
      return parser.emitError(groupLoc)
             << "prefix takes one operand, got " << group.operands.size();
    if (!group.types[0].isIndex() &&
        checkShapedCapture(parser, groupLoc, group.types[0], "prefix", {1},
                           isI32, "index, or i32 of shape batch"))
      return failure();
    captureSizes.add(groupLoc, "prefix", group.types[0], CaptureDim::Batch);
    clause.captures.operands.push_back(group.operands[0]);
    clause.captures.types.push_back(group.types[0]);
    Value prefix = block.addArgument(group.types[0], opLoc);
    atom = buildPrefixMask(builder, opLoc, pair, prefix);
  } else {
    assert(name == "documents" && "unknown short mask");
    TypedOperands group;
    SMLoc groupLoc = parser.getCurrentLocation();
    if (parseTypedGroup(group))
      return failure();
    size_t count = group.operands.size();
    if (count == 0 || count > 2)
      return parser.emitError(groupLoc)
             << "documents takes one table or two, got " << count;
    for (Type type : group.types)
      if (checkShapedCapture(parser, groupLoc, type, "documents", {2}, isI32,
                             "i32 of shape batch x positions"))
        return failure();
    CaptureDim positions[] = {CaptureDim::Queries, CaptureDim::Keys};
    for (auto [position, type] : llvm::enumerate(group.types))
      captureSizes.add(groupLoc, "documents", type,
                       {CaptureDim::Batch, count == 1 ? CaptureDim::Positions
                                                      : positions[position]});
    SmallVector<Value> tables;
    for (auto [operand, type] : llvm::zip_equal(group.operands, group.types)) {
      clause.captures.operands.push_back(operand);
      clause.captures.types.push_back(type);
      tables.push_back(block.addArgument(type, opLoc));
    }
    atom =
        buildDocumentMask(builder, opLoc, pair, tables.front(), tables.back());
  }
  visible =
      visible ? arith::AndIOp::create(builder, opLoc, visible, atom) : atom;
  return success();
}

ParseResult AttentionParser::parseShortScore(StringRef name, SMLoc loc,
                                             Block &block, RegionClause &clause,
                                             Value &score) {
  Location opLoc = parser.getEncodedSourceLoc(loc);
  PairIndices pair = getPair(block, /*isScore=*/true);
  Value capture;
  if (name == "softcap" || name == "approx_softcap") {
    if (parser.parseLParen() ||
        parseCapture(block, clause, builder.getF32Type(), capture) ||
        parser.parseRParen())
      return failure();
    score = name == "softcap"
                ? buildSoftcapScore(builder, opLoc, score, capture)
                : buildApproximateSoftcapScore(builder, opLoc, score, capture);
    return success();
  }
  if (name == "alibi") {
    if (parseShapedCapture(
            block, clause, name, {1, 2}, [](Type t) { return t.isF32(); },
            "f32 of shape heads or batch x heads", capture))
      return failure();
    SmallVector<CaptureDim> dims{CaptureDim::Batch, CaptureDim::Heads};
    bool isShared = cast<ShapedType>(capture.getType()).getRank() == 1;
    captureSizes.add(loc, name, capture.getType(),
                     ArrayRef(dims).drop_front(isShared));
    score = buildAlibiScore(builder, opLoc, score, pair, capture);
    return success();
  }
  assert(name == "bias" && "unknown short score");
  if (parseShapedCapture(
          block, clause, name, {4},
          [](Type t) { return t.isF16() || t.isBF16() || t.isF32(); },
          "f16, bf16 or f32 of shape batch x heads x queries x keys", capture))
    return failure();
  captureSizes.add(loc, name, capture.getType(),
                   {CaptureDim::Batch, CaptureDim::Heads, CaptureDim::Queries,
                    CaptureDim::Keys},
                   /*isBroadcast=*/true);
  score = buildBiasScore(builder, opLoc, score, pair, capture);
  return success();
}

ParseResult AttentionParser::parseShortSpellings(bool isScore,
                                                 RegionClause &clause) {
  Block &block = clause.region->emplaceBlock();
  Location unknown = builder.getUnknownLoc();
  if (isScore)
    block.addArgument(builder.getF32Type(), unknown);
  for (unsigned i = 0; i < 4; ++i)
    block.addArgument(builder.getIndexType(), unknown);
  builder.setInsertionPointToEnd(&block);

  SmallVector<StringRef> names =
      isScore
          ? SmallVector<StringRef>{"softcap", "approx_softcap", "alibi", "bias"}
          : SmallVector<StringRef>{"causal", "causal_top_left", "window",
                                   "prefix", "documents"};
  Value value = isScore ? Value(block.getArgument(0)) : Value();
  bool any = false;
  while (true) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name, names)))
      break;
    any = true;
    if (isScore ? parseShortScore(name, loc, block, clause, value)
                : parseShortMask(name, loc, block, clause, value))
      return failure();
  }
  if (!any)
    return parser.emitError(parser.getCurrentLocation())
           << "expected '(' or one of " << llvm::join(names, ", ") << " after '"
           << (isScore ? "score" : "mask") << "'";
  YieldOp::create(builder, unknown, value);
  return success();
}

ParseResult AttentionParser::resolve(const TypedOperands &group) {
  return parser.resolveOperands(group.operands, group.types, group.loc,
                                result.operands);
}

// The order that an attribute of the operation gives.
DimsAttr AttentionParser::getOrder(StringRef name) {
  if (auto order = dyn_cast_if_present<DimsAttr>(result.attributes.get(name)))
    return order;
  return DimsAttr::getDefault(parser.getContext());
}

// What is left of an operation reads as an operation of its own.
ParseResult AttentionParser::checkNoClause(bool hasLengths) {
  static const StringRef clauses[] = {"ins",           "outs",        "scale",
                                      "query_lengths", "key_lengths", "offsets",
                                      "extents",       "score",       "mask"};
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name, clauses)))
    return success();
  SmallVector<StringRef> order;
  for (StringRef clause : clauses)
    if (hasLengths || !clause.ends_with("_lengths"))
      order.push_back(clause);
  return parser.emitError(loc)
         << "'" << name << "' is out of place, expected each clause once, in "
         << "this order: " << llvm::join(order, ", ") << ", attributes";
}

// What is not of its type would be dropped when the operation is created.
ParseResult AttentionParser::parseAttributes() {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  return result.name.verifyInherentAttrs(result.attributes,
                                         [&] { return parser.emitError(loc); });
}

ParseResult AttentionParser::parse(bool hasLengths) {
  TypedOperands ins, outs, scale, queryLengths, keyLengths, offsets, extents;
  RegionClause score, mask;
  SMLoc insLoc = parser.getCurrentLocation();
  if (parser.parseKeyword("ins") || parseTypedGroup(ins))
    return failure();
  if (ins.operands.size() != 3)
    return parser.emitError(insLoc)
           << "ins has " << ins.operands.size()
           << " operands, expected 3 (query, key, value)";
  SMLoc outsLoc = parser.getCurrentLocation();
  if (parser.parseKeyword("outs") || parseTypedGroup(outs))
    return failure();
  size_t numOuts = outs.operands.size();
  if (hasLengths && (numOuts < 1 || numOuts > 2))
    return parser.emitError(outsLoc)
           << "outs has " << numOuts
           << " operands, expected 1 (output) or 2 (output, lse)";
  if (!hasLengths && numOuts != 3)
    return parser.emitError(outsLoc)
           << "outs has " << numOuts
           << " operands, expected 3 (accumulator, maximum, sum)";
  Type index = builder.getIndexType();
  if (parseOptionalPlain("scale", builder.getF32Type(), 1, scale))
    return failure();
  if (hasLengths && (parseOptionalTyped("query_lengths", queryLengths) ||
                     parseOptionalTyped("key_lengths", keyLengths)))
    return failure();
  if (parseOptionalPlain("offsets", index, 4, offsets) ||
      parseOptionalPlain("extents", index, 2, extents) ||
      parseRegionClause(/*isScore=*/true, score) ||
      parseRegionClause(/*isScore=*/false, mask) || checkNoClause(hasLengths) ||
      parseAttributes() || checkNoClause(hasLengths))
    return failure();
  // A piece of a larger problem keeps the captures of the whole.
  if (hasLengths && offsets.operands.empty() &&
      captureSizes.check(parser, ins.types[0], getOrder("query_dims"),
                         ins.types[1], getOrder("key_dims")))
    return failure();

  SmallVector<int32_t> segments;
  auto add = [&](const TypedOperands &group) -> ParseResult {
    segments.push_back(group.operands.size());
    return resolve(group);
  };
  if (resolve(ins))
    return failure();
  segments.assign(3, 1);
  if (add(scale))
    return failure();
  if (hasLengths && (add(queryLengths) || add(keyLengths)))
    return failure();
  if (add(offsets) || add(extents) || add(score.captures) ||
      add(mask.captures) || resolve(outs))
    return failure();
  segments.append(numOuts, 1);
  if (hasLengths && numOuts == 1)
    segments.push_back(0);
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(segments));
  for (Type type : outs.types)
    if (isa<RankedTensorType>(type))
      result.addTypes(type);
  result.addRegion(std::move(score.region));
  result.addRegion(std::move(mask.region));
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printTyped(OpAsmPrinter &printer, StringRef keyword,
                       ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << " : " << operands.getTypes()
          << ')';
}

static void printPlain(OpAsmPrinter &printer, StringRef keyword,
                       ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << ')';
}

static void printRegionClause(OpAsmPrinter &printer, StringRef keyword,
                              Region &region, OperandRange captures) {
  if (region.empty())
    return;
  Block &block = region.front();
  size_t fixed = block.getNumArguments() - captures.size();
  printer << ' ' << keyword << '('
          << ValueRange(block.getArguments().take_front(fixed)) << ')';
  if (!captures.empty()) {
    printer << " captures(";
    llvm::interleaveComma(llvm::enumerate(captures), printer, [&](auto item) {
      printer << block.getArgument(fixed + item.index()) << " = "
              << item.value() << " : " << item.value().getType();
    });
    printer << ')';
  }
  printer << ' ';
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

template <typename OpTy>
static void printAttention(OpTy op, OpAsmPrinter &printer,
                           ValueRange queryLengths, ValueRange keyLengths) {
  printTyped(printer, "ins",
             ValueRange{op.getQuery(), op.getKey(), op.getValue()});
  printTyped(printer, "outs", op.getDpsInits());
  if (op.getScale())
    printPlain(printer, "scale", op.getScale());
  printTyped(printer, "query_lengths", queryLengths);
  printTyped(printer, "key_lengths", keyLengths);
  printPlain(printer, "offsets", op.getOffsets());
  printPlain(printer, "extents", op.getExtents());
  printRegionClause(printer, "score", op.getScore(), op.getScoreCaptures());
  printRegionClause(printer, "mask", op.getMask(), op.getMaskCaptures());
  printer.printOptionalAttrDict(op->getAttrs(), {"operandSegmentSizes"});
}

// Names of region arguments that have none in the text that was read.
static void nameRegionArguments(Region &region, bool isScore,
                                OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"score", "batch", "head", "query",
                                            "key"};
  ArrayRef<StringLiteral> fixed = ArrayRef(names).drop_front(isScore ? 0 : 1);
  for (auto [position, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, position < fixed.size() ? StringRef(fixed[position])
                                              : StringRef("capture"));
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameRegionArguments(region, &region == &getScore(), setName);
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameRegionArguments(region, &region == &getScore(), setName);
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  return AttentionParser(parser, result).parse(/*hasLengths=*/true);
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printAttention(*this, printer, getODSOperands(4), getODSOperands(5));
}

ParseResult OnlineAttentionOp::parse(OpAsmParser &parser,
                                     OperationState &result) {
  return AttentionParser(parser, result).parse(/*hasLengths=*/false);
}

void OnlineAttentionOp::print(OpAsmPrinter &printer) {
  printAttention(*this, printer, {}, {});
}
