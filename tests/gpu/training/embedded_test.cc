// Runs without servers on a card: parameters, tables and update rules are there, and what is saved
// and gone on from is the CPU's.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/saved_model/saved_model.h"
#include "common/saved_model/writer.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/integration/cluster_checks.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"
#include "worker/worker.h"

namespace weir::test {
namespace {

constexpr char kTinyModel[] = R"(
    data { batch_size: 32 chunk_batches: 4
           synthetic { rows: 1280 test_rows: 320 tables: 3 dense_features: 4 rows_per_table: 90 } }
    model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 })";

// Values and state by tensor and element, and by table and id.
using Contents = std::map<std::pair<uint32_t, uint64_t>, std::vector<float>>;
struct InModel {
  Contents pieces, rows;
};

InModel ReadModel(const std::string& folder) {
  const auto model = saved_model::SavedModel::Open(folder);
  CHECK(model.ok()) << model.status();
  InModel read;
  const Status visited = (*model)->Visit(
      {.piece =
           [&](const saved_model::SavedPiece& piece) {
             auto& all = read.pieces[{piece.tensor, static_cast<uint64_t>(piece.begin)}];
             all.assign(piece.values.begin(), piece.values.end());
             all.insert(all.end(), piece.state.begin(), piece.state.end());
           },
       .rows =
           [&](const saved_model::SavedRows& rows) {
             for (size_t i = 0; i < rows.ids.size(); ++i) {
               auto& row = read.rows[{rows.table, rows.ids[i]}];
               row.resize(rows.row_floats);
               rows.CopyRow(i, row);
             }
           }});
  CHECK(visited.ok()) << visited;
  return read;
}

void ExpectNear(const Contents& got, const Contents& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [key, values] : expected) {
    const auto found = got.find(key);
    ASSERT_NE(found, got.end()) << key.first << ", " << key.second;
    ASSERT_EQ(found->second.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(found->second[i], values[i], tolerance * (0.1 + std::fabs(values[i])))
          << key.first << ", " << key.second << ", " << i;
    }
  }
}

std::string MakeFolder() {
  std::string pattern = testing::TempDir() + "weir_embedded_XXXXXX";
  return mkdtemp(pattern.data());
}

// from: a model that it goes on from, or "". Its mean logloss.
double RunAndSave(const v1::Config& config, const ModelLayout& layout,
                  const kernels::Compute& compute, const std::string& from, const std::string& to) {
  const auto reader = data::MakeReader(config);
  CHECK(reader.ok()) << reader.status();
  worker::EmbeddedClient client(config, layout, compute);
  worker::WorkerOptions options;
  options.compute = compute;
  if (!from.empty()) {
    const auto model = saved_model::SavedModel::Open(from);
    CHECK(model.ok()) << model.status();
    const Status loaded = client.Load(**model);
    CHECK(loaded.ok()) << loaded;
  }
  const auto writer = saved_model::Writer::Create(to);
  CHECK(writer.ok()) << writer.status();
  options.save = writer->get();
  const auto report =
      worker::Worker(config, layout, std::move(options), reader->get(), &client).Run();
  CHECK(report.ok()) << report.status();
  return report->total().logloss_sum() / static_cast<double>(report->total().samples());
}

// A card moves all dense elements in each step, and the CPU those that have a gradient: a rule that
// moves at rest gives the same where dense_semantics has the CPU do so, and else nearly.
struct RuleCase {
  const char* update;
  double tolerance = 1e-4;
};

class EmbeddedOnACard : public testing::TestWithParam<RuleCase> {
 protected:
  ~EmbeddedOnACard() override {
    std::filesystem::remove_all(folder_);
    ResetCard();
  }

  double Run(const kernels::Compute& compute, const std::string& from, const std::string& to) {
    return RunAndSave(config_, layout_, compute, from.empty() ? "" : folder_ + from, folder_ + to);
  }

  void ExpectSameModel(const std::string& got, const std::string& expected) {
    const InModel card = ReadModel(folder_ + got), cpu = ReadModel(folder_ + expected);
    ExpectNear(card.pieces, cpu.pieces, GetParam().tolerance);
    ExpectNear(card.rows, cpu.rows, GetParam().tolerance);
  }

