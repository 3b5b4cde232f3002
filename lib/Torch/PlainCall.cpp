//===- PlainCall.cpp - Calls of plain tensors from Python -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The most frequent call, of three tensors and perhaps an output, in the fewest
// steps: an operator's way through the dispatcher costs more than a launch.
// Tensors are described by DLPack's exchange functions and outputs made by
// torch.empty_like. What is not plain is left to the operator, and so is
// what fails. Read `run`, then `find` and `launch`.
//
//===----------------------------------------------------------------------===//

#include "../Runtime/CUDA/DLPackExchange.h"
#include "Entries.h"
#include "PythonABI.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

using namespace fa::torch;
namespace dlpack = mlir::fa::runtime::dlpack;

static PythonABI python;

namespace {
/// A reference that a call owns.
class Owned {
public:
  explicit Owned(Object object = nullptr) : object(object) {}
  Owned(Owned &&other) noexcept : object(other.release()) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Owned() {
    if (object)
      python.dropReference(object);
  }
  Object get() const { return object; }
  Object release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object; }

private:
  Object object;
};

/// A function of Python without arguments, called as what it is in C where it
/// is: a call through Python costs as much as the answer.
class Question {
public:
  void open(Object function);
  /// Its answer as a number: -1 with an exception.
  int ask() const;
  /// Of a method of one object, what that of another object of the type
  /// answers.
  int ask(Object other, Object method) const;

private:
  Object function, self = nullptr;
  CFunction direct = nullptr;
};

/// What calls use of torch: items of a tuple, which lives as long as the
/// process.
struct Tools {
  Object tensorType, parameterType, none, emptyLike, makeTemplates, notPlain,
      isNegative, forwardMode, requiresGrad, level;
  Question isGradEnabled, isAnyAutocastEnabled, countModes, areTransformsActive,
      isTracing, isOneNegative;
  const dlpack::ExchangeFunctions *exchange;

  bool open(Object tuple);
};

/// What calls of these shapes run, and tensors without memory that outputs are
/// like.
struct Plan {
  int64_t shape[4] = {}, valueHeadDim = 0;
  int32_t type = -1, device = -1;
  unsigned generation = 0;
  FaTorchEntry entry = {};
  Object output = nullptr, lse = nullptr;

  bool isOf(const FaArgument &query, const FaArgument &value) const {
    return type == query.type && device == query.device &&
           valueHeadDim == value.shape[3] &&
           std::equal(shape, shape + 4, query.shape);
  }
};

/// A call of one specification.
class PlainCall {
public:
  PlainCall(const char *specification, int32_t headsDim, Object apply)
      : specification(specification), headsDim(headsDim), apply(apply) {}

  /// A new reference: the output, or a pair of output and log-sum-exp. Null
  /// where the call is not plain or fails; `raises` where a caller is to see
  /// the exception that Python has. Operands are query, key, value and perhaps
  /// the output; none where a function of autograd goes on with a call's.
  Object run(Object const *operands, ptrdiff_t count, bool &raises);

private:
  Object resume();
  Object differentiate(Object const *operands, const FaArgument *described,
                       bool &raises);
  bool find(Object const *operands, const FaArgument *described, Plan &plan);
  Object launch(const Plan &plan, FaArgument *arguments, Object into = nullptr);

  std::string specification;
  /// Where heads stand: 1 or 2.
  int32_t headsDim;
  /// Of a torch.autograd.Function, for calls that are differentiated.
  Object apply;

  std::mutex mutex;
  static constexpr unsigned size = 8;
  Plan plans[size];
  unsigned next = 0;
};
} // namespace

static Tools tools;

namespace {
/// Operands of a call that its function of autograd is to go on with.
struct Pending {
  Object const *operands;
  const FaArgument *described;
};
} // namespace

static thread_local const Pending *pending = nullptr;

void Question::open(Object asked) {
  function = asked;
  if (python.getFlags(function) == takesNothing) {
    direct = python.getFunction(function);
    self = python.getSelf(function);
  }
  // Of what is no function of C.
  python.clearError();
}

