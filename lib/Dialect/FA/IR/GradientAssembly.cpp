//===- GradientAssembly.cpp - Text form of gradients ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   fa.attention_gradient ins(%q, %k, %v : types) of([%o,] %lse : types)
//       [delta(%d : type)] gradients(%do [, %dlse] : types)
//       outs(query = %x : type, key = %x : type, value = %x : type,
//            capture[0] = %x : type, scale = %x : type)
//       [scale] [query_lengths] [key_lengths] [query_starts] [key_starts]
//       [offsets] [extents]
//       [score] [score_gradient(arguments) region] [mask]
//       [dropout(%p, %seed, %offset)] [attr-dict]
//
// A step has `ins` of four operands and `rows(%lse, %delta : types)` in place
// of the first four clauses, and no lengths. The region of `score_gradient`
// names an argument for each capture of the score.
//
//===----------------------------------------------------------------------===//

#include "ClauseAssembly.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// The destinations of `outs`, by name.
struct NamedOuts {
  TypedOperands query, key, value, captures, scale;
  SmallVector<int64_t> differentiated;

  TypedOperands *get(StringRef name) {
    return name == "query"     ? &query
           : name == "key"     ? &key
           : name == "value"   ? &value
           : name == "capture" ? &captures
                               : &scale;
  }
};

class GradientParser {
public:
  GradientParser(OpAsmParser &parser, OperationState &result,
                 ArrayRef<StringRef> outNames)
      : parser(parser), result(result), builder(parser.getContext()),
        outNames(outNames) {}

  ParseResult parseWhole();
  ParseResult parseStep();

private:
  ParseResult parseGroup(StringRef keyword, size_t fewest, size_t most,
                         StringRef expected, TypedOperands &group);
  ParseResult parseOuts();
  ParseResult parseOut();
  ParseResult parseScoreGradient();
  ParseResult parseDropout();
  ParseResult parseRest(bool hasLengths);
  ParseResult add(const TypedOperands &group);
  ParseResult addRest();
  ParseResult finish();

  OpAsmParser &parser;
  OperationState &result;
  OpBuilder builder;
  /// In the order of the operands.
  ArrayRef<StringRef> outNames;
  SmallVector<int32_t> segments;
  TypedOperands ins, scale, queryLengths, keyLengths, queryStarts, keyStarts,
      offsets, extents;
  RegionClause score, mask;
  std::unique_ptr<Region> scoreGradient = std::make_unique<Region>();
  NamedOuts outs;
  CaptureSizes captureSizes;
};
} // namespace

static TypedOperands takeOne(const TypedOperands &group, size_t position) {
  TypedOperands one;
  one.loc = group.loc;
  one.operands.push_back(group.operands[position]);
  one.types.push_back(group.types[position]);
  return one;
}

ParseResult GradientParser::parseGroup(StringRef keyword, size_t fewest,
                                       size_t most, StringRef expected,
                                       TypedOperands &group) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(keyword) || parseTypedGroup(parser, group))
    return failure();
  size_t count = group.operands.size();
  if (count < fewest || count > most)
    return parser.emitError(loc)
           << keyword << " has " << count << " operands, expected " << expected;
  if (group.types.size() != count)
    return parser.emitError(loc)
           << keyword << " has " << count << " operands but "
           << group.types.size() << " types";
  return success();
}

// name [`[` number `]`] `=` operand `:` type
ParseResult GradientParser::parseOut() {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name, outNames)))
    return parser.emitError(loc)
           << "outs expects one of " << llvm::join(outNames, ", ")
           << ", then '=', a value and its type";
  TypedOperands *group = outs.get(name);
  group->loc = loc;
  if (name != "capture" && !group->operands.empty())
    return parser.emitError(loc) << "outs names " << name << " twice";
  if (name == "capture" &&
      (parser.parseLSquare() ||
       parser.parseInteger(outs.differentiated.emplace_back()) ||
       parser.parseRSquare()))
    return failure();
  return failure(parser.parseEqual() ||
                 parser.parseOperand(group->operands.emplace_back()) ||
                 parser.parseColonType(group->types.emplace_back()));
}

ParseResult GradientParser::parseOuts() {
  return failure(parser.parseKeyword("outs") ||
                 parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                                [&] { return parseOut(); }));
}

// [`score_gradient` `(` arguments `)` region]
ParseResult GradientParser::parseScoreGradient() {
  if (failed(parser.parseOptionalKeyword("score_gradient")))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  SmallVector<Type> types(2, builder.getF32Type());
  types.append(4, builder.getIndexType());
  llvm::append_range(types, score.captures.types);
  if (arguments.size() != types.size())
    return parser.emitError(loc)
           << "score_gradient names " << arguments.size()
           << " arguments, expected " << types.size()
           << " (gradient, score, batch, head, query, key, and one for each of "
           << score.captures.types.size() << " captures of the score)";
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return parser.parseRegion(*scoreGradient, arguments);
}

