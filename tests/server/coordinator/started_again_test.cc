// A coordinator that is loaded, and whose trainers have died with the one before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/session/run_identity.h"
#include "tests/server/coordinator/asking.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

class StartedAgain : public testing::Test {
 protected:
  StartedAgain() {
    Coordinator former(config_, session::MakeRunIdentity(config_, 1), 1, 77);
    JoinAs(0, config_, &former);
    former.Tick(1000);
    cluster::KeptParts kept;
    former.SaveChanges(&kept);
    CHECK(coordinator_.Load(kept.parts(), 1000).ok());
    coordinator_.TryAgain();
    coordinator_.Tick(2000);
  }

  const v1::Config config_ = TinyConfig();
  Coordinator coordinator_{config_, session::MakeRunIdentity(config_, 1), 1, 77};
};

TEST_F(StartedAgain, AwaitsTrainersAsAtTheStart) {
  coordinator_.Tick(100'000);
  EXPECT_EQ(coordinator_.failure(), "");
  JoinAs(0, config_, &coordinator_);
  coordinator_.Tick(200'000);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("all trainers are gone")) << "as in any life";
}

TEST_F(StartedAgain, IsOverWhenThoseAreGoneOfWhomItHasHeard) {
  AskAs(0, WaitingRequest(2), "a", 2000, &coordinator_);
  coordinator_.Tick(100'000);
  EXPECT_THAT(coordinator_.failure(), HasSubstr("all trainers are gone"));
}

}  // namespace
}  // namespace weir::server
