// What a shard that is made of a cut has, and which cuts it refuses.
#include "server/shard/shard_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/shard/running_shard.h"
#include "tests/server/shard/shard_cut_support.h"

namespace weir::server {
namespace {

class ShardRestore : public testing::Test {
 protected:
  ShardRestore() {
    RandomStream random(9);
    for (int i = 0; i < 30; ++i) shard_.Take(RandomEvent(random, shard_.layout(), true));
  }
  static WrittenCut Write(Running* running) { return CutReader(&running->shard()).ReadAll(); }
  static Status Restore(const WrittenCut& written, const v1::Config& config) {
    Running fresh(config, true);
    return RestoreFrom(written, &fresh.shard());
  }

  static constexpr const char* kDense = "momentum { learning_rate: 0.1 }";
  static constexpr const char* kFading = "sgd { learning_rate: 0.1 } weight_decay: 0.1";
  static constexpr const char* kRows = "adam { learning_rate: 0.1 }";
  const v1::Config config_ = CutConfig(kDense, kRows);
  Running shard_{config_};
};

// What the rules of a run that goes on from a saved model count from goes with it.
TEST_F(ShardRestore, HasWhereTheRulesBegan) {
  const v1::Config config = CutConfig(
      kFading, "adam { learning_rate: 0.1 } weight_decay: 0.1 schedule { warmup_steps: 90 }");
  Running first(config), plain(config, true), begun(config, true), again(config, true);
  RandomStream random(4);
  for (int i = 0; i < 9; ++i) first.Take({.stage = {}, .body = {RandomRows(random, true)}});
  WrittenCut written = Write(&first);
  ASSERT_TRUE(RestoreFrom(written, &plain.shard()).ok());
  CutSummary summary = CutSummary::Decode(written.summary).value();
  summary.rule_starts.set_dense(7);
  summary.rule_starts.set_rows(8);
  summary.rule_starts.set_untouched_rows(9);
  written.summary = summary.Encode();
  ASSERT_TRUE(RestoreFrom(written, &begun.shard()).ok());
  written = Write(&begun);
  EXPECT_EQ(CutSummary::Decode(written.summary)->rule_starts.DebugString(),
            summary.rule_starts.DebugString());
  ASSERT_TRUE(RestoreFrom(written, &again.shard()).ok());
  const Event next = {
      .stage = {},
      .body = {RandomRows(random, true), GradientFrame(first.layout().pieces()[0], 0, {5}, {1})}};
  for (Running* running : {&plain, &begun, &again}) running->Take(next);
  EXPECT_TRUE(again.BitsOfAll() == begun.BitsOfAll());
  EXPECT_FALSE(plain.BitsOfAll() == begun.BitsOfAll());
}

TEST_F(ShardRestore, CanBeLeftBeforeItsEnd) {
  { CutReader reader(&shard_.shard()); }
  const WrittenCut written = Write(&shard_);
  Running restored(config_, true);
  const Status status = RestoreFrom(written, &restored.shard());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(restored.BitsOfAll() == shard_.BitsOfAll());
}

// Whoever asks a restored piece what changed since an earlier push gets all of it.
TEST_F(ShardRestore, AnswersEverythingToWhoHasSeenAnEarlierPush) {
  const WrittenCut written = Write(&shard_);
  Running restored(config_, true);
  ASSERT_TRUE(RestoreFrom(written, &restored.shard()).ok());
  size_t changed = 0, all = 0;
  for (const auto& strand : restored.shard().dense_strands()) {
    const store::Piece& piece = strand->piece();
    all += piece.values().size();
    piece.ForEachChangedStripe(
        1, [&](const store::ChangedStripe& stripe) { changed += stripe.values.size(); });
  }
  EXPECT_EQ(changed, all);
}

TEST_F(ShardRestore, IsRefusedWhereItIsNotWhole) {
  const WrittenCut whole = Write(&shard_);
  ASSERT_TRUE(Restore(whole, config_).ok());
  for (size_t i = 0; i < whole.sections.size(); ++i) {
    if (whole.sections[i].empty()) continue;
    WrittenCut less = whole, twice = whole, shorter = whole, damaged = whole;
    less.sections.erase(less.sections.begin() + static_cast<std::ptrdiff_t>(i));
    twice.sections.push_back(whole.sections[i]);
    shorter.sections[i].pop_back();
    damaged.sections[i][damaged.sections[i].size() / 2] ^= 4;
    for (const WrittenCut* bad : {&less, &twice, &shorter, &damaged}) {
      EXPECT_EQ(Restore(*bad, config_).code(), StatusCode::kInvalidData) << i;
    }
  }
  for (size_t size = 0; size < whole.summary.size(); ++size) {
    WrittenCut shorter = whole;
    shorter.summary.resize(size);
    EXPECT_EQ(Restore(shorter, config_).code(), StatusCode::kInvalidData) << size;
  }
}

TEST_F(ShardRestore, IsRefusedByAShardOfAnotherConfig) {
  const WrittenCut written = Write(&shard_);
  const auto why = [&](const v1::Config& config) {
    const Status status = Restore(written, config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    return status.message();
  };
  EXPECT_THAT(why(CutConfig("sgd { learning_rate: 1 }", kRows)),
              testing::HasSubstr("with the state of another rule"));
  EXPECT_THAT(why(CutConfig(kDense, "sgd { learning_rate: 1 }")),
              testing::HasSubstr("those of another rule"));
  EXPECT_THAT(why(CutConfig(kDense, kRows, 3)),
              testing::HasSubstr("2 row partitions; this one has 2 and 3"));
}

TEST_F(ShardRestore, OfAPushOrRuleThatCannotBeIsRefused) {
  const WrittenCut whole = Write(&shard_);
  const CutSummary sound = CutSummary::Decode(whole.summary).value();
  CutSummary early = sound, endless = sound;
  early.rule_starts.set_rows(sound.versions[0] + sound.versions[1]);
  endless.versions[1] = store::kEverything;
  for (const CutSummary& bad : {early, endless}) {
    WrittenCut written = whole;
    written.summary = bad.Encode();
    EXPECT_THAT(Restore(written, config_).message(), testing::HasSubstr("a server at push"));
  }
}

}  // namespace
}  // namespace weir::server
