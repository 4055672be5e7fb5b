// What piles up where the disk of a server's log stands still: no more than its workers' windows.
// Ends of a run that stand still as processes: back_pressure_test.py.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/session/run_identity.h"
#include "common/wire/row_frame.h"
#include "server/log/data_folder.h"
#include "tests/integration/cluster_checks.h"
#include "tests/support/memory_files.h"
#include "worker/link/server_link.h"

namespace weir::test {
namespace {

class Gate {
 public:
  void Close() { Set(false); }
  void Open() { Set(true); }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }

 private:
  void Set(bool is_open) {
    std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
};

// A disk that takes nothing while its gate is closed.
class StandingFiles final : public MemoryFiles {
 public:
  explicit StandingFiles(Gate* gate) : gate_(gate) {}

  Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(auto file, MemoryFiles::Create(path));
    return std::unique_ptr<WritableFile>(std::make_unique<File>(gate_, std::move(file)));
  }

 private:
  class File final : public WritableFile {
   public:
    File(Gate* gate, std::unique_ptr<WritableFile> file) : gate_(gate), file_(std::move(file)) {}
    Status Append(std::span<const ByteSpan> parts) override {
      gate_->Pass();
      return file_->Append(parts);
    }
    Status Sync() override {
      gate_->Pass();
      return file_->Sync();
    }

   private:
    Gate* const gate_;
    const std::unique_ptr<WritableFile> file_;
  };

  Gate* const gate_;
};

constexpr int kPushingWorkers = 4, kPushingWindow = 3;

// Workers that push as fast as they may.
class Pushing {
 public:
  Pushing(const v1::Config& config, const ModelLayout& layout,
          transport::LoopbackNetwork* network) {
    for (uint32_t i = 0; i < kPushingWorkers; ++i) {
      links_.push_back(std::make_unique<worker::ServerLink>(
          config, layout, worker::LinkOptions{.server_addresses = {"inproc://0"}, .trainer = i},
          network->MakeClient()));
      EXPECT_TRUE(links_.back()->Connect().ok());
    }
    for (const auto& link : links_) threads_.emplace_back([this, &link] { Push(link.get()); });
  }
  // All that was pushed is in the parameters, and stays.
  void End() {
    stops_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int submitted() const { return submitted_; }

 private:
  void Push(worker::ServerLink* link) {
    const std::vector<uint64_t> ids = {7};
    const std::vector<float> gradients(8, 0.5f);
    uint64_t last = 0;
    while (!stops_) {
      Bytes frame;
      wire::AppendRowGradients(&frame, 0, 8, ids, gradients, wire::ValueCoding::kF32);
      std::vector<worker::Body> bodies(1);
      bodies[0].emplace_back(std::move(frame));
      ASSERT_TRUE(link->AcquireCredit().ok());
      last = link->SubmitPush({}, std::move(bodies), link->MarkRead());
      ++submitted_;
    }
    EXPECT_TRUE(link->AwaitDurable(last).ok());
  }

  std::vector<std::unique_ptr<worker::ServerLink>> links_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stops_{false};
  std::atomic<int> submitted_{0};
};

// A server with a log on a disk that may stand still.
class LoggedOnes {
 public:
  explicit LoggedOnes(const char* durability)
      : config_(MakeConfig({kPushedModel, StrCat("cluster { window: ", kPushingWindow,
                                                 " durability: ", durability, " }")})) {
    auto transport = network_.MakeServer();
    CHECK(transport->Bind("inproc://0").ok());
    server::ServerOptions options{.environment = {.files = files_}};
    const v1::RunIdentity identity = session::MakeRunIdentity(config_, 1, 0);
    options.data_folder = server::DataFolder::Open(files_, "/data", identity, 0).value();
    server_ =
        std::make_unique<server::Server>(config_, 1, 0, std::move(transport), std::move(options));
    thread_ = std::thread([this] { EXPECT_EQ(server_->Run().code(), StatusCode::kInterrupted); });
  }
  ~LoggedOnes() {
    server_->Stop();
    thread_.join();
  }

  Gate& gate() { return gate_; }
  server::Server& server() { return *server_; }
  std::unique_ptr<Pushing> BeginPushing() {
    return std::make_unique<Pushing>(config_, layout_, &network_);
  }

 private:
  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  transport::LoopbackNetwork network_;
  Gate gate_;
  StandingFiles files_{&gate_};
  std::unique_ptr<server::Server> server_;
  std::thread thread_;
};

// Of those under way when the disk stands still some may be answered yet, and as many come behind
// them; then each worker waits.
TEST(BackPressure, ADiskThatStandsStillHoldsUpAllButTheWindows) {
  for (const char* durability : {"PROCESS", "MACHINE"}) {
    LoggedOnes ones(durability);
    const auto pushing = ones.BeginPushing();
    while (pushing->submitted() < 100 * kPushingWorkers) std::this_thread::yield();
    ones.gate().Close();
    const int before = pushing->submitted();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_LE(pushing->submitted() - before, 2 * kPushingWorkers * kPushingWindow) << durability;
    ones.gate().Open();
    while (pushing->submitted() < before + 100 * kPushingWorkers) std::this_thread::yield();
    pushing->End();
    EXPECT_EQ(ones.server().shard().row_version(), static_cast<uint64_t>(pushing->submitted()));
  }
}

}  // namespace
}  // namespace weir::test
