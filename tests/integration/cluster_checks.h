// What tests of whole runs have in common.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/loopback_cluster.h"

namespace weir::test {

inline constexpr char kDct[] =
    "compression { default { dct { sparsity: 0.95 lifespan: 50 } values: BF16 } }";

// All trainers are at work from the start.
inline constexpr char kSmallRun[] = R"(
    data { batch_size: 64 chunk_batches: 4
           synthetic { rows: 12000 test_rows: 3000 tables: 4 dense_features: 5 rows_per_table: 500 } }
    model { bottom_widths: [96, 8] top_widths: [64, 1] embedding_dimension: 8 }
    update { dense { adagrad { learning_rate: 0.005 } schedule { warmup_steps: 0 } } }
    cluster { window: 4 row_partitions: 3 concurrency_warmup_steps: 0 }
)";

// For tests that push gradients of their own.
inline constexpr char kPushedModel[] = R"(
    data { synthetic { rows: 1000 test_rows: 100 tables: 2 dense_features: 5 rows_per_table: 50 } }
    model { bottom_widths: [96, 8] top_widths: [64, 1] embedding_dimension: 8 }
    cluster { window: 4 answer_timeout_ms: 8000 }
)";

inline void ExpectAllOk(const LoopbackCluster& cluster) {
  for (const Status& status : cluster.server_statuses()) EXPECT_TRUE(status.ok()) << status;
  for (const Status& status : cluster.trainer_statuses()) EXPECT_TRUE(status.ok()) << status;
}

}  // namespace weir::test
