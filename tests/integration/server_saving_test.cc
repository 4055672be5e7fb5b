// Servers that save the model: what they hold is in it, whatever the workers' connections do.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "common/saved_model/saved_model.h"
#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

// Dense values, flat, and how many rows.
struct InModel {
  std::vector<float> values;
  uint64_t row_count = 0;
};

InModel ReadModel(const std::string& folder, int64_t flat_element_count) {
  const auto model = saved_model::SavedModel::Open(folder);
  CHECK(model.ok()) << model.status();
  InModel read{std::vector<float>(static_cast<size_t>(flat_element_count)), 0};
  const Status visited = (*model)->Visit(
      {.piece =
           [&](const saved_model::SavedPiece& piece) {
             const TensorSpec& tensor = (*model)->layout().tensors()[piece.tensor];
             std::ranges::copy(piece.values, read.values.begin() + tensor.offset + piece.begin);
           },
       .rows = [&](const saved_model::SavedRows& rows) { read.row_count += rows.ids.size(); }});
  CHECK(visited.ok()) << visited;
  return read;
}

TEST(ServerSaving, TheModelIsWhatServersHoldWhenAllIsOver) {
  std::string pattern = testing::TempDir() + "weir_saving_XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  for (const uint32_t servers : {1u, 3u}) {
    for (const double breaks : {0.0, 0.003}) {
      ClusterOptions options{
          .servers = servers, .trainers = 2, .faults = {}, .save = folder + "/m"};
      options.faults.break_probability = breaks;
      LoopbackCluster cluster(MakeConfig({kSmallRun}), options);
      cluster.Run();
      ExpectAllOk(cluster);
      const InModel read = ReadModel(options.save, cluster.layout().flat_element_count());
      EXPECT_EQ(read.values, cluster.ServerValues()) << servers << " servers";
      EXPECT_GT(read.row_count, 0u);
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weir::test
