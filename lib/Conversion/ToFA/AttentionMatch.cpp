//===- AttentionMatch.cpp - One softmax(Q K) V to raise -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `attempt` is the whole proof: the root is an element of the second product,
// whose weights are a softmax of elements of the first one; then where queries,
// keys and values lie, and which index is which. `raise` repeats it while
// variables have to be split into digits. Users beside the root are in
// AttentionUsers.cpp.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::fa;

/// More factors are not looked at.
constexpr unsigned maxFactors = 32;

/// A product taken apart: one element of each of two tensors, and numbers.
struct AttentionMatch::Factors {
  SmallVector<const Node *, 2> loads;
  SmallVector<const Node *> factors, divisors, others;
};

LogicalResult AttentionMatch::refuse(Operation *op, const Twine &reason,
                                     unsigned progress) {
  if (progress >= refusal.progress)
    refusal = {op, reason.str(), progress};
  return failure();
}

//===----------------------------------------------------------------------===//
// Factors and sources
//===----------------------------------------------------------------------===//

static bool isUniform(const Node *node) {
  return node->freeVariables.empty() && !node->hasReduction &&
         !node->hasMatrix && node->type.isF32();
}

/// An element of a tensor, through casts that change no number.
static const Node *getLoad(const Node *node) {
  while (node->isa<arith::ExtFOp>())
    node = node->operand(0);
  return node->kind == NodeKind::Load ? node : nullptr;
}

AttentionMatch::Factors AttentionMatch::takeFactors(const Node *product,
                                                    ElementReader &reader,
                                                    unsigned numTensors) {
  Factors result;
  auto readOn = [&](const Node *load) -> const Node * {
    SmallVector<IndexForm> forms;
    for (const Node *index : load->operands) {
      if (index->kind != NodeKind::Index)
        return nullptr;
      forms.push_back(index->form);
    }
    const Node *node = reader.read(load->value, forms);
    return isUniform(node) ? node : nullptr;
  };
  // Numbers in small tensors are read on.
  auto getUniform = [&](const Node *node) -> const Node * {
    if (const Node *load = getLoad(node))
      return load->freeVariables.empty() ? readOn(load) : nullptr;
    return isUniform(node) ? node : nullptr;
  };
  std::function<void(const Node *)> take = [&](const Node *node) {
    // More is no product of two tensors.
    if (result.loads.size() + result.others.size() > maxFactors)
      return;
    node = reader.getGraph().withoutRounding(node);
    if (const Node *number = getUniform(node)) {
      result.factors.push_back(number);
      return;
    }
    if (node->isa<arith::MulFOp>()) {
      take(node->operand(0));
      take(node->operand(1));
      return;
    }
    if (node->isa<arith::DivFOp>())
      if (const Node *load = getLoad(node->operand(1)),
          *number = load ? readOn(load) : getUniform(node->operand(1));
          number) {
        result.divisors.push_back(number);
        take(node->operand(0));
        return;
      }
    // A wider copy of a product in f32 is none that rounds.
    if (const Node *load = getLoad(node))
      result.loads.push_back(load);
    else
      result.others.push_back(node);
  };
  take(product);
  // Numbers may be stored broadcast, too.
  if (result.loads.size() > numTensors)
    llvm::erase_if(result.loads, [&](const Node *load) {
      const Node *number = readOn(load);
      if (number)
        result.factors.push_back(number);
      return number != nullptr;
    });
  return result;
}