/// The region of the score's gradient has an argument for what dropout captures
/// too.
ParseResult GradientParser::parseDropout() {
  if (fa::parseDropout(parser, score))
    return failure();
  if (scoreGradient->empty() || score.region->empty())
    return success();
  Block &block = scoreGradient->front();
  unsigned known = block.getNumArguments() - 1;
  for (Type type :
       llvm::drop_begin(score.region->front().getArgumentTypes(), known))
    block.addArgument(type, builder.getUnknownLoc());
  return success();
}

ParseResult GradientParser::parseRest(bool hasLengths) {
  static const StringRef clauses[] = {
      "scale",          "query_lengths", "key_lengths", "query_starts",
      "key_starts",     "offsets",       "extents",     "score",
      "score_gradient", "mask",          "dropout"};
  if (parseOptionalPlain(parser, "scale", builder.getF32Type(), 1, scale) ||
      (hasLengths &&
       (parseOptionalTyped(parser, "query_lengths", queryLengths) ||
        parseOptionalTyped(parser, "key_lengths", keyLengths) ||
        parseOptionalTyped(parser, "query_starts", queryStarts) ||
        parseOptionalTyped(parser, "key_starts", keyStarts))))
    return failure();
  Type index = builder.getIndexType();
  if (parseOptionalPlain(parser, "offsets", index, 4, offsets) ||
      parseOptionalPlain(parser, "extents", index, 2, extents) ||
      parseRegionClause(parser, /*isScore=*/true, captureSizes, score) ||
      parseScoreGradient() ||
      parseRegionClause(parser, /*isScore=*/false, captureSizes, mask) ||
      parseDropout() || checkNoClause(parser, clauses, hasLengths) ||
      parseOwnAttributes(parser, result) ||
      checkNoClause(parser, clauses, hasLengths))
    return failure();
  // A piece of a larger problem keeps the captures of the whole.
  if (!hasLengths || !offsets.operands.empty())
    return success();
  return captureSizes.check(parser, ins.types[0],
                            getWrittenOrder(result, "query_dims"), ins.types[1],
                            getWrittenOrder(result, "key_dims"));
}

ParseResult GradientParser::add(const TypedOperands &group) {
  segments.push_back(group.operands.size());
  return parser.resolveOperands(group.operands, group.types, group.loc,
                                result.operands);
}

/// What follows the rows and lengths in the order of operands.
ParseResult GradientParser::addRest() {
  return failure(add(offsets) || add(extents) || add(score.captures) ||
                 add(mask.captures));
}

ParseResult GradientParser::finish() {
  for (StringRef name : outNames) {
    TypedOperands *group = outs.get(name);
    if (add(*group))
      return failure();
    for (Type type : group->types)
      if (isa<RankedTensorType>(type))
        result.addTypes(type);
  }
  if (!outs.differentiated.empty())
    result.addAttribute("differentiated",
                        builder.getDenseI64ArrayAttr(outs.differentiated));
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(segments));
  result.addRegion(std::move(score.region));
  result.addRegion(std::move(scoreGradient));
  result.addRegion(std::move(mask.region));
  return success();
}

ParseResult GradientParser::parseWhole() {
  TypedOperands of, delta, gradients;
  if (parseGroup("ins", 3, 3, "3 (query, key, value)", ins) ||
      parseGroup("of", 1, 2, "2 (output, lse), or 1 (lse) with delta", of) ||
      parseOptionalTyped(parser, "delta", delta) ||
      parseGroup("gradients", 1, 2,
                 "1 (gradient of the output) or 2 (and of lse)", gradients) ||
      parseOuts() || parseRest(/*hasLengths=*/true))
    return failure();
  bool hasOutput = of.operands.size() == 2;
  bool hasLseGradient = gradients.operands.size() == 2;
  TypedOperands none;
  for (size_t i = 0; i < 3; ++i)
    if (add(takeOne(ins, i)))
      return failure();
  return failure(add(hasOutput ? takeOne(of, 0) : none) ||
                 add(takeOne(of, hasOutput)) || add(delta) ||
                 add(takeOne(gradients, 0)) ||
                 add(hasLseGradient ? takeOne(gradients, 1) : none) ||
                 add(scale) || add(queryLengths) || add(keyLengths) ||
                 add(queryStarts) || add(keyStarts) || addRest() || finish());
}

ParseResult GradientParser::parseStep() {
  TypedOperands rows;
  if (parseGroup("ins", 4, 4, "4 (query, key, value, gradient of the output)",
                 ins) ||
      parseGroup("rows", 2, 2, "2 (lse, delta)", rows) || parseOuts() ||
      parseRest(/*hasLengths=*/false))
    return failure();
  for (size_t i = 0; i < 4; ++i)
    if (add(takeOne(ins, i)))
      return failure();
  return failure(add(takeOne(rows, 0)) || add(takeOne(rows, 1)) || add(scale) ||
                 addRest() || finish());
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
struct NamedOut {
  std::string name;
  Value value;
};
} // namespace

static void printOuts(OpAsmPrinter &printer, ArrayRef<NamedOut> outs) {
  printer << " outs(";
  llvm::interleaveComma(outs, printer, [&](const NamedOut &out) {
    printer << out.name << " = " << out.value << " : " << out.value.getType();
  });
  printer << ')';
}

