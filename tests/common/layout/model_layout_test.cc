#include "common/layout/model_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/layout/initial_values.h"

namespace weir {
namespace {

// The model of the DCT paper: our defaults on Criteo's columns.
v1::Config PaperConfig() {
  v1::Config config;
  config.mutable_data()->mutable_criteo_tsv();
  config::FillDefaults(&config);
  return config;
}

const TensorSpec& Find(const ModelLayout& layout, const std::string& name) {
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.name == name) return tensor;
  }
  LOG(FATAL) << "no tensor " << name;
}

TEST(ModelLayout, HasThePapersTensors) {
  const ModelLayout layout(PaperConfig(), 2);
  using Shape = std::tuple<std::string, int64_t, int64_t>;
  const std::vector<Shape> expected = {
      {"bottom/0/weight", 512, 13}, {"bottom/0/bias", 512, 1},    {"bottom/1/weight", 256, 512},
      {"bottom/1/bias", 256, 1},    {"bottom/2/weight", 64, 256}, {"bottom/2/bias", 64, 1},
      {"bottom/3/weight", 16, 64},  {"bottom/3/bias", 16, 1},     {"top/0/weight", 512, 367},
      {"top/0/bias", 512, 1},       {"top/1/weight", 256, 512},   {"top/1/bias", 256, 1},
      {"top/2/weight", 128, 256},   {"top/2/bias", 128, 1},       {"top/3/weight", 1, 128},
      {"top/3/bias", 1, 1}};
  std::vector<Shape> shapes;
  for (const TensorSpec& tensor : layout.tensors()) {
    EXPECT_EQ(tensor.id, shapes.size());
    shapes.emplace_back(tensor.name, tensor.row_count, tensor.column_count);
  }
  EXPECT_EQ(shapes, expected);
  EXPECT_EQ(layout.dense_element_count(), 508'753);
}

int64_t InteractionWidth(int32_t dense_features, int32_t tables, int32_t dimension,
                         v1::ModelConfig::Interaction interaction) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_tables(tables);
  config.mutable_data()->mutable_synthetic()->set_dense_features(dense_features);
  config.mutable_model()->set_embedding_dimension(dimension);
  config.mutable_model()->set_interaction(interaction);
  config.mutable_model()->add_top_widths(1);
  if (dense_features > 0) config.mutable_model()->add_bottom_widths(dimension);
  config::FillDefaults(&config);
  return ModelLayout(config, 1).interaction_width();
}

TEST(ModelLayout, InteractionIsTheBottomOutputAndAllPairs) {
  EXPECT_EQ(InteractionWidth(13, 26, 16, v1::ModelConfig::DOT), 367);
  EXPECT_EQ(InteractionWidth(1, 0, 8, v1::ModelConfig::DOT), 8);
  EXPECT_EQ(InteractionWidth(1, 1, 8, v1::ModelConfig::DOT), 9);
}

TEST(ModelLayout, InteractionCountsVectorsWithThemselvesOrSideBySide) {
  EXPECT_EQ(InteractionWidth(13, 26, 16, v1::ModelConfig::DOT_WITH_SELF), 367 + 27);
  EXPECT_EQ(InteractionWidth(13, 26, 16, v1::ModelConfig::CAT), 27 * 16);
  EXPECT_EQ(InteractionWidth(0, 3, 4, v1::ModelConfig::DOT), 4 + 3) << "no bottom MLP";
  EXPECT_EQ(InteractionWidth(0, 3, 4, v1::ModelConfig::CAT), 12);
}

TEST(ModelLayout, ListsTheLayersOfEachMlp) {
  const ModelLayout layout(PaperConfig(), 1);
  const auto bottom = layout.bottom_weights(), top = layout.top_weights();
  ASSERT_EQ(bottom.size(), 4u);
  ASSERT_EQ(top.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const std::string layer = std::to_string(i);
    EXPECT_EQ(layout.tensors()[bottom[i]].name, "bottom/" + layer + "/weight");
    EXPECT_EQ(layout.tensors()[bottom[i] + 1].name, "bottom/" + layer + "/bias");
    EXPECT_EQ(layout.tensors()[top[i]].name, "top/" + layer + "/weight");
    EXPECT_EQ(layout.tensors()[top[i] + 1].name, "top/" + layer + "/bias");
  }
}

