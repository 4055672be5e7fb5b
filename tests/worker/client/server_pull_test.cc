// A batch's rows from two servers that are played by hand.
#include "worker/client/server_pull.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/base/strings.h"
#include "common/wire/row_frame.h"
#include "tests/worker/worker_test_support.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

class ServerPullTest : public testing::Test {
 protected:
  static constexpr uint32_t kServers = 2;
  static constexpr size_t kDimension = 4;

  ServerPullTest() : layout_(config_, kServers), pull_(layout_, nullptr, 0) {
    batch_.tables.resize(layout_.tables().size());
    for (uint32_t table = 0; table < batch_.tables.size(); ++table) {
      for (uint64_t id = table; id < 12; ++id) {
        batch_.tables[table].unique.push_back(id);
        rows_.insert(rows_.end(), kDimension, ValueOf(table, id));
      }
    }
    pull_.Ask(batch_);
    for (uint32_t server = 0; server < kServers; ++server) {
      CHECK_EQ(pull_.request.bodies[server].size(), 1u);
      for (uint32_t table = 0; table < batch_.tables.size(); ++table) Reply(server, table);
    }
  }

  static float ValueOf(uint32_t table, uint64_t id) {
    return static_cast<float>(100 * table + id) + 0.5f;
  }
  // The rows of the table that the server has, behind what it replies already.
  void Reply(uint32_t server, uint32_t table) {
    std::vector<float> values;
    for (const uint64_t id : batch_.tables[table].unique) {
      if (RowServer(table, id, kServers) != server) continue;
      values.insert(values.end(), kDimension, ValueOf(table, id));
    }
    CHECK(!values.empty());
    wire::AppendRowValues(&replies_[server], table, kDimension, values, wire::ValueCoding::kF32);
  }
  // Server 1 replies in so many parts.
  Status Take(size_t part_count = 1) {
    std::vector<Body> replies(kServers);
    replies[0].emplace_back(replies_[0]);
    for (size_t i = 0; i < part_count; ++i) replies[1].emplace_back(replies_[1]);
    taken_.assign(rows_.size(), 0.0f);
    return pull_.Take(replies, taken_, [](size_t server) { return StrCat("server ", server); });
  }

  const v1::Config config_ = TinyRun();
  const ModelLayout layout_;
  ServerPull pull_;
  data::Batch batch_;
  std::vector<float> rows_, taken_;  // table after table
  Bytes replies_[kServers];
};

TEST_F(ServerPullTest, PutsTheRowsOfAllServersWhereTheBatchHasThem) {
  ASSERT_TRUE(Take().ok());
  EXPECT_EQ(taken_, rows_);
}

TEST_F(ServerPullTest, RefusesAReplyOfAnythingButOnePart) {
  EXPECT_EQ(Take(2).message(), "server 1 sent a damaged row reply: it has 2 parts instead of 1");
  const Status empty = Take(0);
  EXPECT_EQ(empty.code(), StatusCode::kInvalidData);
  EXPECT_EQ(empty.message(), "server 1 sent a damaged row reply: it has 0 parts instead of 1");
}

TEST_F(ServerPullTest, NamesTheServerWhoseRowsAreDamaged) {
  replies_[1].back() ^= 1;
  EXPECT_THAT(Take().message(), HasSubstr("server 1 sent a damaged row reply: frame at byte"));
}

TEST_F(ServerPullTest, RefusesFewerOrMoreOrOtherTablesThanItAskedFor) {
  Reply(1, 0);
  EXPECT_THAT(Take().message(),
              HasSubstr("server 1 sent a damaged row reply: it has rows that nobody asked for"));
  replies_[1].clear();
  EXPECT_EQ(Take().code(), StatusCode::kInvalidData);
  Reply(1, 1);
  EXPECT_THAT(Take().message(), HasSubstr("it has rows of table 1 instead of 0"));
}

}  // namespace
}  // namespace weir::worker
