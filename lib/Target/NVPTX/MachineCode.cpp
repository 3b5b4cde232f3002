//===- MachineCode.cpp - From PTX to a cubin, with gates ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/MachineCode.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// The number that stands before `words` in a line; `value` stays without one.
static void readNumberBefore(StringRef line, StringRef words, int64_t &value) {
  size_t position = line.find(words);
  if (position == StringRef::npos)
    return;
  StringRef before = line.take_front(position).rtrim();
  size_t start = before.find_last_not_of("0123456789");
  StringRef digits =
      start == StringRef::npos ? before : before.drop_front(start + 1);
  int64_t number;
  if (!digits.getAsInteger(10, number))
    value = number;
}

AssemblyReport mlir::fa::parseAssemblyReport(StringRef messages) {
  AssemblyReport report;
  std::string kernel;
  for (StringRef line : llvm::split(messages, '\n')) {
    if (line.contains("(C75"))
      report.lostPerformance.push_back(line.trim().str());
    StringRef rest = line;
    if (rest.consume_front("ptxas info    : Compiling entry function '"))
      kernel = rest.take_until([](char c) { return c == '\''; }).str();
    if (kernel.empty())
      continue;
    KernelResources &resources = report.kernels[kernel];
    readNumberBefore(line, " bytes stack frame", resources.stackFrame);
    readNumberBefore(line, " bytes spill stores", resources.spillStores);
    readNumberBefore(line, " bytes spill loads", resources.spillLoads);
    readNumberBefore(line, " registers,", resources.registers);
  }
  return report;
}

/// What a line has that ends a basic block, as `fagpu.schedule_barrier` becomes
/// (Emitter::endBasicBlock).
static constexpr llvm::StringLiteral neverTaken = "@%empty trap;";

static std::string dropScheduleBarriers(StringRef ptx) {
  std::string text;
  for (StringRef line : llvm::split(ptx, '\n'))
    if (!line.contains(neverTaken))
      text += (line + "\n").str();
  return text;
}

/// Whether it does what the text says, by the level that spills less.
static bool losesPerformance(AssembledImage &image) {
  StringRef messages = image.get(chooseLevel(image)).messages;
  return !parseAssemblyReport(messages).lostPerformance.empty();
}

// Over a barrier ptxas may not keep all products in flight: then it waits for
// them, which loses more than the order is worth.
llvm::Expected<MachineCode>
mlir::fa::assemblePTX(StringRef assembler, StringRef ptx, StringRef chip) {
  auto image = assemble(assembler, ptx, chip);
  if (!image)
    return image.takeError();
  MachineCode code = {std::move(*image)};
  if (!losesPerformance(code.image) || !ptx.contains(neverTaken))
    return std::move(code);
  auto other = assemble(assembler, dropScheduleBarriers(ptx), chip);
  if (!other)
    return other.takeError();
  if (losesPerformance(*other))
    return std::move(code);
  return MachineCode{std::move(*other), /*dropsScheduleBarriers=*/true};
}