TEST(ModelLayout, NamesTheTablesAfterTheirColumns) {
  const ModelLayout layout(PaperConfig(), 1);
  ASSERT_EQ(layout.tables().size(), 26u);
  EXPECT_EQ(layout.tables()[0].name, "C1");
  EXPECT_EQ(layout.tables()[25].name, "C26");
  EXPECT_EQ(layout.tables()[25].id, 25u);
  EXPECT_EQ(layout.tables()[7].row_count, 100'000);
}

TEST(ModelLayout, TakesTheShapeOfSyntheticData) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_tables(3);
  config.mutable_data()->mutable_synthetic()->set_dense_features(5);
  config::FillDefaults(&config);
  const ModelLayout layout(config, 1);
  EXPECT_EQ(layout.tables().size(), 3u);
  EXPECT_EQ(layout.dense_feature_count(), 5);
  EXPECT_EQ(Find(layout, "bottom/0/weight").column_count, 5);
  EXPECT_EQ(Find(layout, "top/0/weight").column_count, 16 + 6);
}

TEST(ModelLayout, TensorsLieAlignedAndApartInTheFlatBuffer) {
  const ModelLayout layout(PaperConfig(), 1);
  int64_t end = 0;
  for (const TensorSpec& tensor : layout.tensors()) {
    EXPECT_GE(tensor.offset, end);
    EXPECT_LT(tensor.offset - end, 16);
    EXPECT_EQ(tensor.offset % 16, 0);
    end = tensor.offset + tensor.element_count();
  }
  EXPECT_GE(layout.flat_element_count(), end);
  EXPECT_EQ(layout.flat_element_count() % 16, 0);
}

TEST(ModelLayout, PiecesCoverEveryTensorOnceAndBeginAtStripes) {
  const ModelLayout layout(PaperConfig(), 3);
  size_t piece_count = 0;
  for (const TensorSpec& tensor : layout.tensors()) {
    int64_t next = 0;
    for (const PieceSpec& piece : layout.tensor_pieces(tensor.id)) {
      EXPECT_EQ(&piece, &layout.pieces()[piece_count]);
      EXPECT_EQ(piece.id, piece_count++);
      EXPECT_EQ(piece.tensor, tensor.id);
      EXPECT_EQ(piece.begin, next);
      EXPECT_EQ(piece.begin % kStripeElements, 0);
      EXPECT_GT(piece.element_count, 0);
      EXPECT_LE(piece.element_count, kPieceStripes * kStripeElements);
      next += piece.element_count;
    }
    EXPECT_EQ(next, tensor.element_count()) << tensor.name;
  }
  EXPECT_EQ(piece_count, layout.pieces().size());
}

// Layers of one piece each, between which biases lie: dealt in turn, one of two servers would have
// all weights.
v1::Config ConfigOfEqualLayers() {
  v1::Config config = PaperConfig();
  for (int i = 0; i < 3; ++i) {
    config.mutable_model()->set_bottom_widths(i, 256);
    config.mutable_model()->set_top_widths(i, 256);
  }
  return config;
}

TEST(ModelLayout, ServersHaveEqualShares) {
  for (const v1::Config& config : {PaperConfig(), ConfigOfEqualLayers()}) {
    for (const uint32_t server_count : {1u, 2u, 3u, 5u, 64u}) {
      const ModelLayout layout(config, server_count);
      std::vector<int64_t> shares(server_count);
      int64_t largest = 0;
      for (const PieceSpec& piece : layout.pieces()) {
        shares.at(piece.server) += piece.element_count;
        largest = std::max(largest, piece.element_count);
      }
      EXPECT_LE(std::ranges::max(shares) - std::ranges::min(shares), largest) << server_count;
    }
  }
}

