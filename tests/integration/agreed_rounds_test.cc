// Runs in rounds whose trainers agree on what they send: what they compute, and in how many bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/cluster_checks.h"

namespace weir::test {
namespace {

constexpr uint32_t kTrainers = 4;

v1::Config Agreeing(const std::string& policy) {
  return MakeConfig({kSmallRun, "data { synthetic { rows: 4000 test_rows: 500 } }",
                     "consistency { sync { trainers: 4 } } cluster { answer_timeout_ms: 8000 }",
                     "compression { default { " + policy + " } }"});
}

struct AgreedRun {
  std::vector<float> values;
  uint64_t rows = 0;
  v1::RunReport report;
};

AgreedRun RunAgreed(const v1::Config& config, const transport::FaultPlan& faults = {}) {
  LoopbackCluster cluster(config,
                          {.servers = 2, .trainers = kTrainers, .threads = 1, .faults = faults});
  cluster.Run();
  ExpectAllOk(cluster);
  return {cluster.ServerValues(), cluster.RowsHash(), cluster.report()};
}

constexpr const char* kPolicies[] = {
    "union_top_k { sparsity: 0.99 }",
    "deft { sparsity: 0.99 } values: BF16",
    "exdyna { sparsity: 0.99 }",
    "clt_k { sparsity: 0.99 }",
    "union_hard_threshold { threshold: 0.01 }",
};

TEST(AgreedRounds, TwoRunsAreTheSameToTheBit) {
  for (const char* policy : kPolicies) {
    SCOPED_TRACE(policy);
    const v1::Config config = Agreeing(policy);
    const AgreedRun first = RunAgreed(config);
    EXPECT_EQ(first.report.total().samples(), 4000u);
    const AgreedRun second = RunAgreed(config);
    EXPECT_EQ(second.values, first.values);
    EXPECT_EQ(second.rows, first.rows);
  }
}

TEST(AgreedRounds, ABadNetworkChangesNothing) {
  const v1::Config config = Agreeing("deft { sparsity: 0.99 }");
  transport::FaultPlan faults;
  faults.seed = 5;
  faults.break_probability = 0.01;
  faults.duplicate_probability = 0.01;
  faults.max_delay_ms = 2;
  const AgreedRun first = RunAgreed(config), second = RunAgreed(config, faults);
  EXPECT_EQ(second.values, first.values);
  EXPECT_EQ(second.rows, first.rows);
}

// Of frames, and of messages' headers, with room for what names a trainer's policy has.
constexpr uint64_t kFrameBytes = 32;
constexpr uint64_t kMessageBytes = 120;

// Everybody sends, and is sent, the values of the union, and no index with them (the byte test of
// the protocol: up |U| values, down |U| values).
TEST(AgreedRounds, ValuesTravelWithoutIndexes) {
  const AgreedRun run = RunAgreed(Agreeing("union_top_k { sparsity: 0.99 }"));
  const v1::WorkerReport& total = run.report.total();
  uint64_t sent = 0, bytes = 0, elements = 0;
  for (const v1::LayerReport& layer : total.layers()) {
    sent += layer.elements_sent();
    bytes += layer.bytes();
    elements += layer.elements();
    EXPECT_LE(layer.bytes(), 4 * layer.elements_sent() + kFrameBytes * layer.steps());
  }
  const uint64_t steps = total.layers(0).steps();
  const uint64_t proposed = steps * elements / 100;
  EXPECT_GT(sent, proposed);
  EXPECT_LE(sent, kTrainers * (proposed + steps));
  const uint64_t layers = static_cast<uint64_t>(total.layers_size());
  EXPECT_LE(total.received().pull(), 4 * sent + steps * (layers * kFrameBytes + 2 * kMessageBytes) +
                                         kTrainers * (4 * elements + 1000));
  EXPECT_LE(total.sent().push(), 4 * sent + steps * (layers * kFrameBytes + 2 * kMessageBytes));
  EXPECT_GT(bytes, 4 * sent);
}

}  // namespace
}  // namespace weir::test
