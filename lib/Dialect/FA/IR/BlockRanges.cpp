//===- BlockRanges.cpp - Visits of key blocks and query blocks ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text form and verifiers of fa.key_ranges and fa.query_ranges, which differ in
// names alone, and of what a body asks about its block. Each function stands
// once, as a template, and both operations call it at the end.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

using BodyBuilder =
    function_ref<void(OpBuilder &, Location, Value, Value, ValueRange)>;

template <typename OpTy>
static void buildRanges(OpBuilder &builder, OperationState &state,
                        ValueRange begins, ValueRange ends, ArrayRef<bool> full,
                        int64_t step, ValueRange inits, BodyBuilder body) {
  state.addOperands(begins);
  state.addOperands(ends);
  state.addOperands(inits);
  auto &properties = state.getOrAddProperties<typename OpTy::Properties>();
  properties.setFull(builder.getDenseBoolArrayAttr(full));
  properties.setStep(builder.getI64IntegerAttr(step));
  properties.operandSegmentSizes = {static_cast<int32_t>(begins.size()),
                                    static_cast<int32_t>(ends.size()),
                                    static_cast<int32_t>(inits.size())};
  state.addTypes(inits.getTypes());
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region);
  SmallVector<Type> types(2, builder.getIndexType());
  llvm::append_range(types, inits.getTypes());
  for (Type type : types)
    block->addArgument(type, state.location);
  if (body)
    body(builder, state.location, block->getArgument(0), block->getArgument(1),
         block->getArguments().drop_front(2));
}

// `(` %first `,` %count `)` `=` `[` (`full` | `partial`) a `to` b, ... `]`
// `step` n [`iter_args` `(` %x = %init, ... `)` `->` `(` types `)`] region
template <typename OpTy>
static ParseResult parseRanges(OpAsmParser &parser, OperationState &result,
                               StringRef what) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != 2)
    return parser.emitError(parser.getNameLoc())
           << "names " << arguments.size() << " arguments, expected 2 (first "
           << what << ", number of them)";
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = index;
  SmallVector<OpAsmParser::UnresolvedOperand> begins, ends, inits;
  SmallVector<bool> full;
  auto parseRange = [&]() -> ParseResult {
    StringRef kind;
    if (parser.parseKeyword(&kind))
      return failure();
    if (kind != "full" && kind != "partial")
      return parser.emitError(parser.getCurrentLocation())
             << "range kind is '" << kind << "', expected full or partial";
    full.push_back(kind == "full");
    return failure(parser.parseOperand(begins.emplace_back()) ||
                   parser.parseKeyword("to") ||
                   parser.parseOperand(ends.emplace_back()));
  };
  int64_t step;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseRange) ||
      parser.parseKeyword("step") || parser.parseInteger(step))
    return failure();
  auto parseCarried = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(inits.emplace_back()));
  };
  if (succeeded(parser.parseOptionalKeyword("iter_args"))) {
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                       parseCarried) ||
        parser.parseArrowTypeList(result.types))
      return failure();
    if (result.types.size() != inits.size())
      return parser.emitError(loc)
             << "carries " << inits.size() << " values but names "
             << result.types.size() << " result types";
    for (auto [argument, type] :
         llvm::zip(llvm::drop_begin(arguments, 2), result.types))
      argument.type = type;
  }
  if (parser.resolveOperands(begins, index, result.operands) ||
      parser.resolveOperands(ends, index, result.operands) ||
      parser.resolveOperands(inits, result.types, loc, result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  OpTy::ensureTerminator(*result.regions.back(), builder, result.location);
  result.addAttribute("full", builder.getDenseBoolArrayAttr(full));
  result.addAttribute("step", builder.getI64IntegerAttr(step));
  int32_t count = begins.size();
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(
                          {count, count, static_cast<int32_t>(inits.size())}));
  return success();
}