int Question::ask() const {
  Owned answer(direct ? direct(self, nullptr) : python.callWithout(function));
  return answer ? python.isTrue(answer.get()) : -1;
}

int Question::ask(Object other, Object method) const {
  Owned answer(
      direct ? direct(other, nullptr)
             : python.callWith(method, other, static_cast<Object>(nullptr)));
  return answer ? python.isTrue(answer.get()) : -1;
}

bool Tools::open(Object tuple) {
  Object *const members[] = {&tensorType, &parameterType, &none,
                             &emptyLike,  &makeTemplates, &notPlain,
                             &isNegative, &forwardMode};
  Question *const questions[] = {&isGradEnabled, &isAnyAutocastEnabled,
                                 &countModes,    &areTransformsActive,
                                 &isTracing,     &isOneNegative};
  for (size_t i = 0; i != std::size(members); ++i)
    if (!(*members[i] = python.getItem(tuple, i)))
      return false;
  for (size_t i = 0; i != std::size(questions); ++i) {
    Object function = python.getItem(tuple, std::size(members) + i);
    if (!function)
      return false;
    questions[i]->open(function);
  }
  python.addReference(tuple);
  requiresGrad = python.intern("requires_grad");
  level = python.intern("_current_level");
  Owned capsule(python.getAttribute(tensorType, "__dlpack_c_exchange_api__"));
  if (!requiresGrad || !level || !capsule)
    return false;
  exchange = static_cast<const dlpack::ExchangeFunctions *>(
      python.getPointer(capsule.get(), "dlpack_exchange_api"));
  return exchange && exchange->major == dlpack::majorVersion &&
         exchange->describe && exchange->getCurrentStream;
}

/// The level of forward-mode differentiation is -1 where none is open, else 0.
static bool hasTangents() {
  Owned level(python.getAttributeOf(tools.forwardMode, tools.level));
  return !level || python.isTrue(level.get()) != 1;
}

/// Whether torch reads its memory with the other sign, as of the imaginary
/// part of a conjugate.
static bool isNegated(Object operand) {
  return tools.isOneNegative.ask(operand, tools.isNegative) != 0;
}

/// Of torch's tensors, which have strides. False with or without an exception.
static bool describe(Object object, int32_t rank, FaArgument &argument) {
  dlpack::Tensor tensor = {};
  if (tools.exchange->describe(object, &tensor))
    return false;
  bool isCPU = tensor.deviceType == dlpack::CPU;
  if (tensor.rank != rank || tensor.lanes != 1 || !tensor.strides ||
      (!isCPU && tensor.deviceType != dlpack::CUDA))
    return false;
  std::memset(&argument, 0, sizeof argument);
  switch (tensor.code << 8 | tensor.bits) {
  case dlpack::Float << 8 | 16:
    argument.type = FA_TYPE_F16;
    break;
  case dlpack::BFloat << 8 | 16:
    argument.type = FA_TYPE_BF16;
    break;
  case dlpack::Float << 8 | 32:
    argument.type = FA_TYPE_F32;
    break;
  default:
    return false;
  }
  argument.value.data = static_cast<char *>(tensor.data) + tensor.byteOffset;
  argument.rank = rank;
  argument.device = isCPU ? -1 : tensor.device;
  std::copy_n(tensor.shape, rank, argument.shape);
  std::copy_n(tensor.strides, rank, argument.strides);
  return true;
}

/// Whether nothing but the tensors decides what the call does.
static bool isPlain(Object const *operands, const FaArgument *described,
                    int count) {
  for (int i = 0; i != count; ++i) {
    Owned type(python.getType(operands[i]));
    if (type.get() != tools.tensorType && type.get() != tools.parameterType)
      return false;
    if (described[i].device != described[0].device ||
        described[i].type != described[0].type || isNegated(operands[i]))
      return false;
  }
  if (hasTangents())
    return false;
  // Whatever is asked answers 0, or fails.
  return tools.isAnyAutocastEnabled.ask() == 0 && tools.countModes.ask() == 0 &&
         tools.areTransformsActive.ask() == 0 && tools.isTracing.ask() == 0;
}

