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
//            capture[0] = %x : type, scale = %x : type,
//            sink_capture[0] = %x : type)
//       [scale] [query_lengths] [key_lengths] [query_starts] [key_starts]
//       [offsets] [extents]
//       [score] [score_gradient(arguments) region] [mask]
//       [sink(%b, %h, %i) region] [sink_gradient(arguments) region]
//       [dropout(%p, %seed, %offset)] [attr-dict]
//
// A step has `ins` of four operands and `rows(%lse, %delta : types)` in place
// of the first four clauses, and neither lengths nor sinks. The regions of
// `score_gradient` and `sink_gradient` name an argument for each capture of the
// score and of the sink.
//
//===----------------------------------------------------------------------===//

#include "ClauseAssembly.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// The destinations of `outs`, by name.
struct NamedOuts {
  TypedOperands query, key, value, captures, scale, sinkCaptures;
  SmallVector<int64_t> differentiated, differentiatedSink;

  TypedOperands *get(StringRef name) {
    return name == "query"          ? &query
           : name == "key"          ? &key
           : name == "value"        ? &value
           : name == "capture"      ? &captures
           : name == "sink_capture" ? &sinkCaptures
                                    : &scale;
  }
  /// The numbers of the captures of `name`, null where it has none.
  SmallVector<int64_t> *getNumbers(StringRef name) {
    return name == "capture"        ? &differentiated
           : name == "sink_capture" ? &differentiatedSink
                                    : nullptr;
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
  ParseResult parseGradientRegion(StringRef keyword, StringRef of,
                                  ArrayRef<StringRef> fixed,
                                  const RegionClause &clause, Region &region);
  ParseResult parseSink();
  ParseResult parseDropout();
  ParseResult parseRest(bool isWhole);
  ParseResult add(const TypedOperands &group);
  ParseResult addRest(bool isWhole);
  ParseResult finish(bool isWhole);

  OpAsmParser &parser;
  OperationState &result;
  OpBuilder builder;
  /// In the order of the operands.
  ArrayRef<StringRef> outNames;
  SmallVector<int32_t> segments;
  TypedOperands ins, scale, queryLengths, keyLengths, queryStarts, keyStarts,
      offsets, extents;
  RegionClause score, mask, sink;
  std::unique_ptr<Region> scoreGradient = std::make_unique<Region>();
  std::unique_ptr<Region> sinkGradient = std::make_unique<Region>();
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
  SmallVector<int64_t> *numbers = outs.getNumbers(name);
  if (!numbers && !group->operands.empty())
    return parser.emitError(loc) << "outs names " << name << " twice";
  if (numbers &&
      (parser.parseLSquare() || parser.parseInteger(numbers->emplace_back()) ||
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

// [keyword `(` arguments `)` region]. Arguments are `fixed`, of which gradient
// and score are f32 and the others indices, then the captures of the clause.
ParseResult GradientParser::parseGradientRegion(StringRef keyword, StringRef of,
                                                ArrayRef<StringRef> fixed,
                                                const RegionClause &clause,
                                                Region &region) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  SmallVector<Type> types;
  for (StringRef name : fixed)
    types.push_back(name == "gradient" || name == "score"
                        ? Type(builder.getF32Type())
                        : Type(builder.getIndexType()));
  llvm::append_range(types, clause.captures.types);
  if (arguments.size() != types.size())
    return parser.emitError(loc)
           << keyword << " names " << arguments.size()
           << " arguments, expected " << types.size() << " ("
           << llvm::join(fixed, ", ") << ", and one for each of "
           << clause.captures.types.size() << " captures of the " << of << ')';
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return parser.parseRegion(region, arguments);
}

// [`sink` ...] [`sink_gradient` `(` arguments `)` region]
ParseResult GradientParser::parseSink() {
  return failure(parseSinkClause(parser, sink) ||
                 parseGradientRegion("sink_gradient", "sink",
                                     {"gradient", "batch", "head", "query"},
                                     sink, *sinkGradient));
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

ParseResult GradientParser::parseRest(bool isWhole) {
  static const StringRef clauses[] = {
      "scale",   "query_lengths", "key_lengths", "query_starts",   "key_starts",
      "offsets", "extents",       "score",       "score_gradient", "mask",
      "sink",    "sink_gradient", "dropout"};
  if (parseOptionalPlain(parser, "scale", builder.getF32Type(), 1, scale) ||
      (isWhole && (parseOptionalTyped(parser, "query_lengths", queryLengths) ||
                   parseOptionalTyped(parser, "key_lengths", keyLengths) ||
                   parseOptionalTyped(parser, "query_starts", queryStarts) ||
                   parseOptionalTyped(parser, "key_starts", keyStarts))))
    return failure();
  Type index = builder.getIndexType();
  if (parseOptionalPlain(parser, "offsets", index, 4, offsets) ||
      parseOptionalPlain(parser, "extents", index, 2, extents) ||
      parseRegionClause(parser, /*isScore=*/true, captureSizes, score) ||
      parseGradientRegion(
          "score_gradient", "score",
          {"gradient", "score", "batch", "head", "query", "key"}, score,
          *scoreGradient) ||
      parseRegionClause(parser, /*isScore=*/false, captureSizes, mask) ||
      (isWhole && parseSink()) || parseDropout() ||
      checkNoClause(parser, clauses, isWhole) ||
      parseOwnAttributes(parser, result) ||
      checkNoClause(parser, clauses, isWhole))
    return failure();
  // A piece of a larger problem keeps the captures of the whole.
  if (!isWhole || !offsets.operands.empty())
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
ParseResult GradientParser::addRest(bool isWhole) {
  return failure(add(offsets) || add(extents) || add(score.captures) ||
                 add(mask.captures) || (isWhole && add(sink.captures)));
}

ParseResult GradientParser::finish(bool isWhole) {
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
  if (!outs.differentiatedSink.empty())
    result.addAttribute("differentiated_sink",
                        builder.getDenseI64ArrayAttr(outs.differentiatedSink));
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(segments));
  result.addRegion(std::move(score.region));
  result.addRegion(std::move(scoreGradient));
  result.addRegion(std::move(mask.region));
  if (isWhole) {
    result.addRegion(std::move(sink.region));
    result.addRegion(std::move(sinkGradient));
  }
  return success();
}

ParseResult GradientParser::parseWhole() {
  TypedOperands of, delta, gradients;
  if (parseGroup("ins", 3, 3, "3 (query, key, value)", ins) ||
      parseGroup("of", 1, 2, "2 (output, lse), or 1 (lse) with delta", of) ||
      parseOptionalTyped(parser, "delta", delta) ||
      parseGroup("gradients", 1, 2,
                 "1 (gradient of the output) or 2 (and of lse)", gradients) ||
      parseOuts() || parseRest(/*isWhole=*/true))
    return failure();
  bool hasOutput = of.operands.size() == 2;
  bool hasLseGradient = gradients.operands.size() == 2;
  TypedOperands none;
  for (size_t i = 0; i < 3; ++i)
    if (add(takeOne(ins, i)))
      return failure();
  return failure(
      add(hasOutput ? takeOne(of, 0) : none) || add(takeOne(of, hasOutput)) ||
      add(delta) || add(takeOne(gradients, 0)) ||
      add(hasLseGradient ? takeOne(gradients, 1) : none) || add(scale) ||
      add(queryLengths) || add(keyLengths) || add(queryStarts) ||
      add(keyStarts) || addRest(/*isWhole=*/true) || finish(/*isWhole=*/true));
}

ParseResult GradientParser::parseStep() {
  TypedOperands rows;
  if (parseGroup("ins", 4, 4, "4 (query, key, value, gradient of the output)",
                 ins) ||
      parseGroup("rows", 2, 2, "2 (lse, delta)", rows) || parseOuts() ||
      parseRest(/*isWhole=*/false))
    return failure();
  for (size_t i = 0; i < 4; ++i)
    if (add(takeOne(ins, i)))
      return failure();
  return failure(add(takeOne(rows, 0)) || add(takeOne(rows, 1)) || add(scale) ||
                 addRest(/*isWhole=*/false) || finish(/*isWhole=*/false));
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

static void printGradientRegion(OpAsmPrinter &printer, StringRef keyword,
                                Region &region) {
  if (region.empty())
    return;
  printer << ' ' << keyword << '(' << ValueRange(region.getArguments()) << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

template <typename OpTy> static void printRest(OpTy op, OpAsmPrinter &printer) {
  printPlain(printer, "offsets", op.getOffsets());
  printPlain(printer, "extents", op.getExtents());
  printRegionClause(printer, "score", op.getScore(), op.getScoreCaptures());
  printGradientRegion(printer, "score_gradient", op.getScoreGradient());
  printRegionClause(printer, "mask", op.getMask(), op.getMaskCaptures());
  if constexpr (std::is_same_v<OpTy, AttentionGradientOp>) {
    printRegionClause(printer, "sink", op.getSink(), op.getSinkCaptures());
    printGradientRegion(printer, "sink_gradient", op.getSinkGradient());
  }
  printer.printOptionalAttrDict(
      op->getAttrs(),
      {"operandSegmentSizes", "differentiated", "differentiated_sink"});
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
  static constexpr StringLiteral sinkNames[] = {"gradient", "batch", "head",
                                                "query"};
  unsigned missing = &region == &op.getScoreGradient() ? 0
                     : &region == &op.getScore()       ? 1
                                                       : 2;
  ArrayRef<StringLiteral> fixed = ArrayRef(names).drop_front(missing);
  if constexpr (std::is_same_v<OpTy, AttentionGradientOp>) {
    if (&region == &op.getSink())
      fixed = ArrayRef(sinkNames).drop_front();
    else if (&region == &op.getSinkGradient())
      fixed = sinkNames;
  }
  for (auto [position, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, position < fixed.size() ? StringRef(fixed[position])
                                              : StringRef("capture"));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

ParseResult AttentionGradientOp::parse(OpAsmParser &parser,
                                       OperationState &result) {
  StringRef names[] = {"query",   "key",   "value",
                       "capture", "scale", "sink_capture"};
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
  for (auto [number, value] :
       llvm::zip_equal(getDifferentiatedSink(), getSinkCaptureGradients()))
    outs.push_back({("sink_capture[" + Twine(number) + "]").str(), value});
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
