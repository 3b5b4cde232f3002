//===- RegisterPipeline.h - Registration of pipelines -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_REGISTERPIPELINE_H
#define FA_PIPELINES_REGISTERPIPELINE_H

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::fa {

struct NoPipelineOptions : PassPipelineOptions<NoPipelineOptions> {};

/// What to say of options that a pass or pipeline called `name` refused with
/// `message`. Where one is unknown: the options there are, those with the
/// nearest names first. `printed` has their names, as in {chip=sm_80
/// format=isa}.
std::string explainOptions(StringRef name, StringRef message,
                           StringRef printed);

/// Registers a pipeline, whose unknown options are an error that says which
/// ones it has.
template <typename Options>
void registerPipeline(
    StringRef name, StringRef description,
    std::function<void(OpPassManager &, const Options &)> build) {
  auto add = [name = name.str(), build = std::move(build)](
                 OpPassManager &manager, StringRef text,
                 function_ref<LogicalResult(const Twine &)> refuse) {
    // A pass of modules in a pipeline of functions would end the program.
    StringRef anchor = manager.getOpAnchorName();
    if (anchor != "any" && anchor != "builtin.module")
      return refuse("'" + name + "' stands in a pipeline of '" + anchor +
                    "', expected one of 'builtin.module'");
    Options options;
    std::string message, printed;
    llvm::raw_string_ostream messages(message), names(printed);
    if (failed(options.parseFromString(text, messages))) {
      options.print(names);
      return refuse(explainOptions(name, message, printed));
    }
    build(manager, options);
    return success();
  };
  registerPassPipeline(
      name, description, add,
      [](function_ref<void(const mlir::detail::PassOptions &)> take) {
        take(Options());
      });
}

/// The same for a pipeline without options.
inline void registerPipeline(StringRef name, StringRef description,
                             std::function<void(OpPassManager &)> build) {
  registerPipeline<NoPipelineOptions>(
      name, description,
      [build = std::move(build)](OpPassManager &manager,
                                 const NoPipelineOptions &) {
        build(manager);
      });
}

} // namespace mlir::fa

#endif // FA_PIPELINES_REGISTERPIPELINE_H
