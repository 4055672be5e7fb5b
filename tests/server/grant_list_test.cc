#include "server/grant_list.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

constexpr cluster::Seat kSeat{3, 1};

v1::ShardReply ReplyWith(uint64_t incarnation) {
  v1::ShardReply reply;
  v1::Grant& grant = *reply.add_grants();
  grant.set_trainer(kSeat.trainer);
  grant.set_stage(kSeat.stage);
  grant.set_incarnation(incarnation);
  return reply;
}

TEST(GrantList, HasTheLastProcessOfASeatAlone) {
  GrantList grants;
  EXPECT_FALSE(grants.Has(kSeat, 2));
  grants.Set(ReplyWith(2));
  EXPECT_TRUE(grants.Has(kSeat, 2));
  EXPECT_FALSE(grants.Has({3, 0}, 2));
  grants.Set(ReplyWith(5));
  EXPECT_TRUE(grants.Has(kSeat, 5));
  EXPECT_FALSE(grants.Has(kSeat, 2)) << "another was let in since";
}

TEST(GrantList, WhoIsNotKnownWakesOnceUntilTheWishIsCleared) {
  int wakes = 0;
  GrantList grants;
  grants.OnWish([&] { ++wakes; });
  grants.Set(ReplyWith(2));
  EXPECT_TRUE(grants.Has(kSeat, 2));
  EXPECT_FALSE(grants.has_wish());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(grants.Has(kSeat, 3));
  EXPECT_TRUE(grants.has_wish());
  EXPECT_EQ(wakes, 1);
  grants.ClearWish();
  EXPECT_FALSE(grants.has_wish());
  grants.OnWish({});
  EXPECT_FALSE(grants.Has(kSeat, 3));
  EXPECT_TRUE(grants.has_wish());
  EXPECT_EQ(wakes, 1) << "nobody is called any more";
}

}  // namespace
}  // namespace weir::server
