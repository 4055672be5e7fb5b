// Whole runs whose trainers are several workers, one for each stage of the model, in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr char kRun[] = R"(
    data { batch_size: 150 chunk_batches: 4
           synthetic { rows: 9000 test_rows: 1500 tables: 4 dense_features: 5 rows_per_table: 500 } }
    model { bottom_widths: [96, 24, 8] top_widths: [64, 40, 20, 1] embedding_dimension: 8 }
    update { dense { adagrad { learning_rate: 0.005 } schedule { warmup_steps: 0 } } }
    cluster { window: 1 prefetch_batches: 0 row_partitions: 3 concurrency_warmup_steps: 0 }
)";

std::string Splits(const std::vector<std::string>& layers, const std::string& policy,
                   int in_flight) {
  std::string text = StrCat("pipeline { in_flight: ", in_flight);
  for (const std::string& layer : layers) {
    text += StrCat(" split { after: '", layer, "' ", policy, " }");
  }
  return text + " }";
}

ClusterOptions Stages(uint32_t stages, uint32_t servers = 1) {
  ClusterOptions options;
  options.servers = servers;
  options.trainers = 1;
  options.stages = stages;
  return options;
}

struct Outcome {
  explicit Outcome(LoopbackCluster* cluster) {
    cluster->Run();
    ExpectAllOk(*cluster);
    values = cluster->ServerValues();
    rows = cluster->RowsHash();
    report = cluster->report();
  }
  std::vector<float> values;
  uint64_t rows = 0;
  v1::RunReport report;
};

std::map<std::string, uint64_t> DeadByLayer(const v1::RunReport& report) {
  std::map<std::string, uint64_t> dead;
  for (const v1::DeadUnitsReport& units : report.total().dead_units()) {
    dead[units.bias()] = units.dead();
  }
  return dead;
}

// Of a run of 9000 rows: that a split behind each of the layers changes no bit of what is trained,
// with a worker for each stage. Adam counts steps, and a schedule does: each stage's own.
void ExpectTheModelInOneWorker(const std::string& run, const std::vector<std::string>& layers) {
  constexpr char kAdam[] = R"(update {
      dense { adam { learning_rate: 0.002 } schedule { warmup_steps: 20 } }
      rows { adam { learning_rate: 0.01 } } })";
  LoopbackCluster unsplit(MakeConfig({run, kAdam}), Stages(1));
  const Outcome whole(&unsplit);
  const auto stages = static_cast<uint32_t>(layers.size() + 1);
  LoopbackCluster pipeline(MakeConfig({run, kAdam, Splits(layers, "none {}", 1)}), Stages(stages));
  const Outcome split(&pipeline);
  EXPECT_GT(whole.report.test().auc(), 0.55) << "gradients reach the layers";
  EXPECT_EQ(split.values, whole.values);
  EXPECT_EQ(split.rows, whole.rows);
  EXPECT_EQ(split.report.total().samples(), 9000u);
  EXPECT_EQ(split.report.total().steps(), 60u);
  EXPECT_EQ(split.report.test().logloss(), whole.report.test().logloss());
  EXPECT_EQ(split.report.test().auc(), whole.report.test().auc());
  EXPECT_EQ(split.report.total().logloss_sum(), whole.report.total().logloss_sum());
  EXPECT_FALSE(split.report.test().has_unmasked_logloss());
  const auto &found = split.report.total().test_values(),
             &expected = whole.report.total().test_values();
  EXPECT_GT(expected.size(), 0);
  ASSERT_EQ(found.size(), expected.size());
  for (int i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].table(), expected[i].table());
    EXPECT_EQ(found[i].values(), expected[i].values()) << found[i].table();
    EXPECT_EQ(found[i].unseen(), expected[i].unseen()) << found[i].table();
  }
  EXPECT_GT(DeadByLayer(whole.report).size(), 0u);
  EXPECT_EQ(DeadByLayer(split.report), DeadByLayer(whole.report));
  EXPECT_EQ(split.report.stages(), stages);
  EXPECT_EQ(split.report.trainers(), 1u);
}

