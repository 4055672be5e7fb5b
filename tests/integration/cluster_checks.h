// What tests of whole runs have in common.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/loopback_cluster.h"

namespace weir::test {

inline constexpr char kDct[] =
    "compression { default { dct { sparsity: 0.95 lifespan: 50 } values: BF16 } }";

inline void ExpectAllOk(const LoopbackCluster& cluster) {
  for (const Status& status : cluster.server_statuses()) EXPECT_TRUE(status.ok()) << status;
  for (const Status& status : cluster.trainer_statuses()) EXPECT_TRUE(status.ok()) << status;
}

}  // namespace weir::test
