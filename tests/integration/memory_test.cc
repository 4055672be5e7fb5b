// Memory of a server that holds two million rows: its growth over its start, with every buffer on
// the way in counted, against what the rows themselves need.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <thread>
#include <vector>

#include "common/wire/row_frame.h"
#include "tests/support/loopback_cluster.h"
#include "worker/link/server_link.h"

namespace weir::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(ServerMemory, GrowsByAtMostThirtyPercentMoreThanItsRows) {
  if (kSanitized) GTEST_SKIP() << "shadow memory would be measured";
  const v1::Config config = MakeConfig({R"(
      data { synthetic { tables: 20 rows_per_table: 100000 } }
      model { bottom_widths: 16 top_widths: 1 embedding_dimension: 16 })"});
  const ModelLayout layout(config, 1);
  transport::LoopbackNetwork network;
  auto transport = network.MakeServer();
  ASSERT_TRUE(transport->Bind("inproc://0").ok());
  server::Server server(config, 1, 0, std::move(transport));
  std::thread thread([&] { EXPECT_EQ(server.Run().code(), StatusCode::kInterrupted); });
  {
    worker::ServerLink link(config, layout, {.server_addresses = {"inproc://0"}},
                            network.MakeClient());
    ASSERT_TRUE(link.Connect().ok());
    const int64_t before = ResidentBytes();

    constexpr uint64_t kRowsPerPush = 1000;
    std::vector<uint64_t> ids(kRowsPerPush);
    const std::vector<float> gradients(kRowsPerPush * 16, 0.5f);
    for (uint32_t table = 0; table < 20; ++table) {
      for (uint64_t first = 0; first < 100000; first += kRowsPerPush) {
        for (uint64_t i = 0; i < kRowsPerPush; ++i) ids[i] = first + i;
        Bytes frame;
        wire::AppendRowGradients(&frame, table, 16, ids, gradients, wire::ValueCoding::kF32);
        std::vector<worker::Body> bodies(1);
        bodies[0].emplace_back(std::move(frame));
        ASSERT_TRUE(link.AcquireCredit().ok());
        ASSERT_TRUE(
            link.AwaitAccepted(link.SubmitPush({}, std::move(bodies), link.MarkRead())).ok());
      }
    }
    const int64_t growth = ResidentBytes() - before;
    EXPECT_EQ(server.shard().row_count(), 2'000'000);
    constexpr int64_t kKeyValuesState = 8 + 16 * 4 + 4;
    const double ratio = static_cast<double>(growth) / (2e6 * kKeyValuesState);
    RecordProperty("growth_over_rows", std::to_string(ratio));
    std::cout << "growth over the bytes of the rows: " << ratio << std::endl;
    EXPECT_LE(ratio, 1.3);
    EXPECT_GE(ratio, 1.0) << "less than the rows themselves: something was not measured";
    server.Stop();  // before its only trainer leaves, which would end the run
    thread.join();
  }
}

}  // namespace
}  // namespace weir::test
