//===- Operators.cpp - The torch operators --------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From torch's stack of values to a call of compiled code: `Stack` owns the
// inputs, `Call` describes them, `RecentEntries` (Entries.h) finds what to run,
// `run` allocates the outputs and calls. Read the three operators near the end
// first. Errors are C++ exceptions, which torch turns into its own.
//
//===----------------------------------------------------------------------===//

#include "Entries.h"
#include "StableABI.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace fa::torch;

static StableABI abi;

/// Of the last call in this thread that failed.
static thread_local FaStatus lastStatus = FA_SUCCESS;

FaStatus faTorchTakeStatus(void) {
  return std::exchange(lastStatus, FA_SUCCESS);
}

namespace {
/// What is wrong with an argument. Torch makes a RuntimeError of it; the host
/// asks for the status.
struct InvalidArgument : std::runtime_error {
  explicit InvalidArgument(const std::string &message)
      : std::runtime_error(message) {
    lastStatus = FA_INVALID_ARGUMENT;
  }
};
} // namespace

static void check(Error error, const char *what) {
  if (error)
    throw std::runtime_error(std::string("torch failed: ") + what);
}

namespace {
/// A tensor that a call owns.
class OwnedTensor {
public:
  explicit OwnedTensor(Tensor tensor = nullptr) : tensor(tensor) {}
  OwnedTensor(OwnedTensor &&other) noexcept : tensor(other.release()) {}
  OwnedTensor &operator=(OwnedTensor &&other) noexcept {
    std::swap(tensor, other.tensor);
    return *this;
  }
  ~OwnedTensor() {
    if (tensor)
      abi.deleteTensor(tensor);
  }
  Tensor get() const { return tensor; }
  Tensor release() { return std::exchange(tensor, nullptr); }
  explicit operator bool() const { return tensor; }

private:
  Tensor tensor;
};

/// Element types as torch numbers them, found once.
struct Types {
  int32_t codes[16], count = 0;
  int32_t types[16];
  int32_t cpu, cuda, f32;

  void add(int32_t code, int32_t type) {
    codes[count] = code;
    types[count++] = type;
  }
  void open() {
    add(abi.getF16(), FA_TYPE_F16);
    add(abi.getBF16(), FA_TYPE_BF16);
    add(abi.getF32(), FA_TYPE_F32);
    add(abi.getF64(), FA_TYPE_F64);
    add(abi.getI8(), FA_TYPE_I8);
    add(abi.getU8(), FA_TYPE_I8);
    add(abi.getI32(), FA_TYPE_I32);
    add(abi.getI64(), FA_TYPE_I64);
    add(abi.getBool(), FA_TYPE_I1);
    cpu = abi.getCPU();
    cuda = abi.getCUDA();
    f32 = abi.getF32();
  }
  /// FaDataType, or -1.
  int32_t find(int32_t code) const {
    for (int32_t i = 0; i < count; ++i)
      if (codes[i] == code)
        return types[i];
    return -1;
  }
};
} // namespace

static Types types;

static FaArgument describe(Tensor tensor, const std::string &name,
                           int32_t *code = nullptr) {
  FaArgument argument;
  std::memset(&argument, 0, sizeof argument);
  int64_t rank = 0, *sizes = nullptr, *strides = nullptr;
  int32_t type = 0;
  check(abi.getRank(tensor, &rank), "rank");
  if (rank < 1 || rank > FA_MAX_RANK)
    throw InvalidArgument("argument '" + name + "' has rank " +
                          std::to_string(rank) + ", expected 1 to 6");
  check(abi.getSizes(tensor, &sizes), "sizes");
  check(abi.getStrides(tensor, &strides), "strides");
  check(abi.getType(tensor, &type), "type");
  check(abi.getData(tensor, &argument.value.data), "memory");
  check(abi.getDeviceIndex(tensor, &argument.device), "device");
  argument.type = types.find(type);
  argument.rank = static_cast<int32_t>(rank);
  std::copy_n(sizes, rank, argument.shape);
  std::copy_n(strides, rank, argument.strides);
  if (code)
    *code = type;
  return argument;
}

