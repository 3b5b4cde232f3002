//===- KernelsToBinary.cpp - Kernels to PTX and machine code --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass from kernels in the LLVM dialect to PTX and, unless PTX alone is
// asked for, to machine code. All kernels share one chip. Those of one module
// share a text and an image; modules in it are compiled side by side, so that
// an assembler begins as soon as its text is there. Read `compile`, then
// `chooseChip`; PTX.cpp and Assembler.cpp do the work.
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
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"

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

/// The chips that code written for `written` runs on, to print.
static std::string listChipsOf(StringRef written) {
  SmallVector<StringRef> chips;
  for (const GPUTarget &candidate : getGPUTargets())
    if (runsOn(written, candidate.chip))
      chips.push_back(candidate.chip);
  return (chips.size() > 1 ? "one of " : "") + llvm::join(chips, ", ");
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
    SmallVector<LLVM::LLVMFuncOp> kernels = findKernels(getOperation());
    for (auto nested : getOperation().getOps<ModuleOp>())
      llvm::append_range(kernels, findKernels(nested));
    if (kernels.empty()) {
      getOperation().emitError() << "has no kernel in the LLVM dialect, "
                                    "expected an llvm.func with the "
                                    "attribute '"
                                 << FAGPUDialect::kernelAttrName
                                 << "'; fa-to-ptx makes some of functions with "
                                    "attention, fagpu-to-ptx of schedules";
      return signalPassFailure();
    }
    if (failed(chooseChip(kernels)) || failed(compile(kernels)))
      return signalPassFailure();
  }

