// Tables of a run without servers that a card has no memory for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/integration/cluster_checks.h"
#include "worker/embedded/embedded_client.h"

namespace weir::test {
namespace {

// Bytes that no card has.
TEST(EmbeddedMemoryOnACard, TablesThatDoNotFitAreNamed) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config =
      MakeConfig({"data { synthetic { rows: 1280 tables: 3 rows_per_table: 1000000 } }",
                  "model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 }",
                  "update { rows { sgd { learning_rate: 0.1 } } }"});
  const ModelLayout layout(config, 1);
  const auto device = OpenCard(16 << 20);
  const auto card = gpu::CudaCompute(*device, kernels::Precision::kF32, 32);
  try {
    const worker::EmbeddedClient client(config, layout, card);
    FAIL() << "48 MB fit into 16";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("for the embedding tables: 46 MiB"));
  }
}

}  // namespace
}  // namespace weir::test