static int64_t getElementSize(int32_t type) {
  switch (type) {
  case FA_TYPE_F16:
  case FA_TYPE_BF16:
    return 2;
  case FA_TYPE_F32:
  case FA_TYPE_I32:
    return 4;
  case FA_TYPE_F64:
  case FA_TYPE_I64:
    return 8;
  default:
    return 1;
  }
}

/// Whether the tensor and its rows start at multiples of 16 bytes, as those of
/// a dense tensor of its shape do, which its gradient is.
static bool isAligned(const FaArgument &tensor) {
  int64_t size = getElementSize(tensor.type);
  if (reinterpret_cast<uintptr_t>(tensor.value.data) % 16 ||
      tensor.shape[tensor.rank - 1] * size % 16)
    return false;
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] != 1 && tensor.strides[i] != 1 &&
        tensor.strides[i] * size % 16)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// The inputs of an operator, which are the callee's: whatever throws, those
/// that nobody took are given back.
class Stack {
public:
  /// kinds: of each value 't' for a tensor, 's' for a string, and of optional
  /// ones 'o' for a tensor, 'T' for a list of tensors, 'N' for one of numbers.
  Stack(const Value *values, const char *kinds) : kinds(kinds) {
    lastStatus = FA_SUCCESS;
    for (int i = 0; kinds[i]; ++i) {
      held[i] = values[i];
      bool isOptional = kinds[i] != 't' && kinds[i] != 's';
      if (!isOptional || !held[i])
        continue;
      // Behind an address that the callee frees.
      auto *optional = reinterpret_cast<Value *>(held[i]);
      held[i] = *optional;
      delete optional;
    }
  }
  Stack(const Stack &) = delete;
  ~Stack() {
    for (int i = 0; kinds[i]; ++i) {
      if (!held[i])
        continue;
      if (kinds[i] == 's')
        abi.deleteString(reinterpret_cast<String>(held[i]));
      else if (kinds[i] == 'N')
        abi.deleteList(reinterpret_cast<List>(held[i]));
      else if (kinds[i] == 'T')
        takeItems(i);
      else
        abi.deleteTensor(reinterpret_cast<Tensor>(held[i]));
    }
  }

  /// Null for an optional one that is not there.
  OwnedTensor takeTensor(int i) {
    return OwnedTensor(reinterpret_cast<Tensor>(std::exchange(held[i], 0)));
  }
  std::vector<OwnedTensor> takeTensors(int i) {
    std::vector<OwnedTensor> tensors;
    Error error = takeItems(i, &tensors);
    check(error, "a list of tensors");
    return tensors;
  }
  std::vector<double> getNumbers(int i) const {
    auto list = reinterpret_cast<List>(held[i]);
    size_t size = 0;
    if (list)
      check(abi.getListSize(list, &size), "a list of numbers");
    std::vector<double> numbers(size);
    for (size_t j = 0; j < size; ++j) {
      Value item = 0;
      check(abi.getListItem(list, j, &item), "a list of numbers");
      std::memcpy(&numbers[j], &item, sizeof(double));
    }
    return numbers;
  }
  /// Lives as long as the stack.
  std::string_view getString(int i) const {
    auto string = reinterpret_cast<String>(held[i]);
    size_t size = 0;
    const char *data = nullptr;
    check(abi.getStringSize(string, &size), "a string");
    check(abi.getStringData(string, &data), "a string");
    return {data, size};
  }

private:
  /// Frees a list of tensors, whose items go to `tensors`, or are freed too.
  Error takeItems(int i, std::vector<OwnedTensor> *tensors = nullptr) {
    auto list = reinterpret_cast<List>(std::exchange(held[i], 0));
    if (!list)
      return 0;
    size_t size = 0;
    Error error = abi.getListSize(list, &size);
    for (size_t j = 0; j < size && !error; ++j) {
      Value item = 0;
      error = abi.getListItem(list, j, &item);
      OwnedTensor tensor(reinterpret_cast<Tensor>(item));
      if (tensors && !error)
        tensors->push_back(std::move(tensor));
    }
    abi.deleteList(list);
    return error;
  }

  const char *kinds;
  Value held[16] = {};
};
} // namespace