TEST(ModelLayout, OnlyTheOwnersDependOnTheServerCount) {
  const ModelLayout one(PaperConfig(), 1), five(PaperConfig(), 5);
  ASSERT_EQ(one.pieces().size(), five.pieces().size());
  for (size_t i = 0; i < one.pieces().size(); ++i) {
    EXPECT_EQ(one.pieces()[i].tensor, five.pieces()[i].tensor);
    EXPECT_EQ(one.pieces()[i].begin, five.pieces()[i].begin);
    EXPECT_EQ(one.pieces()[i].element_count, five.pieces()[i].element_count);
  }
  for (size_t i = 0; i < one.tensors().size(); ++i) {
    for (const int64_t index : {int64_t{0}, one.tensors()[i].element_count() - 1}) {
      EXPECT_EQ(InitialDenseValue(one.seed(), one.tensors()[i], index),
                InitialDenseValue(five.seed(), five.tensors()[i], index));
    }
  }
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments MomentsOf(const std::vector<float>& values) {
  Moments moments;
  double squares = 0;
  for (const float value : values) {
    moments.mean += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
    moments.largest = std::max(moments.largest, std::fabs(static_cast<double>(value)));
  }
  const auto count = static_cast<double>(values.size());
  moments.mean /= count;
  moments.deviation = std::sqrt(squares / count - moments.mean * moments.mean);
  return moments;
}

std::vector<float> InitialValues(uint64_t seed, const TensorSpec& tensor) {
  std::vector<float> values;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    values.push_back(InitialDenseValue(seed, tensor, i));
  }
  return values;
}

TEST(InitialDenseValue, IsNormalWithTheDeviationOfTheReferenceModel) {
  const ModelLayout layout(PaperConfig(), 1);
  const TensorSpec& weight = Find(layout, "top/0/weight");
  const double deviation = std::sqrt(2.0 / (367 + 512));
  EXPECT_DOUBLE_EQ(weight.init_deviation, deviation);
  EXPECT_DOUBLE_EQ(Find(layout, "top/0/bias").init_deviation, std::sqrt(1.0 / 512));
  const Moments moments = MomentsOf(InitialValues(1, weight));
  EXPECT_NEAR(moments.mean, 0, 0.01 * deviation);
  EXPECT_NEAR(moments.deviation, deviation, 0.01 * deviation);
  EXPECT_GT(moments.largest, 3.5 * deviation) << "has a normal distribution's tail";
  EXPECT_LT(moments.largest, 7 * deviation);
}

TEST(InitialDenseValue, OfTheLastBiasIsZeroUnlessTheReferencesIsWanted) {
  v1::Config config = PaperConfig();
  for (const uint64_t seed : {1, 2, 3}) {
    config.mutable_run()->set_seed(seed);
    config.mutable_model()->set_dlrm_initial_values(false);
    const std::vector<float> ours = InitialValues(seed, Find(ModelLayout(config, 1), "top/3/bias"));
    ASSERT_EQ(ours.size(), 1u);
    EXPECT_EQ(ours[0], 0);
    EXPECT_FALSE(std::signbit(ours[0]));
    config.mutable_model()->set_dlrm_initial_values(true);
    EXPECT_NE(InitialValues(seed, Find(ModelLayout(config, 1), "top/3/bias"))[0], 0);
  }
}

TEST(InitialDenseValue, OfOtherTensorsIsTheReferencesEitherWay) {
  v1::Config config = PaperConfig();
  const ModelLayout ours(config, 1);
  config.mutable_model()->set_dlrm_initial_values(true);
  const ModelLayout reference(config, 1);
  for (size_t i = 0; i + 1 < ours.tensors().size(); ++i) {
    EXPECT_GT(ours.tensors()[i].init_deviation, 0) << ours.tensors()[i].name;
    EXPECT_EQ(ours.tensors()[i].init_deviation, reference.tensors()[i].init_deviation);
  }
}

TEST(InitialDenseValue, DependsOnSeedTensorAndIndexAlone) {
  const ModelLayout layout(PaperConfig(), 1);
  TensorSpec tensor = Find(layout, "bottom/1/weight");
  const std::vector<float> values = InitialValues(1, tensor);
  EXPECT_EQ(values, InitialValues(1, tensor));
  EXPECT_NE(values, InitialValues(2, tensor));
  tensor.offset += 64;
  tensor.name = "another name";
  EXPECT_EQ(values, InitialValues(1, tensor));
  tensor.id += 1;
  EXPECT_NE(values, InitialValues(1, tensor));
}

