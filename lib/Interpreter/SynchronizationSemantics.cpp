//===- SynchronizationSemantics.cpp - Mail, turns and tile counters -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mail, turns and tile counters in the interpreter; each operation waits by
// the same means, `Worker::waitUntil`, or has no wait. One section each,
// independent of each other; `compileMailUse` shows the form.
//
//===----------------------------------------------------------------------===//

#include "Channels.h"
#include "GPUSemantics.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

//===----------------------------------------------------------------------===//
// Mail
//===----------------------------------------------------------------------===//

static LogicalResult compileMail(fagpu::MailOp op, ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame, /*inRole=*/false);
    if (failed(worker))
      return failure();
    ChannelRef mail(new ChannelState(op));
    (*worker)->getBlock().channels.push_back(mail);
    frame[result].object = mail;
    return success();
  });
  return success();
}

namespace {
/// A group that sends or receives a mail: who it is, and which use of the mail.
struct MailUse {
  Worker &worker;
  ChannelState &mail;
  int64_t number;

  MutableArrayRef<Slot> data() const { return mail.getStage(0, number).data; }
};
} // namespace

/// Waits until the next use of a mail may be sent, or has been, and goes on by
/// `transfer`.
template <typename Op, typename Transfer>
static LogicalResult compileMailUse(Op op, ProgramBuilder &builder,
                                    Transfer transfer) {
  constexpr bool sends = std::is_same_v<Op, fagpu::SendOp>;
  unsigned end = builder.getRegister(op.getMail());
  StageOperands stage = getStageOperands(op, builder);
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    auto &mail = static_cast<ChannelState &>(*frame[end].object);
    auto &uses = sends ? (*worker)->filled : (*worker)->acquired;
    int64_t use = uses[mail.getBankKey(0)]++;
    std::string number = std::to_string(use);
    std::string place = "the mail of " + describePlace(mail.getOp());
    std::string what =
        sends ? place + " to be received by all, to send use " + number
              : "use " + number + " of " + place + " to be sent";
    auto isReady = [&mail, use] {
      return sends ? mail.canFill(0, use) : mail.isFull(0, use);
    };
    if (failed(stage.check(**worker, op, frame, use, mail.getDepth(), sends)) ||
        failed((*worker)->waitUntil(op, what, isReady)) ||
        failed(transfer(MailUse{**worker, mail, use}, frame)))
      return failure();
    (*worker)->record(op,
                      (sends ? "sent mail " : "received mail ") + Twine(use));
    return success();
  });
  return success();
}

static LogicalResult compileSend(fagpu::SendOp op, ProgramBuilder &builder) {
  SmallVector<unsigned> values = builder.getRegisters(op.getValues());
  return compileMailUse(
      op, builder, [=](const MailUse &use, Frame &frame) -> LogicalResult {
        int64_t size = use.mail.getSize();
        if (!use.mail.addPart(0, use.number, {0, 0, 1, size}, op))
          return use.worker.fail(op,
                                 "sends use " + Twine(use.number) +
                                     " of a mail that another group has sent");
        use.mail.arrive(0, use.number, size);
        for (auto [slot, value] : llvm::zip_equal(use.data(), values))
          slot = frame.slot(value);
        return success();
      });
}