SmallVector<OperandSource> AttentionMatch::follow(const Node *load,
                                                  ElementReader &reader) {
  SmallVector<OperandSource> sources;
  OperandSource source;
  source.tensor = load->value;
  for (const Node *index : load->operands) {
    if (index->kind != NodeKind::Index)
      return sources;
    source.forms.push_back(index->form);
  }
  while (true) {
    sources.push_back(source);
    if (auto moved = reader.step(source.tensor, source.forms)) {
      source.tensor = moved->first;
      source.forms = moved->second;
      continue;
    }
    // Multiplied by a number, or cast to a wider type.
    auto op = source.tensor.getDefiningOp<linalg::LinalgOp>();
    const Node *element = nullptr;
    if (op && op.getNumReductionLoops() == 0) {
      auto body =
          reader.readBody(op, cast<OpResult>(source.tensor).getResultNumber(),
                          source.forms, [](Value) { return false; });
      if (body)
        element = body->node;
    } else if (source.tensor.getDefiningOp<arith::ExtFOp>()) {
      source.tensor = source.tensor.getDefiningOp()->getOperand(0);
      continue;
    }
    if (!element)
      return sources;
    Factors parts = takeFactors(element, reader, /*numTensors=*/1);
    if (parts.loads.size() != 1 || !parts.others.empty())
      return sources;
    const Node *inner = parts.loads.front();
    // A rounding is not undone.
    auto getWidth = [](Value tensor) {
      return getElementTypeOrSelf(tensor.getType()).getIntOrFloatBitWidth();
    };
    if (getWidth(inner->value) > getWidth(source.tensor))
      return sources;
    source.tensor = inner->value;
    source.forms.clear();
    for (const Node *index : inner->operands) {
      if (index->kind != NodeKind::Index)
        return sources;
      source.forms.push_back(index->form);
    }
    llvm::append_range(source.factors, parts.factors);
    llvm::append_range(source.divisors, parts.divisors);
  }
}

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

static SmallVector<unsigned> getDigits(ArrayRef<IndexForm> forms) {
  SmallVector<unsigned> digits;
  for (const IndexForm &form : forms) {
    SmallVector<std::pair<unsigned, int64_t>, 4> terms(form.terms);
    llvm::sort(terms, [](const auto &a, const auto &b) {
      return a.second > b.second;
    });
    for (auto [digit, factor] : terms)
      if (!llvm::is_contained(digits, digit))
        digits.push_back(digit);
  }
  return digits;
}

LogicalResult AttentionMatch::groupDigits(Variables &variables) {
  const OperandSource &q = queries.back(), &k = keys.back(), &v = values.back();
  SmallVector<unsigned> ofQuery = getDigits(q.forms),
                        ofKey = getDigits(k.forms),
                        ofValue = getDigits(v.forms),
                        ofRoot = getDigits(rootForms);
  auto isIn = [](ArrayRef<unsigned> set, unsigned digit) {
    return llvm::is_contained(set, digit);
  };
  SmallVector<unsigned> shared, alone;
  for (unsigned digit : ofQuery) {
    if (isIn(headDimDigits, digit))
      continue;
    if (isIn(keyDigits, digit))
      return refuse(first, "both factors of the scores depend on the key", 7);
    bool inKey = isIn(ofKey, digit), inValue = isIn(ofValue, digit);
    if (inKey != inValue)
      return refuse(
          first, "keys and values do not have the same batches and heads", 7);
    (inKey ? shared : alone).push_back(digit);
    if (!isIn(ofRoot, digit))
      return refuse(second, "queries are added up", 7);
  }
  for (unsigned digit : ofKey)
    if (!isIn(headDimDigits, digit) && !isIn(keyDigits, digit) &&
        !isIn(shared, digit))
      return refuse(first, "queries are broadcast over batches or heads", 7);
  for (unsigned digit : ofValue)
    if (!isIn(keyDigits, digit) && !isIn(shared, digit)) {
      if (!isIn(ofRoot, digit) || isIn(headDimDigits, digit))
        return refuse(second, "an index of the values is added up", 7);
      valueDimDigits.push_back(digit);
    }
  for (unsigned digit : ofRoot)
    if (!isIn(shared, digit) && !isIn(alone, digit) &&
        !isIn(valueDimDigits, digit))
      return refuse(second,
                    "the result has an index that neither queries nor "
                    "values have",
                    7);
  for (unsigned digit : keyDigits)
    if (!isIn(ofKey, digit) || !isIn(ofValue, digit))
      return refuse(second, "keys or values do not depend on the key", 7);
  // Several indices of the key follow each other as in the values.
  llvm::sort(keyDigits, [&](unsigned a, unsigned b) {
    return llvm::find(ofValue, a) < llvm::find(ofValue, b);
  });
  if (valueDimDigits.empty() || headDimDigits.empty())
    return refuse(second, "a head dim is 1", 7);

  // Heads that share keys stand in a dimension with heads of keys; of other
  // indices of queries alone, the one of most values is the query.
  auto sharesDimension = [&](unsigned digit) {
    return llvm::any_of(q.forms, [&](const IndexForm &form) {
      return form.contains(digit) && llvm::any_of(shared, [&](unsigned other) {
               return form.contains(other);
             });
    });
  };
  std::optional<unsigned> queryDigit;
  auto isLarger = [&](unsigned a, unsigned b) {
    const Extent &left = variables.getExtent(a),
                 &right = variables.getExtent(b);
    if (!left.isStatic() || !right.isStatic())
      return !left.isStatic() && right.isStatic();
    return left.getStatic() > right.getStatic();
  };
  for (unsigned digit : alone)
    if (!sharesDimension(digit) &&
        (!queryDigit || isLarger(digit, *queryDigit)))
      queryDigit = digit;
  for (unsigned digit : alone) {
    if (digit == queryDigit)
      queryDigits.push_back(digit);
    else
      groupHeads.push_back(digit);
  }
  batchDigits.assign(shared.begin(), shared.end());
  if (!batchDigits.empty()) {
    sharedHeads.push_back(batchDigits.back());
    batchDigits.pop_back();
  }
  // Digits below a dimension's first one have static sizes.
  auto isStatic = [&](unsigned digit) {
    return variables.getExtent(digit).isStatic();
  };
  SmallVector<unsigned> heads(sharedHeads);
  llvm::append_range(heads, groupHeads);
  for (ArrayRef<unsigned> group :
       {ArrayRef<unsigned>(heads), ArrayRef<unsigned>(batchDigits),
        ArrayRef<unsigned>(keyDigits), ArrayRef<unsigned>(headDimDigits),
        ArrayRef<unsigned>(valueDimDigits)})
    if (group.size() > 1 && !llvm::all_of(group.drop_front(), isStatic))
      return refuse(second, "an index of dynamic size stands below another", 7);
  return success();
}

