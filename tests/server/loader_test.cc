#include "server/loader.h"

#include <gtest/gtest.h>

#include <latch>
#include <new>

#include "tests/support/manual_executor.h"

namespace weir::server {
namespace {

constexpr int64_t kLongMs = 120000;  // for a machine under load

Loader::Made NothingMade() { return Interrupted("nothing was made"); }

TEST(Loader, TellsThatItHasEndedAndGivesWhatItHasMadeOnce) {
  std::latch go_on(1), ended(1);
  Loader loader(
      [&](LoadProgress* progress) {
        progress->Expect(10);
        progress->Add(3);
        go_on.wait();
        return NothingMade();
      },
      [&] { ended.count_down(); });
  EXPECT_FALSE(loader.EndsWithin(1));
  EXPECT_FALSE(loader.Take());
  go_on.count_down();
  ended.wait();
  EXPECT_TRUE(loader.EndsWithin(0));
  EXPECT_EQ(loader.progress().done_bytes(), 3u);
  EXPECT_EQ(loader.progress().total_bytes(), 10u);
  EXPECT_EQ(loader.Take()->status().code(), StatusCode::kInterrupted);
  EXPECT_FALSE(loader.Take());
}

TEST(Loader, CancelsWhatIsNotDoneWhenItGoes) {
  Loader loader(
      [](LoadProgress* progress) {
        while (!progress->is_cancelled()) std::this_thread::yield();
        return NothingMade();
      },
      [] {});
  EXPECT_FALSE(loader.Take());
}

TEST(Loader, DoesNothingByItselfWithoutThreads) {
  test::ManualExecutor executor;
  bool ended = false;
  Loader loader([](LoadProgress*) { return NothingMade(); }, [&] { ended = true; }, executor);
  EXPECT_FALSE(loader.EndsWithin(kLongMs));
  EXPECT_FALSE(ended);
  EXPECT_TRUE(executor.RunOne());
  EXPECT_TRUE(ended);
  EXPECT_TRUE(loader.EndsWithin(0));
  EXPECT_TRUE(loader.Take());
}

TEST(Loader, WithoutThreadsWhoEndsItRunsWhatIsCancelled) {
  test::ManualExecutor executor;
  bool was_cancelled = false;
  {
    Loader loader(
        [&](LoadProgress* progress) {
          was_cancelled = progress->is_cancelled();
          return NothingMade();
        },
        [] {}, executor);
  }
  EXPECT_TRUE(was_cancelled);
  EXPECT_EQ(executor.waiting(), 0u);
}

TEST(Loader, WithoutMemoryItSaysWhatToMakeSmaller) {
  Loader loader([](LoadProgress*) -> Loader::Made { throw std::bad_alloc(); }, [] {});
  ASSERT_TRUE(loader.EndsWithin(kLongMs));
  const Status status = loader.Take()->status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("not enough memory for the model"), std::string::npos);
}

}  // namespace
}  // namespace weir::server
