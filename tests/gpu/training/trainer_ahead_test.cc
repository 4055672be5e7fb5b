// A trainer on a card begins its next batch while what it selected of the last one is pushed.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

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
    const auto pushed = EmbeddedClient::Push(step);
    const int before = marks_;
    if (step.once_taken) step.once_taken();
    begun_ += marks_ - before;
    ++pushes_;
    return pushed;
  }
  int begun() const { return begun_; }
  int pushes() const { return pushes_; }

 private:
  std::atomic<int> marks_{0}, begun_{0}, pushes_{0};
};

// Of eight batches of a chunk, by one thread.
class TrainerAhead {
 public:
  explicit TrainerAhead(int window) : config_(ConfigOf(window)) {
    Trainer trainer(config_, layout_, compute_, 1, &client_,
                    [](const Status& s) { ADD_FAILURE() << s; });
    data::RowBlock rows;
    const auto reader = data::MakeReader(config_).value();
    CHECK(reader->ReadChunk({.split = data::Split::kTrain}, &rows).ok());
    v1::ChunkLease lease;
    lease.set_split(v1::TRAIN);
    const auto chunk = std::make_shared<ChunkWork>(lease, std::move(rows), 32);
    trainer.Add(chunk);
    EXPECT_TRUE(chunk->AwaitFinished());
    trainer.FillReport(&report_);
  }

  const AheadClient& client() const { return client_; }
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
  AheadClient client_{config_, layout_, compute_};
  v1::WorkerReport report_;
};

TEST(TrainerOnACard, BeginsTheNextBatchOnceGradientsAreTaken) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const TrainerAhead ahead(4);
  EXPECT_EQ(ahead.client().pushes(), 8);
  EXPECT_GE(ahead.client().begun(), 4);  // where buffers need not grow
  EXPECT_EQ(ahead.report().steps(), 8u);
  EXPECT_EQ(ahead.report().samples(), 256u);
}

TEST(TrainerOnACard, BeginsNothingBeforeAnAnswerThatItAwaits) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const TrainerAhead one(1);
  EXPECT_EQ(one.client().pushes(), 8);
  EXPECT_EQ(one.client().begun(), 0);
}

}  // namespace
}  // namespace weir::worker