LogicalResult AttentionMatch::chooseSources(Variables &variables) {
  auto getGroups = [&](ArrayRef<unsigned> sequence, bool ofQueries,
                       ArrayRef<unsigned> headDim) {
    DigitGroups groups;
    groups[int64_t(DimKind::Batch)].assign(batchDigits.begin(),
                                           batchDigits.end());
    groups[int64_t(DimKind::Sequence)].assign(sequence.begin(), sequence.end());
    auto &heads = groups[int64_t(DimKind::Heads)];
    heads.assign(sharedHeads.begin(), sharedHeads.end());
    if (ofQueries)
      heads.append(groupHeads.begin(), groupHeads.end());
    groups[int64_t(DimKind::HeadDim)].assign(headDim.begin(), headDim.end());
    return groups;
  };
  struct Operand {
    StringRef name;
    SmallVector<OperandSource> *sources;
    DigitGroups groups;
    OperandSource **source;
    std::optional<OperandShape> *shape;
  };
  Operand operands[] = {
      {"query", &queries, getGroups(queryDigits, true, headDimDigits), &query,
       &queryShape},
      {"key", &keys, getGroups(keyDigits, false, headDimDigits), &key,
       &keyShape},
      {"value", &values, getGroups(keyDigits, false, valueDimDigits), &value,
       &valueShape}};
  // The narrowest type that all three have.
  auto choose = [&](Type type) {
    for (Operand &operand : operands) {
      bool isFound = false;
      // A transpose is worth a step less deep.
      for (bool allowsTranspose : {false, true}) {
        for (OperandSource &source : llvm::reverse(*operand.sources)) {
          if (isFound || getElementTypeOrSelf(source.tensor.getType()) != type)
            continue;
          // Values are not multiplied.
          if (operand.sources == &values &&
              (!source.factors.empty() || !source.divisors.empty()))
            continue;
          // Scaled numbers that were rounded are not exact.
          auto shape = OperandShape::compute(
              source.tensor, source.forms, operand.groups, variables, extents);
          if (!shape || (shape->isTransposed() && !allowsTranspose))
            continue;
          *operand.source = &source;
          *operand.shape = shape;
          isFound = true;
        }
      }
      if (!isFound)
        return refuse(operand.sources->front().tensor.getDefiningOp()
                          ? operand.sources->front().tensor.getDefiningOp()
                          : first.getOperation(),
                      "the " + operand.name + " is no tensor of " +
                          "batches, heads, a sequence and a head dim",
                      8);
    }
    return success();
  };
  MLIRContext *context = root.getContext();
  Type narrow = getElementTypeOrSelf(queries.back().tensor.getType());
  Type f32 = Float32Type::get(context);
  if (!narrow.isF16() && !narrow.isBF16() && !narrow.isF32())
    return refuse(
        first, "queries have an element type other than f16, bf16 and f32", 8);
  if (failed(choose(narrow)) && (narrow == f32 || failed(choose(f32))))
    return failure();
  for (auto [name, group] :
       {std::make_pair("query head dim", &headDimDigits),
        std::make_pair("value head dim", &valueDimDigits)}) {
    int64_t size = 1;
    for (unsigned digit : *group) {
      const Extent &extent = variables.getExtent(digit);
      if (!extent.isStatic())
        return refuse(second, Twine("the ") + name + " is dynamic", 8);
      size *= extent.getStatic();
    }
    if (size > maxHeadDim)
      return refuse(second,
                    Twine("the ") + name + " is " + Twine(size) +
                        ", at most 512 can be raised",
                    8);
  }
  Type output = getElementTypeOrSelf(root.getType());
  Type operand = getElementTypeOrSelf(query->tensor.getType());
  if (output != operand && output != f32)
    return refuse(second, "the result has another element type than queries",
                  8);
  rootShape = OperandShape::compute(
      root, rootForms, getGroups(queryDigits, true, valueDimDigits), variables,
      extents);
  if (!rootShape || rootShape->hasSlice())
    return refuse(second,
                  "the result is no tensor of batches, heads, a "
                  "sequence and a head dim",
                  8);
  regionGroups = getGroups(queryDigits, true, keyDigits);
  return success();
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

/// Whether a tensor is computed by an exponential, before any product.
static bool holdsExponential(Value tensor) {
  llvm::SmallSetVector<Operation *, 16> work;
  if (Operation *op = tensor.getDefiningOp())
    work.insert(op);
  for (unsigned i = 0; i < work.size(); ++i) {
    if (isa<AttentionOp>(work[i]))
      continue;
    bool found = false;
    work[i]->walk([&](Operation *nested) {
      found |= isa<math::ExpOp, math::Exp2Op, linalg::SoftmaxOp>(nested);
      if (isProduct(work[i]))
        return;
      for (Value operand : nested->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          if (isa<TensorType>(operand.getType()))
            work.insert(maker);
    });
    if (found)
      return true;
  }
  return false;
}

/// Whether an exponential in the body is of what an operand holds.
static bool feedsExponential(linalg::LinalgOp op, OpOperand &operand) {
  llvm::SmallSetVector<Value, 8> work;
  work.insert(op.getMatchingBlockArgument(&operand));
  for (unsigned i = 0; i < work.size(); ++i)
    for (Operation *user : work[i].getUsers()) {
      if (isa<math::ExpOp, math::Exp2Op>(user))
        return true;
      work.insert_range(user->getResults());
    }
  return false;
}

/// Whether an operand of the second product is none of its weights: numbers
/// that depend on what is added up, without an exponential.
static bool mayHoldValues(linalg::LinalgOp second, Value operand) {
  if (!isa<FloatType>(getElementTypeOrSelf(operand.getType())) ||
      holdsExponential(operand))
    return false;
  SmallVector<utils::IteratorType> loops = second.getIteratorTypesArray();
  return llvm::any_of(second->getOpOperands(), [&](OpOperand &candidate) {
    return candidate.get() == operand && !feedsExponential(second, candidate) &&
           llvm::any_of(llvm::enumerate(loops), [&](auto loop) {
             return loop.value() == utils::IteratorType::reduction &&
                    second.getMatchingIndexingMap(&candidate)
                        .isFunctionOfDim(loop.index());
           });
  });
}

LogicalResult AttentionMatch::attempt(Variables &variables, bool isFinal) {
  rootForms.clear();
  for (std::optional<unsigned> variable : rootVariables)
    rootForms.push_back(variable ? variables.getForm(*variable) : 0);
  queries.clear(), keys.clear(), values.clear();
  factors.clear(), divisors.clear();
  for (auto *digits : {&keyDigits, &headDimDigits, &valueDimDigits,
                       &batchDigits, &queryDigits, &sharedHeads, &groupHeads})
    digits->clear();
  MLIRContext *context = root.getContext();
  NodeGraph graph(context, variables, options.excessPrecision);
  graph.matrix = first->getResult(0);
  ElementReader reader(graph, extents);

  // The root: an element of the second product, perhaps divided.
  const Node *element = graph.withoutRounding(reader.read(root, rootForms));
  if (element->isa<arith::TruncFOp>() && !element->folded)
    element = element->operand(0);
  const Node *divisor = nullptr, *output = element;
  if (element->isa<arith::DivFOp>()) {
    output = element->operand(0);
    divisor = element->operand(1);
  } else if (element->isa<arith::MulFOp>()) {
    for (unsigned side : {0, 1})
      if (element->operand(side)->isa<arith::DivFOp>() &&
          isReal(element->operand(side)->operand(0), 1)) {
        divisor = element->operand(side)->operand(1);
        output = element->operand(1 - side);
      }
  }
  const Node *product = getLoad(graph.withoutRounding(output));
  bool isProductOnly = product && product->value == second->getResult(0);
  if (!isProductOnly && root != second->getResult(0))
    return refuse(second, "the result is more than a product", 0);
  SmallVector<IndexForm> place(rootForms);
  if (isProductOnly) {
    place.clear();
    for (const Node *index : product->operands) {
      if (index->kind != NodeKind::Index)
        return refuse(second, "the result is gathered", 0);
      place.push_back(index->form);
    }
  }

  // Its weights and its values.
  auto body = reader.readBody(second, 0, place, [&](Value operand) {
    return !mayHoldValues(second, operand);
  });
  if (!body || body->combiner != Combiner::Add)
    return refuse(second, "the second product is not understood", 1);
  if (body->bound.empty())
    return refuse(second, "there is one key", 1);
  SmallVector<unsigned> bound(body->bound.begin(), body->bound.end());
  llvm::sort(bound);
  for (unsigned variable : bound)
    llvm::append_range(keyDigits, variables.getDigits(variable));
  SmallVector<const Node *> weights;
  const Node *valueLoad = nullptr;
  std::function<void(const Node *)> collect = [&](const Node *node) {
    if (weights.size() > maxFactors)
      return;
    if (node->isa<arith::MulFOp>()) {
      collect(node->operand(0));
      collect(node->operand(1));
      return;
    }
    const Node *load = getLoad(node);
    bool isInput = load && !load->hasMatrix && !valueLoad &&
                   llvm::is_contained(second->getOperands(), load->value) &&
                   load->dependsOn(keyDigits);
    if (isInput)
      valueLoad = load;
    else
      weights.push_back(node);
  };
  collect(body->node);
  // Without a sum or maximum this is nothing like a softmax.
  bool isNear = divisor && divisor->hasReduction;
  for (const Node *factor : weights)
    isNear |= factor->hasReduction;
  if (!isNear)
    return refuse(second, "there is no softmax", 0);
  if (!isProductOnly)
    return refuse(second,
                  "the product with the values starts from something other "
                  "than 0",
                  1);
  if (!valueLoad)
    return refuse(second, "the values are no tensor", 1);

  SoftmaxMatcher matcher(reader, options, bound, refusal);
  FailureOr<SoftmaxMatch> softmax = matcher.match(weights, divisor);
  if (failed(softmax))
    return failure();

  // Queries and keys.
  SmallVector<IndexForm> scorePlace;
  for (const Node *index : softmax->product->operands) {
    if (index->kind != NodeKind::Index)
      return refuse(first, "scores are gathered", 6);
    scorePlace.push_back(index->form);
  }
  auto scores =
      reader.readBody(first, 0, scorePlace, [](Value) { return false; });
  if (!scores || scores->combiner != Combiner::Add)
    return refuse(first, "the first product is not understood", 6);
  Factors parts = takeFactors(scores->node, reader, /*numTensors=*/2);
  if (parts.loads.size() != 2 || !parts.others.empty())
    return refuse(first, "the first product is not of two tensors", 6);
  for (unsigned variable : scores->bound)
    llvm::append_range(headDimDigits, variables.getDigits(variable));
  unsigned keySide = parts.loads[0]->dependsOn(keyDigits) ? 0 : 1;
  queries = follow(parts.loads[1 - keySide], reader);
  keys = follow(parts.loads[keySide], reader);
  values = follow(valueLoad, reader);
  // Values that are multiplied are taken as they are.
  while (!values.empty() &&
         (!values.back().factors.empty() || !values.back().divisors.empty()))
    values.pop_back();
  if (queries.empty() || keys.empty() || values.empty())
    return refuse(first, "an operand is gathered", 6);
  if (failed(groupDigits(variables)) || failed(chooseSources(variables)))
    return failure();
  factors = parts.factors;
  divisors = parts.divisors;
  for (OperandSource *source : {query, this->key}) {
    llvm::append_range(factors, source->factors);
    llvm::append_range(divisors, source->divisors);
  }
  llvm::append_range(factors, softmax->factors);
  llvm::append_range(divisors, softmax->divisors);

  RegionEmitter score(reader, regionGroups), mask(reader, regionGroups);
  std::string reason;
  if (failed(score.prepare(softmax->score, softmax->scaled, reason)) ||
      (softmax->mask && failed(mask.prepare(softmax->mask, nullptr, reason))))
    return refuse(softmax->score->source, reason, 9);
  matchLogSumExps(reader, matcher, *softmax);
  if (failed(checkDead()))
    return failure();
  SmallVector<Value> operands{query->tensor, this->key->tensor, value->tensor};
  llvm::append_range(operands, score.getCaptures());
  llvm::append_range(operands, mask.getCaptures());
  if (failed(checkOrder(operands)))
    return failure();
  if (variables.wantsSplit() && !isFinal)
    return success();
  build(reader, *softmax, score, mask);
  return success();
}

AttentionMatch::TensorVariables
AttentionMatch::makeVariables(Value tensor, Variables &variables) {
  TensorVariables made;
  for (int64_t dim = 0; dim < cast<ShapedType>(tensor.getType()).getRank();
       ++dim) {
    Extent extent = extents.getDim(tensor, dim);
    made.push_back(extent.is(1) ? std::nullopt
                                : std::optional(variables.make(extent)));
  }
  return made;
}

LogicalResult AttentionMatch::raise() {
  auto type = dyn_cast<RankedTensorType>(root.getType());
  if (!type || !root.getDefiningOp())
    return failure();
  Variables variables;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (extents.getDim(root, dim).is(0))
      return refuse(second, "the result is empty", 1);
  rootVariables = makeVariables(root, variables);
  findEscapes();
  for (Candidate &candidate : candidates)
    candidate.variables = makeVariables(candidate.tensor, variables);
  constexpr unsigned maxSplits = 24;
  std::optional<Variables> fallback;
  for (unsigned splits = 0; splits < maxSplits; ++splits) {
    bool isProved = succeeded(attempt(variables, /*isFinal=*/false));
    if (isProved && !variables.wantsSplit())
      return success();
    if (isProved)
      fallback = variables;
    if (!variables.split())
      break;
    // What was told may be because of the split.
    if (!fallback)
      refusal.progress = 0;
  }
  if (!fallback)
    return failure();
  return attempt(*fallback, /*isFinal=*/true);
}
