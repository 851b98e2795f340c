#include "runtime/waves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lemnos {
namespace {

Span bytes(uint64_t first, uint64_t end) { return {first, end}; }

bool conflict(const Accesses& a, const Accesses& b) {
  const auto meet = [](const std::vector<Span>& some, const std::vector<Span>& others) {
    for (const Span& x : some)
      for (const Span& y : others)
        if (x.first < y.end && y.first < x.end) return true;
    return false;
  };
  return meet(a.writes, b.writes) || meet(a.reads, b.writes) || meet(a.writes, b.reads);
}

std::vector<size_t> wave_numbers(const std::vector<std::vector<size_t>>& waves, size_t works) {
  std::vector<size_t> number(works, SIZE_MAX);
  for (size_t w = 0; w < waves.size(); ++w)
    for (const size_t work : waves[w]) {
      EXPECT_EQ(number[work], SIZE_MAX) << "work " << work << " twice";
      number[work] = w;
    }
  EXPECT_EQ(std::count(number.begin(), number.end(), SIZE_MAX), 0);
  return number;
}

TEST(Waves, WorksWithNothingInCommonRunTogether) {
  const std::vector<Accesses> works = {{{bytes(0, 4)}, {bytes(4, 8)}}, {{bytes(0, 4)}, {bytes(8, 12)}}};
  EXPECT_EQ(waves_of(works, 8), (std::vector<std::vector<size_t>>{{0, 1}}));
}

TEST(Waves, AReaderWaitsForItsWriterAndAWriterForItsReader) {
  const std::vector<Accesses> works = {{{}, {bytes(0, 4)}}, {{bytes(3, 5)}, {}}, {{}, {bytes(4, 8)}}, {{}, {bytes(7, 8)}}};
  EXPECT_EQ(waves_of(works, 8), (std::vector<std::vector<size_t>>{{0}, {1}, {2}, {3}}));
}

TEST(Waves, ALaterWorkOvertakesAWaitingOneThatItDoesNotTouch) {
  const std::vector<Accesses> works = {{{}, {bytes(0, 4)}}, {{bytes(0, 4)}, {bytes(4, 8)}}, {{}, {bytes(8, 12)}}};
  EXPECT_EQ(waves_of(works, 8), (std::vector<std::vector<size_t>>{{0, 2}, {1}}));
  EXPECT_EQ(waves_of(works, 2), (std::vector<std::vector<size_t>>{{0}, {1, 2}}));
  EXPECT_EQ(waves_of(works, 1), (std::vector<std::vector<size_t>>{{0}, {1}, {2}}));
}

TEST(Waves, WhatConflictsKeepsItsOrder) {
  std::mt19937 random(1);
  const auto any_span = [&] {
    const uint64_t first = random() % 64;
    return bytes(first, first + 1 + random() % 6);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Accesses> works(1 + random() % 60);
    for (Accesses& work : works) {
      for (size_t i = random() % 3; i > 0; --i) work.reads.push_back(any_span());
      for (size_t i = 1 + random() % 2; i > 0; --i) work.writes.push_back(any_span());
    }
    const std::vector<size_t> wave = wave_numbers(waves_of(works, 1 + random() % 12), works.size());
    for (size_t j = 0; j < works.size(); ++j)
      for (size_t i = 0; i < j; ++i) {
        if (conflict(works[i], works[j])) {
          ASSERT_LT(wave[i], wave[j]) << i << " before " << j;
        }
      }
  }
}

}  // namespace
}  // namespace lemnos
