//===- KernelContext.cpp - What the patterns know of a kernel
//-----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelContext.h"
#include "Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

static constexpr StringLiteral sharedMemoryName = "fagpu_shared_memory";

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

DictionaryAttr TensorMap::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("kind", builder.getStringAttr("tensor_map")),
      builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument)),
      builder.getNamedAttr("box", builder.getI64ArrayAttr(box)),
      builder.getNamedAttr("columns", builder.getI64IntegerAttr(columns)),
      builder.getNamedAttr("panels", builder.getI64IntegerAttr(panels)),
      builder.getNamedAttr("swizzle", builder.getI64IntegerAttr(swizzle)),
      builder.getNamedAttr("bounded", builder.getBoolAttr(bounded))};
  if (bounded)
    entries.push_back(
        builder.getNamedAttr("row", builder.getI64IntegerAttr(row)));
  return builder.getDictionaryAttr(entries);
}

/// The map that copies `box` of `memory` from or to tiles of `tile`.
static FailureOr<TensorMap> makeTensorMap(Operation *op, Value memory,
                                          ValueRange offsets,
                                          ArrayRef<int64_t> box,
                                          unsigned rowDim, ViewType tile,
                                          bool bounded) {
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return op->emitOpError() << "copies memory that is no argument of the "
                                "kernel, so there is no tensor map of it";
  int64_t swizzle = tile.getLayout().getSwizzle();
  if (swizzle != 128 || tile.getElementType().getIntOrFloatBitWidth() != 16)
    return op->emitOpError()
           << "copies in bulk to a tile " << tile
           << ", expected 16-bit elements and #fagpu.smem<128>";
  TensorMap map;
  map.argument = argument.getArgNumber();
  map.box.assign(box.begin(), box.end());
  map.columns = 64;
  map.panels = box.back() / map.columns;
  map.swizzle = swizzle;
  map.bounded = bounded;
  map.row = rowDim;
  if (box.back() % map.columns)
    return op->emitOpError()
           << "copies " << box.back() << " columns, expected a multiple of "
           << map.columns;
  APInt column;
  if (map.panels > 1 &&
      (!matchPattern(offsets.back(), m_ConstantInt(&column)) ||
       column.getSExtValue() % map.columns))
    return op->emitOpError()
           << "copies " << map.panels
           << " panels from a column that is no constant multiple of "
           << map.columns;
  // A box of part of the rows is not contiguous in the tile across panels.
  if (ShapedType::getNumElements(box.drop_back()) != tile.getShape()[0] &&
      map.panels > 1)
    return op->emitOpError()
           << "copies part of the rows of a tile of " << map.panels
           << " panels, expected all rows or " << map.columns << " columns";
  for (auto [dim, size] : llvm::enumerate(box.drop_back()))
    if (bounded && size > 1 && dim != rowDim)
      return op->emitOpError()
             << "copies " << size << " of dimension " << dim
             << " with rows(...), expected 1; a tensor map has no dimension "
                "left for the bound";
  return map;
}

static FailureOr<TensorMap> makeTensorMap(PutOp put) {
  return makeTensorMap(put, put.getSource(), put.getOffsets(), put.getSizes(),
                       put.getRowDim(), put.getChannel().getType().getView(),
                       put.getRows() != nullptr);
}

