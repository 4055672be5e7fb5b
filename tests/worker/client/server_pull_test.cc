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

  ServerPullTest() : layout_(config_, kServers), pull_(layout_, caches_, false, 0) {
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
  const RowCaches caches_;
  ServerPull pull_;
  data::Batch batch_;
  std::vector<float> rows_, taken_;  // table after table
  Bytes replies_[kServers];
};

TEST_F(ServerPullTest, PutsTheRowsOfAllServersWhereTheBatchHasThem) {
  ASSERT_TRUE(Take().ok());
  EXPECT_EQ(taken_, rows_);
}

TEST_F(ServerPullTest, RefusesAReplyThatComesTwiceOrNotAtAll) {
  EXPECT_EQ(Take(2).message(),
            "server 1 sent a damaged row reply: it has rows that nobody asked for");
  const Status empty = Take(0);
  EXPECT_EQ(empty.code(), StatusCode::kInvalidData);
  EXPECT_THAT(empty.message(), HasSubstr("server 1 sent a damaged row reply: frame at byte 0"));
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

// Rows so wide that few of them fill a frame.
class WideServerPullTest : public testing::Test {
 protected:
  static constexpr size_t kWide = 4096, kFull = wire::RowsPerFrame(kWide);

  static v1::Config Wide() {
    v1::Config config = TinyRun();
    config.mutable_model()->set_embedding_dimension(kWide);
    config.mutable_data()->mutable_synthetic()->set_tables(2);
    config.mutable_data()->mutable_synthetic()->set_rows_per_table(10'000);
    return config;
  }
  // As a server does: to each frame one, each in a part of its own.
  Body Answer(const Body& asked) {
    Body reply;
    session::BodyReader reader(asked);
    frame_rows_.clear();
    while (!reader.done()) {
      const wire::FrameView frame = reader.Next().value();
      std::vector<uint64_t> ids;
      CHECK(wire::DecodeRowIds(frame, kWide, 10'000, &ids).ok());
      frame_rows_.push_back(ids.size());
      std::vector<float> values;
      for (const uint64_t id : ids) {
        values.insert(values.end(), kWide, static_cast<float>(10'000 * frame.header.tensor + id));
      }
      Bytes bytes;
      wire::AppendRowValues(&bytes, frame.header.tensor, kWide, values, wire::ValueCoding::kF32);
      reply.emplace_back(std::move(bytes));
    }
    return reply;
  }
  void TakeRows(size_t first_table_rows, size_t second_table_rows) {
    const RowCaches caches;
    ServerPull pull(layout_, caches, false, 0);
    data::Batch batch;
    batch.tables.resize(2);
    std::vector<float> expected;
    for (uint32_t table = 0; table < 2; ++table) {
      for (uint64_t id = 0; id < (table == 0 ? first_table_rows : second_table_rows); ++id) {
        batch.tables[table].unique.push_back(2 * id);
        expected.insert(expected.end(), kWide, static_cast<float>(10'000 * table + 2 * id));
      }
    }
    pull.Ask(batch);
    const std::vector<Body> replies = {Answer(pull.request.bodies[0])};
    std::vector<float> taken(expected.size());
    const Status status = pull.Take(replies, taken, [](size_t) { return "it"; });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(taken, expected);
  }

  const v1::Config config_ = Wide();
  const ModelLayout layout_{config_, 1};
  std::vector<size_t> frame_rows_;  // of the last request
};

TEST_F(WideServerPullTest, AsksForATableInFramesWhoseValuesAreNotMoreThanAPieces) {
  TakeRows(kFull, 1);
  EXPECT_THAT(frame_rows_, testing::ElementsAre(kFull, 1));
  TakeRows(kFull + 1, kFull - 1);
  EXPECT_THAT(frame_rows_, testing::ElementsAre(kFull, 1, kFull - 1));
  TakeRows(3 * kFull, 2 * kFull);
  EXPECT_THAT(frame_rows_, testing::Each(kFull));
  EXPECT_EQ(frame_rows_.size(), 5u);
}

}  // namespace
}  // namespace weir::worker
