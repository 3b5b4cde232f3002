//===- WriteLog.cpp - Who wrote which global memory -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteLog.h"
#include "Channels.h"
#include "Machine.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

int32_t WriteLog::getNumber(Worker &worker, Operation *op, Access access,
                            int64_t holder) {
  auto [it, inserted] =
      numbers.try_emplace({worker.getSerial(), op, holder}, writers.size());
  if (inserted)
    writers.push_back({worker.getSerial(), op, access, holder,
                       worker.getName() + " of block " +
                           std::to_string(worker.getBlock().getNumber())});
  return it->second;
}

LogicalResult WriteLog::note(Worker &worker, Operation *op, Storage &storage,
                             int64_t first, int64_t count, int64_t stride,
                             Access access, int64_t holder) {
  std::vector<int32_t> &log = elements[&storage];
  if (access == Access::Read && log.empty())
    return success();
  log.resize(storage.getSize());
  int32_t number =
      access == Access::Read ? -1 : getNumber(worker, op, access, holder);
  for (int64_t i = 0; i < count; ++i) {
    int32_t &last = log[first + i * stride];
    if (last) {
      const Writer &writer = writers[last - 1];
      bool isSame = writer.worker == worker.getSerial();
      bool isOrdered =
          access == writer.access &&
          (access == Access::Add || (access == Access::Write && isSame) ||
           (access == Access::AddOwned && isSame && writer.holder == holder));
      if (!isOrdered)
        return worker.fail(
            op, "touches memory that " + writer.name + " has written at " +
                    describePlace(writer.op) + ": nothing orders the two");
    }
    if (access != Access::Read)
      last = number + 1;
  }
  return success();
}