static FailureOr<TensorMap> makeTensorMap(StoreOp store) {
  return makeTensorMap(store, store.getDestination(), store.getOffsets(),
                       store.getBox(), store.getRowDim(),
                       store.getVia().getType().getView(),
                       store.getRows() != nullptr);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

LogicalResult KernelContext::collectNeeds() {
  auto addMap = [&](Operation *op, FailureOr<TensorMap> map) -> LogicalResult {
    if (failed(map))
      return failure();
    mapOf[op] = *map;
    Needs &needed = needs[map->argument];
    needed.unitStrides |= map->bounded;
    if (!llvm::any_of(needed.maps, [&](const TensorMap &other) {
          return !(other < *map) && !(*map < other);
        }))
      needed.maps.push_back(*map);
    return success();
  };
  auto addElements = [&](Value memory, int64_t alignment = 1) {
    if (auto argument = dyn_cast<BlockArgument>(memory)) {
      Needs &needed = needs[argument.getArgNumber()];
      needed.elements = true;
      needed.alignment = std::max(needed.alignment, alignment);
    }
    return success();
  };
  // Rows of matrices are stored 16 bytes at once.
  auto addStore = [&](StoreOp store) {
    auto type = cast<RankedTensorType>(store.getValue().getType());
    return addElements(store.getDestination(), type.getRank() == 2 ? 16 : 1);
  };
  auto usesEngine = [](Value channel, Engine engine) {
    return channel && channel.getDefiningOp<ChannelOp>().getEngine() == engine;
  };
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (auto put = dyn_cast<PutOp>(op)) {
      if (!usesEngine(put.getChannel(), Engine::cp_async))
        return addMap(put, makeTensorMap(put));
      if (failed(verifyCopiedTile(put)))
        return WalkResult::interrupt();
      return addElements(put.getSource(), 16);
    }
    if (auto store = dyn_cast<StoreOp>(op))
      return usesEngine(store.getVia(), Engine::tma_store)
                 ? addMap(store, makeTensorMap(store))
                 : addStore(store);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return addElements(load.getMemRef());
    if (isa<GatherOp, TicketOp, RetireOp>(op))
      return addElements(op->getOperand(0));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

BlockArgument
KernelContext::addParameter(Type type, DictionaryAttr description,
                            SmallVectorImpl<Attribute> &parameters) {
  parameters.push_back(description);
  return kernel.getBody().front().addArgument(type, kernel.getLoc());
}

static DictionaryAttr describe(MLIRContext *context, StringRef kind,
                               unsigned argument,
                               std::optional<unsigned> dim = std::nullopt) {
  Builder builder(context);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("kind", builder.getStringAttr(kind)),
      builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument))};
  if (dim)
    entries.push_back(
        builder.getNamedAttr("dim", builder.getI64IntegerAttr(*dim)));
  return builder.getDictionaryAttr(entries);
}

static DictionaryAttr describePointer(MLIRContext *context, unsigned argument,
                                      int64_t alignment) {
  DictionaryAttr pointer = describe(context, "pointer", argument);
  if (alignment == 1)
    return pointer;
  NamedAttrList entries(pointer);
  entries.set("alignment", Builder(context).getI64IntegerAttr(alignment));
  return entries.getDictionary(context);
}

void KernelContext::replaceArgument(unsigned number, Needs &needed,
                                    SmallVectorImpl<Attribute> &parameters) {
  MLIRContext *context = kernel.getContext();
  BlockArgument argument = kernel.getArgument(number);
  auto type = dyn_cast<MemRefType>(argument.getType());
  if (!type) {
    argument.replaceAllUsesWith(addParameter(
        argument.getType(), describe(context, "scalar", number), parameters));
    return;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto placeholder = UnrealizedConversionCastOp::create(
      builder, kernel.getLoc(), type, ValueRange());
  placeholders.push_back(placeholder);
  argument.replaceAllUsesWith(placeholder.getResult(0));
  MemRefParameters &values = memrefs[placeholder.getResult(0)];
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  for (const TensorMap &map : needed.maps)
    maps[map] = addParameter(LLVM::LLVMPointerType::get(context),
                             map.toAttribute(context), parameters);
  for (int64_t dim = 0; needed.unitStrides && dim + 1 < type.getRank(); ++dim)
    values.unitStrides.push_back(addParameter(
        i32, describe(context, "unit_stride", number, dim), parameters));
  if (!needed.elements)
    return;
  values.pointer = addParameter(
      LLVM::LLVMPointerType::get(context, 1),
      describePointer(context, number, needed.alignment), parameters);
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [dim, stride] : llvm::enumerate(strides))
    values.strides.push_back(
        ShapedType::isDynamic(stride)
            ? addParameter(i64, describe(context, "stride", number, dim),
                           parameters)
            : Value());
}

