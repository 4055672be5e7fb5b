#include "worker/pipeline/replica_refresh.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/loopback_cluster.h"
#include "worker/embedded/embedded_client.h"

namespace weir::worker {
namespace {

// Counts how often its replica is refreshed; the next time may fail.
class RefreshedClient : public EmbeddedClient {
 public:
  using EmbeddedClient::EmbeddedClient;
  Status Refresh() override {
    ++refreshes;
    return std::exchange(next, OkStatus());
  }
  int refreshes = 0;
  Status next;
};

class ReplicaRefreshTest : public testing::Test {
 protected:
  static v1::BatchName Batch(v1::InputSplit split, uint32_t evaluation) {
    v1::BatchName name;
    name.set_split(split);
    name.set_evaluation(evaluation);
    return name;
  }

  const v1::Config config_ = test::MakeConfig({R"(
      data { synthetic { rows: 10 tables: 1 dense_features: 2 } }
      model { bottom_widths: [4] top_widths: [1] embedding_dimension: 4 })"});
  const ModelLayout layout_{config_, 1};
  RefreshedClient client_{config_, layout_};
  ReplicaRefresh refresh_{&client_};
};

TEST_F(ReplicaRefreshTest, ComesOnceBeforeTraining) {
  for (int batch = 0; batch < 2; ++batch) {
    EXPECT_TRUE(refresh_.RefreshFor(Batch(v1::TRAIN, 0)).ok());
    EXPECT_EQ(client_.refreshes, 1);
  }
}

// While its trainer was not lent anything others went on.
TEST_F(ReplicaRefreshTest, ComesOnceForEachChunkThatItsTrainerBeginsWith) {
  const auto train = [](uint64_t begun_by) {
    v1::BatchName name = Batch(v1::TRAIN, 0);
    name.set_begun_by(begun_by);
    return name;
  };
  EXPECT_TRUE(refresh_.RefreshFor(train(1)).ok());
  EXPECT_TRUE(refresh_.RefreshFor(train(0)).ok()) << "of the chunk behind it";
  EXPECT_TRUE(refresh_.RefreshFor(train(1)).ok()) << "a batch of the first one that is late";
  EXPECT_EQ(client_.refreshes, 1);
  EXPECT_TRUE(refresh_.RefreshFor(train(7)).ok());
  EXPECT_TRUE(refresh_.RefreshFor(train(7)).ok());
  EXPECT_EQ(client_.refreshes, 2);
}

TEST_F(ReplicaRefreshTest, ComesOnceBeforeEachEvaluation) {
  for (int evaluation = 0; evaluation < 3; ++evaluation) {
    for (int batch = 0; batch < 2; ++batch) {
      EXPECT_TRUE(refresh_.RefreshFor(Batch(v1::TEST, static_cast<uint32_t>(evaluation))).ok());
      EXPECT_EQ(client_.refreshes, evaluation + 1);
    }
  }
}

// A batch scored after it would be scored with parameters that are old.
TEST_F(ReplicaRefreshTest, IsTriedAgainWhenItHasFailed) {
  client_.next = Unavailable("no server");
  EXPECT_EQ(refresh_.RefreshFor(Batch(v1::TEST, 1)).message(), "no server");
  EXPECT_TRUE(refresh_.RefreshFor(Batch(v1::TEST, 1)).ok());
  EXPECT_EQ(client_.refreshes, 2);
}

}  // namespace
}  // namespace weir::worker
