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
  faults.flip_probability = 0.01;
  faults.max_delay_ms = 2;
  const AgreedRun first = RunAgreed(config), second = RunAgreed(config, faults);
  EXPECT_EQ(second.values, first.values);
  EXPECT_EQ(second.rows, first.rows);
}

// Of frames, and of messages' headers, with room for what names a trainer's policy has.
constexpr uint64_t kFrameBytes = 32;
constexpr uint64_t kMessageBytes = 120;

// What four trainers, of a policy that sends 1 % of 1,006,992 elements a step, tell each other: k
// is that 1 %, by all trainers together in a step unless it says otherwise.
struct Exchange {
  const char* policy;
  double proposed;     // in k; 1: as much as the union, for no element is proposed twice
  double least_union;  // in k
  double most_union;
};

void PrintTo(const Exchange& exchange, std::ostream* out) { *out << exchange.policy; }

class AgreedBytes : public testing::TestWithParam<Exchange> {
 protected:
  struct Counts {
    double steps, elements, sent;  // of all trainers, of the model, by all trainers
    double around;                 // bytes of frames and messages
  };
  static Counts CountsOf(const v1::WorkerReport& total) {
    const auto steps = static_cast<double>(total.layers(0).steps());
    Counts counts = {.steps = steps, .elements = 0, .sent = 0, .around = 4 * kMessageBytes * steps};
    for (const v1::LayerReport& layer : total.layers()) {
      counts.sent += static_cast<double>(layer.elements_sent());
      counts.elements += static_cast<double>(layer.elements());
      counts.around += 2 * kFrameBytes * steps;
    }
    return counts;
  }
  static AgreedRun Run(const std::string& policy) {
    return RunAgreed(MakeConfig({kSmallRun, "consistency { sync { trainers: 4 } }",
                                 "model { bottom_widths: [1000, 990, 8] top_widths: [64, 1] }",
                                 "data { batch_size: 16 synthetic { rows: 768 test_rows: 16 } }",
                                 "cluster { answer_timeout_ms: 8000 }",
                                 "compression { default { " + policy + " } }"}));
  }
};

// The byte test of the protocol: A up, U down, and of U values up and values down, without indexes.
// Four bytes a value; an index of one element in a hundred takes 8.1 bits, and less than 12 here.
TEST_P(AgreedBytes, AreTheProposalsTheUnionAndItsValues) {
  const Exchange exchange = GetParam();
  const AgreedRun run = Run(exchange.policy);
  const v1::WorkerReport& total = run.report.total();
  const Counts counts = CountsOf(total);
  ASSERT_EQ(counts.steps, 12 * kTrainers);
  const double wanted = counts.elements / 100 * counts.steps / kTrainers;
  const double agreed = counts.sent / kTrainers;
  EXPECT_GE(agreed, exchange.least_union * wanted);
  EXPECT_LE(agreed, exchange.most_union * wanted);

  const auto up = static_cast<double>(total.sent().push());
  const auto down = static_cast<double>(total.received().pull());
  EXPECT_GT(up, 4 * counts.sent);
  EXPECT_LE(up, 4 * counts.sent + counts.around);
  EXPECT_LE(down, 4 * counts.sent + counts.around + kTrainers * (4 * counts.elements + 1000));
  const double proposed = exchange.proposed > 1 ? exchange.proposed * wanted : agreed;
  const auto indexes_up = static_cast<double>(total.sent().control());
  const auto indexes_down = static_cast<double>(total.received().control());
  EXPECT_GT(indexes_up, proposed / 2);
  EXPECT_LE(indexes_up, 1.5 * proposed + counts.around);
  EXPECT_GT(indexes_down, counts.sent / 2);
  EXPECT_LE(indexes_down, 1.5 * counts.sent + counts.around);
}

// But for the first, no element is proposed twice, so the union is what was proposed.
INSTANTIATE_TEST_SUITE_P(Policies, AgreedBytes,
                         testing::Values(Exchange{"union_top_k { sparsity: 0.99 }", 4, 1.5, 4.001},
                                         Exchange{"clt_k { sparsity: 0.99 }", 1, 0.99, 1.001},
                                         Exchange{"deft { sparsity: 0.99 }", 1, 0.8, 1.3},
                                         Exchange{"exdyna { sparsity: 0.99 }", 1, 0.5, 2}));

}  // namespace
}  // namespace weir::test
