#include "common/compress/exdyna_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::compress {
namespace {

TEST(ExDynaPartition, ComesToEachTrainerInTurn) {
  EXPECT_EQ(ExDynaPartition(0, 2, 4), 2);
  EXPECT_EQ(ExDynaPartition(7, 2, 4), 1);
  EXPECT_EQ(ExDynaPartition(int64_t{1} << 40, 3, 4), 3);
}

// Blocks go from trainer to trainer with the word.
TEST(ExDynaState, IsTakenOverBitForBit) {
  const ExDynaOptions options = {.target = 100};
  ExDynaState old(100'000, options, 0.25), joined(100'000, options, 0.5);
  const Bytes many = ExDynaNote{.count = 90}.Tell(), few = ExDynaNote{.count = 10}.Tell();
  const std::vector<ByteSpan> notes = {many, few, few};
  for (uint64_t step = 0; step < 30; ++step) {
    old.Fit(3);
    const Bytes word = old.Tell(step);
    EXPECT_EQ(word.empty(), step == 0);
    const Turn turn = {.step = step, .world = 3};
    const Agreement agreement = {.union_count = 110 + step, .word = word, .notes = notes};
    old.Learn(turn, agreement);
    if (step < 20) continue;
    joined.Learn(turn, agreement);
    EXPECT_TRUE(joined == old) << step;
  }
}

TEST(ExDynaState, AnOldWordIsNoneAndNobodyTellsOne) {
  ExDynaState state(1000, {.target = 10}, 0.25);
  state.Fit(2);
  state.Learn({.step = 7, .world = 2}, {.union_count = 10});
  EXPECT_FALSE(state.Tell(8).empty());
  EXPECT_TRUE(state.Tell(9).empty());
  const Bytes old = state.Tell(8);
  ExDynaState other(1000, {.target = 10}, 0.5);
  other.Learn({.step = 9, .world = 2}, {.union_count = 10, .word = old});
  EXPECT_NEAR(*other.threshold(), 0.5, 0.01);
}

// Who is gone moves no block, whatever rank it had.
TEST(ExDynaState, AMissingNoteCountsAsTheMeanOfTheOthers) {
  ExDynaState with(100'000, {.target = 100}, 0.25), without = with;
  const Bytes note = ExDynaNote{.count = 50}.Tell();
  const std::vector<ByteSpan> two = {note, {}};
  const std::vector<ByteSpan> one = {note};
  const std::vector<ByteSpan> all = {note, note};
  const Turn turn = {.step = 0, .world = 2};
  with.Learn(turn, {.union_count = 100, .notes = all});
  without.Learn(turn, {.union_count = 100, .notes = two});
  EXPECT_TRUE(with == without);
}

// As often as not such a count is below the target while their mean is a fifth above it.
TEST(ExDynaState, HoldsTheMeanWhereCountsHaveALongTail) {
  RandomStream random(3);
  ExDynaState state(1'000'000, {.target = 1000}, 0.1);
  state.Fit(1);
  double sent = 0;
  constexpr uint64_t kSettle = 1000, kSteps = 4000;
  for (uint64_t step = 0; step < kSettle + kSteps; ++step) {
    const double tail = std::exp((0.1 - *state.threshold()) / 0.01);
    const double count = 1000 * tail * std::exp(0.6 * random.NextNormal());
    state.Learn({.step = step}, {.union_count = static_cast<uint64_t>(count)});
    if (step >= kSettle) sent += count;
  }
  EXPECT_NEAR(sent / kSteps, 1000, 50) << "without: 1,200";
}

// Now and then changed, cut or longer.
Bytes Damaged(Bytes word, RandomStream& random) {
  for (uint8_t& byte : word) {
    if (random.NextBelow(8) == 0) byte = static_cast<uint8_t>(random.NextBelow(256));
  }
  if (random.NextBelow(4) == 0) word.resize(random.NextBelow(40));
  return word;
}

Bytes OddNote(RandomStream& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double odd[] = {0, -1, 1e300, kInfinity, std::numeric_limits<double>::quiet_NaN()};
  Bytes note;
  ByteWriter writer(note);
  writer.PutVarint(random.NextBelow(20'000));
  if (random.NextBelow(2) == 0) writer.Put(odd[random.NextBelow(5)]);
  return note;
}

TEST(ExDynaState, WhatCannotBeReadDoesNoHarm) {
  RandomStream random(5);
  ExDynaState state(10'000, {.target = 100}, std::nullopt);
  for (uint64_t step = 0; step < 3000; ++step) {
    const auto world = static_cast<uint32_t>(1 + random.NextBelow(5));
    state.Fit(world);
    const Bytes word = Damaged(state.Tell(step), random), note = OddNote(random);
    const std::vector<ByteSpan> notes(random.NextBelow(8), note);
    const uint64_t union_count = ~uint64_t{0} >> random.NextBelow(64);
    state.Learn({.step = step, .world = world},
                {.union_count = union_count, .word = word, .notes = notes});
    if (state.threshold()) {
      ASSERT_TRUE(*state.threshold() > 0 && std::isfinite(*state.threshold()));
    }
    for (uint32_t rank = 0; rank < world; ++rank) {
      const ExDynaRange range = state.RangeOf({.step = step, .rank = rank, .world = world});
      ASSERT_TRUE(0 <= range.begin && range.begin <= range.end && range.end <= 10'000);
    }
  }
}

}  // namespace
}  // namespace weir::compress
