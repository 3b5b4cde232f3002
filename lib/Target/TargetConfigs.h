//===- TargetConfigs.h - Configurations of each kind of target -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_TARGETCONFIGS_H
#define FA_LIB_TARGET_TARGETCONFIGS_H

#include "fa/Target/Target.h"

namespace mlir::fa {

ConfigAttr selectCPUConfig(MLIRContext *context, StringRef target,
                           const CPULimits &limits,
                           const AttentionProblem &problem,
                           std::string &reason);
ConfigAttr completeCPUConfig(StringRef target, const CPULimits &limits,
                             ConfigAttr config);
GradientForm selectCPUGradientForm(const CPULimits &limits,
                                   AttentionGradientOp op);
LogicalResult verifyCPUConfig(function_ref<InFlightDiagnostic()> emitError,
                              StringRef target, const CPULimits &limits,
                              ConfigAttr config);

ConfigAttr selectGPUConfig(MLIRContext *context, const GPUTarget &target,
                           const AttentionProblem &problem,
                           std::string &reason);
ConfigAttr completeGPUConfig(const GPUTarget &target, ConfigAttr config,
                             const AttentionProblem &problem);
int64_t chooseGPUBlocksPerSM(const GPUTarget &target, ConfigAttr config,
                             const AttentionProblem &problem);
std::string describeGPUFit(const GPUTarget &target, ConfigAttr config,
                           const AttentionProblem &problem);
LogicalResult verifyGPUConfig(function_ref<InFlightDiagnostic()> emitError,
                              const GPUTarget &target, ConfigAttr config,
                              const AttentionProblem &problem);

ConfigAttr selectGPUGradientConfig(MLIRContext *context,
                                   const GPUTarget &target,
                                   const AttentionProblem &problem,
                                   std::string &reason);
ConfigAttr selectGPUKeysConfig(MLIRContext *context, const GPUTarget &target,
                               const AttentionProblem &problem);
/// `config` with the form of a gradient, and with `part` where it has none.
ConfigAttr withForm(ConfigAttr config, GradientForm form, const GPUPart &part);
ConfigAttr completeGPUGradientConfig(const GPUTarget &target, ConfigAttr config,
                                     const AttentionProblem &problem);
LogicalResult
verifyGPUGradientConfig(function_ref<InFlightDiagnostic()> emitError,
                        const GPUTarget &target, ConfigAttr config,
                        const AttentionProblem &problem);

/// What the score function of a gradient does.
RegionWork getWorkOfScore(AttentionGradientOp op);

/// Whether a mask of one bound is the most that a gradient has: blocks of keys
/// of long sequences see many queries. Of several bounds, or of run time, they
/// may see few, and lengths of a batch and packed sequences may be short.
bool isPlainGradient(const AttentionProblem &problem);

/// Whether kernels of a gradient have the form `warps`.
bool hasGradientByWarps(const GPUTarget &target,
                        const AttentionProblem &problem);
ConfigAttr selectWarpsGradientConfig(MLIRContext *context,
                                     const GPUTarget &target,
                                     const AttentionProblem &problem,
                                     std::string &reason);
ConfigAttr selectWarpsKeysConfig(MLIRContext *context, const GPUTarget &target,
                                 const AttentionProblem &problem);
ConfigAttr completeWarpsGradientConfig(ConfigAttr config,
                                       const AttentionProblem &problem);
LogicalResult
verifyWarpsGradientConfig(function_ref<InFlightDiagnostic()> emitError,
                          const GPUTarget &target, ConfigAttr config,
                          const AttentionProblem &problem);

} // namespace mlir::fa

#endif // FA_LIB_TARGET_TARGETCONFIGS_H