void KernelContext::replaceArguments() {
  MLIRContext *context = kernel.getContext();
  Block &entry = kernel.getBody().front();
  unsigned numArguments = entry.getNumArguments();
  SmallVector<Attribute> parameters;
  for (unsigned number = 0; number < numArguments; ++number)
    replaceArgument(number, needs[number], parameters);
  entry.eraseArguments(0, numArguments);
  kernel.setFunctionType(
      FunctionType::get(context, entry.getArgumentTypes(), {}));
  kernel.removeArgAttrsAttr();
  Builder builder(context);
  kernel->setAttr(FAGPUDialect::parametersAttrName,
                  builder.getArrayAttr(parameters));
  for (auto &[map, value] : maps) {
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    kernel.setArgAttr(number, "llvm.align", builder.getI64IntegerAttr(64));
    kernel.setArgAttr(
        number, "llvm.byval",
        TypeAttr::get(LLVM::LLVMArrayType::get(builder.getI8Type(), 128)));
  }
}

Value KernelContext::getTensorMapParameter(const TensorMap &map) const {
  return maps.at(map);
}

Value KernelContext::getUnitStride(Value placeholder, unsigned dim) const {
  return memrefs.at(placeholder).unitStrides[dim];
}

Value KernelContext::getPointer(Value placeholder) const {
  auto found = memrefs.find(placeholder);
  return found == memrefs.end() ? Value() : found->second.pointer;
}

Value KernelContext::getStride(OpBuilder &builder, Value placeholder,
                               unsigned dim) const {
  if (Value stride = memrefs.at(placeholder).strides[dim])
    return stride;
  auto [strides, offset] =
      cast<MemRefType>(placeholder.getType()).getStridesAndOffset();
  return Emitter(builder, placeholder.getLoc()).constant64(strides[dim]);
}

//===----------------------------------------------------------------------===//
// Entry of the kernel
//===----------------------------------------------------------------------===//

void KernelContext::emitSharedBase() {
  MLIRContext *context = kernel.getContext();
  auto module = kernel->getParentOfType<ModuleOp>();
  auto pointer = LLVM::LLVMPointerType::get(context, 3);
  Location location = kernel.getLoc();
  OpBuilder builder(context);
  if (!module.lookupSymbol(sharedMemoryName)) {
    builder.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(builder, location,
                           LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External,
                           sharedMemoryName, Attribute(), /*alignment=*/1024,
                           /*addrSpace=*/3);
  }
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value address =
      LLVM::AddressOfOp::create(builder, location, pointer, sharedMemoryName);
  sharedBase = LLVM::PtrToIntOp::create(builder, location, builder.getI32Type(),
                                        address);
}

/// The threads of a role that starts at thread `start`, of thread `number`.
static RoleThreads makeThreads(Emitter &emit, RoleOp role, Value number,
                               int64_t start) {
  int64_t size = role.getThreadsPerGroup();
  RoleThreads threads;
  if (llvm::isPowerOf2_64(size) && start % size == 0)
    threads.thread = emit.bitAnd(number, size - 1);
  else
    threads.thread = arith::RemUIOp::create(
        emit.builder, emit.location,
        emit.subtract(number, emit.constant(start)), emit.constant(size));
  threads.lane = emit.bitAnd(number, 31);
  threads.warp = emit.shiftRight(threads.thread, 5);
  threads.isGroupLeader = emit.equal(threads.thread, emit.constant(0));
  threads.isWarpLeader = emit.equal(threads.lane, emit.constant(0));
  return threads;
}

void KernelContext::emitThreads() {
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(sharedBase.getDefiningOp());
  Emitter emit(builder, kernel.getLoc());
  Value number =
      NVVM::ThreadIdXOp::create(builder, kernel.getLoc(), builder.getI32Type());
  int64_t start = 0;
  for (RoleOp role : kernel.getOps<RoleOp>()) {
    threads[role] = makeThreads(emit, role, number, start);
    firstThreads[role] = start;
    start += role.getGroups() * llvm::alignTo(role.getThreadsPerGroup(), 128);
  }
}

RoleThreads KernelContext::readThreads(Emitter &emit, Operation *op) const {
  auto role = op->getParentOfType<RoleOp>();
  Value number = emit.inlinePTX("mov.u32 $0, %tid.x;", "=r", {},
                                emit.builder.getI32Type())[0];
  return makeThreads(emit, role, number, firstThreads.at(role));
}

