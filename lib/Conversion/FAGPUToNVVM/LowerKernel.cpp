//===- LowerKernel.cpp - Roles to branches, kernels to llvm.func ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns each role into a branch on the warp number, with its register count
// (setmaxnreg), and the kernel into an llvm.func with the attributes of NVVM.
// Read `run`, then `lowerRole`; the patterns lower what stands inside of
// roles.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPULOWERKERNELPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {

class KernelLowering {
public:
  explicit KernelLowering(func::FuncOp kernel)
      : kernel(kernel), builder(kernel), location(kernel.getLoc()) {}

  void run() {
    SmallVector<RoleOp> roles(kernel.getOps<RoleOp>());
    if (!roles.empty())
      lowerRoles(roles);
    lowerFunction();
  }

private:
  void lowerRoles(ArrayRef<RoleOp> roles) {
    builder.setInsertionPoint(roles.front());
    Emitter emit(builder, location);
    Value thread =
        NVVM::ThreadIdXOp::create(builder, location, builder.getI32Type());
    // The assembler takes a branch on it to be uniform.
    warp = emit.firstLane(emit.shiftRight(thread, 5));
    for (RoleOp role : roles) {
      // Lowering erases the role.
      int64_t warpsOfRole = role.getThreadsOfBlock() / 32;
      lowerRole(role, /*isOnlyRole=*/roles.size() == 1);
      numWarps += warpsOfRole;
    }
    if (getClusterSize(kernel) == 1)
      return;
    // No block leaves while another one may still reach its shared memory.
    builder.setInsertionPoint(kernel.getBody().front().getTerminator());
    emit.synchronizeCluster();
  }

  /// A group alone also has the warps that fill up its last four.
  static int64_t warpsPerGroup(RoleOp role) {
    return role.getGroups() > 1 ? int64_t(role.getWarps())
                                : role.getThreadsOfBlock() / 32;
  }

  /// Opens a branch, and continues inside it.
  void enter(Value condition) {
    auto branch = scf::IfOp::create(builder, location, condition, false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }

  void lowerRole(RoleOp role, bool isOnlyRole) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(role);
    Emitter emit(builder, location);
    Value ofRole = emit.subtract(warp, emit.constant(numWarps));
    int64_t perGroup = warpsPerGroup(role);
    Value group = llvm::isPowerOf2_64(perGroup)
                      ? emit.shiftRight(ofRole, llvm::Log2_64(perGroup))
                      : arith::DivUIOp::create(builder, location, ofRole,
                                               emit.constant(perGroup))
                            .getResult();
    // A role that is the whole block needs no branch.
    bool isWholeBlock =
        isOnlyRole && role.getGroups() * role.getWarps() % 4 == 0;
    if (isWholeBlock && role.getGroups() == 1)
      group = emit.constant(0);
    if (!isWholeBlock)
      enter(lessThan(group, role.getGroups()));
    if (role.getRegs())
      NVVM::SetMaxRegisterOp::create(
          builder, location, *role.getRegs(),
          role.getElect() ? NVVM::SetMaxRegisterAction::decrease
                          : NVVM::SetMaxRegisterAction::increase);
    if (role.getElect() && !role->hasAttr(runByLanesAttrName)) {
      enter(emit.equal(warp, emit.constant(numWarps)));
      enter(NVVM::ElectSyncOp::create(builder, location, builder.getI1Type(),
                                      Value()));
    } else if (perGroup != role.getWarps()) {
      Value inGroup = emit.subtract(ofRole, emit.multiply(group, perGroup));
      enter(lessThan(inGroup, role.getWarps()));
    }
    role.getGroup().replaceAllUsesWith(group);
    Block *target = builder.getInsertionBlock();
    target->getOperations().splice(builder.getInsertionPoint(),
                                   role.getBody().front().getOperations());
    role.erase();
  }

  Value lessThan(Value value, int64_t limit) {
    return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult,
                                 value,
                                 Emitter(builder, location).constant(limit));
  }

  void lowerFunction() {
    MLIRContext *context = kernel.getContext();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                            kernel.getArgumentTypes());
    builder.setInsertionPoint(kernel);
    auto function =
        LLVM::LLVMFuncOp::create(builder, location, kernel.getSymName(), type);
    function.getBody().takeBody(kernel.getBody());
    if (ArrayAttr attributes = kernel.getArgAttrsAttr())
      function.setArgAttrsAttr(attributes);
    for (NamedAttribute attribute : kernel->getDiscardableAttrs())
      function->setDiscardableAttr(attribute.getName(), attribute.getValue());
    auto blocks =
        kernel->getAttrOfType<IntegerAttr>(FAGPUDialect::blocksPerSMAttrName);
    function->setAttr("nvvm.kernel", builder.getUnitAttr());
    function->setAttr(
        "nvvm.maxntid",
        builder.getDenseI32ArrayAttr({static_cast<int32_t>(32 * numWarps)}));
    // Without it the assembler drops the requests for registers.
    function->setAttr("nvvm.minctasm",
                      builder.getI32IntegerAttr(blocks ? blocks.getInt() : 1));
    if (int64_t cluster = getClusterSize(kernel); cluster > 1)
      function->setAttr(
          "nvvm.cluster_dim",
          builder.getDenseI32ArrayAttr({static_cast<int32_t>(cluster), 1, 1}));
    // Tensor maps are read where the launcher put them.
    for (unsigned number = 0; number < function.getNumArguments(); ++number)
      if (function.getArgAttr(number, "llvm.byval"))
        function.setArgAttr(number, "nvvm.grid_constant",
                            builder.getUnitAttr());
    Operation *end = function.getBody().back().getTerminator();
    builder.setInsertionPoint(end);
    LLVM::ReturnOp::create(builder, location, ValueRange());
    end->erase();
    kernel.erase();
  }

  func::FuncOp kernel;
  OpBuilder builder;
  Location location;
  Value warp;
  /// Warps of the roles before.
  int64_t numWarps = 0;
};

struct LowerKernelPass
    : public fagpu::impl::FAGPULowerKernelPassBase<LowerKernelPass> {
  void runOnOperation() override {
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (!isKernel(function))
        continue;
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("has several blocks, expected one: roles are "
                             "lowered before control flow");
        return signalPassFailure();
      }
      KernelLowering(function).run();
    }
  }
};
} // namespace
