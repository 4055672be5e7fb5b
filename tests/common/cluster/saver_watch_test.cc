#include "common/cluster/saver_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kPatienceMs = 1000;

TEST(SaverWatch, AwaitsNobodyUnlessAModelIsExpected) {
  SaverWatch watch(kPatienceMs);
  watch.OnJoin(/*expects_model=*/false);
  EXPECT_FALSE(watch.awaits());
  for (int64_t now_ms = 0; now_ms < 10 * kPatienceMs; now_ms += 100)
    watch.Tick(true, false, now_ms);
  EXPECT_THAT(watch.loss(), IsEmpty());
}

TEST(SaverWatch, ASaverThatIsMissingAtTheEndHasSoLongToCome) {
  SaverWatch watch(kPatienceMs);
  watch.OnJoin(true);
  watch.Tick(/*is_over=*/false, /*has_saver=*/false, 0);
  watch.Tick(true, false, 5000);
  watch.Tick(true, false, 5000 + kPatienceMs);
  EXPECT_THAT(watch.loss(), IsEmpty());
  EXPECT_TRUE(watch.awaits());
  watch.Tick(true, false, 5001 + kPatienceMs);
  EXPECT_THAT(watch.loss(), HasSubstr("no worker with --save came within 1000 ms"));
}

TEST(SaverWatch, OneThatComesOrIsThereHasAllTheTimeItNeeds) {
  SaverWatch watch(kPatienceMs);
  watch.OnJoin(true);
  watch.Tick(true, false, 0);
  watch.OnJoin(true);
  watch.Tick(true, false, kPatienceMs + 1);  // it has joined, and left again since
  EXPECT_THAT(watch.loss(), IsEmpty());
  for (int64_t now_ms = 2000; now_ms < 20'000; now_ms += 100) watch.Tick(true, true, now_ms);
  EXPECT_THAT(watch.loss(), IsEmpty());
}

TEST(SaverWatch, AModelThatIsSavedCannotBeMissed) {
  SaverWatch watch(kPatienceMs);
  watch.OnJoin(true);
  watch.OnSaved();
  EXPECT_FALSE(watch.awaits());
  watch.Tick(true, false, 0);
  watch.Tick(true, false, 10 * kPatienceMs);
  EXPECT_THAT(watch.loss(), IsEmpty());
}

TEST(SaverWatch, ServersThatSaveAreAwaitedWhateverWorkersDo) {
  SaverWatch watch(kPatienceMs);
  watch.ServersSave();
  EXPECT_TRUE(watch.awaits());
  watch.OnJoin(/*expects_model=*/true);
  watch.OnSaved();
  EXPECT_TRUE(watch.awaits()) << "a worker has its own";
  EXPECT_TRUE(watch.awaits_servers());
  watch.OnServersSaved();
  EXPECT_FALSE(watch.awaits());
}

TEST(SaverWatch, AWorkerThatIsMissingIsNotMissedWhereServersSave) {
  SaverWatch watch(kPatienceMs);
  watch.ServersSave();
  watch.OnJoin(true);
  watch.Tick(true, false, 0);
  watch.Tick(true, false, 10 * kPatienceMs);
  EXPECT_THAT(watch.loss(), IsEmpty());
  watch.OnServersSaved();
  watch.Tick(true, false, 20 * kPatienceMs);
  EXPECT_THAT(watch.loss(), IsEmpty());
  EXPECT_FALSE(watch.awaits()) << "there is a model";
}

TEST(SaverWatch, TheFirstReasonCounts) {
  SaverWatch watch(kPatienceMs);
  watch.OnJoin(true);
  watch.Lose("trainer 0: no space left");
  watch.Lose("server 1 was stopped");
  watch.Tick(true, false, 0);
  watch.Tick(true, false, 10 * kPatienceMs);
  EXPECT_EQ(watch.loss(), "trainer 0: no space left");
}

}  // namespace
}  // namespace weir::cluster
