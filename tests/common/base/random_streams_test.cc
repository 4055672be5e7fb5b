#include "common/base/random_streams.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir {
namespace {

constexpr uint64_t kSeed = 1;    // the default of both seeds of a config
constexpr uint64_t kMany = 250;  // more than any small word
constexpr uint64_t kFew = 4;
constexpr uint64_t kTrainers[] = {0, 1, 2, 201, 202};  // some are words, too

// Every number drawn so far, and which key drew it.
class DrawnNumbers {
 public:
  // What is computed with the key itself.
  template <typename... Words>
  void Hash(std::string_view stream, uint64_t seed, Words... words) {
    Add(KeyedHash(seed, words...), StrCat(stream, " of", KeyText(words...)));
  }
  // The first numbers of a stream.
  template <typename... Words>
  void Stream(std::string_view stream, uint64_t seed, Words... words) {
    RandomStream random(seed, words...);
    for (uint64_t i = 0; i < kFew; ++i) {
      Add(random.Next(), StrCat(stream, " of", KeyText(words...), ", number ", i));
    }
  }

 private:
  template <typename... Words>
  static std::string KeyText(Words... words) {
    std::string text;
    ((text += StrCat(" ", static_cast<uint64_t>(words))), ...);
    return text;
  }
  void Add(uint64_t number, const std::string& key) {
    const auto [place, is_new] = owners_.emplace(number, key);
    EXPECT_TRUE(is_new) << key << " is also " << place->second;
  }

  std::map<uint64_t, std::string> owners_;
};

// Visits (first, second) below the bounds.
template <typename Visit>
void ForEachPair(uint64_t first_end, uint64_t second_end, const Visit& visit) {
  for (uint64_t first = 0; first < first_end; ++first) {
    for (uint64_t second = 0; second < second_end; ++second) visit(first, second);
  }
}

// Of a few layers, steps and stripes.
void DrawByStripe(PolicyStream word, uint64_t seed, DrawnNumbers* drawn) {
  for (uint64_t tensor = 0; tensor < kFew; ++tensor) {
    ForEachPair(kFew, kFew, [&](uint64_t step, uint64_t stripe) {
      drawn->Hash("a stripe", seed, word, tensor, step, stripe);
    });
  }
}

// The lists below pass through all their cases, and form each key as those who draw do. A word
// without a case, or one that two names have, does not compile.
void DrawPolicies(uint64_t seed, DrawnNumbers* drawn) {
  switch (PolicyStream::kThresholdSample) {
    case PolicyStream::kThresholdSample:
      DrawByStripe(PolicyStream::kThresholdSample, seed, drawn);
      [[fallthrough]];
    case PolicyStream::kDrain:
      ForEachPair(kFew, kMany, [&](uint64_t tensor, uint64_t step) {
        drawn->Hash("drain", seed, PolicyStream::kDrain, tensor, step);
      });
      [[fallthrough]];
    case PolicyStream::kRandomK:
      DrawByStripe(PolicyStream::kRandomK, seed, drawn);
      [[fallthrough]];
    case PolicyStream::kQsgd:
      DrawByStripe(PolicyStream::kQsgd, seed, drawn);
      [[fallthrough]];
    case PolicyStream::kTernGrad:
      DrawByStripe(PolicyStream::kTernGrad, seed, drawn);
  }
}

void DrawPoliciesOfTrainers(uint64_t seed, DrawnNumbers* drawn) {
  for (const uint64_t trainer : kTrainers) {
    DrawPolicies(KeyedHash(seed, RunStream::kPolicy, trainer), drawn);
  }
}

void DrawSplits(uint64_t seed, uint64_t trainer, DrawnNumbers* drawn) {
  const uint64_t stage = KeyedHash(seed, RunStream::kSplit, trainer);
  const uint64_t thread = KeyedHash(seed, RunStream::kSplit, trainer, 0);
  ForEachPair(kMany, 2, [&](uint64_t batch, uint64_t slice) {
    drawn->Stream(StrCat("a stage's split, trainer ", trainer), stage, batch, 0, slice);
    drawn->Stream(StrCat("a thread's split, trainer ", trainer), thread, batch, 0, slice);
  });
}

void DrawRun(uint64_t seed, DrawnNumbers* drawn) {
  switch (RunStream::kInitialDense) {
    case RunStream::kInitialDense:
      ForEachPair(kFew, kMany, [&](uint64_t tensor, uint64_t index) {
        drawn->Hash("an element", seed, RunStream::kInitialDense, tensor, index);
      });
      [[fallthrough]];
    case RunStream::kInitialRow:
      ForEachPair(kFew, kMany, [&](uint64_t table, uint64_t id) {
        drawn->Stream("a row", seed, RunStream::kInitialRow, table, id);
      });
      [[fallthrough]];
    case RunStream::kPolicy:
      DrawPoliciesOfTrainers(seed, drawn);
      [[fallthrough]];
    case RunStream::kSplit:
      for (const uint64_t trainer : kTrainers) DrawSplits(seed, trainer, drawn);
      [[fallthrough]];
    case RunStream::kRowShuffle:
      ForEachPair(kFew, kMany, [&](uint64_t epoch, uint64_t chunk) {
        drawn->Stream("a chunk", seed, RunStream::kRowShuffle, epoch, 0, chunk);
      });
  }
}

void DrawSynthetic(uint64_t seed, DrawnNumbers* drawn) {
  switch (SyntheticStream::kFeature) {
    case SyntheticStream::kFeature:
      drawn->Stream("features", seed, SyntheticStream::kFeature);
      [[fallthrough]];
    case SyntheticStream::kTeacher:
      drawn->Stream("teacher", seed, SyntheticStream::kTeacher);
      [[fallthrough]];
    case SyntheticStream::kTeacherSample:
      drawn->Stream("teacher's sample", seed, SyntheticStream::kTeacherSample);
      [[fallthrough]];
    case SyntheticStream::kHiddenVector:
      ForEachPair(kFew, kMany, [&](uint64_t table, uint64_t rank) {
        drawn->Hash("vector", KeyedHash(seed, SyntheticStream::kHiddenVector), table, rank);
      });
      [[fallthrough]];
    case SyntheticStream::kRow:
      for (uint64_t position = 0; position < kMany; ++position) {
        drawn->Stream("synthetic row", seed, SyntheticStream::kRow, position);
      }
  }
}

TEST(RandomStreams, NoTwoDrawTheSameNumbersThoughTheirSeedsAreEqual) {
  DrawnNumbers drawn;
  DrawRun(kSeed, &drawn);
  DrawSynthetic(kSeed, &drawn);
  DrawPolicies(kSeed, &drawn);
}

}  // namespace
}  // namespace weir