static LogicalResult compileRecv(fagpu::RecvOp op, ProgramBuilder &builder) {
  SmallVector<unsigned> results = builder.getRegisters(op.getValues());
  return compileMailUse(op, builder, [=](const MailUse &use, Frame &frame) {
    for (auto [slot, result] : llvm::zip_equal(use.data(), results))
      frame.slot(result) = slot;
    use.mail.release(0, use.number);
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

static LogicalResult compileTurns(fagpu::TurnsOp op, ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getResult());
  int64_t groups = op.getGroups();
  builder.emit([=](Frame &frame) {
    frame[result].object = new TurnsState(groups);
    return success();
  });
  return success();
}

/// The turns of an operation in a role that has as many groups.
static FailureOr<TurnsState *> getTurns(Worker &worker, Operation *op,
                                        Frame &frame, unsigned index) {
  auto &turns = static_cast<TurnsState &>(*frame[index].object);
  int64_t groups = turns.tokens.size();
  if (worker.getRole().getGroups() == groups)
    return &turns;
  return worker.fail(op, "goes round " + Twine(groups) +
                             " groups, but its role has " +
                             Twine(worker.getRole().getGroups()));
}

static LogicalResult compileTake(fagpu::TakeOp op, ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getTurns());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    FailureOr<TurnsState *> turns = getTurns(**worker, op, frame, source);
    if (failed(turns))
      return failure();
    if (Operation *taken = (*worker)->turns.lookup(*turns))
      return (*worker)->fail(op, "takes a turn that its group has since " +
                                     describePlace(taken));
    int64_t &token = (*turns)->tokens[(*worker)->getGroup()];
    if (failed((*worker)->waitUntil(op, "its turn",
                                    [&token] { return token > 0; })))
      return failure();
    --token;
    (*worker)->turns[*turns] = op;
    (*worker)->record(op, "took its turn");
    return success();
  });
  return success();
}

static LogicalResult compilePass(fagpu::PassOp op, ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getTurns());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    FailureOr<TurnsState *> turns = getTurns(**worker, op, frame, source);
    if (failed(turns))
      return failure();
    if (!(*worker)->turns.erase(*turns))
      return (*worker)->fail(op, "passes a turn that its group does not have");
    if (failed((*worker)->step(op)))
      return failure();
    SmallVector<int64_t> &tokens = (*turns)->tokens;
    ++tokens[((*worker)->getGroup() + 1) % tokens.size()];
    (*worker)->record(op, "passed its turn");
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Tile counters
//===----------------------------------------------------------------------===//

/// The words of a counter, which the grid then looks at when it ends.
static FailureOr<Array *> useCounter(Worker &worker, Operation *op,
                                     Frame &frame, unsigned index) {
  if (failed(worker.step(op)))
    return failure();
  ArrayRefPtr counter = frame.arrayRef(index);
  worker.getBlock().getGrid().counters.try_emplace(counter.get(), counter, op);
  return counter.get();
}

static Slot &getWord(Array &counter, int64_t index) {
  return counter.data()[index * counter.strides[0]];
}

static LogicalResult compileTicket(fagpu::TicketOp op,
                                   ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getCounter());
  unsigned result = builder.getRegister(op.getTile());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    FailureOr<Array *> counter = useCounter(**worker, op, frame, source);
    if (failed(counter))
      return failure();
    int64_t tile = getWord(**counter, 0).integer++;
    frame.slot(result).integer =
        tile + (*worker)->getBlock().getGrid().getNumBlocks();
    (*worker)->record(op, "drew ticket " + Twine(tile));
    return success();
  });
  return success();
}

static LogicalResult compileRetire(fagpu::RetireOp op,
                                   ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getCounter());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    FailureOr<Array *> counter = useCounter(**worker, op, frame, source);
    if (failed(counter))
      return failure();
    int64_t &retired = getWord(**counter, 1).integer;
    if (++retired == (*worker)->getBlock().getGrid().getNumBlocks())
      getWord(**counter, 0).integer = retired = 0;
    (*worker)->record(op, "retired");
    return success();
  });
  return success();
}

/// Launches run in order here, and the verifier has seen that no memory is
/// accessed before the wait.
template <typename Op>
static LogicalResult compileDependence(Op, ProgramBuilder &) {
  return success();
}

void interpreter::addSynchronizationSemantics(Semantics &semantics) {
  semantics.add<fagpu::MailOp>(compileMail);
  semantics.add<fagpu::SendOp>(compileSend);
  semantics.add<fagpu::RecvOp>(compileRecv);
  semantics.add<fagpu::TurnsOp>(compileTurns);
  semantics.add<fagpu::TakeOp>(compileTake);
  semantics.add<fagpu::PassOp>(compilePass);
  semantics.add<fagpu::TicketOp>(compileTicket);
  semantics.add<fagpu::RetireOp>(compileRetire);
  semantics.add<fagpu::AwaitPreviousOp>(
      compileDependence<fagpu::AwaitPreviousOp>);
  semantics.add<fagpu::ReleaseDependentsOp>(
      compileDependence<fagpu::ReleaseDependentsOp>);
}
