//===- KernelsToBinary.cpp - Kernels to PTX and machine code --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass from kernels in the LLVM dialect to PTX and, unless PTX alone is
// asked for, to machine code. All kernels of a module share one chip and one
// text. Read `compile`, then `chooseChip`; PTX.cpp and Assembler.cpp do the
// work.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Target/GPUTarget.h"
#include "fa/Target/NVPTX/Assembler.h"
#include "fa/Target/NVPTX/MachineCode.h"
#include "fa/Target/NVPTX/PTX.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Remarks.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAKERNELSTOBINARYPASS
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using fagpu::FAGPUDialect;

static StringRef getChip(LLVM::LLVMFuncOp kernel) {
  return kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
      .getValue();
}

/// "sm_90a" -> 90, and whether the code runs on exactly this chip.
static std::pair<unsigned, bool> parseChip(StringRef chip) {
  unsigned number = 0;
  chip.consume_front("sm_");
  bool unknown = chip.consumeInteger(10, number);
  return {number, unknown || !chip.empty()};
}

/// Whether code written for `written` runs when compiled for `chip`.
static bool runsOn(StringRef written, StringRef chip) {
  auto [from, exact] = parseChip(written);
  return written == chip || (!exact && parseChip(chip).first >= from);
}

namespace {
struct KernelsToBinaryPass
    : public fa::impl::FAKernelsToBinaryPassBase<KernelsToBinaryPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerPTXTranslation(registry);
  }

  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(FAGPUDialect::kernelAttrName))
        kernels.push_back(function);
    if (kernels.empty()) {
      getOperation().emitError() << "has no kernel in the LLVM dialect, "
                                    "expected an llvm.func with the "
                                    "attribute '"
                                 << FAGPUDialect::kernelAttrName << "'";
      return signalPassFailure();
    }
    if (failed(chooseChip(kernels)) || failed(compile(kernels)))
      return signalPassFailure();
  }