namespace {
/// Inputs of one call, in the order of the function's arguments.
class Call {
public:
  Call() {
    tensors.reserve(usual);
    codes.reserve(usual);
    arguments.reserve(usual);
  }
  void addTensor(OwnedTensor tensor, const std::string &name) {
    codes.emplace_back();
    arguments.push_back(describe(tensor.get(), name, &codes.back()));
    tensors.push_back(std::move(tensor));
  }
  /// Lengths and captures.
  void addTensors(std::vector<OwnedTensor> added) {
    firstTensor = tensors.size();
    for (size_t i = 0; i < added.size(); ++i)
      addTensor(std::move(added[i]), "tensors[" + std::to_string(i) + "]");
  }
  void setNumbers(std::vector<double> values) { numbers = std::move(values); }
  /// The text outlives the call.
  void setSpecification(std::string_view text) { specification = text; }

  /// Runs `operation` and returns the outputs. Where `into` is given it is the
  /// first output.
  std::vector<OwnedTensor> run(const char *operation, std::string_view more,
                               Tensor into = nullptr);

private:
  /// Of most calls, with numbers and outputs.
  static constexpr size_t usual = 16;

  Facts getFacts(const char *operation, std::string_view more,
                 bool isCUDA) const;
  OwnedTensor makeOutput(const FaTorchEntry &entry, int32_t kind,
                         int32_t device) const;

  std::vector<OwnedTensor> tensors;
  std::vector<FaArgument> arguments;
  /// Torch's element types.
  std::vector<int32_t> codes;
  std::vector<double> numbers;
  std::string_view specification;
  /// Of lengths and captures.
  size_t firstTensor = 0;
};
} // namespace

Facts Call::getFacts(const char *operation, std::string_view more,
                     bool isCUDA) const {
  const FaArgument &query = arguments[0], &value = arguments[2];
  Facts facts = {operation,
                 isCUDA ? query.device : -1,
                 query.type,
                 value.type,
                 query.shape[query.rank - 1],
                 value.shape[value.rank - 1],
                 0,
                 0,
                 more,
                 specification};
  // A kernel copies rows of a bias in bulk where they are aligned.
  for (size_t i = firstTensor; i < arguments.size() && isCUDA; ++i) {
    bool isBulk = arguments[i].rank == 4 && isAligned(arguments[i]);
    facts.aligned |= uint64_t(isBulk) << (facts.flagCount++ & 63);
  }
  return facts;
}

OwnedTensor Call::makeOutput(const FaTorchEntry &entry, int32_t kind,
                             int32_t device) const {
  const FaArgument &query = arguments[0];
  int64_t shape[FA_MAX_RANK], strides[FA_MAX_RANK];
  int64_t rank = 4;
  int32_t code = codes[0];
  if (kind == FA_TORCH_LSE) {
    code = types.f32;
    rank = query.rank - 1;
  }
  if (kind == FA_TORCH_LSE && query.rank == 3) {
    // Packed sequences.
    shape[0] = query.shape[1];
    shape[1] = query.shape[0];
  } else if (kind == FA_TORCH_LSE) {
    shape[0] = query.shape[0];
    shape[1] = query.shape[entry.heads_dim];
    shape[2] = query.shape[3 - entry.heads_dim];
  } else if (kind == FA_TORCH_OUTPUT) {
    rank = query.rank;
    std::copy_n(query.shape, rank, shape);
    shape[rank - 1] = arguments[2].shape[arguments[2].rank - 1];
  } else {
    rank = arguments[kind].rank;
    code = codes[kind];
    std::copy_n(arguments[kind].shape, rank, shape);
  }
  int64_t stride = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i] > 1 ? shape[i] : 1;
  }
  Tensor made = nullptr;
  check(abi.makeEmpty(rank, shape, strides, code,
                      entry.kernel ? types.cuda : types.cpu, device, &made),
        "an allocation");
  OwnedTensor output(made);
  if (entry.zeroes_outputs)
    check(abi.zero(made), "zeroing an output");
  return output;
}