class PipelineOfStages : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(PipelineOfStages, WithoutMasksIsTheModelInOneWorkerToTheBit) {
  ExpectTheModelInOneWorker(kRun, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    OfTwoThreeAndFive, PipelineOfStages,
    testing::Values(std::vector<std::string>{"bottom/1"}, std::vector<std::string>{"bottom/2"},
                    std::vector<std::string>{"top/0"},
                    std::vector<std::string>{"bottom/1", "top/1"},
                    std::vector<std::string>{"bottom/0", "bottom/2", "top/0", "top/2"}));

// As many as there may be, a layer each. Through ReLUs alone next to nothing would reach the first
// of so many narrow layers in so few steps.
TEST(Pipeline, OfSixteenStagesIsTheModelInOneWorkerToTheBit) {
  constexpr char kDeep[] = R"(
      data { batch_size: 150 chunk_batches: 4
             synthetic { rows: 9000 test_rows: 1500 tables: 4 dense_features: 5
                         rows_per_table: 500 } }
      model { bottom_widths: [32, 24, 24, 16, 16, 12, 12, 8]
              top_widths: [32, 24, 24, 16, 16, 12, 8, 1] embedding_dimension: 8
              bottom_activations: [LINEAR, RELU, LINEAR, RELU, LINEAR, RELU, LINEAR, RELU]
              top_activations: [LINEAR, RELU, LINEAR, RELU, LINEAR, RELU, LINEAR] }
      cluster { window: 1 prefetch_batches: 0 row_partitions: 3 }
  )";
  std::vector<std::string> layers;
  for (int i = 0; i < 8; ++i) layers.push_back(StrCat("bottom/", i));
  for (int i = 0; i < 7; ++i) layers.push_back(StrCat("top/", i));
  ASSERT_EQ(layers.size(), 15u);
  ExpectTheModelInOneWorker(kDeep, layers);
}

// The squares of each stage's layers, and of the rows, reach the policies that ask for them.
TEST(Pipeline, SendsByTheNoiseOfEachElementWhatOneWorkerSends) {
  constexpr char kVariance[] = R"(
      compression {
        layer { match: "top/*" variance {} }
        layer { match: "bottom/*" hybrid { threshold: 0.001 } }
        layer { match: "table/*" lazy_rows { alpha: 1.5 } }
      })";
  LoopbackCluster unsplit(MakeConfig({kRun, kVariance}), Stages(1));
  const Outcome whole(&unsplit);
  LoopbackCluster pipeline(
      MakeConfig({kRun, kVariance, Splits({"bottom/0", "top/1"}, "none {}", 1)}), Stages(3));
  const Outcome split(&pipeline);
  EXPECT_EQ(split.values, whole.values);
  EXPECT_EQ(split.rows, whole.rows);
  EXPECT_EQ(split.report.test().logloss(), whole.report.test().logloss());
}

// What compression is compared with: each stage counts its part of it.
TEST(Pipeline, CountsTheBytesOfDenseGradientsAsOneWorkerDoes) {
  for (const uint32_t stages : {1u, 3u}) {
    const std::string splits = stages == 1 ? "" : Splits({"bottom/1", "top/1"}, "none {}", 2);
    LoopbackCluster cluster(MakeConfig({kRun, splits}), Stages(stages));
    const v1::WorkerReport total = Outcome(&cluster).report.total();
    const auto elements = static_cast<uint64_t>(cluster.layout().dense_element_count());
    EXPECT_EQ(total.dense().push(), 60 * elements * sizeof(float)) << stages;
    EXPECT_EQ(total.dense().pull(), 60 * elements * sizeof(float)) << stages;
    EXPECT_EQ(total.dense().row_push(), total.rows().gradients() * 8 * sizeof(float)) << stages;
    EXPECT_GE(total.dense().row_pull(), total.dense().row_push()) << "and rows to test on";
  }
}

// Where gradients may be clipped, their squares are added up once it is known by how much. A norm
// that none reaches leaves all as it is, up to the order of sums.
TEST(Pipeline, SendsByTheNoiseOfClippedGradientsToo) {
  constexpr char kHybrid[] = "compression { default { hybrid { threshold: 0.001 } } }";
  constexpr char kClip[] = "update { dense { clip_norm: 1e6 } }";
  constexpr char kClipAll[] = "update { dense { clip_norm: 0.01 } }";
  const auto run = [](const std::vector<std::string>& parts) {
    LoopbackCluster cluster(MakeConfig(parts), Stages(1));
    return Outcome(&cluster).report;
  };
  const v1::RunReport plain = run({kRun, kHybrid}), clipped = run({kRun, kHybrid, kClip});
  EXPECT_NEAR(clipped.test().logloss(), plain.test().logloss(), 1e-3);
  const auto sent = [](const v1::RunReport& report) {
    uint64_t all = 0;
    for (const v1::LayerReport& layer : report.total().layers()) all += layer.elements_sent();
    return static_cast<double>(all);
  };
  EXPECT_NEAR(sent(clipped), sent(plain), 0.02 * sent(plain));
  EXPECT_LT(sent(run({kRun, kHybrid, kClipAll})), 0.5 * sent(plain))
      << "less reaches the threshold";
}

