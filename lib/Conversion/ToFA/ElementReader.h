//===- ElementReader.h - Tensors as functions of indices --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an element of a tensor through the operations that make the tensor:
// linalg, tensor, and arith on whole tensors. It stops at products (sums of
// products of two tensors), at arguments, and at what it does not know, which
// are loads.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_ELEMENTREADER_H
#define FA_LIB_CONVERSION_TOFA_ELEMENTREADER_H

#include "ScalarNode.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <unordered_map>

namespace mlir::fa {

/// Whether `op` adds up products of elements of its operands.
bool isProduct(Operation *op);

/// Whether the elements of an operand are read on; else they are loads.
using ReadsOn = function_ref<bool(Value)>;

class ElementReader {
public:
  ElementReader(NodeGraph &graph, ExtentReader &extents);
  ~ElementReader() { extents.setReadElement(nullptr); }

  /// The element of `tensor` at `indices`.
  const Node *read(Value tensor, ArrayRef<const Node *> indices);
  const Node *read(Value tensor, ArrayRef<IndexForm> indices);
  /// A scalar outside of bodies.
  const Node *readScalar(Value value);
  /// What a linalg operation with these loop indices yields for a result,
  /// without what it is combined with.
  struct Body {
    const Node *node = nullptr;
    Combiner combiner = Combiner::Other;
    SmallVector<unsigned, 2> bound;
    SmallVector<IndexForm> loops;
  };
  std::optional<Body> readBody(linalg::LinalgOp op, unsigned result,
                               ArrayRef<IndexForm> indices, ReadsOn readsOn);
  /// The tensor that `tensor` holds the elements of, moved, and where the
  /// element lies; one step. Nothing where elements are computed.
  std::optional<std::pair<Value, SmallVector<IndexForm>>>
  step(Value tensor, ArrayRef<IndexForm> indices);

  NodeGraph &getGraph() { return graph; }
  ExtentReader &getExtents() { return extents; }
  /// The element that a node is, of the tensor that computes it: copies of it
  /// are often broadcast.
  struct Origin {
    Value tensor;
    SmallVector<const Node *> indices;
  };
  const Origin *getOrigin(const Node *node) const {
    auto place = origins.find(node);
    return place == origins.end() ? nullptr : &place->second;
  }

private:
  using Environment = DenseMap<Value, const Node *>;
  const Node *readUncached(Value tensor, ArrayRef<IndexForm> indices);
  const Node *readLinalg(linalg::LinalgOp op, OpResult result,
                         ArrayRef<IndexForm> indices);
  const Node *readElementwise(Operation *op, ArrayRef<IndexForm> indices);
  const Node *readSoftmax(linalg::SoftmaxOp op, ArrayRef<IndexForm> indices);
  const Node *readConstant(Value tensor, ArrayRef<IndexForm> indices);
  const Node *readConcat(Operation *op, ArrayRef<IndexForm> indices);
  const Node *load(Value tensor, ArrayRef<IndexForm> indices);
  LogicalResult readLoops(linalg::LinalgOp op, unsigned result,
                          ArrayRef<IndexForm> indices, Body &body);
  const Node *readArgument(linalg::LinalgOp op, unsigned result,
                           BlockArgument argument, ArrayRef<IndexForm> loops,
                           ReadsOn readsOn);
  bool isBroadcastIndex(Operation *op, ArrayRef<const Node *> operands);
  const Node *evaluate(Value value, Environment &environment,
                       ArrayRef<IndexForm> loops, Block *body, ReadsOn readsOn);
  std::optional<SmallVector<IndexForm>> reshape(ArrayRef<IndexForm> indices,
                                                ArrayRef<Extent> from,
                                                ArrayRef<Extent> to);

  NodeGraph &graph;
  ExtentReader &extents;
  /// An element: a tensor, then its indices.
  using Place = SmallVector<const void *, 6>;
  struct PlaceHash {
    size_t operator()(const Place &place) const {
      return llvm::hash_combine_range(place.begin(), place.end());
    }
  };
  std::unordered_map<Place, const Node *, PlaceHash> known;
  DenseMap<const Node *, Origin> origins;
  unsigned depthOfReading = 0;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_ELEMENTREADER_H
