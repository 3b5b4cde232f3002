//===- Entries.cpp - What a call of an operator runs ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Entries.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_map>

using namespace fa::torch;

const char fa::torch::forward[] = "forward";
const char fa::torch::backward[] = "backward";

static FaTorchCompile compileEntry;
static std::shared_mutex entriesMutex;
static std::unordered_map<std::string, FaTorchEntry> entries;
static std::atomic<unsigned> generation = 0;

void fa::torch::setCompile(FaTorchCompile compile) { compileEntry = compile; }

unsigned fa::torch::getGeneration() { return generation; }

void faTorchClear(void) {
  std::unique_lock<std::shared_mutex> lock(entriesMutex);
  entries.clear();
  ++generation;
}

/// Finds the entry of a key, or has it made.
static FaTorchEntry findEntry(const std::string &key) {
  {
    std::shared_lock<std::shared_mutex> lock(entriesMutex);
    auto found = entries.find(key);
    if (found != entries.end())
      return found->second;
  }
  FaTorchEntry entry;
  std::memset(&entry, 0, sizeof entry);
  if (const char *message = compileEntry(key.c_str(), &entry))
    throw std::runtime_error(message);
  std::unique_lock<std::shared_mutex> lock(entriesMutex);
  return entries.emplace(key, entry).first->second;
}

template <typename Text> std::string BasicFacts<Text>::getKey() const {
  std::string key = operation;
  key += device < 0 ? "|cpu|" : "|cuda:" + std::to_string(device) + '|';
  key += std::to_string(queryType) + ',' + std::to_string(headDim) + '|' +
         std::to_string(valueType) + ',' + std::to_string(valueHeadDim) + '|';
  for (uint32_t i = 0; i < flagCount; ++i)
    key += aligned >> i & 1 ? '1' : '0';
  return key.append("|").append(more).append("|").append(specification);
}

const FaTorchEntry &RecentEntries::find(const Facts &facts) {
  unsigned now = generation;
  if (known != now) {
    count = next = 0;
    known = now;
  }
  for (unsigned i = 0; i < count; ++i)
    if (slots[i].facts == facts)
      return slots[i].entry;
  FaTorchEntry entry = findEntry(facts.getKey());
  Slot &slot = slots[next];
  next = (next + 1) % size;
  count = std::min(count + 1, size);
  slot.facts = {facts.operation,         facts.device,
                facts.queryType,         facts.valueType,
                facts.headDim,           facts.valueHeadDim,
                facts.aligned,           facts.flagCount,
                std::string(facts.more), std::string(facts.specification)};
  slot.entry = entry;
  return slot.entry;
}

RecentEntries &fa::torch::getRecentEntries() {
  thread_local RecentEntries recent;
  return recent;
}
