#include "common/cluster/round_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace weir::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Chunks 0, 1, ... as long as there are any.
class Lending {
 public:
  explicit Lending(uint64_t chunk_count, uint32_t first_trainer_count = 2)
      : chunk_count_(chunk_count), shares(first_trainer_count, 4) {}

  bool Ask(uint32_t trainer) {
    return shares.Ask({trainer, 0}, [&](Seat) -> std::optional<v1::ChunkLease> {
      if (next_ == chunk_count_) return std::nullopt;
      v1::ChunkLease lease;
      lease.set_lease(100 + next_);
      lease.set_chunk(next_++);
      lease.set_begins(begins);
      return lease;
    });
  }

 private:
  const uint64_t chunk_count_;
  uint64_t next_ = 0;

 public:
  RoundShares shares;
  bool begins = false;
};

TEST(RoundShares, ChunksGoByNumbersAndNotByWhoAskedFirst) {
  Lending lending(10);
  EXPECT_FALSE(lending.Ask(1));
  EXPECT_FALSE(lending.shares.Take({1, 0}, UINT64_MAX));
  EXPECT_TRUE(lending.Ask(0));
  const auto first = lending.shares.Take({0, 0}, UINT64_MAX),
             second = lending.shares.Take({1, 0}, UINT64_MAX);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->chunk(), 0u);
  EXPECT_EQ(second->chunk(), 1u);
  EXPECT_EQ(second->first_round(), 1u);
  EXPECT_EQ(second->round_count(), 4u);
  EXPECT_THAT(second->members(), ElementsAre(0, 1));
  EXPECT_FALSE(lending.shares.Take({1, 0}, UINT64_MAX)) << "once";
}

TEST(RoundShares, TheNextBlockMayBeAskedForBeforeTheLastOneIsTaken) {
  Lending lending(10);
  lending.Ask(0);
  lending.Ask(1);
  lending.shares.Take({1, 0}, UINT64_MAX);
  lending.Ask(1);
  EXPECT_EQ(lending.shares.Take({0, 0}, UINT64_MAX)->first_round(), 1u);
  EXPECT_TRUE(lending.Ask(0));
  EXPECT_EQ(lending.shares.Take({0, 0}, UINT64_MAX)->first_round(), 5u);
}

// Or it would push for a round that is far behind those at work, from parameters of today.
TEST(RoundShares, WhoBeginsWaitsForTheEndOfEarlierBlocks) {
  Lending lending(10, 1);
  lending.Ask(1);
  lending.shares.Take({1, 0}, UINT64_MAX);  // lease 100, which it is at
  lending.Ask(1);
  lending.shares.Take({1, 0}, UINT64_MAX);
  lending.begins = true;
  EXPECT_FALSE(lending.Ask(0)) << "1 has not asked for this block";
  lending.Ask(1);
  EXPECT_FALSE(lending.shares.Take({0, 0}, 100));
  EXPECT_FALSE(lending.Ask(0)) << "it has a share already";
  EXPECT_EQ(lending.shares.Take({0, 0}, 102)->first_round(), 9u);
}

TEST(RoundShares, TheStartIsAwaitedUntilAllAreThere) {
  Lending lending(10, 3);
  lending.Ask(1);
  ASSERT_TRUE(lending.shares.awaited_start());
  EXPECT_EQ(lending.shares.awaited_start()->present, 1u);
  EXPECT_EQ(lending.shares.awaited_start()->wanted, 3u);
  lending.Ask(0);
  lending.Ask(2);
  EXPECT_FALSE(lending.shares.awaited_start());
}

TEST(RoundShares, WhoGetsNothingIsInNoRound) {
  Lending lending(1);
  lending.Ask(0);
  EXPECT_TRUE(lending.Ask(1));
  EXPECT_THAT(lending.shares.Take({0, 0}, UINT64_MAX)->members(), ElementsAre(0));
  EXPECT_FALSE(lending.shares.Take({1, 0}, UINT64_MAX));
  lending.Ask(0);
  EXPECT_FALSE(lending.Ask(1)) << "there is nothing left";
}

TEST(RoundShares, WhoIsGoneIsToldOfOnce) {
  Lending lending(10);
  EXPECT_FALSE(lending.shares.Leave({1, 0})) << "it was in no round";
  lending.Ask(0);
  lending.Ask(1);
  EXPECT_TRUE(lending.shares.Leave({1, 0}));
  EXPECT_FALSE(lending.shares.Leave({1, 0}));
  ASSERT_EQ(lending.shares.departures().size(), 1u);
  EXPECT_EQ(lending.shares.departures()[0].trainer(), 1u);
  EXPECT_EQ(lending.shares.departures()[0].last_round(), 4u);
  EXPECT_FALSE(lending.shares.Take({1, 0}, UINT64_MAX));
}

TEST(RoundShares, NobodyHasLeftAtFirst) { EXPECT_THAT(Lending(1).shares.departures(), IsEmpty()); }

}  // namespace
}  // namespace weir::cluster
