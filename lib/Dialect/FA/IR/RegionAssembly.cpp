//===- RegionAssembly.cpp - Text form of score and mask -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   score | mask  piece...
//   piece ::= (args) [captures(%arg = %value : type, ...)] { ... }
//           | spelling[(operands [: types])]
//
// Pieces of a score apply in the order written, those of a mask must all hold.
// A type is written where more than one is legal; else it may be left out.
// Begin with `ClauseParser::parse`: it reads each piece by `parseRegion` or, if
// it is of the table `spellings`, by `parseSpelling`.
//
//===----------------------------------------------------------------------===//

#include "RegionAssembly.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Short spellings
//===----------------------------------------------------------------------===//

namespace {
/// How a short spelling is written, and what it takes.
struct Spelling {
  StringLiteral name;
  unsigned fewest, most;
  StringLiteral form, types;
  bool (*accepts)(Type);
};
} // namespace

static bool isTable(Type type, ArrayRef<int64_t> ranks,
                    function_ref<bool(Type)> isElement) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() &&
         llvm::is_contained(ranks, shaped.getRank()) &&
         isElement(shaped.getElementType());
}

static bool isI32(Type type) { return type.isSignlessInteger(32); }
static bool isF32(Type type) { return type.isF32(); }
static bool isIndex(Type type) { return type.isIndex(); }
static bool isBiasElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

static const Spelling scoreSpellings[] = {
    {"softcap", 1, 1, "softcap(%cap)", "f32", isF32},
    {"approx_softcap", 1, 1, "approx_softcap(%cap)", "f32", isF32},
    {"alibi", 1, 1, "alibi(%slopes : type)",
     "f32 of shape heads or batch x heads",
     [](Type type) { return isTable(type, {1, 2}, isF32); }},
    {"bias", 1, 1, "bias(%table : type)",
     "f16, bf16 or f32 of shape batch x heads x queries x keys",
     [](Type type) { return isTable(type, {4}, isBiasElement); }}};

static const Spelling maskSpellings[] = {
    {"causal", 0, 0, "causal", "", nullptr},
    {"causal_top_left", 0, 0, "causal_top_left", "", nullptr},
    {"window", 2, 2, "window(%left, %right)", "index", isIndex},
    {"prefix", 1, 1, "prefix(%keys : type)", "index, or i32 of shape batch",
     [](Type type) { return type.isIndex() || isTable(type, {1}, isI32); }},
    {"documents", 1, 2,
     "documents(%ids : type) or documents(%query_ids, %key_ids : type, type)",
     "i32 of shape batch x positions",
     [](Type type) { return isTable(type, {2}, isI32); }}};

/// The one type that operands of the spelling have; null if there are several.
static Type getOnlyType(Builder &builder, const Spelling &spelling) {
  for (Type type : {Type(builder.getIndexType()), Type(builder.getF32Type())})
    if (spelling.types == (type.isIndex() ? "index" : "f32"))
      return type;
  return {};
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

ParseResult
mlir::fa::parseCaptures(OpAsmParser &parser, TypedOperands &captures,
                        SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(captures.operands.emplace_back()) ||
        parser.parseColonType(captures.types.emplace_back()))
      return failure();
    argument.type = captures.types.back();
    return success();
  };
  captures.loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("captures")))
    return success();
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        parseOne);
}

namespace {
/// Reads the pieces of one clause, and appends each to the region.
class ClauseParser {
public:
  ClauseParser(OpAsmParser &parser, bool isScore, CaptureSizes &sizes,
               RegionClause &clause)
      : parser(parser), builder(parser.getContext()), isScore(isScore),
        spellings(isScore ? ArrayRef(scoreSpellings) : ArrayRef(maskSpellings)),
        sizes(sizes), clause(clause) {}

