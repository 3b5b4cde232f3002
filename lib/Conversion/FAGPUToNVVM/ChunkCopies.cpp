//===- ChunkCopies.cpp - Copies of 16 bytes into shared memory ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fagpu;

static constexpr int64_t chunkBytes = 16;

/// "[$operand]", or the address `offset` bytes on.
static std::string addressAt(int64_t operand, int64_t offset) {
  std::string text = "[$" + std::to_string(operand);
  if (offset)
    text += " + " + std::to_string(offset);
  return text + "]";
}

/// How many of the `granule` bytes from `offset` on are in memory.
static Value clampBytes(Emitter &emit, Value bytes, int64_t offset,
                        int64_t granule) {
  if (granule == chunkBytes)
    return bytes;
  Value left = arith::MaxSIOp::create(
      emit.builder, emit.location, emit.subtract(bytes, emit.constant(offset)),
      emit.constant(0));
  return arith::MinSIOp::create(emit.builder, emit.location, left,
                                emit.constant(granule));
}

// NVVM's operation for it has no predicate, neither for the copy nor to ignore
// the source.
void ChunkCopy::start(Emitter &emit, int64_t granule) const {
  // Only whole chunks pass by the first level of cache.
  StringRef cache = granule == chunkBytes ? "cg" : "ca";
  for (int64_t offset = 0; offset < chunkBytes; offset += granule) {
    std::string text =
        ("cp.async." + cache + ".shared.global " + addressAt(0, offset) + ", " +
         addressAt(1, offset) + ", " + Twine(granule) + ", $2;")
            .str();
    std::string constraints = "l,l,b";
    SmallVector<Value> inputs = {target, source, isPast};
    if (bytes) {
      // The third operand is then the size of the source.
      constraints = "l,l,r";
      inputs.back() = emit.select(isPast, emit.constant(0),
                                  clampBytes(emit, bytes, offset, granule));
    }
    if (condition) {
      text = "@$3 " + text;
      constraints += ",b";
      inputs.push_back(condition);
    }
    emit.inlinePTX(text, constraints + ",~{memory}", inputs, {});
  }
}

/// Loads `count` words side by side where the predicate is true; else zeros.
static SmallVector<Value> loadWords(Emitter &emit, Value source, int64_t offset,
                                    int64_t count, Value predicate) {
  std::string clear, list, constraints;
  for (int64_t word = 0; word < count; ++word) {
    std::string name = "$" + std::to_string(word);
    clear += "mov.b32 " + name + ", 0; ";
    list += (word ? ", " : "") + name;
    constraints += "=&r,";
  }
  std::string vector;
  if (count > 1) {
    vector = ".v" + std::to_string(count);
    list = "{" + list + "}";
  }
  std::string text = clear + "@$" + std::to_string(count + 1) + " ld.global" +
                     vector + ".b32 " + list + ", " + addressAt(count, offset) +
                     ";";
  return emit.inlinePTX(text, constraints + "l,b,~{memory}",
                        {source, predicate},
                        SmallVector<Type>(count, emit.builder.getI32Type()));
}

/// Loads 16 bits where the predicate is true; else zero.
static Value loadHalf(Emitter &emit, Value source, int64_t offset,
                      Value predicate) {
  std::string text = "{ .reg .b16 x; mov.b16 x, 0; @$2 ld.global.b16 x, " +
                     addressAt(1, offset) + "; cvt.u32.u16 $0, x; }";
  return emit.inlinePTX(text, "=r,l,b,~{memory}", {source, predicate},
                        {emit.builder.getI32Type()})[0];
}

SmallVector<Value> ChunkCopy::load(Emitter &emit, int64_t granule) const {
  auto compare = [&](arith::CmpIPredicate predicate, Value a, int64_t b) {
    return arith::CmpIOp::create(emit.builder, emit.location, predicate, a,
                                 emit.constant(b));
  };
  Value isThere = arith::XOrIOp::create(
      emit.builder, emit.location, isPast,
      arith::ConstantOp::create(emit.builder, emit.location,
                                emit.builder.getBoolAttr(true)));
  if (condition)
    isThere = emit.logicalAnd(isThere, condition);
  auto isPieceThere = [&](int64_t offset) {
    if (!bytes)
      return isThere;
    return emit.logicalAnd(isThere,
                           compare(arith::CmpIPredicate::sgt, bytes, offset));
  };
  SmallVector<Value> words;
  for (int64_t offset = 0; offset < chunkBytes; offset += granule) {
    if (granule >= 4) {
      llvm::append_range(words, loadWords(emit, source, offset, granule / 4,
                                          isPieceThere(offset)));
      continue;
    }
    Value half = loadHalf(emit, source, offset, isPieceThere(offset));
    if (offset % 4)
      words.back() = emit.bitOr(words.back(), emit.shiftLeft(half, 16));
    else
      words.push_back(half);
  }
  return words;
}

void ChunkCopy::store(Emitter &emit, ValueRange words) const {
  SmallVector<Value> inputs = {target};
  llvm::append_range(inputs, words);
  std::string text = "st.shared.v4.b32 [$0], {$1, $2, $3, $4};";
  std::string constraints = "l,r,r,r,r";
  if (condition) {
    text = "@$5 " + text;
    constraints += ",b";
    inputs.push_back(condition);
  }
  emit.inlinePTX(text, constraints + ",~{memory}", inputs, {});
}