static void addOut(SmallVectorImpl<NamedOut> &outs, StringRef name,
                   Value value) {
  if (value)
    outs.push_back({name.str(), value});
}

template <typename OpTy>
static void addCaptures(SmallVectorImpl<NamedOut> &outs, OpTy op) {
  for (auto [number, value] :
       llvm::zip_equal(op.getDifferentiated(), op.getCaptureGradients()))
    outs.push_back({("capture[" + Twine(number) + "]").str(), value});
  addOut(outs, "scale", op.getScaleGradient());
}

template <typename OpTy> static void printRest(OpTy op, OpAsmPrinter &printer) {
  printPlain(printer, "offsets", op.getOffsets());
  printPlain(printer, "extents", op.getExtents());
  printRegionClause(printer, "score", op.getScore(), op.getScoreCaptures());
  if (!op.getScoreGradient().empty()) {
    printer << " score_gradient("
            << ValueRange(op.getScoreGradient().getArguments()) << ") ";
    printer.printRegion(op.getScoreGradient(), /*printEntryBlockArgs=*/false);
  }
  printRegionClause(printer, "mask", op.getMask(), op.getMaskCaptures());
  printer.printOptionalAttrDict(op->getAttrs(),
                                {"operandSegmentSizes", "differentiated"});
}

template <typename OpTy>
static void printStep(OpTy op, OpAsmPrinter &printer, ArrayRef<NamedOut> outs) {
  printTyped(printer, "ins",
             ValueRange{op.getQuery(), op.getKey(), op.getValue(),
                        op.getOutputGradient()});
  printTyped(printer, "rows", ValueRange{op.getLse(), op.getDelta()});
  printOuts(printer, outs);
  if (op.getScale())
    printPlain(printer, "scale", op.getScale());
  printRest(op, printer);
}

template <typename OpTy>
static void nameArguments(OpTy op, Region &region,
                          OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"gradient", "score", "batch",
                                            "head",     "query", "key"};
  unsigned missing = &region == &op.getScoreGradient() ? 0
                     : &region == &op.getScore()       ? 1
                                                       : 2;
  ArrayRef<StringLiteral> fixed = ArrayRef(names).drop_front(missing);
  for (auto [position, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, position < fixed.size() ? StringRef(fixed[position])
                                              : StringRef("capture"));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

ParseResult AttentionGradientOp::parse(OpAsmParser &parser,
                                       OperationState &result) {
  StringRef names[] = {"query", "key", "value", "capture", "scale"};
  return GradientParser(parser, result, names).parseWhole();
}

void AttentionGradientOp::print(OpAsmPrinter &printer) {
  printTyped(printer, "ins", ValueRange{getQuery(), getKey(), getValue()});
  SmallVector<Value> of, gradients = {getOutputGradient()};
  if (getOutput())
    of.push_back(getOutput());
  of.push_back(getLse());
  if (getLseGradient())
    gradients.push_back(getLseGradient());
  printTyped(printer, "of", of);
  if (getDelta())
    printTyped(printer, "delta", getDelta());
  printTyped(printer, "gradients", gradients);
  SmallVector<NamedOut> outs;
  addOut(outs, "query", getQueryGradient());
  addOut(outs, "key", getKeyGradient());
  addOut(outs, "value", getValueGradient());
  addCaptures(outs, *this);
  printOuts(printer, outs);
  if (getScale())
    printPlain(printer, "scale", getScale());
  if (getQueryLengths())
    printTyped(printer, "query_lengths", getQueryLengths());
  if (getKeyLengths())
    printTyped(printer, "key_lengths", getKeyLengths());
  if (getQueryStarts())
    printTyped(printer, "query_starts", getQueryStarts());
  if (getKeyStarts())
    printTyped(printer, "key_starts", getKeyStarts());
  printRest(*this, printer);
}

void AttentionGradientOp::getAsmBlockArgumentNames(
    Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(*this, region, setName);
}

ParseResult GradientKeysOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef names[] = {"key", "value", "query", "capture", "scale"};
  return GradientParser(parser, result, names).parseStep();
}

void GradientKeysOp::print(OpAsmPrinter &printer) {
  SmallVector<NamedOut> outs;
  addOut(outs, "key", getKeyAccumulator());
  addOut(outs, "value", getValueAccumulator());
  addOut(outs, "query", getQueryGradient());
  addCaptures(outs, *this);
  printStep(*this, printer, outs);
}

void GradientKeysOp::getAsmBlockArgumentNames(Region &region,
                                              OpAsmSetValueNameFn setName) {
  nameArguments(*this, region, setName);
}

ParseResult GradientQueriesOp::parse(OpAsmParser &parser,
                                     OperationState &result) {
  StringRef names[] = {"query", "capture", "scale"};
  return GradientParser(parser, result, names).parseStep();
}

void GradientQueriesOp::print(OpAsmPrinter &printer) {
  SmallVector<NamedOut> outs;
  addOut(outs, "query", getQueryAccumulator());
  addCaptures(outs, *this);
  printStep(*this, printer, outs);
}

void GradientQueriesOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameArguments(*this, region, setName);
}