  ParseResult parse();

private:
  StringRef getName() const { return isScore ? "score" : "mask"; }
  Type getResultType() {
    return isScore ? Type(builder.getF32Type()) : builder.getI1Type();
  }
  SmallVector<Type> getFixedTypes();
  ParseResult parseRegion(SMLoc loc, const Spelling *before);
  ParseResult parseArguments(SMLoc loc, const Spelling *before,
                             SmallVectorImpl<OpAsmParser::Argument> &arguments);
  ParseResult parseSpelling(SMLoc loc, const Spelling &spelling);
  ParseResult parseOperands(SMLoc loc, const Spelling &spelling,
                            TypedOperands &group);
  ParseResult verifyCaptured(SMLoc start, Region &region);
  ParseResult verifyYield(SMLoc loc, Region &region);
  ParseResult append(SMLoc loc, Region &region);
  Value open();
  void addSizes(SMLoc loc, StringRef name, ArrayRef<Type> types);
  Value buildScore(Location loc, StringRef name, PairIndices pair, Value score,
                   Value capture);
  Value buildMask(Location loc, StringRef name, PairIndices pair,
                  ValueRange captures);

  OpAsmParser &parser;
  OpBuilder builder;
  bool isScore;
  ArrayRef<Spelling> spellings;
  CaptureSizes &sizes;
  RegionClause &clause;
};
} // namespace

SmallVector<Type> ClauseParser::getFixedTypes() {
  SmallVector<Type> types(4, builder.getIndexType());
  if (isScore)
    types.insert(types.begin(), builder.getF32Type());
  return types;
}

ParseResult ClauseParser::parse() {
  SmallVector<StringRef> names;
  for (const Spelling &spelling : spellings)
    names.push_back(spelling.name);
  const Spelling *before = nullptr;
  for (bool isFirst = true;; isFirst = false) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (succeeded(parser.parseOptionalLParen())) {
      if (parseRegion(loc, before))
        return failure();
      before = nullptr;
    } else if (succeeded(parser.parseOptionalKeyword(&name, names))) {
      before = llvm::find_if(spellings, [&](const Spelling &spelling) {
        return spelling.name == name;
      });
      if (parseSpelling(loc, *before))
        return failure();
    } else if (isFirst) {
      return parser.emitError(loc)
             << "expected '(' or one of " << llvm::join(names, ", ")
             << " after '" << getName() << "'";
    } else {
      return success();
    }
  }
}

// args `)`
ParseResult ClauseParser::parseArguments(
    SMLoc loc, const Spelling *before,
    SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    return failure(parser.parseArgument(argument) ||
                   (succeeded(parser.parseOptionalColon()) &&
                    parser.parseType(argument.type)));
  };
  if (failed(parser.parseOptionalRParen()) &&
      (parser.parseCommaSeparatedList(parseOne) || parser.parseRParen()))
    return failure();
  SmallVector<Type> types = getFixedTypes();
  StringRef fixed = isScore ? " (score, batch, head, query, key)"
                            : " (batch, head, query, key)";
  if (arguments.size() != types.size()) {
    if (before && before->most == 0)
      return parser.emitError(loc)
             << before->name << " has " << arguments.size()
             << (arguments.size() == 1 ? " operand" : " operands")
             << ", expected none; a region names " << types.size()
             << " arguments" << fixed;
    return parser.emitError(loc)
           << getName() << " names " << arguments.size()
           << " arguments, expected " << types.size() << fixed;
  }
  for (auto [position, argument, type] : llvm::enumerate(arguments, types)) {
    if (argument.type && argument.type != type)
      return parser.emitError(argument.ssaName.location)
             << getName() << " argument " << position << " has type "
             << argument.type << ", expected " << type << fixed;
    argument.type = type;
  }
  return success();
}

ParseResult ClauseParser::parseRegion(SMLoc loc, const Spelling *before) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseArguments(loc, before, arguments) ||
      parseCaptures(parser, clause.captures, arguments))
    return failure();
  bool isFirst = clause.region->empty();
  Region further;
  Region &region = isFirst ? *clause.region : further;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseRegion(region, arguments) || verifyCaptured(start, region))
    return failure();
  return isFirst ? success() : append(loc, region);
}