private:
  static SmallVector<LLVM::LLVMFuncOp> findKernels(ModuleOp module) {
    return llvm::filter_to_vector(
        module.getOps<LLVM::LLVMFuncOp>(), [](LLVM::LLVMFuncOp function) {
          return function->hasAttr(FAGPUDialect::kernelAttrName);
        });
  }

  LogicalResult chooseChip(ArrayRef<LLVM::LLVMFuncOp> kernels) {
    target = chip.empty() ? getChip(kernels.front()).str() : chip.getValue();
    if (!lookupGPUTarget(target))
      return getOperation().emitError()
             << "chip is '" << target << "', expected one of "
             << listGPUTargets();
    for (LLVM::LLVMFuncOp kernel : kernels)
      if (!runsOn(getChip(kernel), target))
        return emitError(kernel.getLoc())
               << "kernel '" << kernel.getName() << "' is for "
               << getChip(kernel) << ", which does not run on " << target
               << ", expected " << listChipsOf(getChip(kernel));
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

    std::vector<DeviceCode> devices = extractDeviceCode();
    auto compileOne = [&](size_t index) {
      return compileDevice(devices[index], assembler, *version);
    };
    if (failed(failableParallelForEachN(&getContext(), 0, devices.size(),
                                        compileOne)))
      return failure();
    remarkLevel(devices);
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    bool isFast = true;
    for (auto [index, device] : llvm::enumerate(devices)) {
      device.report =
          parseAssemblyReport(device.code.image.get(device.level).messages);
      isFast &= succeeded(checkReport(device));
      std::string name = "kernels";
      if (devices.size() > 1)
        name += "_" + std::to_string(index);
      createBinary(builder, name, device, *version);
    }
    return success(isFast);
  }

  /// What becomes of one module.
  struct DeviceCode {
    OwningOpRef<ModuleOp> module;
    std::string ptx;
    MachineCode code;
    /// Of the assembler: that by which the module spills less.
    unsigned level = 3;
    AssemblyReport report;
  };

  LogicalResult compileDevice(DeviceCode &device, StringRef assembler,
                              unsigned version) {
    FailureOr<std::string> ptx =
        translateToPTX(*device.module, target, version);
    if (failed(ptx))
      return failure();
    device.ptx = std::move(*ptx);
    if (format == KernelFormat::ISA)
      return success();
    auto code = assemblePTX(assembler, device.ptx, target);
    if (!code)
      return device.module->emitError() << llvm::toString(code.takeError());
    device.code = std::move(*code);
    device.level = chooseLevel(device.code.image);
    return success();
  }

  /// Moves what a module holds in the LLVM dialect to a module of its own.
  static OwningOpRef<ModuleOp> extractDeviceCode(ModuleOp module) {
    OwningOpRef<ModuleOp> device = ModuleOp::create(module.getLoc());
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<LLVM::LLVMDialect>(op.getDialect()))
        op.moveBefore(device->getBody(), device->getBody()->end());
    return device;
  }

  /// The same of the module and of each one with kernels in it.
  std::vector<DeviceCode> extractDeviceCode() {
    std::vector<DeviceCode> devices;
    auto add = [&](ModuleOp module) {
      devices.emplace_back().module = extractDeviceCode(module);
    };
    if (!findKernels(getOperation()).empty())
      add(getOperation());
    for (auto nested :
         llvm::make_early_inc_range(getOperation().getOps<ModuleOp>())) {
      if (findKernels(nested).empty())
        continue;
      add(nested);
      nested.erase();
    }
    return devices;
  }

  /// The kernels of a text, for messages: "kernel 'a'", "kernels 'a', 'b'".
  static std::string listKernels(ModuleOp module) {
    SmallVector<std::string> names;
    for (LLVM::LLVMFuncOp kernel : findKernels(module))
      names.push_back(("'" + kernel.getSymName() + "'").str());
    return (names.size() == 1 ? "kernel " : "kernels ") +
           llvm::join(names, ", ");
  }

  /// Says so where a text, or the assembler's highest level, is not what was
  /// taken as it is.
  void remarkLevel(MutableArrayRef<DeviceCode> devices) {
    auto options = [](StringRef name) {
      return remark::RemarkOpts::name(name).category("fagpu-kernels-to-binary");
    };
    for (DeviceCode &device : devices) {
      std::string kernels = listKernels(*device.module);
      if (device.code.dropsScheduleBarriers)
        remark::analysis(device.module->getLoc(), options("ScheduleBarriers"))
            << (kernels + ": ptxas waits for products over schedule barriers; "
                          "the code is that of the text without them");
      if (const AssembledImage &image = device.code.image; image.level1)
        remark::analysis(device.module->getLoc(), options("AssemblerLevel"))
            << (kernels + ": ptxas -O3 spills " +
                std::to_string(image.highest.spills) + " bytes a thread and " +
                "-O1 " + std::to_string(image.level1->spills) +
                "; the code is that of -O" + std::to_string(device.level));
    }
  }

  LogicalResult checkReport(DeviceCode &device) {
    const AssemblyReport &report = device.report;
    // The numbers are right in both cases, so both are a matter of speed.
    bool slower = !report.lostPerformance.empty();
    if (slower) {
      Operation *module = getOperation();
      InFlightDiagnostic diagnostic =
          failOnSpill ? module->emitError() : module->emitWarning();
      diagnostic << "ptxas does not do what the kernel says: "
                 << listKernels(*device.module) << ": "
                 << report.lostPerformance.front();
    }
    for (LLVM::LLVMFuncOp kernel : findKernels(*device.module)) {
      KernelResources resources = report.kernels.lookup(kernel.getSymName());
      if (!resources.spillStores && !resources.spillLoads)
        continue;
      slower = true;
      InFlightDiagnostic diagnostic =
          failOnSpill ? kernel.emitError() : kernel.emitWarning();
      diagnostic << "kernel '" << kernel.getSymName() << "' spills "
                 << resources.spillStores << " bytes of stores and "
                 << resources.spillLoads << " bytes of loads a thread, at "
                 << resources.registers << " registers";
    }
    return failure(slower && failOnSpill);
  }

  DictionaryAttr describeKernel(LLVM::LLVMFuncOp kernel,
                                const DeviceCode &device) {
    NamedAttrList attributes(kernel->getDiscardableAttrDictionary());
    auto found = device.report.kernels.find(kernel.getSymName());
    if (found != device.report.kernels.end()) {
      Builder builder(kernel.getContext());
      const KernelResources &resources = found->second;
      attributes.set("assembler_level",
                     builder.getI64IntegerAttr(device.level));
      attributes.set("registers",
                     builder.getI64IntegerAttr(resources.registers));
      attributes.set("spill_stores",
                     builder.getI64IntegerAttr(resources.spillStores));
      attributes.set("spill_loads",
                     builder.getI64IntegerAttr(resources.spillLoads));
    }
    return attributes.getDictionary(kernel.getContext());
  }

  void createBinary(OpBuilder &builder, StringRef name, DeviceCode &device,
                    unsigned version) {
    MLIRContext *context = &getContext();
    SmallVector<gpu::KernelMetadataAttr> kernels;
    for (LLVM::LLVMFuncOp kernel : findKernels(*device.module))
      kernels.push_back(gpu::KernelMetadataAttr::get(
          kernel.getSymNameAttr(), kernel.getFunctionType(),
          /*argAttrs=*/nullptr, describeKernel(kernel, device)));
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
      addObject(gpu::CompilationTarget::Binary,
                device.code.image.get(device.level).cubin);
    if (format != KernelFormat::Cubin)
      addObject(gpu::CompilationTarget::Assembly, device.ptx);
    gpu::BinaryOp::create(builder, getOperation().getLoc(), name,
                          /*offloadingHandler=*/nullptr, objects);
  }

  std::string target;
};
} // namespace
