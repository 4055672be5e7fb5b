#include "worker/checkpoint_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/writer.h"
#include "tests/support/silent_file.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/recording_client.h"
#include "tests/worker/worker_test_support.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

class ClientWithoutResiduals final : public RecordingClient {
 public:
  using RecordingClient::RecordingClient;
  Result<std::optional<saved_model::KeptStates>> PutAside(uint64_t /*checkpoint*/) override {
    return std::optional(saved_model::KeptStates());
  }
};

class ShareOfCheckpoints : public testing::Test {
 protected:
  // As server 0 makes it. Where the share goes.
  std::string MakeFolder(uint64_t number) {
    const std::string residuals = saved_model::ResidualsFolder(
        saved_model::FolderOfRun(saved_model::CheckpointPath(folder_.path(), number), owner_.run));
    std::filesystem::create_directories(residuals);
    return residuals + "/" + saved_model::StatesFileName(owner_.trainer, owner_.stage);
  }
  v1::CheckpointWord Written() {
    while (true) {
      v1::WorkRequest request;
      share_.AddWord(&request);
      if (request.checkpoint().is_written()) return request.checkpoint();
    }
  }

  const v1::Config config_ = TinyRun();
  const ModelLayout layout_{config_, 1};
  ClientWithoutResiduals client_{config_, layout_};
  const test::TempFolder folder_;
  const CheckpointShare::Owner owner_{.trainer = 2, .run = 17};
  CheckpointShare share_{folder_.path(), owner_, nullptr};
};

TEST_F(ShareOfCheckpoints, IsWrittenAndToldOnce) {
  const std::string path = MakeFolder(1);
  ASSERT_TRUE(share_.Take(1, &client_).ok());
  EXPECT_TRUE(share_.has_news());
  EXPECT_EQ(Written().failure(), "");
  EXPECT_FALSE(share_.has_news());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ShareOfCheckpoints, OfADiskThatDoesNotAnswerKeepsNobodyAndIsNotTakenForTheNext) {
  test::SilentFile disk(MakeFolder(1) + ".partial");
  ASSERT_TRUE(share_.Take(1, &client_).ok());
  ASSERT_TRUE(share_.Take(2, &client_).ok());
  const v1::CheckpointWord word = Written();
  EXPECT_EQ(word.number(), 2u);
  EXPECT_THAT(word.failure(), HasSubstr("does not answer"));
  disk.Answer();
  for (uint64_t number = 3;; ++number) {  // its thread may need some time
    const std::string path = MakeFolder(number);
    ASSERT_TRUE(share_.Take(number, &client_).ok());
    if (!Written().failure().empty()) continue;
    EXPECT_TRUE(std::filesystem::exists(path));
    break;
  }
}

}  // namespace
}  // namespace weir::worker
