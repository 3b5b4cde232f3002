//===- Emitter.cpp - Short forms of what the lowering emits ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short forms of the instructions that all patterns of the lowering emit: first
// arithmetic on 32-bit integers, then inline PTX (`inlinePTX`), barriers in
// shared memory and of a cluster (`arrive`, `waitPhase`), and last what threads
// of a warp exchange. Each stands alone; a comment says where NVVM's own
// operation would cost a register or wait for too much.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fagpu;

Value Emitter::constant(int64_t value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getI32IntegerAttr(value));
}

Value Emitter::constant64(int64_t value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getI64IntegerAttr(value));
}

Value Emitter::add(Value a, Value b) {
  return arith::AddIOp::create(builder, location, a, b);
}
Value Emitter::subtract(Value a, Value b) {
  return arith::SubIOp::create(builder, location, a, b);
}
Value Emitter::multiply(Value a, Value b) {
  return arith::MulIOp::create(builder, location, a, b);
}
Value Emitter::bitAnd(Value a, int64_t b) {
  return arith::AndIOp::create(builder, location, a, constant(b));
}
Value Emitter::bitOr(Value a, Value b) {
  return arith::OrIOp::create(builder, location, a, b);
}
Value Emitter::bitXor(Value a, Value b) {
  return arith::XOrIOp::create(builder, location, a, b);
}
Value Emitter::shiftLeft(Value a, int64_t bits) {
  return arith::ShLIOp::create(builder, location, a, constant(bits));
}
Value Emitter::shiftRight(Value a, int64_t bits) {
  return arith::ShRUIOp::create(builder, location, a, constant(bits));
}
/// A statement without effects.
static Value createPureAssembly(Emitter &emit, ValueRange inputs,
                                StringRef text, StringRef constraints,
                                Type type) {
  MLIRContext *context = emit.builder.getContext();
  return LLVM::InlineAsmOp::create(
             emit.builder, emit.location, type, inputs, text, constraints,
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}
Value Emitter::getBit(Value word, int64_t bit) {
  auto text = llvm::formatv("and.b32 $0, $1, {0};", uint64_t(1) << bit).str();
  return createPureAssembly(*this, word, text, "=r,r", builder.getI32Type());
}
Value Emitter::permuteBytes(Value low, Value high, Value selector) {
  return createPureAssembly(*this, {low, high, selector},
                            "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r",
                            builder.getI32Type());
}
Value Emitter::equal(Value a, Value b) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, a,
                               b);
}
Value Emitter::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult, a,
                               b);
}
Value Emitter::isLess(Value a, Value b) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, a,
                               b);
}
Value Emitter::logicalAnd(Value a, Value b) {
  return arith::AndIOp::create(builder, location, a, b);
}
Value Emitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, location, condition, a, b);
}
Value Emitter::narrow(Value value) {
  return arith::TruncIOp::create(builder, location, builder.getI32Type(),
                                 value);
}
Value Emitter::extend(Value value) {
  return arith::ExtSIOp::create(builder, location, builder.getI64Type(), value);
}

Value Emitter::sharedPointer(Value address) {
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  return LLVM::IntToPtrOp::create(builder, location, type, address);
}

SmallVector<Value> Emitter::inlinePTX(StringRef text, StringRef constraints,
                                      ValueRange inputs, TypeRange outputs) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> results;
  if (outputs.size() == 1)
    results.push_back(outputs[0]);
  else if (outputs.size() > 1)
    results.push_back(
        LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(outputs)));
  auto ptx = LLVM::InlineAsmOp::create(
      builder, location, results, inputs, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (outputs.size() <= 1)
    return SmallVector<Value>(ptx->getResults());
  SmallVector<Value> values;
  for (size_t index = 0; index < outputs.size(); ++index)
    values.push_back(LLVM::ExtractValueOp::create(
        builder, location, ptx.getResult(0), static_cast<int64_t>(index)));
  return values;
}

Value Emitter::createCachePolicy(std::optional<CachePriority> priority) {
  if (!priority)
    return Value();
  std::string text =
      ("createpolicy.fractional.L2::" + stringifyCachePriority(*priority) +
       ".b64 $0, 1.0;")
          .str();
  // Without effects, so that one serves all copies.
  return createPureAssembly(*this, ValueRange{}, text, "=l",
                            builder.getI64Type());
}

void Emitter::arrive(Value barrier, Value predicate) {
  inlinePTX("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}",
            {barrier, predicate}, {});
}

void Emitter::arrive(Value barrier) {
  inlinePTX("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}",
            {barrier}, {});
}

void Emitter::fenceAsynchronousProxy() {
  NVVM::FenceProxyOp::create(
      builder, location, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(builder.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

void Emitter::waitPhase(Value barrier, Value phase) {
  // NVVM's operation for it takes a time limit, which costs a register.
  inlinePTX("{ .reg .pred done; TRY: mbarrier.try_wait.parity.shared::cta.b64 "
            "done, [$0], $1; @done bra.uni DONE; bra.uni TRY; DONE: }",
            "r,r,~{memory}", {barrier, phase}, {});
}

// By a branch whose condition the assembler does not know: whether the grid is
// empty.
void Emitter::endBasicBlock() {
  inlinePTX("{ .reg .pred %empty; .reg .b32 %blocks; mov.u32 %blocks, "
            "%nctaid.x; setp.eq.u32 %empty, %blocks, 0; @%empty trap; }",
            "~{memory}", {}, {});
}

void Emitter::synchronizeCluster() {
  NVVM::ClusterArriveOp::create(builder, location, /*aligned=*/UnitAttr());
  NVVM::ClusterWaitOp::create(builder, location, /*aligned=*/UnitAttr());
}

// With `release.cluster` all of a thread's writes would be waited for; what a
// stage is given back for has been read, and nothing was written to it.
void Emitter::arriveInCluster(Value barrier, Value block, Value predicate) {
  inlinePTX("{ .reg .b32 there; @$2 mapa.shared::cluster.u32 there, $0, $1; "
            "@$2 mbarrier.arrive.shared::cluster.b64 _, [there]; }",
            "r,r,b,~{memory}", {barrier, block, predicate}, {});
}

Value Emitter::shuffleButterfly(Value value, int64_t lanes) {
  return NVVM::ShflOp::create(builder, location, value.getType(), constant(-1),
                              value, constant(lanes), constant(31),
                              NVVM::ShflKind::bfly, UnitAttr());
}

Value Emitter::firstLane(Value value) {
  return NVVM::ShflOp::create(builder, location, value.getType(), constant(-1),
                              value, constant(0), constant(31),
                              NVVM::ShflKind::idx, UnitAttr());
}
