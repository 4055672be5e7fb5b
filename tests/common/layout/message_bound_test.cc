#include "common/layout/message_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/config/defaults.h"
#include "common/wire/piece_frame.h"

namespace weir {
namespace {

using testing::HasSubstr;

v1::Config ConfigWithBound(int64_t max_message_bytes) {
  v1::Config config;
  for (const int32_t width : {512, 256, 16}) config.mutable_model()->add_bottom_widths(width);
  for (const int32_t width : {512, 256, 1}) config.mutable_model()->add_top_widths(width);
  config.mutable_model()->set_embedding_dimension(16);
  config.mutable_data()->mutable_synthetic()->set_rows(10);
  config::FillDefaults(&config);
  config.mutable_cluster()->set_max_message_bytes(max_message_bytes);
  return config;
}

TEST(MessageBoundTest, NamesTheFieldAndAValueThatWillDo) {
  const v1::Config small = ConfigWithBound(1 << 20);
  const ModelLayout layout(small, 1);
  const Status status = CheckMessageBound(small, layout);
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_THAT(status.message(), HasSubstr("cluster.max_message_bytes: 1048576 is too small"));
  const int64_t dense_bytes = layout.dense_element_count() * 4;
  EXPECT_TRUE(CheckMessageBound(ConfigWithBound(dense_bytes * 3 / 2), layout).ok());
  EXPECT_FALSE(CheckMessageBound(ConfigWithBound(dense_bytes), layout).ok());
}

TEST(MessageBoundTest, CoversTheScoresOfTestChunks) {
  v1::Config config = ConfigWithBound(4 << 20);
  config.mutable_data()->set_batch_size(32768);
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(10);
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  const ModelLayout layout(config, 1);
  EXPECT_TRUE(CheckMessageBound(config, layout).ok()) << "there are no test rows";
  config.mutable_data()->mutable_synthetic()->set_test_rows(1);
  EXPECT_THAT(CheckMessageBound(config, layout).message(), HasSubstr("the scores of test rows"));
  config.mutable_cluster()->set_max_message_bytes(16 << 20);
  EXPECT_TRUE(CheckMessageBound(config, layout).ok());
}

// Of 26 tables, 64 bytes and an id each.
TEST(MessageBoundTest, CoversTheRowsOfABatch) {
  v1::Config config = ConfigWithBound(8 << 20);
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(1'000'000);
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  const ModelLayout layout(config, 1);
  config.mutable_data()->set_batch_size(4096);
  EXPECT_TRUE(CheckMessageBound(config, layout).ok());
  config.mutable_data()->set_batch_size(8192);
  EXPECT_THAT(CheckMessageBound(config, layout).message(),
              HasSubstr("the embedding rows of a batch"));
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(4096);
  EXPECT_TRUE(CheckMessageBound(config, ModelLayout(config, 1)).ok()) << "there are no more";
}

TEST(MessageBoundTest, MoreServersNeedSmallerMessages) {
  const v1::Config config = ConfigWithBound(1 << 20);
  EXPECT_TRUE(CheckMessageBound(config, ModelLayout(config, 8)).ok());
}

// All elements of each stripe but one: values, and a bitmap beside them.
TEST(MessageBoundTest, CoversThePieceFramesThatAreLargest) {
  const v1::Config config = ConfigWithBound(1 << 20);
  const ModelLayout layout(config, 1);
  Bytes body;
  wire::PieceFrameWriter writer;
  for (const PieceSpec& piece : layout.pieces()) {
    writer.Open(&body, wire::FrameKind::kValues, piece.tensor, static_cast<uint32_t>(piece.begin),
                wire::ValueCoding::kF32);
    for (int64_t begin = 0; begin < piece.element_count; begin += kStripeElements) {
      const int64_t elements = std::min(kStripeElements, piece.element_count - begin);
      std::vector<uint16_t> indexes;
      for (int64_t i = 0; i < elements; ++i) {
        if (i != elements / 2) indexes.push_back(static_cast<uint16_t>(i));
      }
      const std::vector<float> values(indexes.size(), 1);
      writer.Append(static_cast<uint32_t>(begin / kStripeElements), static_cast<uint32_t>(elements),
                    indexes, values);
    }
    writer.Finish();
  }
  const auto size = static_cast<int64_t>(body.size());
  EXPECT_GT(size, layout.dense_element_count() * 4) << "more than everything";
  EXPECT_FALSE(CheckMessageBound(ConfigWithBound(size - 1), layout).ok());
}

TEST(MessageBoundTest, ABatchOfASplitFitsToo) {
  v1::Config config = ConfigWithBound(1 << 20);
  config.mutable_data()->set_batch_size(128);
  config.mutable_pipeline()->add_split()->set_after("bottom/1");
  EXPECT_TRUE(CheckLinkMessageBound(config, ModelLayout(config, 1)).ok());
  config.mutable_data()->set_batch_size(1024);
  const Status status = CheckLinkMessageBound(config, ModelLayout(config, 1));
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_THAT(status.message(), HasSubstr("max_message_bytes: 1048576 is too small for split 0"));
  config.mutable_cluster()->set_max_message_bytes(int64_t{3} << 20);
  EXPECT_TRUE(CheckLinkMessageBound(config, ModelLayout(config, 1)).ok());
  const int64_t largest = LargestLinkMessage(config, ModelLayout(config, 1));
  config.mutable_cluster()->set_max_message_bytes(largest);
  EXPECT_TRUE(CheckLinkMessageBound(config, ModelLayout(config, 1)).ok());
  config.mutable_cluster()->set_max_message_bytes(largest - 1);
  EXPECT_FALSE(CheckLinkMessageBound(config, ModelLayout(config, 1)).ok());
}

}  // namespace
}  // namespace weir
