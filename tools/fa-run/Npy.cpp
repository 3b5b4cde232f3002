//===- Npy.cpp - NumPy's array files --------------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes arrays in NumPy's .npy format: a magic number, a header
// that is a Python dictionary, the elements. Read `readNpy` with `parseFile`,
// then `writeNpy`. The header is checked before memory is taken.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr llvm::StringLiteral magic("\x93NUMPY");

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The descr of an element type. Index counts as i64.
static std::string getDescr(Type type) {
  if (type.isBF16())
    return "<V2";
  if (type.isInteger(1))
    return "|b1";
  if (type.isIndex())
    return "<i8";
  unsigned size = type.getIntOrFloatBitWidth() / 8;
  std::string name = (isa<FloatType>(type) ? "f" : "i") + std::to_string(size);
  return (size == 1 ? "|" : "<") + name;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
struct Header {
  StringRef descr;
  bool isFortranOrder = false;
  SmallVector<int64_t> shape;
};
} // namespace

/// The text after `'key':` in the header's dictionary.
static llvm::Expected<StringRef> getEntry(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  if (at == StringRef::npos)
    return makeError("has a header without '" + key + "'");
  return header.drop_front(at + key.size() + 3).ltrim();
}

static llvm::Expected<Header> parseHeader(StringRef text) {
  Header header;
  auto descr = getEntry(text, "descr");
  if (!descr)
    return descr.takeError();
  if (!descr->consume_front("'"))
    return makeError("has structured elements, which are not supported");
  header.descr = descr->take_until([](char c) { return c == '\''; });
  auto order = getEntry(text, "fortran_order");
  if (!order)
    return order.takeError();
  header.isFortranOrder = order->starts_with("True");
  auto shape = getEntry(text, "shape");
  if (!shape)
    return shape.takeError();
  if (!shape->consume_front("("))
    return makeError("has a malformed shape in its header");
  SmallVector<StringRef> sizes;
  shape->take_until([](char c) { return c == ')'; })
      .split(sizes, ',', -1, /*KeepEmpty=*/false);
  int64_t count = 1;
  for (StringRef size : sizes) {
    if (size.trim().empty())
      continue;
    int64_t value;
    if (size.trim().getAsInteger(10, value) || value < 0 ||
        llvm::MulOverflow(count, std::max<int64_t>(value, 1), count) ||
        count > (int64_t(1) << 56))
      return makeError("has a malformed shape in its header");
    header.shape.push_back(value);
  }
  return header;
}

/// Header text and data of a file in memory.
static llvm::Expected<std::pair<StringRef, StringRef>>
splitFile(StringRef data) {
  if (!data.consume_front(magic) || data.size() < 4)
    return makeError("is not a .npy file");
  unsigned version = data[0];
  size_t lengthSize = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || data.size() < 2 + lengthSize)
    return makeError("is of an unknown .npy version");
  const char *lengthBytes = data.data() + 2;
  size_t length = version == 1 ? llvm::support::endian::read16le(lengthBytes)
                               : llvm::support::endian::read32le(lengthBytes);
  data = data.drop_front(2 + lengthSize);
  if (data.size() < length)
    return makeError("ends inside its header");
  return std::make_pair(data.take_front(length), data.drop_front(length));
}

/// Rearranges column-major elements to row-major.
static void fromFortranOrder(HostBuffer &buffer) {
  HostBuffer source = buffer;
  size_t size = buffer.getElementSize();
  SmallVector<int64_t> index(buffer.shape.size(), 0);
  for (int64_t i = 0, e = buffer.getNumElements(); i < e; ++i) {
    int64_t from = 0;
    for (size_t dim = index.size(); dim-- > 0;)
      from = from * buffer.shape[dim] + index[dim];
    std::copy_n(source.bytes.data() + from * size, size,
                buffer.bytes.data() + i * size);
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < buffer.shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

static llvm::Expected<HostBuffer> parseFile(StringRef text, Type elementType) {
  auto parts = splitFile(text);
  if (!parts)
    return parts.takeError();
  auto header = parseHeader(parts->first);
  if (!header)
    return header.takeError();
  std::string expected = getDescr(elementType);
  bool matches = header->descr == expected ||
                 (elementType.isBF16() && header->descr == "|V2");
  if (!matches) {
    std::string typeName;
    llvm::raw_string_ostream(typeName) << elementType;
    return makeError("has elements of type '" + header->descr + "', but " +
                     typeName + " ('" + expected + "') was expected");
  }
  // Before memory is taken for what the header says.
  uint64_t size = executor::getNumElements(header->shape) *
                  HostBuffer(elementType, {0}).getElementSize();
  if (parts->second.size() != size)
    return makeError("holds " + Twine(parts->second.size()) +
                     " bytes of data, but its header promises " + Twine(size));
  HostBuffer buffer(elementType, header->shape);
  std::copy(parts->second.begin(), parts->second.end(), buffer.bytes.begin());
  if (header->isFortranOrder)
    fromFortranOrder(buffer);
  return buffer;
}

llvm::Expected<HostBuffer> fa::readNpy(StringRef path, Type elementType) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return makeError("cannot be read: " + file.getError().message());
  return parseFile((*file)->getBuffer(), elementType);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static llvm::Error writeFile(StringRef path,
                             llvm::function_ref<void(raw_ostream &)> write) {
  llvm::Error error = llvm::writeToOutput(path, [&](raw_ostream &stream) {
    write(stream);
    return llvm::Error::success();
  });
  if (!error)
    return error;
  return makeError("cannot write '" + path +
                   "': " + llvm::toString(std::move(error)));
}

llvm::Error fa::writeNpy(StringRef path, const HostBuffer &buffer) {
  std::string header = "{'descr': '" + getDescr(buffer.elementType) +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t size : buffer.shape)
    header += std::to_string(size) + ", ";
  header += "), }";
  // Data starts at a multiple of 64 bytes; the header ends in a newline.
  size_t prefix = magic.size() + 4;
  header.resize(llvm::alignTo(prefix + header.size() + 1, 64) - prefix - 1,
                ' ');
  header += '\n';
  return writeFile(path, [&](raw_ostream &stream) {
    stream << magic << '\1' << '\0' << static_cast<char>(header.size() & 0xff)
           << static_cast<char>(header.size() >> 8) << header;
    stream.write(buffer.bytes.data(), buffer.bytes.size());
  });
}

llvm::Error fa::writeTextFile(StringRef path, StringRef text) {
  return writeFile(path, [&](raw_ostream &stream) { stream << text; });
}