/// Nothing where a question fails, with its exception.
static std::optional<bool> needsGradient(Object const *operands,
                                         ptrdiff_t count) {
  int isEnabled = tools.isGradEnabled.ask();
  if (isEnabled < 0)
    return std::nullopt;
  for (ptrdiff_t i = 0; isEnabled && i != count; ++i) {
    Owned flag(python.getAttributeOf(operands[i], tools.requiresGrad));
    int needs = flag ? python.isTrue(flag.get()) : -1;
    if (needs)
      return needs > 0 ? std::optional(true) : std::nullopt;
  }
  return false;
}

/// Finds the plan of a call, with references to its tensors, or makes it.
bool PlainCall::find(Object const *operands, const FaArgument *described,
                     Plan &plan) {
  const FaArgument &query = described[0], &value = described[2];
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Plan &known : plans) {
      if (!known.isOf(query, value) || known.generation != getGeneration())
        continue;
      plan = known;
      python.addReference(plan.output);
      if (plan.lse)
        python.addReference(plan.lse);
      return true;
    }
  }
  plan.generation = getGeneration();
  plan.entry = getRecentEntries().find(
      {forward, query.device, query.type, value.type, query.shape[3],
       value.shape[3], 0, 0, "", specification});
  std::copy_n(query.shape, 4, plan.shape);
  plan.valueHeadDim = value.shape[3];
  plan.type = query.type;
  plan.device = query.device;
  Owned dim(python.makeInteger(headsDim));
  Owned made(python.callWith(tools.makeTemplates, operands[0], operands[2],
                             dim.get(), static_cast<Object>(nullptr)));
  if (!made)
    return false;
  plan.output = python.getItem(made.get(), 0);
  plan.lse =
      plan.entry.output_count > 1 ? python.getItem(made.get(), 1) : nullptr;
  // For the caller, and for the next calls.
  Plan old = plan;
  for (Object object : {plan.output, plan.output, plan.lse, plan.lse})
    if (object)
      python.addReference(object);
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::swap(plans[next], old);
    next = (next + 1) % size;
  }
  for (Object object : {old.output, old.lse})
    if (object)
      python.dropReference(object);
  return true;
}

/// Allocates the outputs and enqueues, or runs. Null where that fails. `into`
/// is an output that arguments[3] describes.
Object PlainCall::launch(const Plan &plan, FaArgument *arguments, Object into) {
  const FaTorchEntry &entry = plan.entry;
  if (into)
    python.addReference(into);
  Owned output(into ? into
                    : python.callWith(tools.emptyLike, plan.output,
                                      static_cast<Object>(nullptr)));
  Owned lse;
  if (output && plan.lse)
    lse = Owned(python.callWith(tools.emptyLike, plan.lse,
                                static_cast<Object>(nullptr)));
  if (!output || (!into && !describe(output.get(), 4, arguments[3])) ||
      (plan.lse && (!lse || !describe(lse.get(), 3, arguments[4]))))
    return nullptr;
  size_t count = plan.lse ? 5 : 4;
  void *stream = nullptr;
  if (entry.kernel &&
      tools.exchange->getCurrentStream(dlpack::CUDA, plan.device, &stream))
    return nullptr;
  // A launch may wait for room in its stream, and what runs there for Python.
  void *state = python.releaseLock();
  FaStatus status =
      entry.kernel ? entry.launch_kernel(entry.kernel, arguments, count, stream)
                   : entry.call_function(entry.function, arguments, count);
  python.takeLock(state);
  if (status)
    return nullptr;
  return plan.lse ? python.makePair(2, output.get(), lse.get())
                  : output.release();
}

/// Goes on with a call whose tensors were described, and found to be plain.
Object PlainCall::resume() {
  const Pending *from = std::exchange(pending, nullptr);
  if (!from)
    return nullptr;
  FaArgument arguments[5];
  std::copy_n(from->described, 3, arguments);
  Plan plan;
  if (!find(from->operands, arguments, plan))
    return nullptr;
  Owned output(plan.output), lse(plan.lse);
  return launch(plan, arguments);
}

