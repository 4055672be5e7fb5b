// A book that is saved after each event and loaded anew before the next, beside one that lives on:
// both answer alike, and what is saved of them is the same. A seed decides on the events.
#pragma once

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/random.h"
#include "common/cluster/saved_parts.h"
#include "tests/common/cluster/damaged_parts.h"
#include "tests/common/cluster/trial.h"

namespace weir::cluster {

// Returns what was saved of it in the end.
template <typename Book>
PartMap ExpectGoesOn(const Trial<Book>& trial, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const auto lasting = trial.make(), unsaved = trial.make();
  KeptParts kept, kept_of_loaded, all;
  auto loaded = trial.make();
  NoParts none;
  for (int event = 0; event < trial.events && !testing::Test::HasFailure(); ++event) {
    RandomStream random(KeyedHash(seed, event)), same = random, again = random;
    const std::string answer = trial.act(*lasting, random);
    EXPECT_EQ(trial.act(*loaded, same), answer) << "event " << event;
    trial.act(*unsaved, again);
    lasting->SaveChanges(&kept);
    loaded->SaveChanges(&kept_of_loaded);
    EXPECT_EQ(kept_of_loaded.parts(), kept.parts()) << "event " << event;
    loaded = trial.make();
    const Status status = LoadFrom(trial, kept.parts(), loaded.get());
    EXPECT_TRUE(status.ok()) << status << " after event " << event;
    loaded->SaveChanges(&none);
  }
  unsaved->SaveChanges(&all);
  EXPECT_EQ(all.parts(), kept.parts()) << "what was not marked as changed";
  return kept.parts();
}

template <typename Book>
void ExpectRefusesTruncated(const Trial<Book>& trial, const PartMap& parts) {
  for (const auto& [name, state] : parts) {
    for (size_t size = 0; size < state.size(); ++size) {
      PartMap truncated = parts;
      truncated[name].resize(size);
      const Status status = LoadFrom(trial, truncated, trial.make().get());
      ASSERT_EQ(status.code(), StatusCode::kInvalidData) << name << " of " << size << " bytes";
    }
  }
}

// What it takes for a state it can go on with.
template <typename Book>
void ExpectBearsDamage(const Trial<Book>& trial, const PartMap& parts, uint64_t seed) {
  const google::protobuf::LogSilencer silencer;  // it says each time why it does not parse
  RandomStream random(seed);
  for (int i = 0; i < 300; ++i) {
    const auto book = trial.make();
    const Status status = LoadFrom(trial, Damaged(parts, random), book.get());
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidData);
      continue;
    }
    for (int event = 0; event < 20; ++event) trial.act(*book, random);
    KeptParts kept;
    book->SaveChanges(&kept);
  }
}

template <typename Book>
void ExpectSurvives(const Trial<Book>& trial) {
  PartMap parts;
  for (uint64_t seed = 0; seed < 30 && !testing::Test::HasFailure(); ++seed) {
    parts = ExpectGoesOn(trial, seed);
  }
  ExpectRefusesTruncated(trial, parts);
  for (uint64_t seed = 0; seed < 10; ++seed) ExpectBearsDamage(trial, parts, seed);
}

}  // namespace weir::cluster