private:
  LogicalResult chooseChip(ArrayRef<LLVM::LLVMFuncOp> kernels) {
    target = chip.empty() ? getChip(kernels.front()).str() : chip.getValue();
    if (!lookupGPUTarget(target))
      return getOperation().emitError()
             << "chip is '" << target << "', expected one of "
             << listGPUTargets();
    for (LLVM::LLVMFuncOp kernel : kernels)
      if (!runsOn(getChip(kernel), target))
        return kernel.emitOpError() << "is a kernel for " << getChip(kernel)
                                    << ", which does not run on " << target;
    return success();
  }

  LogicalResult compile(ArrayRef<LLVM::LLVMFuncOp> kernels) {
    std::string assembler = findAssembler();
    if (format != KernelFormat::ISA && assembler.empty())
      return getOperation().emitError("no machine code: found no ptxas; set "
                                      "FA_PTXAS, PATH or CUDA_HOME, or "
                                      "compile to PTX with format=isa "
                                      "(fa-compile: --images=ptx)");
    auto version = choosePTXVersion(target, assembler, ptxVersion);
    if (!version)
      return getOperation().emitError() << llvm::toString(version.takeError());

    OwningOpRef<ModuleOp> device = extractDeviceCode();
    FailureOr<std::string> ptx = translateToPTX(*device, target, *version);
    if (failed(ptx))
      return failure();
    AssemblyReport report;
    std::string machineCode;
    if (format != KernelFormat::ISA) {
      auto cubin = assemblePTX(assembler, *ptx, target, report);
      if (!cubin)
        return getOperation().emitError() << llvm::toString(cubin.takeError());
      remarkLevel(report);
      if (failed(checkReport(*device, report)))
        return failure();
      machineCode = std::move(*cubin);
    }
    createBinary(*device, machineCode, *ptx, *version, report);
    return success();
  }

  /// Moves what the module holds in the LLVM dialect to a module of its own.
  OwningOpRef<ModuleOp> extractDeviceCode() {
    OwningOpRef<ModuleOp> device = ModuleOp::create(getOperation().getLoc());
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<LLVM::LLVMDialect>(op.getDialect()))
        op.moveBefore(device->getBody(), device->getBody()->end());
    return device;
  }

  /// Says so where the text, or the assembler's highest level, is not what was
  /// taken as it is.
  void remarkLevel(const AssemblyReport &report) {
    if (report.dropsScheduleBarriers)
      remark::analysis(getOperation().getLoc(),
                       remark::RemarkOpts::name("ScheduleBarriers")
                           .category("fagpu-kernels-to-binary"))
          << "ptxas waits for products over schedule barriers; the code is "
             "that of the text without them";
    if (!report.spillsAtLevel1)
      return;
    remark::analysis(getOperation().getLoc(),
                     remark::RemarkOpts::name("AssemblerLevel")
                         .category("fagpu-kernels-to-binary"))
        << ("ptxas -O3 spills " + std::to_string(report.spillsAtLevel3) +
            " bytes a thread and -O1 " +
            std::to_string(*report.spillsAtLevel1) +
            "; the code is that of -O" + std::to_string(report.level));
  }

  LogicalResult checkReport(ModuleOp device, const AssemblyReport &report) {
    if (!report.lostPerformance.empty())
      return getOperation().emitError()
             << "ptxas does not do what the kernel says: "
             << report.lostPerformance.front();
    bool spills = false;
    for (auto kernel : device.getOps<LLVM::LLVMFuncOp>()) {
      KernelResources resources = report.kernels.lookup(kernel.getSymName());
      if (!resources.spillStores && !resources.spillLoads)
        continue;
      spills = true;
      InFlightDiagnostic diagnostic =
          failOnSpill ? kernel.emitOpError() : kernel.emitWarning();
      diagnostic << "spills " << resources.spillStores
                 << " bytes of stores and " << resources.spillLoads
                 << " bytes of loads a thread, at " << resources.registers
                 << " registers";
    }
    return failure(spills && failOnSpill);
  }

  DictionaryAttr describeKernel(LLVM::LLVMFuncOp kernel,
                                const AssemblyReport &report) {
    NamedAttrList attributes(kernel->getDiscardableAttrDictionary());
    auto found = report.kernels.find(kernel.getSymName());
    if (found != report.kernels.end()) {
      Builder builder(kernel.getContext());
      const KernelResources &resources = found->second;
      attributes.set("assembler_level",
                     builder.getI64IntegerAttr(report.level));
      attributes.set("registers",
                     builder.getI64IntegerAttr(resources.registers));
      attributes.set("spill_stores",
                     builder.getI64IntegerAttr(resources.spillStores));
      attributes.set("spill_loads",
                     builder.getI64IntegerAttr(resources.spillLoads));
    }
    return attributes.getDictionary(kernel.getContext());
  }

  void createBinary(ModuleOp device, StringRef machineCode, StringRef ptx,
                    unsigned version, const AssemblyReport &report) {
    MLIRContext *context = &getContext();
    SmallVector<gpu::KernelMetadataAttr> kernels;
    for (auto function : device.getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(FAGPUDialect::kernelAttrName))
        kernels.push_back(gpu::KernelMetadataAttr::get(
            function.getSymNameAttr(), function.getFunctionType(),
            /*argAttrs=*/nullptr, describeKernel(function, report)));
    auto targetAttr = NVVM::NVVMTargetAttr::get(
        context, /*optLevel=*/3, "nvptx64-nvidia-cuda", target,
        ("+ptx" + Twine(version)).str());
    SmallVector<Attribute> objects;
    auto addObject = [&](gpu::CompilationTarget kind, StringRef image) {
      objects.push_back(gpu::ObjectAttr::get(
          targetAttr, kind, StringAttr::get(context, image),
          /*properties=*/nullptr, gpu::KernelTableAttr::get(context, kernels)));
    };
    if (format != KernelFormat::ISA)
      addObject(gpu::CompilationTarget::Binary, machineCode);
    if (format != KernelFormat::Cubin)
      addObject(gpu::CompilationTarget::Assembly, ptx);
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    gpu::BinaryOp::create(builder, getOperation().getLoc(), "kernels",
                          /*offloadingHandler=*/nullptr, objects);
  }

  std::string target;
};
} // namespace