template <typename OpTy>
static void printRanges(OpTy op, OpAsmPrinter &printer, Value first) {
  printer << " (" << first << ", " << op.getCount() << ") = [";
  for (unsigned i = 0; i < op.getNumRanges(); ++i)
    printer << (i ? ", " : "") << (op.getFull()[i] ? "full " : "partial ")
            << op.getBegins()[i] << " to " << op.getEnds()[i];
  printer << "] step " << op.getStep();
  if (!op.getInits().empty()) {
    printer << " iter_args(";
    llvm::interleaveComma(llvm::zip(op.getRegionIterArgs(), op.getInits()),
                          printer, [&](auto pair) {
                            printer << std::get<0>(pair) << " = "
                                    << std::get<1>(pair);
                          });
    printer << ") -> (" << op.getResultTypes() << ')';
  }
  printer << ' ';
  printer.printRegion(op.getBodyRegion(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!op.getInits().empty());
  printer.printOptionalAttrDict(op->getAttrs(),
                                {"full", "step", "operandSegmentSizes"});
}

template <typename OpTy> static LogicalResult verifyRanges(OpTy op) {
  size_t count = op.getFull().size();
  if (op.getBegins().size() != count || op.getEnds().size() != count)
    return op.emitOpError() << "has " << op.getBegins().size() << " begins and "
                            << op.getEnds().size() << " ends for " << count
                            << " ranges, expected one of each for a range";
  if (count > OpTy::maxRanges)
    return op.emitOpError() << "has " << count << " ranges, expected at most "
                            << OpTy::maxRanges;
  if (op.getStep() < 1)
    return op.emitOpError()
           << "step is " << op.getStep() << ", expected at least 1";
  if (op.getInits().getTypes() != op.getResultTypes())
    return op.emitOpError() << "carries (" << op.getInits().getTypes()
                            << ") but returns (" << op.getResultTypes() << ')';
  return success();
}

template <typename OpTy> static LogicalResult verifyBody(OpTy op) {
  Block &block = op.getBodyRegion().front();
  SmallVector<Type> expected(2, IndexType::get(op.getContext()));
  llvm::append_range(expected, op.getResultTypes());
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op.emitOpError()
           << "body has arguments (" << block.getArgumentTypes()
           << "), expected (" << TypeRange(expected) << ')';
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getResults().getTypes() != op.getResultTypes())
    return op.emitOpError() << "body yields (" << yield.getResults().getTypes()
                            << "), expected (" << op.getResultTypes() << ')';
  return success();
}

//===----------------------------------------------------------------------===//
// KeyRangesOp
//===----------------------------------------------------------------------===//

void KeyRangesOp::build(OpBuilder &builder, OperationState &state,
                        ValueRange begins, ValueRange ends, ArrayRef<bool> full,
                        int64_t step, ValueRange inits, BodyBuilder body) {
  buildRanges<KeyRangesOp>(builder, state, begins, ends, full, step, inits,
                           body);
}

ParseResult KeyRangesOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseRanges<KeyRangesOp>(parser, result, "key");
}

void KeyRangesOp::print(OpAsmPrinter &printer) {
  printRanges(*this, printer, getKey());
}

void KeyRangesOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "key");
  setName(region.getArgument(1), "count");
}

LogicalResult KeyRangesOp::verify() { return verifyRanges(*this); }

LogicalResult KeyRangesOp::verifyRegions() { return verifyBody(*this); }

//===----------------------------------------------------------------------===//
// QueryRangesOp
//===----------------------------------------------------------------------===//

void QueryRangesOp::build(OpBuilder &builder, OperationState &state,
                          ValueRange begins, ValueRange ends,
                          ArrayRef<bool> full, int64_t step, ValueRange inits,
                          BodyBuilder body) {
  buildRanges<QueryRangesOp>(builder, state, begins, ends, full, step, inits,
                             body);
}

ParseResult QueryRangesOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseRanges<QueryRangesOp>(parser, result, "query");
}

void QueryRangesOp::print(OpAsmPrinter &printer) {
  printRanges(*this, printer, getQuery());
}

void QueryRangesOp::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "query");
  setName(region.getArgument(1), "count");
}

LogicalResult QueryRangesOp::verify() { return verifyRanges(*this); }

LogicalResult QueryRangesOp::verifyRegions() { return verifyBody(*this); }

//===----------------------------------------------------------------------===//
// IsPartialOp and IsFirstOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyInRanges(Operation *op) {
  if (op->getParentOfType<BlockRangesOpInterface>())
    return success();
  return op->emitOpError() << "stands outside of 'fa.key_ranges' and "
                              "'fa.query_ranges', whose blocks it asks about";
}

LogicalResult IsPartialOp::verify() { return verifyInRanges(*this); }

LogicalResult IsFirstOp::verify() { return verifyInRanges(*this); }
