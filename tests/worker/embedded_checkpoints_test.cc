#include "worker/embedded/embedded_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/device/cpu_device.h"
#include "common/saved_model/checkpoint_choice.h"
#include "common/saved_model/checkpoint_folder.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/worker_test_support.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"
#include "worker/worker.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

// Counts checkpoints, and may be stopped behind one.
class CountingClient final : public EmbeddedClient {
 public:
  using EmbeddedClient::EmbeddedClient;
  Result<std::optional<saved_model::KeptStates>> PutAside(uint64_t checkpoint) override {
    ++count;
    auto aside = EmbeddedClient::PutAside(checkpoint);
    if (count == stop_behind) Stop(Interrupted("killed"), false);
    return aside;
  }
  int count = 0, stop_behind = 0;
};

class RunWithoutServers : public testing::Test {
 protected:
  RunWithoutServers() {
    config_.mutable_run()->set_checkpoint_every_samples(2000);
    config_.mutable_run()->set_keep(2);
    Begin();
  }
  void Begin() { client_ = std::make_unique<CountingClient>(config_, layout_); }
  Result<v1::RunReport> Run() {
    const auto reader = data::MakeReader(config_).value();
    return Worker(config_, layout_, {}, reader.get(), client_.get()).Run();
  }
  std::unique_ptr<saved_model::SavedModel> Newest() const {
    const std::string path = saved_model::FindCheckpoint(folder_.path()).value();
    return saved_model::SavedModel::Open(path).value();
  }
  std::vector<float> Replica() const {
    const float* const values = device::OnHost(client_->replica());
    return {values, values + layout_.flat_element_count()};
  }

  v1::Config config_ = TinyRun();
  const ModelLayout layout_{config_, 1};
  const test::TempFolder folder_;
  std::unique_ptr<CountingClient> client_;
};

TEST_F(RunWithoutServers, KeepsTheNewest) {
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path()}).ok());
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GE(client_->count, 4);
  EXPECT_EQ(saved_model::LastCheckpoint(folder_.path()).value(),
            static_cast<uint64_t>(client_->count));
  EXPECT_LE(saved_model::CheckpointsIn(folder_.path()).size(), 3u) << "and the best";
  EXPECT_TRUE(Newest()->manifest().checkpoint().is_end());
}

TEST_F(RunWithoutServers, GoesOnToTheBit) {
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path() + "/whole"}).ok());
  ASSERT_TRUE(Run().ok());
  const std::vector<float> whole = Replica();
  Begin();
  client_->stop_behind = 2;
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path()}).ok());
  EXPECT_EQ(Run().status().message(), "killed");
  Begin();
  const auto model = Newest();
  ASSERT_TRUE(client_->Load(*model).ok());
  ASSERT_TRUE(client_->Resume(saved_model::ReadProgressFor(config_, *model).value()).ok());
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path()}).ok());
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->samples(), 8000u);
  EXPECT_EQ(Replica(), whole);
}

TEST_F(RunWithoutServers, GoesOnWhereTheyCannotBeWritten) {
  constexpr uint64_t kMore = uint64_t{1} << 62;
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path(), .least_bytes = kMore}).ok());
  const auto report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->total().samples(), 8000u);
  EXPECT_GE(client_->count, 4);
  EXPECT_TRUE(saved_model::CheckpointsIn(folder_.path()).empty());
}

TEST_F(RunWithoutServers, HasItsFolderAlone) {
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path()}).ok());
  CountingClient other(config_, layout_);
  EXPECT_THAT(other.KeepCheckpoints({.folder = folder_.path()}).message(),
              HasSubstr("name a folder for each"));
  EXPECT_THAT(other.KeepCheckpoints({.folder = "/dev/null/checkpoints"}).message(),
              HasSubstr("/dev/null"));
}

TEST_F(RunWithoutServers, WhoseDataIsCutOtherwiseDoesNotGoOn) {
  ASSERT_TRUE(client_->KeepCheckpoints({.folder = folder_.path()}).ok());
  ASSERT_TRUE(Run().ok());
  const auto model = Newest();
  v1::Config other = config_;
  other.mutable_cluster()->set_max_message_bytes(1 << 20);
  EXPECT_TRUE(saved_model::ReadProgressFor(other, *model).ok());
  other.mutable_data()->set_batch_size(40);
  EXPECT_THAT(saved_model::ReadProgressFor(other, *model).status().message(),
              HasSubstr("cut otherwise"));
  other = config_;
  other.mutable_data()->set_epochs(5);
  EXPECT_FALSE(saved_model::ReadProgressFor(other, *model).ok());
}

}  // namespace
}  // namespace weir::worker