/// The text of an operation that was read from `start` on, from its name on;
/// empty if its location says nothing of it.
static StringRef findText(OpAsmParser &parser, SMLoc start, Operation &op) {
  Location first = parser.getEncodedSourceLoc(start), loc = op.getLoc();
  auto from = dyn_cast<FileLineColLoc>(first),
       at = dyn_cast<FileLineColLoc>(loc);
  if (!from || !at || from.getFilename() != at.getFilename() ||
      at.getLine() <= from.getLine())
    return {};
  StringRef text(start.getPointer(),
                 parser.getCurrentLocation().getPointer() - start.getPointer());
  for (unsigned line = from.getLine(); line < at.getLine(); ++line)
    text = text.split('\n').second;
  return text.drop_front(std::min<size_t>(at.getColumn() - 1, text.size()));
}

/// The name of an operand in the text of its operation.
static StringRef findName(StringRef text, unsigned number) {
  StringRef name;
  for (unsigned i = 0; i <= number; ++i) {
    text = text.substr(text.find('%'));
    name = text.take_while([](char c) {
      return llvm::isAlnum(c) || StringRef("%_$.-#").contains(c);
    });
    text = text.drop_front(name.size());
  }
  return name;
}

/// The verifier knows the value that is not captured, but not its name.
ParseResult ClauseParser::verifyCaptured(SMLoc start, Region &region) {
  for (Operation &op : region.getOps())
    for (OpOperand &operand : op.getOpOperands()) {
      // What is not known yet has no block, and the parser says so later.
      Block *made = operand.get().getParentBlock();
      if (!made || made->getParent() == &region)
        continue;
      StringRef name =
          findName(findText(parser, start, op), operand.getOperandNumber());
      if (name.empty())
        continue;
      std::string type;
      llvm::raw_string_ostream(type) << operand.get().getType();
      return parser.emitError(SMLoc::getFromPointer(name.data()))
             << "'" << name << "' is made outside of the " << getName()
             << " region; capture it by captures(%x = " << name << " : " << type
             << "), and use %x";
    }
  return success();
}

/// What is joined has one result; the verifier looks at what stands alone.
ParseResult ClauseParser::verifyYield(SMLoc loc, Region &region) {
  if (region.hasOneBlock() && !region.front().empty())
    if (auto yield = dyn_cast<YieldOp>(region.front().back());
        yield && yield->getOperandTypes() == TypeRange(getResultType()))
      return success();
  return parser.emitError(loc)
         << "a " << getName()
         << " region that is combined with others has one block, which ends in "
            "'fa.yield' of one "
         << getResultType();
}

/// Takes off the yield, for another piece to follow: what it has yielded.
Value ClauseParser::open() {
  auto yield = cast<YieldOp>(clause.region->front().back());
  Value value = yield->getOperand(0);
  yield.erase();
  return value;
}

/// Puts a further region behind the pieces that were read before.
ParseResult ClauseParser::append(SMLoc loc, Region &region) {
  if (verifyYield(loc, *clause.region) || verifyYield(loc, region))
    return failure();
  Block &block = clause.region->front(), &added = region.front();
  Value value = open();
  unsigned numFixed = getFixedTypes().size();
  for (auto [position, argument] : llvm::enumerate(added.getArguments())) {
    Value known = position >= numFixed
                      ? block.addArgument(argument.getType(), argument.getLoc())
                  : isScore && position == 0 ? value
                                             : block.getArgument(position);
    argument.replaceAllUsesWith(known);
  }
  block.getOperations().splice(block.end(), added.getOperations());
  if (isScore)
    return success();
  Operation &yield = block.back();
  builder.setInsertionPoint(&yield);
  yield.setOperand(0, arith::AndIOp::create(builder,
                                            parser.getEncodedSourceLoc(loc),
                                            value, yield.getOperand(0)));
  return success();
}