// The same masks whether what crosses does so in a worker or between workers, and the same bits.
TEST(Pipeline, WithMasksIsWhatOneWorkerOfAllStagesComputes) {
  const std::string splits =
      Splits({"bottom/0", "top/1"}, "dct_mp { sparsity: 0.8 } values: BF16", 1);
  LoopbackCluster in_one(MakeConfig({kRun, splits}), Stages(1));
  const Outcome whole(&in_one);
  LoopbackCluster pipeline(MakeConfig({kRun, splits}), Stages(3));
  const Outcome split(&pipeline);
  EXPECT_EQ(split.values, whole.values);
  EXPECT_EQ(split.rows, whole.rows);
  EXPECT_EQ(split.report.test().logloss(), whole.report.test().logloss());
  EXPECT_EQ(split.report.test().unmasked_logloss(), whole.report.test().unmasked_logloss());
  EXPECT_NE(split.report.test().unmasked_logloss(), split.report.test().logloss());
  ASSERT_EQ(split.report.total().splits_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const v1::SplitReport& a = split.report.total().splits(i);
    const v1::SplitReport& b = whole.report.total().splits(i);
    EXPECT_EQ(a.after(), b.after());
    EXPECT_EQ(a.elements(), b.elements());
    EXPECT_EQ(a.elements_sent(), b.elements_sent());
    EXPECT_EQ(a.forward_bytes(), b.forward_bytes());
    EXPECT_EQ(a.backward_bytes(), b.backward_bytes());
  }
}

// Whatever is in flight and however long messages take, a run ends, and has trained every row.
TEST(Pipeline, EndsWithAnyNumberInFlightUnderRandomDelays) {
  for (int in_flight = 1; in_flight <= 8; ++in_flight) {
    ClusterOptions options = Stages(3);
    options.threads = 1 + in_flight % 3;
    options.link_faults.seed = static_cast<uint64_t>(in_flight);
    options.link_faults.max_delay_ms = 4;
    LoopbackCluster cluster(
        MakeConfig({kRun, "cluster { window: 4 prefetch_batches: 1 }",
                    Splits({"bottom/1", "top/1"}, "dct_mp { sparsity: 0.7 }", in_flight)}),
        options);
    const Outcome outcome(&cluster);
    EXPECT_EQ(outcome.report.total().samples(), 9000u) << in_flight;
    EXPECT_EQ(outcome.report.test().samples(), 1500u) << in_flight;
    EXPECT_LT(outcome.report.test().normalized_entropy(), 1) << in_flight;
  }
}

// What a broken connection takes with it is started again, after a silence in which servers answer
// even on a busy machine.
TEST(Pipeline, EndsOverLinksThatBreak) {
  ClusterOptions options = Stages(3, 2);
  options.trainers = 2;
  options.link_faults.break_probability = 0.01;
  LoopbackCluster cluster(
      MakeConfig({kRun, "cluster { window: 4 answer_timeout_ms: 4000 }",
                  Splits({"bottom/1", "top/1"}, "dct_mp { sparsity: 0.7 }", 3)}),
      options);
  const Outcome outcome(&cluster);
  EXPECT_EQ(outcome.report.samples(), 9000u);
  EXPECT_EQ(outcome.report.test().samples(), 1500u);
}

