// What a worker's requests for work say of its pushes.
#include "worker/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/worker/worker_test_support.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"

namespace weir::worker {
namespace {

// Servers that accept a push when somebody waits for it.
class AcceptsWhenAwaited : public EmbeddedClient {
 public:
  using EmbeddedClient::EmbeddedClient;
  Result<uint64_t> Push(const StepGradients& step) override {
    WEIR_RETURN_IF_ERROR(EmbeddedClient::Push(step).status());
    std::lock_guard lock(mutex_);
    return last_of_lease_[step.lease] = ++pushes_;
  }
  Status AwaitDurable(uint64_t sequence) override {
    std::lock_guard lock(mutex_);
    durable_ = std::max(durable_, sequence);
    return OkStatus();
  }
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) override {
    for (const v1::Completion& completion : request.completions()) {
      std::lock_guard lock(mutex_);
      EXPECT_LE(last_of_lease_[completion.lease()], durable_) << "lease " << completion.lease();
      ++completions;
    }
    return EmbeddedClient::RequestWork(std::move(request), std::move(scores));
  }
  int completions = 0;

 private:
  std::mutex mutex_;
  uint64_t pushes_ = 0;
  uint64_t durable_ = 0;
  std::map<uint64_t, uint64_t> last_of_lease_;
};

// A push may be under way at every second request.
class VolatileByTurns : public EmbeddedClient {
 public:
  using EmbeddedClient::EmbeddedClient;
  bool has_volatile() const override { return has_volatile_; }
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) override {
    EXPECT_TRUE(request.is_busy() || !has_volatile_);  // a thread may be busy, too
    has_volatile_ = !has_volatile_;
    return EmbeddedClient::RequestWork(std::move(request), std::move(scores));
  }

 private:
  bool has_volatile_ = true;
};

class WorkerTest : public testing::Test {
 protected:
  void Run(EmbeddedClient* client) {
    WorkerOptions options;
    options.threads = 2;
    const auto report = Worker(config_, layout_, std::move(options), reader_.get(), client).Run();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->total().samples(), 8000u);
  }

  const v1::Config config_ = TinyRun();
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<data::Reader> reader_ = data::MakeReader(config_).value();
};

// Else the coordinator would evaluate, or end the run, with pushes still to come.
TEST_F(WorkerTest, ReportsAChunkOnceItsPushesAreDurable) {
  AcceptsWhenAwaited client(config_, layout_);
  Run(&client);
  EXPECT_GE(client.completions, 4 * 13) << "each chunk of each epoch, and those to test on";
}

TEST_F(WorkerTest, IsBusyWhileAPushIsUnderWay) {
  VolatileByTurns client(config_, layout_);
  Run(&client);
}

}  // namespace
}  // namespace weir::worker
