// Whole runs on a card, for tests: a small model, the card, and trainers without servers.
#pragma once

#include <memory>
#include <utility>

#include "common/base/check.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/support/loopback_cluster.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"
#include "worker/worker.h"

namespace weir::test {

inline constexpr char kSmallModel[] = R"(
    data { batch_size: 32 chunk_batches: 4
           synthetic { rows: 3200 test_rows: 320 tables: 3 dense_features: 4 rows_per_table: 50 } }
    model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 }
    update { dense { sgd { learning_rate: 0.05 } schedule { warmup_steps: 0 } } }
    cluster { window: 4 row_partitions: 2 concurrency_warmup_steps: 0 }
)";

// A card for the trainers of a test.
class Card {
 public:
  explicit Card(const v1::Config& config, size_t memory_bytes = 0)
      : device_(OpenCard(memory_bytes)),
        compute_(gpu::CudaCompute(*device_, kernels::Precision::kF32, config.data().batch_size())) {
  }
  ~Card() { ResetCard(); }

  const kernels::Compute& compute() const { return compute_; }

 private:
  const std::unique_ptr<gpu::CudaDevice> device_;
  const kernels::Compute compute_;
};

inline Result<v1::RunReport> RunEmbedded(const v1::Config& config,
                                         const kernels::Compute& compute) {
  const ModelLayout layout(config, 1);
  const auto reader = data::MakeReader(config);
  CHECK(reader.ok()) << reader.status();
  worker::EmbeddedClient client(config, layout, compute);
  worker::WorkerOptions options;
  options.compute = compute;
  return worker::Worker(config, layout, std::move(options), reader->get(), &client).Run();
}

}  // namespace weir::test