  const v1::Config config_ = MakeConfig({kTinyModel, GetParam().update});
  const ModelLayout layout_{config_, 1};
  const kernels::Compute cpu_ = kernels::CpuCompute(kernels::Precision::kF32);
  const std::string folder_ = MakeFolder();
};

TEST_P(EmbeddedOnACard, LearnsAndSavesWhatTheCpuDoes) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const auto device = OpenCard();
  const auto card = gpu::CudaCompute(*device, kernels::Precision::kF32, 32);
  const double expected = Run(cpu_, "", "/cpu");
  EXPECT_NEAR(Run(card, "", "/card"), expected, 0.1 * GetParam().tolerance * expected);
  ExpectSameModel("/card", "/cpu");
  // And back.
  const double next = Run(cpu_, "/cpu", "/cpu2");
  EXPECT_NEAR(Run(card, "/cpu", "/card2"), next, 0.1 * GetParam().tolerance * next);
  ExpectSameModel("/card2", "/cpu2");
  EXPECT_NEAR(Run(cpu_, "/card", "/cpu3"), next, 0.1 * GetParam().tolerance * next);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, EmbeddedOnACard,
    testing::Values(
        RuleCase{
            "update { dense { sgd { learning_rate: 0.05 } } rows { sgd { learning_rate: 0.5 } } }"},
        RuleCase{"update { dense { adagrad { learning_rate: 0.02 initial_accumulator: 0.1 } } "
                 "rows { adagrad { learning_rate: 0.05 initial_accumulator: 0.01 } } }"},
        RuleCase{"update { dense { momentum { learning_rate: 0.02 momentum: 0.8 } "
                 "dense_semantics: true } }"},
        RuleCase{"update { dense { adam { learning_rate: 0.002 } dense_semantics: true } "
                 "rows { adam { learning_rate: 0.01 } } }"},
        RuleCase{
            "update { dense { sgd { learning_rate: 0.05 } weight_decay: 0.01 "
            "dense_semantics: true } rows { momentum { learning_rate: 0.05 momentum: 0.5 } } }"},
        RuleCase{"update { dense { sgd { learning_rate: 0.05 } l2_penalty: 0.01 "
                 "dense_semantics: true } rows { rowwise_adagrad { learning_rate: 0.03 "
                 "initial_accumulator: 1e-3 } l2_penalty: 0.01 } }"},
        RuleCase{"update { dense { sgd { learning_rate: 0.05 } } rows { rowwise_adagrad { "
                 "learning_rate: 0.03 initial_accumulator: 1e-3 } weight_decay: 0.01 } }"},
        RuleCase{"update { dense { sgd { learning_rate: 0.05 } } rows { adagrad { learning_rate: "
                 "0.05 initial_accumulator: 0.01 } weight_decay: 0.02 } }"},
        RuleCase{"update { dense { adam { learning_rate: 0.002 } } }", 0.1}));

// Nobody is waited for after the last step but by who saves.
TEST(EmbeddedOnACardWithoutTests, SavesTheLastSteps) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const v1::Config config =
      MakeConfig({kTinyModel, "data { synthetic { test_rows: 0 } }",
                  "update { dense { sgd { learning_rate: 0.05 } } rows { sgd { learning_rate: 0.5 "
                  "} } }"});
  const ModelLayout layout(config, 1);
  const auto device = OpenCard();
  const auto card = gpu::CudaCompute(*device, kernels::Precision::kF32, 32);
  const auto cpu = kernels::CpuCompute(kernels::Precision::kF32);
  const std::string folder = MakeFolder();
  RunAndSave(config, layout, cpu, "", folder + "/cpu");
  const InModel expected = ReadModel(folder + "/cpu");
  for (const uint64_t order : CardOrders()) {
    SetCardOrder(order);
    RunAndSave(config, layout, card, "", folder + "/card");
    const InModel saved = ReadModel(folder + "/card");
    ExpectNear(saved.pieces, expected.pieces, 1e-4);
    ExpectNear(saved.rows, expected.rows, 1e-4);
  }
  std::filesystem::remove_all(folder);
  ResetCard();
}

}  // namespace
}  // namespace weir::test
