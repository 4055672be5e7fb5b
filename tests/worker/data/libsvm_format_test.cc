#include "worker/data/libsvm_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/config/defaults.h"
#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Libsvm : public DataFilesTest {
 protected:
  ChunkResult Read(const std::string& text, int32_t fields = 0) {
    v1::Config config;
    config.mutable_data()->add_train(Write("f.svm", text));
    config.mutable_data()->mutable_libsvm()->set_fields(fields);
    config.mutable_data()->mutable_libsvm()->set_rows_per_table(100);
    config::FillDefaults(&config);
    auto reader = MakeReader(config);
    EXPECT_TRUE(reader.ok()) << reader.status();
    auto result = (*reader)->ReadChunk({}, &block_);
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  }
  std::string Problem(const std::string& text, int32_t fields = 0) {
    const ChunkResult result = Read(text, fields);
    EXPECT_EQ(block_.malformed.size(), 1u);
    EXPECT_TRUE(block_.labels.empty() && block_.ids.empty() && block_.weights.empty());
    return result.problems.empty() ? "" : result.problems[0];
  }

  RowBlock block_;
};

TEST_F(Libsvm, ReadsIdsAndValuesIntoOneTable) {
  Read("+1 3:0.5  107:2\t9:-1\n-1\n0 1:1 # 2:2\n");
  EXPECT_EQ(block_.table_count, 1);
  EXPECT_EQ(block_.dense_count, 0);
  EXPECT_THAT(block_.labels, ElementsAre(1, 0, 0));
  EXPECT_THAT(block_.ids, ElementsAre(3, 7, 9, 1));
  EXPECT_THAT(block_.weights, ElementsAre(0.5f, 2, -1, 1));
  EXPECT_THAT(block_.id_ends, ElementsAre(3, 3, 4));
}

TEST_F(Libsvm, ReadsFieldsIntoTables) {
  Read("1 1:5:1 0:6:0.5 1:7:2\n0 0:1:1\n", 2);
  EXPECT_EQ(block_.table_count, 2);
  EXPECT_THAT(block_.ids, ElementsAre(6, 5, 7, 1));
  EXPECT_THAT(block_.weights, ElementsAre(0.5f, 1, 2, 1));
  EXPECT_THAT(block_.id_ends, ElementsAre(1, 3, 4, 4));
}

TEST_F(Libsvm, TellsWhatIsWrongWithALine) {
  EXPECT_THAT(
      Problem("2 1:1\n"),
      HasSubstr("f.svm:1: the label is '2', none of 1, +1 (positive) or 0, -1 (negative); say "
                "what it means in data.libsvm.positive or data.libsvm.negative"));
  EXPECT_THAT(Problem("1 1\n"), HasSubstr("'1' is not id:value"));
  EXPECT_THAT(Problem("1 -1:1\n"), HasSubstr("'-1:1' is not id:value"));
  EXPECT_THAT(Problem("1 1:x\n"), HasSubstr("'1:x' is not id:value"));
  EXPECT_THAT(Problem("1 1:2\n", 3), HasSubstr("'1:2' is not field:id:value"));
  EXPECT_THAT(Problem("1 3:1:2\n", 3), HasSubstr("has field 3, and data.libsvm.fields is 3"));
}

TEST_F(Libsvm, ALabelThatIsNotKnownIsNoneWhereRowsAreScored) {
  v1::Config config;
  config.mutable_data()->add_train(Write("f.svm", "1 3:1\n7 4:1\n5:1\n"));
  config.mutable_data()->mutable_libsvm();
  config::FillDefaults(&config);
  auto reader = MakeReader(config, {}, RowLabels::kOptional);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE((*reader)->ReadChunk({}, &block_).ok());
  EXPECT_THAT(block_.labels, ElementsAre(1, testing::IsNan(), testing::IsNan()));
  EXPECT_THAT(block_.ids, ElementsAre(3, 4, 5));
}

TEST_F(Libsvm, PassesOverBlankLinesAndComments) {
  Read("\n1 5:1\n  \n# of 2014\n0 6:1 # the last\n\n", 0);
  EXPECT_THAT(block_.labels, ElementsAre(1, 0));
  EXPECT_THAT(block_.ids, ElementsAre(5, 6));
}

}  // namespace
}  // namespace weir::data