Object PlainCall::differentiate(Object const *operands,
                                const FaArgument *described, bool &raises) {
  // Other head dims are padded first.
  if (described[0].shape[3] % 8 || described[2].shape[3] % 8)
    return nullptr;
  Pending mine = {operands, described};
  pending = &mine;
  Object found = python.callWith(apply, operands[0], operands[1], operands[2],
                                 static_cast<Object>(nullptr));
  pending = nullptr;
  // Hooks of autograd raise what steers their callers.
  raises = !found && !python.isError(tools.notPlain);
  return found;
}

/// Whether an output has the shape of query and value.
static bool hasOutputShape(const FaArgument *described) {
  return std::equal(described[0].shape, described[0].shape + 3,
                    described[3].shape) &&
         described[3].shape[3] == described[2].shape[3];
}

/// The bytes from the first to behind the last element.
static std::pair<const char *, const char *> findSpan(const FaArgument &array) {
  int64_t last = 0;
  for (int i = 0; i != array.rank; ++i) {
    if (array.shape[i] == 0)
      return {};
    last += (array.shape[i] - 1) * array.strides[i];
  }
  auto *data = static_cast<const char *>(array.value.data);
  return {data, data + (last + 1) * (array.type == FA_TYPE_F32 ? 4 : 2)};
}

static bool haveSamePlace(const FaArgument &left, const FaArgument &right) {
  return left.value.data == right.value.data && left.rank == right.rank &&
         std::equal(left.strides, left.strides + left.rank, right.strides);
}

/// Whether an output may lie where operands are read. It may be the queries.
static bool mayOverlap(const FaArgument *described) {
  auto output = findSpan(described[3]);
  for (int i : {0, 1, 2}) {
    auto read = findSpan(described[i]);
    if (read.first < output.second && output.first < read.second &&
        (i != 0 || !haveSamePlace(described[0], described[3])))
      return true;
  }
  return false;
}

Object PlainCall::run(Object const *operands, ptrdiff_t count, bool &raises) {
  if (count == 0)
    return resume();
  FaArgument arguments[5];
  if (count != 3 && count != 4)
    return nullptr;
  for (int i = 0; i != count; ++i)
    if (!describe(operands[i], 4, arguments[i]))
      return nullptr;
  bool hasOutput = count == 4;
  // One query has code of its own.
  if (arguments[0].shape[3 - headsDim] == 1 ||
      !isPlain(operands, arguments, count) ||
      (hasOutput && (!hasOutputShape(arguments) || mayOverlap(arguments))))
    return nullptr;
  std::optional<bool> needs = needsGradient(operands, count);
  if (!needs)
    return nullptr;
  if (*needs)
    return hasOutput ? nullptr : differentiate(operands, arguments, raises);
  Plan plan;
  if (!find(operands, arguments, plan))
    return nullptr;
  Owned output(plan.output), lse(plan.lse);
  return launch(plan, arguments, hasOutput ? operands[3] : nullptr);
}

static const char capsuleName[] = "fa_mlir.PlainCall";

/// What is not plain, and what fails, the operator does or says why not.
static Object callPlain(Object self, Object const *arguments, ptrdiff_t count) {
  auto *call = static_cast<PlainCall *>(python.getPointer(self, capsuleName));
  Object found = nullptr;
  bool raises = false;
  try {
    found = call ? call->run(arguments, count, raises) : nullptr;
  } catch (const std::exception &) {
  }
  if (found || raises)
    return found;
  python.clearError();
  python.addReference(tools.none);
  return tools.none;
}

void *faTorchMakePlainCall(void *objects, const char *specification,
                           int32_t heads_dim, void *apply) {
  static MethodDefinition definition = {"call_plain", callPlain, fastCall,
                                        nullptr};
  if (!python.addReference && !python.open())
    return nullptr;
  if (!tools.exchange && !tools.open(objects)) {
    tools.exchange = nullptr;
    python.clearError();
    python.addReference(tools.none);
    return tools.none;
  }
  python.addReference(apply);
  // Both live as long as the process.
  Owned capsule(python.makeCapsule(
      new PlainCall(specification, heads_dim, apply), capsuleName, nullptr));
  return capsule ? python.makeFunction(&definition, capsule.get(), nullptr)
                 : nullptr;
}
