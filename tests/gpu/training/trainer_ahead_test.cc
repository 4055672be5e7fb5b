// A trainer on a card begins its next batch while what it selected of the last one is pushed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/support/loopback_cluster.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"
#include "worker/trainer.h"

namespace weir::worker {
namespace {

// Takes gradients on the card, and counts the steps that are begun before it returns from that.
class AheadClient : public EmbeddedClient {
 public:
  using EmbeddedClient::EmbeddedClient;

  bool rows_may_come_ahead() const override { return true; }
  ReadMark MarkRead() override {
    ++marks_;
    return EmbeddedClient::MarkRead();
  }
  Result<uint64_t> Push(const StepGradients& step) override {
    auto pushed = EmbeddedClient::Push(step);
    Take(step);
    return pushed;
  }
  int begun() const { return begun_; }
  int pushes() const { return pushes_; }

 protected:
  void Take(const StepGradients& step) {
    const int before = marks_;
    if (step.once_taken) step.once_taken();
    begun_ += marks_ - before;
    ++pushes_;
  }

 private:
  std::atomic<int> marks_{0}, begun_{0}, pushes_{0};
};

// Parameters that stay, rows that the host has, and what would be pushed.
class RecordingClient : public AheadClient {
 public:
  using AheadClient::AheadClient;

  bool has_rows_on_device() const override { return false; }
  bool applies_rows_on_device() const override { return false; }
  std::unique_ptr<RowPull> PullRows(const data::Batch&, bool) override {
    return std::make_unique<RowPull>();
  }
  Status AwaitRows(RowPull*, std::span<float> rows) override {
    ++awaited_;
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = 0.01f * static_cast<float>((i + static_cast<size_t>(awaited_)) % 7);
    }
    return OkStatus();
  }
  Result<uint64_t> Push(const StepGradients& step) override {
    std::vector<float> dense(step.dense.size);
    step.stream->CopyToHost<float>(device::Span<const float>(step.dense), dense);
    WEIR_RETURN_IF_ERROR(step.stream->Synchronize());
    if (begins_) Take(step);
    pushed_.insert(pushed_.end(), dense.begin(), dense.end());
    pushed_.insert(pushed_.end(), step.rows.begin(), step.rows.end());
    if (step.next != nullptr) step.next->pull = PullRows(step.next->batch, false);
    return uint64_t{0};
  }
  void set_begins(bool begins) { begins_ = begins; }
  const std::vector<float>& pushed() const { return pushed_; }

 private:
  bool begins_ = true;
  int awaited_ = 0;
  std::vector<float> pushed_;
};

// Of eight batches of a chunk, by one thread. The first two have one row of each table, so that
// buffers grow.
template <typename Client>
class TrainerAhead {
 public:
  explicit TrainerAhead(
      int window, const std::function<void(Client&)>& prepare = [](Client&) {})
      : config_(ConfigOf(window)) {
    prepare(client_);
    Trainer trainer(config_, layout_, compute_, 1, &client_,
                    [](const Status& s) { ADD_FAILURE() << s; });
    data::RowBlock rows;
    const auto reader = data::MakeReader(config_).value();
    CHECK(reader->ReadChunk({.split = data::Split::kTrain}, &rows).ok());
    std::fill_n(rows.ids.begin(), 64 * rows.table_count, 0);
    v1::ChunkLease lease;
    lease.set_split(v1::TRAIN);
    const auto chunk = std::make_shared<ChunkWork>(lease, std::move(rows), 32);
    trainer.Add(chunk);
    EXPECT_TRUE(chunk->AwaitFinished());
    trainer.FillReport(&report_);
  }

  const Client& client() const { return client_; }
  const v1::WorkerReport& report() const { return report_; }

 private:
  static v1::Config ConfigOf(int window) {
    v1::Config config = test::MakeConfig({R"(
        data { batch_size: 32 chunk_batches: 8
               synthetic { rows: 256 test_rows: 32 tables: 3 dense_features: 4 rows_per_table: 50 } }
        model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 }
        update { dense { sgd { learning_rate: 0.05 } } })"});
    config.mutable_cluster()->set_window(window);
    return config;
  }

  const v1::Config config_;
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<gpu::CudaDevice> card_ = test::OpenCard();
  const kernels::Compute compute_ = gpu::CudaCompute(*card_, kernels::Precision::kF32, 32);
  Client client_{config_, layout_, compute_};
  v1::WorkerReport report_;
};

TEST(TrainerOnACard, BeginsTheNextBatchOnceGradientsAreTaken) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const TrainerAhead<AheadClient> ahead(4);
  EXPECT_EQ(ahead.client().pushes(), 8);
  EXPECT_GE(ahead.client().begun(), 4);  // where buffers need not grow
  EXPECT_EQ(ahead.report().steps(), 8u);
  EXPECT_EQ(ahead.report().samples(), 256u);
}

TEST(TrainerOnACard, BeginsNothingBeforeAnAnswerThatItAwaits) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const TrainerAhead<AheadClient> one(1);
  EXPECT_EQ(one.client().pushes(), 8);
  EXPECT_EQ(one.client().begun(), 0);
}

// Of the same parameters and rows, in whatever order streams run.
TEST(TrainerOnACard, PushesWhatItWouldHadItBegunNothing) {
  WEIR_SKIP_WITHOUT_A_CARD();
  using Ahead = TrainerAhead<RecordingClient>;
  const Ahead behind(4, [](RecordingClient& client) { client.set_begins(false); });
  EXPECT_EQ(behind.client().begun(), 0);
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    test::SetCardOrder(seed);
    const Ahead ahead(4);
    EXPECT_GE(ahead.client().begun(), 4);
    const std::vector<float>&got = ahead.client().pushed(), &wanted = behind.client().pushed();
    ASSERT_EQ(got.size(), wanted.size());
    // Gradients of a row are added up as they come.
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-7) << i;
  }
}

}  // namespace
}  // namespace weir::worker