TEST(Pipeline, BothHalvesOfDctWithTwoServersAndTwoTrainersLearn) {
  ClusterOptions options = Stages(3, 2);
  options.trainers = 2;
  options.threads = 2;
  LoopbackCluster cluster(
      MakeConfig({kRun, "cluster { window: 4 }",
                  "compression { default { dct { sparsity: 0.95 lifespan: 50 } values: BF16 } }",
                  Splits({"bottom/1", "top/1"}, "dct_mp { sparsity: 0.75 } values: BF16", 4)}),
      options);
  const Outcome outcome(&cluster);
  const v1::WorkerReport& total = outcome.report.total();
  EXPECT_EQ(total.samples(), 9000u);
  EXPECT_GT(outcome.report.test().auc(), 0.55);
  EXPECT_GT(total.sent().forward(), 0u);
  EXPECT_EQ(total.received().forward(), 0u) << "bytes of a link are counted where they leave";
  const uint64_t frames = total.splits(0).forward_bytes() + total.splits(1).forward_bytes();
  EXPECT_GT(total.sent().forward(), frames);
  EXPECT_EQ(total.splits(0).forward_link_bytes() + total.splits(1).forward_link_bytes(),
            total.sent().forward());
  EXPECT_EQ(total.splits(0).backward_link_bytes() + total.splits(1).backward_link_bytes(),
            total.sent().backward());
  for (const v1::SplitReport& split : total.splits()) {
    EXPECT_GT(split.forward_link_bytes(), split.forward_bytes());
    EXPECT_GT(split.backward_link_bytes(), split.backward_bytes());
  }
  EXPECT_LT(total.sent().forward() - frames, total.steps() * 2 * 300) << "headers, no test batches";
  EXPECT_GT(total.sent().evaluation(), total.dense().forward() / 9000 * 1500);
  EXPECT_LT(total.sent().backward() * 7, total.dense().backward());
  EXPECT_LT(total.sent().push() * 8, total.dense().push());
  EXPECT_EQ(total.stage_times_size(), 3 * 5);
}

TEST(Pipeline, AStageThatNobodyStartedIsNamed) {
  ClusterOptions options = Stages(3);
  options.missing_stage = 1;
  LoopbackCluster cluster(MakeConfig({kRun, "cluster { join_timeout_ms: 5000 }",
                                      Splits({"bottom/1", "top/1"}, "none {}", 2)}),
                          options);
  cluster.Run();
  const Status& first = cluster.trainer_statuses()[0];
  EXPECT_THAT(first.message(), HasSubstr("trainer 0 lacks stage 1"));
  EXPECT_THAT(first.message(), HasSubstr("cluster.join_timeout_ms"));
  EXPECT_THAT(cluster.trainer_statuses()[2].message(), HasSubstr("trainer 0 lacks stage 1"));
  EXPECT_FALSE(cluster.server_statuses()[0].ok());
}

TEST(Pipeline, AStageWithOtherSplitsIsRefused) {
  ClusterOptions options = Stages(2);
  const v1::Config config =
      MakeConfig({kRun, "cluster { join_timeout_ms: 3000 }", Splits({"bottom/1"}, "none {}", 2)});
  options.odd_stage = {1, MakeConfig({kRun, Splits({"bottom/1"}, "dct_mp { sparsity: 0.5 }", 2)})};
  LoopbackCluster cluster(config, options);
  cluster.Run();
  EXPECT_THAT(cluster.trainer_statuses()[1].message(),
              HasSubstr("the configs differ in the stages (pipeline.split)"));
  EXPECT_THAT(cluster.trainer_statuses()[0].message(), HasSubstr("trainer 0 lacks stage 1"));
}

TEST(Pipeline, WithoutAFirstStageTheRunEnds) {
  ClusterOptions options = Stages(2);
  options.missing_stage = 0;
  LoopbackCluster cluster(
      MakeConfig({kRun, "cluster { join_timeout_ms: 3000 }", Splits({"bottom/1"}, "none {}", 2)}),
      options);
  cluster.Run();
  EXPECT_THAT(cluster.trainer_statuses()[1].message(), HasSubstr("trainer 0 lacks stage 0"));
  EXPECT_FALSE(cluster.server_statuses()[0].ok());
}

// Everybody is there, but nothing that leaves the first stage arrives.
TEST(Pipeline, ALinkThatCarriesNothingIsNamed) {
  ClusterOptions options = Stages(2);
  options.link_faults.drop_probability = 1;
  LoopbackCluster cluster(
      MakeConfig({kRun, "cluster { join_timeout_ms: 5000 answer_timeout_ms: 4000 }",
                  Splits({"bottom/1"}, "none {}", 2)}),
      options);
  cluster.Run();
  EXPECT_THAT(cluster.trainer_statuses()[0].message(),
              HasSubstr("no batch has come back from trainer 0 stage 1 at inproc://link-0-1"));
}

TEST(Pipeline, StagesThatReadOtherRowsFindOut) {
  ClusterOptions options = Stages(2);
  const std::string splits = Splits({"bottom/1"}, "none {}", 2);
  // As another file would: the reader's settings are compared, what it reads is not.
  options.odd_rows_stage = 1;
  LoopbackCluster cluster(MakeConfig({kRun, splits}), options);
  cluster.Run();
  EXPECT_THAT(cluster.trainer_statuses()[1].message(),
              HasSubstr("has other lines here than at the first stage"));
}

}  // namespace
}  // namespace weir::test