// [`(` operands [`:` types] `)`]
ParseResult ClauseParser::parseOperands(SMLoc loc, const Spelling &spelling,
                                        TypedOperands &group) {
  // A region may follow what takes no operands.
  if (spelling.most == 0)
    return success();
  auto refuse = [&](const Twine &what) -> ParseResult {
    return parser.emitError(loc)
           << spelling.name << " has " << what << ", expected " << spelling.form
           << " of type " << spelling.types;
  };
  group.loc = loc;
  if (failed(parser.parseOptionalLParen()))
    return refuse("no operands");
  if (parser.parseOperandList(group.operands))
    return failure();
  size_t count = group.operands.size();
  bool isCountLegal = count >= spelling.fewest && count <= spelling.most;
  if (!isCountLegal)
    return refuse(Twine(count) + (count == 1 ? " operand" : " operands"));
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseTypeList(group.types))
      return failure();
  } else if (Type type = getOnlyType(builder, spelling)) {
    group.types.assign(count, type);
  } else {
    return refuse("no type");
  }
  if (group.types.size() != count)
    return refuse(Twine(group.types.size()) + " types for " + Twine(count) +
                  " operands");
  for (Type type : group.types)
    if (!spelling.accepts(type))
      return parser.emitError(loc) << spelling.name << " has type " << type
                                   << ", expected " << spelling.types;
  return parser.parseRParen();
}

/// The sizes that tables of a spelling have.
void ClauseParser::addSizes(SMLoc loc, StringRef name, ArrayRef<Type> types) {
  using Dim = CaptureDim;
  if (name == "prefix") {
    sizes.add(loc, name, types[0], Dim::Batch);
  } else if (name == "alibi") {
    SmallVector<Dim> dims = {Dim::Batch, Dim::Heads};
    bool isShared = cast<ShapedType>(types[0]).getRank() == 1;
    sizes.add(loc, name, types[0], ArrayRef(dims).drop_front(isShared));
  } else if (name == "bias") {
    sizes.add(loc, name, types[0],
              {Dim::Batch, Dim::Heads, Dim::Queries, Dim::Keys},
              /*isBroadcast=*/true);
  } else if (name == "documents") {
    Dim positions[] = {Dim::Queries, Dim::Keys};
    for (auto [side, type] : llvm::enumerate(types))
      sizes.add(
          loc, name, type,
          {Dim::Batch, types.size() == 1 ? Dim::Positions : positions[side]});
  }
}

Value ClauseParser::buildScore(Location loc, StringRef name, PairIndices pair,
                               Value score, Value capture) {
  if (name == "softcap")
    return buildSoftcapScore(builder, loc, score, capture);
  if (name == "approx_softcap")
    return buildApproximateSoftcapScore(builder, loc, score, capture);
  if (name == "alibi")
    return buildAlibiScore(builder, loc, score, pair, capture);
  assert(name == "bias" && "unknown short score");
  return buildBiasScore(builder, loc, score, pair, capture);
}

Value ClauseParser::buildMask(Location loc, StringRef name, PairIndices pair,
                              ValueRange captures) {
  if (name == "causal")
    return buildCausalMask(builder, loc, pair, CausalAlignment::BottomRight);
  if (name == "causal_top_left")
    return buildCausalMask(builder, loc, pair, CausalAlignment::TopLeft);
  if (name == "window")
    return buildWindowMask(builder, loc, pair, captures[0], captures[1]);
  if (name == "prefix")
    return buildPrefixMask(builder, loc, pair, captures[0]);
  assert(name == "documents" && "unknown short mask");
  return buildDocumentMask(builder, loc, pair, captures.front(),
                           captures.back());
}

ParseResult ClauseParser::parseSpelling(SMLoc loc, const Spelling &spelling) {
  TypedOperands group;
  if (parseOperands(loc, spelling, group))
    return failure();
  Location unknown = builder.getUnknownLoc();
  Value before;
  if (clause.region->empty()) {
    SmallVector<Type> types = getFixedTypes();
    Block &block = clause.region->emplaceBlock();
    block.addArguments(types, SmallVector<Location>(types.size(), unknown));
    before = isScore ? block.getArgument(0) : Value();
  } else {
    if (verifyYield(loc, *clause.region))
      return failure();
    before = open();
  }
  Block &block = clause.region->front();
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> captures;
  for (Type type : group.types)
    captures.push_back(block.addArgument(type, unknown));
  clause.captures.loc = loc;
  llvm::append_range(clause.captures.operands, group.operands);
  llvm::append_range(clause.captures.types, group.types);
  addSizes(loc, spelling.name, group.types);

  Location opLoc = parser.getEncodedSourceLoc(loc);
  ValueRange indices = block.getArguments().slice(isScore ? 1 : 0, 4);
  PairIndices pair = {indices[0], indices[1], indices[2], indices[3]};
  Value value =
      isScore ? buildScore(opLoc, spelling.name, pair, before, captures.front())
              : buildMask(opLoc, spelling.name, pair, captures);
  if (!isScore && before)
    value = arith::AndIOp::create(builder, opLoc, before, value);
  YieldOp::create(builder, unknown, value);
  return success();
}