/// Thread 0 sets up every mbarrier before anybody uses one.
void KernelContext::emitBarriers() {
  auto hasBarriers = [](auto op) { return op.getBarriers().has_value(); };
  if (llvm::none_of(kernel.getOps<ChannelOp>(), hasBarriers) &&
      llvm::none_of(kernel.getOps<MailOp>(), hasBarriers))
    return;
  Location location = kernel.getLoc();
  RoleOp firstRole = *kernel.getOps<RoleOp>().begin();
  OpBuilder builder(firstRole);
  Emitter emit(builder, location);
  Value number =
      NVVM::ThreadIdXOp::create(builder, location, builder.getI32Type());
  auto isFirst = scf::IfOp::create(builder, location,
                                   emit.equal(number, emit.constant(0)), false);
  OpBuilder inside = isFirst.getThenBodyBuilder();
  Emitter init(inside, location);
  auto initialise = [&](auto op, int64_t numStages) {
    if (!op.getBarriers())
      return;
    for (int64_t stage = 0; stage < 2 * numStages; ++stage) {
      Value barrier = init.sharedPointer(
          init.add(sharedBase, *op.getBarriers() + 8 * stage));
      Value arrivals = init.constant((*op.getArrivals())[stage >= numStages]);
      NVVM::MBarrierInitOp::create(inside, location, barrier, arrivals,
                                   Value());
    }
  };
  for (ChannelOp channel : kernel.getOps<ChannelOp>())
    initialise(channel, channel.getNumStages());
  for (MailOp mail : kernel.getOps<MailOp>())
    initialise(mail, mail.getType().getDepth());
  NVVM::FenceMbarrierInitOp::create(inside, location);
  NVVM::Barrier0Op::create(builder, location);
}

/// Group 0 gets the first turn; bulk stores are complete when a role ends.
void KernelContext::frameRoles() {
  Location location = kernel.getLoc();
  for (RoleOp role : kernel.getOps<RoleOp>()) {
    SetVector<Operation *> turns;
    bool stores = false;
    role.walk([&](Operation *op) {
      if (auto take = dyn_cast<TakeOp>(op))
        turns.insert(take.getTurns().getDefiningOp());
      if (auto store = dyn_cast<StoreOp>(op))
        stores |= store.getVia() &&
                  store.getVia().getDefiningOp<ChannelOp>().getEngine() ==
                      Engine::tma_store;
    });
    OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
    for (Operation *op : turns) {
      Emitter emit(builder, location);
      auto isFirst = scf::IfOp::create(
          builder, location, emit.equal(role.getGroup(), emit.constant(0)),
          false);
      OpBuilder inside = isFirst.getThenBodyBuilder();
      Emitter arrive(inside, location);
      NVVM::BarrierArriveOp::create(
          inside, location, arrive.constant(*cast<TurnsOp>(op).getBarrier()),
          arrive.constant(2 * role.getThreadsPerGroup()));
    }
    if (!stores)
      continue;
    builder.setInsertionPointToEnd(&role.getBody().front());
    NVVM::CpAsyncBulkWaitGroupOp::create(
        builder, location, builder.getI32IntegerAttr(0), UnitAttr());
  }
}

const RoleThreads &KernelContext::getThreads(Operation *op) const {
  return threads.find(op->getParentOfType<RoleOp>())->second;
}

LogicalResult KernelContext::prepare() {
  if (!kernel->hasAttr(FAGPUDialect::sharedMemoryAttrName))
    return kernel.emitOpError()
           << "has no '" << FAGPUDialect::sharedMemoryAttrName
           << "'; run fagpu-plan-resources before";
  if (kernel.getOps<RoleOp>().empty())
    return kernel.emitOpError() << "has no 'fagpu.role'";
  if (failed(collectNeeds()))
    return failure();
  replaceArguments();
  emitSharedBase();
  emitThreads();
  emitBarriers();
  frameRoles();
  return success();
}

void KernelContext::finish() {
  SmallVector<Operation *> resources;
  for (Operation &op : kernel.getBody().front())
    if (isa<ChannelOp, MailOp, TurnsOp>(op))
      resources.push_back(&op);
  for (Operation *op : llvm::reverse(resources))
    op->erase();
  for (Operation *op : placeholders)
    op->erase();
}
