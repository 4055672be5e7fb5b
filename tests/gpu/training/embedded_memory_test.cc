// Tables of a run without servers that a card has no memory for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

// Nothing of that size is made.
TEST(EmbeddedMemoryOnACard, TablesOfMoreRowsThanACardHasNumbersForStayOnTheHost) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const auto device = OpenCard(16 << 20);
  const auto card = gpu::CudaCompute(*device, kernels::Precision::kF32, 32);
  const auto said_of = [&](const std::string& rows) {
    const v1::Config config =
        MakeConfig({"data { synthetic { rows: 1280 tables: 1 rows_per_table: " + rows + " } }",
                    "model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 }"});
    const ModelLayout layout(config, 1);
    testing::internal::CaptureStderr();
    const worker::EmbeddedClient client(config, layout, card);
    EXPECT_EQ(client.has_rows_on_device(), rows == "1000");
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said_of("4294967295"),
              testing::HasSubstr("the tables have 4294967295 rows, and " + device->name() +
                                 " has numbers for 4294967294 at most: rows stay on the host"));
  EXPECT_THAT(said_of("1000"), testing::Not(testing::HasSubstr("rows stay on the host")));
}

}  // namespace
}  // namespace weir::test