std::vector<float> Rows(uint64_t seed, const TableSpec& table, uint64_t first, uint64_t count) {
  std::vector<float> values(count * 16);
  for (uint64_t i = 0; i < count; ++i) {
    InitialRowValues(seed, table, first + i, std::span(values).subspan(i * 16, 16));
  }
  return values;
}

TEST(InitialRowValues, AreUniformWithinTheReferenceModelsBound) {
  const TableSpec table = {.id = 2, .name = "C3", .row_count = 400};
  const double bound = 1.0 / 20;
  const Moments moments = MomentsOf(Rows(1, table, 0, 10'000));
  EXPECT_NEAR(moments.mean, 0, 0.01 * bound);
  EXPECT_NEAR(moments.deviation, bound / std::sqrt(3.0), 0.01 * bound);
  EXPECT_LE(moments.largest, bound * (1 + 1e-6));
  EXPECT_GT(moments.largest, 0.99 * bound);
}

TEST(InitialRowValues, DependOnSeedTableAndIdAlone) {
  const TableSpec table = {.id = 2, .name = "C3", .row_count = 400};
  const TableSpec other = {.id = 3, .name = "C4", .row_count = 400};
  EXPECT_EQ(Rows(1, table, 10, 3), Rows(1, table, 10, 3));
  EXPECT_NE(Rows(1, table, 10, 3), Rows(2, table, 10, 3));
  EXPECT_NE(Rows(1, table, 10, 3), Rows(1, other, 10, 3));
  EXPECT_NE(Rows(1, table, 10, 3), Rows(1, table, 11, 3));
}

// Ids as they come: small and dense, or spread over 64 bits.
class RowPlacement : public testing::TestWithParam<uint64_t> {};

TEST_P(RowPlacement, IsEvenOverServersAndOverPartitionsWithinEach) {
  constexpr uint32_t kServers = 3, kPartitions = 8;
  constexpr uint64_t kIds = 240'000;
  std::map<uint32_t, int> servers;
  std::map<std::pair<uint32_t, uint32_t>, int> cells;
  for (uint64_t i = 0; i < kIds; ++i) {
    const uint64_t id = i * GetParam();
    const uint32_t server = RowServer(5, id, kServers);
    ASSERT_LT(server, kServers);
    ++servers[server];
    ++cells[{server, RowPartition(5, id, kPartitions)}];
  }
  for (const auto& [server, count] : servers) EXPECT_NEAR(count, 80'000, 0.02 * 80'000);
  ASSERT_EQ(cells.size(), kServers * kPartitions) << "independent of each other";
  for (const auto& [cell, count] : cells) EXPECT_NEAR(count, 10'000, 0.05 * 10'000);
}

// With equal counts a shared hash would put all of a server's rows into one partition.
TEST_P(RowPlacement, IsIndependentWhenServersAndPartitionsAreAsMany) {
  std::map<std::pair<uint32_t, uint32_t>, int> cells;
  for (uint64_t i = 0; i < 160'000; ++i) {
    ++cells[{RowServer(1, i * GetParam(), 4), RowPartition(1, i * GetParam(), 4)}];
  }
  ASSERT_EQ(cells.size(), 16u);
  for (const auto& [cell, count] : cells) EXPECT_NEAR(count, 10'000, 0.05 * 10'000);
}

INSTANTIATE_TEST_SUITE_P(Ids, RowPlacement,
                         testing::Values(1, 16, 0x9e3779b97f4a7c15ULL, uint64_t{1} << 40));

TEST(RowServer, SpreadsTheSameIdsOfDifferentTables) {
  int same = 0;
  for (uint64_t id = 0; id < 10'000; ++id) same += RowServer(0, id, 4) == RowServer(1, id, 4);
  EXPECT_NEAR(same, 2500, 250);
}

}  // namespace
}  // namespace weir
