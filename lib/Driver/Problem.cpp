//===- Problem.cpp - Attention described by values ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attention that is described by the fields of an FaProblem, as text of
// `fa.attention`. Begin with `writeProblem` at the end: it calls `check`, which
// refuses the first wrong field by its name, and `ProblemWriter::write`.
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/Problem.h"
#include "fa/Runtime/CUDA/KernelDescription.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;
using llvm::Error;

static Error makeError(StringRef field, const Twine &message) {
  return llvm::createStringError("the problem's " + field + " " + message);
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static StringRef getDims(const char *dims) { return dims ? dims : "bshd"; }

static Error checkDims(StringRef field, const char *dims) {
  std::string sorted = getDims(dims).str();
  llvm::sort(sorted);
  if (sorted == "bdhs")
    return Error::success();
  return makeError(field, "has the dims '" + getDims(dims) +
                              "', expected b, s, h and d in any order");
}

static Error checkType(StringRef field, const FaTensorType &tensor) {
  if (runtime::getName(tensor.type) == runtime::getName(-1))
    return makeError(field, "has the type " + Twine(tensor.type) +
                                ", expected an FaDataType");
  if (tensor.rank != FA_SCALAR &&
      (tensor.rank < 1 || tensor.rank > FA_MAX_RANK))
    return makeError(field, "has rank " + Twine(tensor.rank) +
                                ", expected 1 to " + Twine(int(FA_MAX_RANK)));
  for (int dim = 0; dim < tensor.rank; ++dim)
    if (tensor.shape[dim] < -1)
      return makeError(field, "has dim " + Twine(dim) + " of size " +
                                  Twine(tensor.shape[dim]) +
                                  ", expected 0 or more, or -1 for any");
  return Error::success();
}

static Error checkOperand(StringRef field, const FaTensorType &tensor) {
  if (Error error = checkType(field, tensor))
    return error;
  if (tensor.rank != 4)
    return makeError(field, "has rank " + Twine(tensor.rank) + ", expected 4");
  return checkDims(field, tensor.dims);
}

static Error check(const FaProblem &problem) {
  if (problem.size != sizeof(FaProblem))
    return makeError("size", "is " + Twine(problem.size) +
                                 ", expected sizeof(FaProblem), " +
                                 Twine(sizeof(FaProblem)));
  if (problem.name && !isIdentifier(problem.name))
    return makeError("name", "is '" + Twine(problem.name) +
                                 "', expected letters, digits and '_'");
  for (auto [field, tensor] :
       {std::pair("query", &problem.query), std::pair("key", &problem.key),
        std::pair("value", &problem.value)})
    if (Error error = checkOperand(field, *tensor))
      return error;
  if (problem.output_type != problem.query.type &&
      problem.output_type != FA_TYPE_F32)
    return makeError("output_type", "is " +
                                        runtime::getName(problem.output_type) +
                                        ", expected f32 or the query's type, " +
                                        runtime::getName(problem.query.type));
  if (Error error = checkDims("output_dims", problem.output_dims))
    return error;
  if (problem.capture_count && !problem.captures)
    return makeError("captures",
                     "are null, expected " + Twine(problem.capture_count));
  llvm::StringSet<> names = {
      "query",       "key",  "value",    "scale",  "query_lengths",
      "key_lengths", "init", "lse_init", "output", "lse"};
  for (size_t i = 0; i < problem.capture_count; ++i) {
    const FaCapture &capture = problem.captures[i];
    std::string field = "captures[" + std::to_string(i) + "]";
    if (!capture.name || !isIdentifier(capture.name))
      return makeError(field, "has the name '" +
                                  Twine(capture.name ? capture.name : "") +
                                  "', expected letters, digits and '_'");
    if (!names.insert(capture.name).second)
      return makeError(field, "has the name '" + Twine(capture.name) +
                                  "', which is taken");
    if (Error error = checkType(field, capture.type))
      return error;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string getTensorType(int32_t type, ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text + runtime::getName(type).str() + ">";
}

static std::string getType(const FaTensorType &tensor) {
  if (tensor.rank != FA_SCALAR)
    return getTensorType(tensor.type, ArrayRef(tensor.shape, tensor.rank));
  return tensor.type == FA_TYPE_I64 ? "index"
                                    : runtime::getName(tensor.type).str();
}

namespace {
/// Writes a problem that was checked.
class ProblemWriter {
public:
  explicit ProblemWriter(const FaProblem &problem)
      : problem(problem), stream(text) {}

  std::string write();

private:
  /// A dim of an operand: its place and size.
  struct Dim {
    StringRef operand;
    int64_t position, size;
  };
  Dim getDim(StringRef operand, const FaTensorType &tensor, char kind) const {
    int64_t position = getDims(tensor.dims).find(kind);
    return {operand, position, tensor.shape[position]};
  }
  std::string writeDestination(StringRef name, ArrayRef<Dim> dims,
                               int32_t type);

  const FaProblem &problem;
  std::string text;
  llvm::raw_string_ostream stream;
};
} // namespace

/// Writes an empty tensor, and returns its type.
std::string ProblemWriter::writeDestination(StringRef name, ArrayRef<Dim> dims,
                                            int32_t type) {
  SmallVector<int64_t> shape;
  SmallVector<std::string> sizes;
  for (const Dim &dim : dims) {
    shape.push_back(dim.size);
    if (dim.size >= 0)
      continue;
    std::string size = ("%" + name + "_" + Twine(shape.size() - 1)).str();
    stream << "  " << size << "_dim = arith.constant " << dim.position
           << " : index\n  " << size << " = tensor.dim %" << dim.operand << ", "
           << size << "_dim : "
           << getType(dim.operand == "value" ? problem.value : problem.query)
           << "\n";
    sizes.push_back(size);
  }
  std::string destination = getTensorType(type, shape);
  stream << "  %" << name << " = tensor.empty(" << llvm::join(sizes, ", ")
         << ") : " << destination << "\n";
  return destination;
}

std::string ProblemWriter::write() {
  std::string query = getType(problem.query), key = getType(problem.key),
              value = getType(problem.value);
  Dim batch = getDim("query", problem.query, 'b');
  std::string lengths = getTensorType(FA_TYPE_I32, {batch.size});
  std::string inner;
  // The signature needs the types of the destinations, which stand in the body.
  SmallVector<Dim> outputDims;
  for (char kind : getDims(problem.output_dims))
    outputDims.push_back(kind == 'd' ? getDim("value", problem.value, 'd')
                                     : getDim("query", problem.query, kind));
  std::string output =
      writeDestination("init", outputDims, problem.output_type);
  std::string results = output, names = "%output", inits = "%init";
  if (problem.returns_lse) {
    results +=
        ", " + writeDestination("lse_init",
                                {batch, getDim("query", problem.query, 'h'),
                                 getDim("query", problem.query, 's')},
                                FA_TYPE_F32);
    names += ", %lse";
    inits += ", %lse_init";
  }
  std::string destinations = std::move(text);
  text.clear();

  stream << "func.func @" << (problem.name ? problem.name : "attention")
         << "(%query: " << query << ", %key: " << key << ", %value: " << value;
  if (problem.has_scale)
    stream << ", %scale: f32";
  if (problem.has_query_lengths)
    stream << ", %query_lengths: " << lengths;
  if (problem.has_key_lengths)
    stream << ", %key_lengths: " << lengths;
  for (size_t i = 0; i < problem.capture_count; ++i)
    stream << ", %" << problem.captures[i].name << ": "
           << getType(problem.captures[i].type);
  stream << ") -> (" << results << ") {\n"
         << destinations << "  " << names
         << " = fa.attention ins(%query, %key, %value : " << query << ", "
         << key << ", " << value << ")\n      outs(" << inits << " : "
         << results << ")";
  if (problem.has_scale)
    stream << " scale(%scale)";
  if (problem.has_query_lengths)
    stream << " query_lengths(%query_lengths : " << lengths << ")";
  if (problem.has_key_lengths)
    stream << " key_lengths(%key_lengths : " << lengths << ")";
  if (problem.score)
    stream << "\n      score " << problem.score;
  if (problem.mask)
    stream << "\n      mask " << problem.mask;
  SmallVector<std::string> orders;
  for (auto [operand, dims] : {std::pair("query", problem.query.dims),
                               std::pair("key", problem.key.dims),
                               std::pair("value", problem.value.dims),
                               std::pair("output", problem.output_dims)}) {
    if (getDims(dims) == "bshd")
      continue;
    std::string order = std::string(operand) + "_dims = #fa.dims<";
    for (char kind : getDims(dims))
      order += std::string(order.back() == '<' ? "" : ", ") + kind;
    orders.push_back(order + ">");
  }
  if (!orders.empty())
    stream << "\n      {" << llvm::join(orders, ", ") << "}";
  stream << "\n  return " << names << " : " << results << "\n}\n";
  return std::move(text);
}

llvm::Expected<std::string> fa::writeProblem(const FaProblem &problem) {
  if (Error error = check(problem))
    return std::move(error);
  return ProblemWriter(problem).write();
}
