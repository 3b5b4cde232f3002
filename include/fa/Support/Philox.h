//===- Philox.h - Random words by counters ----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32-10: Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers:
// as easy as 1, 2, 3". And which word of a draw a pair of dropout has.
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_PHILOX_H
#define FA_SUPPORT_PHILOX_H

#include <array>
#include <cstdint>

namespace mlir::fa::philox {

inline constexpr unsigned rounds = 10;
/// Of counter words 0 and 2.
inline constexpr uint32_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
/// What each round adds to a key word.
inline constexpr uint32_t keySteps[] = {0x9E3779B9, 0xBB67AE85};

/// The four words of a counter.
inline std::array<uint32_t, 4> run(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key) {
  for (unsigned round = 0; round < rounds; ++round) {
    uint64_t a = uint64_t{multipliers[0]} * counter[0];
    uint64_t b = uint64_t{multipliers[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key = {key[0] + keySteps[0], key[1] + keySteps[1]};
  }
  return counter;
}

/// Bits of an index that choose among the numbers of a draw: `sharedBit` of
/// query and key a word, the lowest ones of them a byte of it.
inline constexpr uint32_t sharedBit = 8;
inline constexpr uint32_t drawMask = ~(sharedBit | 1);
/// Numbers of a draw have so many bits: a byte of their own above one that the
/// draw has in common.
inline constexpr unsigned numberBits = 16, byteBits = 8;
/// Blocks whose first indices are multiples of it hold whole draws.
inline constexpr int64_t blockMultiple = 2 * sharedBit;

/// The number of a pair of dropout. A probability p counts in steps of 2^-16:
/// the common byte rounds 256 p up or down at random, by which two pairs of a
/// draw are correlated, by at most 2^-18 / (p (1 - p)). Pairs of a draw lie in
/// two threads of a GPU.
inline uint32_t getNumber(uint32_t query, uint32_t key, uint32_t counter2,
                          uint32_t counter3, std::array<uint32_t, 2> words) {
  constexpr uint32_t byteMask = (1u << byteBits) - 1;
  std::array<uint32_t, 4> drawn =
      run({key & drawMask, query & drawMask, counter2, counter3}, words);
  uint32_t word =
      drawn[(query & sharedBit ? 2 : 0) + (key & sharedBit ? 1 : 0)];
  uint32_t own = word >> byteBits * (2 * (query & 1) + (key & 1)) & byteMask;
  uint32_t common = (drawn[0] ^ drawn[1] ^ drawn[2] ^ drawn[3]) & byteMask;
  return own << byteBits | common;
}

} // namespace mlir::fa::philox

#endif // FA_SUPPORT_PHILOX_H
