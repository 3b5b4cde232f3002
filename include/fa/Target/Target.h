//===- Target.h - Limits of processors -----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a processor has, as data (lib/Target/*.def), which configuration suits
// it, and whether a given configuration exceeds it. Begin with `Target`: `get`,
// `selectConfig`, `verifyConfig`. AttentionProblem and RegionWork are what it
// needs to know of an attention.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_TARGET_H
#define FA_TARGET_TARGET_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Target/GPUTarget.h"
#include <string>
#include <variant>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::fa {

/// On the gradient of an attention: the configuration of its blocks of keys,
/// where it is another than that of its blocks of queries.
inline constexpr StringLiteral gradientKeysAttrName = "fa.gradient_keys";
/// On a step of gradients: the captures whose gradients it stores or adds in
/// boxes.
inline constexpr StringLiteral captureBoxesAttrName = "fa.capture_boxes";

/// A CPU core.
struct CPULimits {
  /// f32 elements of a vector register, and how many registers there are.
  int64_t lanes, vectorRegisters;
  /// Data caches that one core has to itself, in bytes.
  int64_t level1Bytes, level2Bytes;
  /// Cores that run at a time; 0 where unknown.
  int64_t threads = 0;
};

/// What the regions of an attention hold besides the scores.
struct RegionWork {
  /// Captured elements that are read at each key, and at each pair.
  int64_t keyLoads = 0, pairLoads = 0;
  /// Those of `pairLoads` that the score function or the mask has, whichever
  /// has more: one is computed behind the other.
  int64_t pairLoadsOfRegion = 0;
  /// Those of `pairLoads` that `findTileRows` takes, of the score function, and
  /// whether all of them start rows at multiples of 16 bytes, by their type or
  /// by `fa.align`.
  int64_t tileLoads = 0;
  bool areTilesAligned = true;
  /// The first capture of the score function that `findTileRows` would take if
  /// its type had no distance of rows, or no offset (without `dim`), of so many
  /// elements.
  struct UnalignedCapture {
    int64_t number;
    std::optional<int64_t> dim;
    int64_t elements;
  };
  std::optional<UnalignedCapture> unaligned;
  /// How much of what they compute at pairs is on its way at a time, in
  /// sixteenths of all pairs: 3 for conversions, one instruction each, 4 for
  /// math functions and dropout, 8 for remainders and divisions of integers,
  /// many instructions each.
  int64_t sixteenthsOnTheWay = 0;
  /// Values of all pairs that are live at a time beside the one that becomes
  /// the result. What indices alone make is made where it is used.
  int64_t pairsBeside = 0;
  /// Registers of what a mask knows of each query, or of each key, from memory
  /// and takes together with the other: the more of both.
  int64_t registersAlong = 0;
  /// Whether a function of each pair is computed, as an exponential; whether
  /// that is a tanh, an approximate one (`afn`), and one whose product with a
  /// constant is taken, as of a soft cap.
  bool hasFunctions = false, hasTanh = false, hasApproximateTanh = false,
       hasConstantCap = false;
  /// Comparisons that tell keys apart, of a mask as a rule: what follows from
  /// them is known before keys are copied.
  int64_t comparisons = 0;

  static RegionWork get(AttentionOp op);
  /// What a mask does; what the gradient of a score function does, which keeps
  /// what it adds to captures to its end.
  static RegionWork getOfMask(Region &mask);
  static RegionWork getOfScoreGradient(Region &gradient);
};

/// What an index of a captured load is. One that is the same for all pairs is
/// the batch, the head or a small constant, so that it fits 32 bits.
enum class CapturedIndex { sameForAll, query, key, other };

/// Whether an index is a constant of 0 to 2^31 - 1.
bool isSmallConstant(Value index);

/// The dimension that queries index, where what a block of queries and keys
/// reads of captured memory is a box that can be copied in bulk: keys index the
/// last dimension, all other indices are the same for all pairs, and elements,
/// and distances of rows as far as they are known, are what a bulk copy takes.
std::optional<unsigned> findTileRows(Type memory,
                                     ArrayRef<CapturedIndex> indices);

/// Whether blocks of pairs store or add boxes of the 16-bit gradient of a
/// capture, whose sums of f32 have aligned rows then; otherwise they add one
/// number at a time.
bool hasAlignedPairs(AttentionGradientOp op, int64_t capture);
bool isStoredInBoxes(AttentionGradientOp op, int64_t capture);

/// On an argument that is memory: how many bytes its address and the distances
/// of its rows are multiples of, which every launch keeps to.
constexpr StringLiteral alignAttrName = "fa.align";
/// Fails after one error where an argument of the function has that attribute
/// and no use for it.
LogicalResult verifyAlignments(func::FuncOp function);