ParseResult mlir::fa::parseRegionClause(OpAsmParser &parser, bool isScore,
                                        CaptureSizes &sizes,
                                        RegionClause &clause) {
  if (failed(parser.parseOptionalKeyword(isScore ? "score" : "mask")))
    return success();
  return ClauseParser(parser, isScore, sizes, clause).parse();
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// p is f32; seed and offset are i64, or memory of one.
static ParseResult resolveDropoutTypes(OpAsmParser &parser, SMLoc loc,
                                       ArrayRef<Type> types) {
  auto isI64 = [](Type type) { return type.isSignlessInteger(64); };
  bool isLegal = types[0].isF32();
  for (Type type : types.drop_front())
    isLegal &= isI64(type) || isTable(type, {0}, isI64);
  if (isLegal)
    return success();
  InFlightDiagnostic diagnostic = parser.emitError(loc);
  diagnostic << "dropout has types ";
  llvm::interleaveComma(types, diagnostic);
  return diagnostic << ", expected f32 (probability), then i64 or a table of "
                       "rank 0 of i64 (seed, offset)";
}

ParseResult mlir::fa::parseDropout(OpAsmParser &parser, RegionClause &score) {
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("dropout")))
    return success();
  OpBuilder builder(parser.getContext());
  TypedOperands group;
  if (parser.parseLParen() || parser.parseOperandList(group.operands) ||
      (succeeded(parser.parseOptionalColon()) &&
       parser.parseTypeList(group.types)) ||
      parser.parseRParen())
    return failure();
  if (group.operands.size() != 3)
    return parser.emitError(loc)
           << "dropout has " << group.operands.size()
           << " operands, expected 3 (probability, seed, offset)";
  if (group.types.empty())
    group.types = {builder.getF32Type(), builder.getI64Type(),
                   builder.getI64Type()};
  if (group.types.size() != 3)
    return parser.emitError(loc)
           << "dropout has 3 operands but " << group.types.size() << " types";
  if (resolveDropoutTypes(parser, loc, group.types))
    return failure();
  Location unknown = builder.getUnknownLoc();
  if (score.region->empty()) {
    SmallVector<Type> types(5, builder.getIndexType());
    types[0] = builder.getF32Type();
    Block &block = score.region->emplaceBlock();
    block.addArguments(types, SmallVector<Location>(5, unknown));
    builder.setInsertionPointToEnd(&block);
    YieldOp::create(builder, unknown, ValueRange(block.getArgument(0)));
  }
  Block &block = score.region->front();
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getResults().size() != 1)
    return parser.emitError(loc)
           << "dropout stands behind a score region that does not yield one "
              "value, expected fa.yield of the score alone";
  builder.setInsertionPoint(yield);
  Location at = parser.getEncodedSourceLoc(loc);
  SmallVector<Value> values;
  for (Type type : group.types) {
    Value value = block.addArgument(type, unknown);
    if (isa<ShapedType>(type))
      value = buildCapturedLoad(builder, at, value, {});
    values.push_back(value);
  }
  auto indices = block.getArguments().slice(1, 4);
  Value factor =
      DropoutOp::create(builder, at, values[0], values[1], values[2],
                        indices[0], indices[1], indices[2], indices[3]);
  yield.getResultsMutable().append(factor);
  score.captures.loc = loc;
  llvm::append_range(score.captures.operands, group.operands);
  llvm::append_range(score.captures.types, group.types);
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void mlir::fa::printRegionClause(OpAsmPrinter &printer, StringRef keyword,
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
