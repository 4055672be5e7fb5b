#include "server/saving.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "tests/server/server_test_support.h"
#include "tests/support/temp_folder.h"

namespace weir::server {
namespace {

class SavingOfOneServer : public testing::Test {
 protected:
  // Until its part is on disk.
  v1::SavedModelManifest WritePart() {
    EXPECT_TRUE(saving_.Prepare(1).ok());
    saving_.Begin(&shard_);
    while (!saving_.part()->is_done()) {
      saving_.Step();
      shard_.WaitIdle();
    }
    v1::SavedModelManifest manifest;
    manifest.add_parts()->set_bytes(saving_.part()->written_bytes());
    manifest.mutable_parts(0)->set_checksum(saving_.part()->checksum());
    return manifest;
  }
  void Wake() {
    std::lock_guard lock(mutex_);
    is_told_ = saving_.is_concluded();
    changed_.notify_all();
  }
  bool AwaitTold() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return is_told_; });
  }

  const v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, 1};
  Outbox outbox_{[] {}};
  Shard shard_{config_, layout_, 0, &outbox_};
  const test::TempFolder folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_told_ = false;
  Saving saving_{folder_.path() + "/model", 0, 1, Executor::Threads(), [this] { Wake(); }};
};

// Else it would be seen at the next tick, and a run that waits for it stands still until then.
TEST_F(SavingOfOneServer, WakesItsOwnerWhenTheModelIsInItsPlace) {
  saving_.Conclude(WritePart(), {}, [] {});
  EXPECT_TRUE(AwaitTold());
  EXPECT_TRUE(saving_.failure().ok()) << saving_.failure();
}

}  // namespace
}  // namespace weir::server
