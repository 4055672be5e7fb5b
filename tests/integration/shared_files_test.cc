// Trainers that share files: how many lines they go over that they do not read.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"
#include "tests/worker/data/data_files.h"

namespace weir::test {
namespace {

constexpr int kFileLines = 1000;
constexpr uint64_t kFileEpochs = 12;

constexpr char kFilesRun[] = R"(
    data { batch_size: 4 chunk_batches: 4 epochs: 12 criteo_tsv { rows_per_table: 50 } }
    model { bottom_widths: [4] top_widths: [1] embedding_dimension: 4 }
    cluster { window: 4 concurrency_warmup_steps: 0 }
)";

class SharedFiles : public data::DataFilesTest {
 protected:
  v1::Config Config(const char* more = "") const {
    v1::Config files;
    files.mutable_data()->add_train(Write("train", data::CriteoLines(0, kFileLines)));
    files.mutable_data()->add_test(Write("test", data::CriteoLines(0, 40)));
    return MakeConfig({kFilesRun, more, files.ShortDebugString()});
  }
};

// Over each once to find where the next chunk begins; who is lent that before it is told, because
// it takes long, goes over the chunk too. Without places it would be twelve passes.
TEST_F(SharedFiles, TrainersGoOverLinesInTheFirstPassAlone) {
  LoopbackCluster cluster(Config(), {.servers = 1, .trainers = 2, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), kFileLines * kFileEpochs);
  EXPECT_LT(cluster.passed_lines(), 4 * kFileLines);
}

TEST_F(SharedFiles, LaterStagesAreToldWhereChunksBegin) {
  LoopbackCluster cluster(Config("pipeline { split { after: \"bottom/0\" } }"),
                          {.servers = 1, .trainers = 2, .stages = 2, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.report().total().samples(), kFileLines * kFileEpochs);
  EXPECT_LT(cluster.passed_lines(), 7 * kFileLines) << "and not those of 24 passes";
}

TEST_F(SharedFiles, OneTrainerGoesOverNone) {
  LoopbackCluster cluster(Config(), {.servers = 1, .trainers = 1, .faults = {}});
  cluster.Run();
  ExpectAllOk(cluster);
  EXPECT_EQ(cluster.passed_lines(), 0);
}

}  // namespace
}  // namespace weir::test