std::vector<OwnedTensor> Call::run(const char *operation, std::string_view more,
                                   Tensor into) {
  for (int i = 0; i < 3; ++i)
    if (arguments[i].rank != 3 && arguments[i].rank != 4)
      throw InvalidArgument("query, key or value has rank " +
                            std::to_string(arguments[i].rank) +
                            ", expected 4, or 3 of packed sequences");
  int32_t deviceType = 0;
  check(abi.getDeviceType(tensors[0].get(), &deviceType), "device");
  bool isCUDA = deviceType == types.cuda;
  auto checkDevice = [&](Tensor tensor) {
    int32_t other = 0;
    check(abi.getDeviceType(tensor, &other), "device");
    if (other != deviceType)
      throw InvalidArgument("tensors are on different devices, expected all on "
                            "that of the query");
  };
  for (const OwnedTensor &tensor : tensors)
    checkDevice(tensor.get());
  FaArgument described;
  if (into) {
    checkDevice(into);
    described = describe(into, "out");
  }
  FaTorchEntry entry =
      getRecentEntries().find(getFacts(operation, more, isCUDA));
  for (size_t i = 0; i < numbers.size(); ++i) {
    FaArgument number;
    std::memset(&number, 0, sizeof number);
    number.rank = FA_SCALAR;
    if (entry.integer_numbers >> i & 1) {
      number.type = FA_TYPE_I64;
      number.value.integer = static_cast<int64_t>(numbers[i]);
    } else {
      number.type = FA_TYPE_F64;
      number.value.real = numbers[i];
    }
    arguments.push_back(number);
  }
  std::vector<OwnedTensor> outputs;
  // And a log-sum-exp that was not asked for.
  outputs.reserve(entry.output_count + 1);
  for (int32_t i = 0; i < entry.output_count; ++i) {
    if (into && entry.outputs[i] == FA_TORCH_OUTPUT) {
      if (entry.zeroes_outputs)
        check(abi.zero(into), "zeroing an output");
      arguments.push_back(described);
      continue;
    }
    outputs.push_back(makeOutput(entry, entry.outputs[i], arguments[0].device));
    arguments.push_back(describe(outputs.back().get(), "output"));
  }
  FaStatus status;
  const char *message;
  if (entry.kernel) {
    void *stream = nullptr;
    if (!abi.getCurrentStream)
      throw std::runtime_error("this torch has no CUDA");
    check(abi.getCurrentStream(arguments[0].device, &stream), "the stream");
    status = entry.launch_kernel(entry.kernel, arguments.data(),
                                 arguments.size(), stream);
    message = status ? entry.get_kernel_error() : "";
  } else {
    status =
        entry.call_function(entry.function, arguments.data(), arguments.size());
    message = status ? entry.get_function_error() : "";
  }
  if (status) {
    lastStatus = status;
    throw std::runtime_error(message);
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// A log-sum-exp that was not asked for.
static OwnedTensor makeNothing(int32_t deviceType, int32_t device) {
  int64_t size = 0, stride = 1;
  Tensor made = nullptr;
  check(abi.makeEmpty(1, &size, &stride, types.f32, deviceType, device, &made),
        "an allocation");
  return OwnedTensor(made);
}

static Value release(OwnedTensor &tensor) {
  return reinterpret_cast<Value>(tensor.release());
}

static void getDevice(Tensor tensor, int32_t &type, int32_t &index) {
  check(abi.getDeviceType(tensor, &type), "device");
  check(abi.getDeviceIndex(tensor, &index), "device");
}

static const char *const operandNames[] = {"query",  "key", "value",
                                           "output", "lse", "output_gradient"};

/// query, key, value, tensors, numbers, specification.
static Call takeForward(Stack &stack) {
  Call call;
  for (int i = 0; i < 3; ++i)
    call.addTensor(stack.takeTensor(i), operandNames[i]);
  call.addTensors(stack.takeTensors(3));
  call.setNumbers(stack.getNumbers(4));
  call.setSpecification(stack.getString(5));
  return call;
}

static void attention(Value *values, uint64_t, uint64_t) {
  Stack stack(values, "tttTNs");
  int32_t type = 0, index = 0;
  getDevice(reinterpret_cast<Tensor>(values[0]), type, index);
  Call call = takeForward(stack);
  std::vector<OwnedTensor> outputs = call.run(forward, "");
  if (outputs.size() < 2)
    outputs.push_back(makeNothing(type, index));
  values[0] = release(outputs[0]);
  values[1] = release(outputs[1]);
}

/// The output alone, of a specification without a log-sum-exp: a tensor less to
/// allocate.
static void attentionOutput(Value *values, uint64_t, uint64_t) {
  Stack stack(values, "tttTNs");
  Call call = takeForward(stack);
  std::vector<OwnedTensor> outputs = call.run(forward, "");
  values[0] = release(outputs[0]);
}

static void attentionInto(Value *values, uint64_t, uint64_t) {
  Stack stack(values, "tttTNst");
  int32_t type = 0, index = 0;
  getDevice(reinterpret_cast<Tensor>(values[0]), type, index);
  OwnedTensor into = stack.takeTensor(6);
  Call call = takeForward(stack);
  std::vector<OwnedTensor> outputs = call.run(forward, "", into.get());
  if (outputs.empty())
    outputs.push_back(makeNothing(type, index));
  values[0] = release(outputs[0]);
}

static void attentionBackward(Value *values, uint64_t, uint64_t) {
  Stack stack(values, "ttttttoTNss");
  Call call;
  for (int i = 0; i < 6; ++i)
    call.addTensor(stack.takeTensor(i), operandNames[i]);
  OwnedTensor lseGradient = stack.takeTensor(6);
  bool hasLse = bool(lseGradient);
  if (hasLse)
    call.addTensor(std::move(lseGradient), "lse_gradient");
  call.addTensors(stack.takeTensors(7));
  call.setNumbers(stack.getNumbers(8));
  call.setSpecification(stack.getString(9));
  std::string more = hasLse ? "1" : "0";
  more += stack.getString(10);
  std::vector<OwnedTensor> outputs = call.run(backward, more);
  List list = nullptr;
  check(abi.makeList(outputs.size(), &list), "a list");
  for (OwnedTensor &output : outputs)
    check(abi.appendToList(list, release(output)), "a list");
  values[0] = reinterpret_cast<Value>(list);
}

void faTorchRunThreads(void (*body)(void *context), void *context,
                       int64_t count) {
  struct Thread {
    void (*body)(void *context);
    void *context;
  } thread{body, context};
  // Each thread has some of the numbers below `count`. Where torch has no
  // threads to give, fa_parallel_for does all by itself.
  abi.parallelFor(
      0, count, /*grain_size=*/1,
      [](int64_t, int64_t, void *context) {
        auto &thread = *static_cast<Thread *>(context);
        thread.body(thread.context);
      },
      &thread);
}

const char *faTorchRegister(FaTorchCompile compile) {
  static std::string message;
  static bool isRegistered = false;
  if (isRegistered)
    return nullptr;
  if (const char *missing = abi.open()) {
    message = std::string("'") + missing +
              "' is not loaded: expected torch 2.10 or later";
    return message.c_str();
  }
  types.open();
  setCompile(compile);
  // Registrations live as long as the process.
  void *library = nullptr;
  Error error = abi.defineLibrary("fa_mlir", __FILE__, __LINE__, &library);
  for (const char *schema :
       {"attention(Tensor query, Tensor key, Tensor value, Tensor[]? tensors, "
        "float[]? numbers, str specification) -> (Tensor, Tensor)",
        "attention_output(Tensor query, Tensor key, Tensor value, Tensor[]? "
        "tensors, float[]? numbers, str specification) -> Tensor",
        "attention_into(Tensor query, Tensor key, Tensor value, Tensor[]? "
        "tensors, float[]? numbers, str specification, Tensor(a!) out) -> "
        "Tensor",
        "attention_backward(Tensor query, Tensor key, Tensor value, Tensor "
        "output, Tensor lse, Tensor output_gradient, Tensor? lse_gradient, "
        "Tensor[]? tensors, float[]? numbers, str specification, str wanted) "
        "-> Tensor[]"})
    if (!error)
      error = abi.define(library, schema);
  using Kernel = void (*)(Value *, uint64_t, uint64_t);
  const std::pair<const char *, Kernel> kernels[] = {
      {"attention", attention},
      {"attention_output", attentionOutput},
      {"attention_into", attentionInto},
      {"attention_backward", attentionBackward}};
  for (const char *key : {"CPU", "CUDA"}) {
    void *implementations = nullptr;
    if (!error)
      error = abi.implementLibrary("fa_mlir", key, __FILE__, __LINE__,
                                   &implementations);
    for (auto [name, kernel] : kernels)
      if (!error)
        error = abi.implement(implementations, name, kernel, abiVersion);
  }
  if (error)
    return "torch refused the operators of fa_mlir";
  isRegistered = true;
  return nullptr;
}