/// The sizes and the type of an attention that a configuration depends on.
struct AttentionProblem {
  int64_t queryHeadDim, valueHeadDim;
  /// ShapedType::kDynamic where unknown.
  int64_t queries, keys;
  Type elementType;
  bool hasScore, hasMask;
  /// Whether a part of the mask is not affine: what it hides is known at run
  /// time only.
  bool hidesAtRunTime;
  /// Whether batch items have lengths of their own.
  bool hasLengths;
  /// Bytes, at most 16, that the strides and offsets which the types of the
  /// operands and of the output tell are multiples of.
  int64_t alignment;
  /// What the score and mask regions do for each pair of a query and a key.
  RegionWork regions;
  /// Whether the gradients must have the same bits in each run.
  bool mustBeDeterministic = false;
  /// Whether the gradients are asked for.
  bool isGradient = false;
  /// Those of query, key and value; that of the query in f32.
  bool hasAllGradients = false, hasFloatGradient = false;
  /// Whether queries and keys are packed sequences, for whose mean length there
  /// may be versions.
  bool isPacked = false;
  /// Whether types say nothing of how long a sequence is, or its results are
  /// the same in any batch: there is one configuration then.
  bool isOfAnyLengths = false;
  /// Whether the gradient of the score function reads the score, which then
  /// is kept until the gradient of the probability is there.
  bool gradientReadsScore = false;
  /// Whether blocks add to gradients of captures or of the scale; to one whose
  /// elements queries share, but keys do not.
  bool addsToCaptures = false, addsOfQueries = false;
  /// How many values of each pair they add beside the gradients of the scores,
  /// or keep for these, whichever is more; how many bytes of each pair leave in
  /// boxes.
  int64_t addedValues = 0, bytesInBoxes = 0;
  /// How many numbers of each pair the mask of a gradient loads; how many
  /// factors of weights are kept until the gradient of the weight is there.
  int64_t valuesOfMask = 0, valuesOfFactors = 0;
  /// Values of each pair that are live at a time while the gradient of a score
  /// is computed, with the weight; 0 without a score function.
  int64_t valuesAtOnce = 0;
  /// Whether the score function is dropout alone, of whose factors a bit of
  /// each pair is kept.
  bool isDropoutAlone = false;
  /// What the table of configurations leaves no room for, else 0: values of
  /// each pair in the gradient of a score function, registers of each column
  /// of a block in a mask.
  int64_t valuesOfScore = 0, registersOfColumns = 0;

  static AttentionProblem get(AttentionOp op);
  /// How many values of each pair a gradient keeps beside the score and its
  /// gradient.
  int64_t getValuesBeside() const {
    return addedValues + valuesOfMask + valuesOfFactors;
  }
  /// Of what the regions do without all but comparisons of the mask.
  static AttentionProblem get(AttentionGradientOp op);
};

class Target {
public:
  /// A target by its name: cpu (this machine), avx512, avx2, sse, neon, sm_80
  /// ... sm_120. Emits one error for any other.
  static FailureOr<Target> get(StringRef name,
                               function_ref<InFlightDiagnostic()> emitError);
  /// The CPU target that serves this machine best.
  static Target getHost();
  /// Names that `get` takes, `cpu` aside.
  static SmallVector<StringRef> getNames();

  StringRef getName() const { return name; }
  bool isCPU() const { return std::holds_alternative<CPULimits>(limits); }
  const CPULimits &getCPU() const { return std::get<CPULimits>(limits); }
  const GPUTarget &getGPU() const {
    return *std::get<const GPUTarget *>(limits);
  }

  /// The configuration for a problem and, in `reason`, what led to it.
  ConfigAttr selectConfig(MLIRContext *context, const AttentionProblem &problem,
                          std::string &reason) const;
  /// The form of a gradient.
  GradientForm selectGradientForm(AttentionGradientOp op) const;
  /// That of the blocks of keys of a gradient, where it has one of its own.
  ConfigAttr selectKeysConfig(MLIRContext *context,
                              const AttentionProblem &problem) const;
  /// A configuration whose target part is missing gets one that fits its
  /// blocks; any other comes back as it is.
  ConfigAttr completeConfig(ConfigAttr config,
                            const AttentionProblem &problem) const;
  /// "; " and what a configuration takes of what this target has; empty for a
  /// CPU.
  std::string describeFit(ConfigAttr config,
                          const AttentionProblem &problem) const;
  /// `blocks_per_sm` of a GPU's configuration that splits keys; 1 for
  /// `warp_groups`.
  int64_t chooseBlocksPerSM(ConfigAttr config,
                            const AttentionProblem &problem) const;
  /// Fails after one error where the configuration is for another target or
  /// needs more than this one has: the message gives the need, the limit and
  /// the nearest legal choice.
  LogicalResult verifyConfig(function_ref<InFlightDiagnostic()> emitError,
                             ConfigAttr config,
                             const AttentionProblem &problem) const;

private:
  using Limits = std::variant<CPULimits, const GPUTarget *>;

  Target(StringRef name, Limits limits) : name(name), limits(limits) {}

  StringRef name;
  Limits limits;
};

} // namespace mlir::fa

#endif // FA_TARGET_TARGET_H
