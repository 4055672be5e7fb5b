// Every reader by columns, as the stages of a model read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/config/defaults.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/reader.h"

namespace weir::data {
namespace {

using testing::HasSubstr;

// A line of each file has a bad integer or number, one a bad label, one is blank.
class ColumnChoiceTest : public DataFilesTest {
 protected:
  std::unique_ptr<Reader> Make(v1::Config config) {
    config.mutable_data()->set_batch_size(4);
    config.mutable_data()->set_chunk_batches(2);
    config::FillDefaults(&config);
    auto reader = MakeReader(config);
    CHECK(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  std::unique_ptr<Reader> Criteo(bool shuffle) {
    std::string bad_integer = CriteoLine(9);
    bad_integer.replace(2, 1, "x");
    std::string bad_label = CriteoLine(9);
    bad_label[0] = '7';
    v1::Config config =
        CriteoConfig({Write("f", CriteoLines(0, 2) + bad_integer + "\n\n" + CriteoLine(2) + "\n" +
                                     bad_label + "\n" + CriteoLines(3, 9))});
    config.mutable_data()->set_shuffle(shuffle);
    return Make(config);
  }

  std::unique_ptr<Reader> Csv() {
    v1::Config config;
    v1::DataConfig& data = *config.mutable_data();
    data.add_train(
        Write("f.csv", "y,h,s,t\n1,1,a,p;q\n\n0,x,b,p\n1,2,c,\n7,3,d,q\n0,3,\"e\",p;p\n"));
    v1::CsvConfig& csv = *data.mutable_csv();
    csv.mutable_label()->set_column("y");
    csv.add_dense()->set_column("h");
    for (const char* column : {"s", "t"}) {
      csv.add_categorical()->set_column(column);
      csv.mutable_categorical(csv.categorical_size() - 1)->set_rows(100);
    }
    csv.mutable_categorical(1)->set_separator(";");
    return Make(config);
  }

  std::unique_ptr<Reader> Libsvm() {
    v1::Config config;
    config.mutable_data()->add_train(
        Write("f.svm", "1 3:1 4:0.5\n0 x:1\n\n5 3:1\n1\n0 9:2 # end\n"));
    config.mutable_data()->mutable_libsvm()->set_rows_per_table(100);
    return Make(config);
  }

  // What a reader that is told of the malformed lines makes of the columns it is asked for.
  void ExpectTheColumnsOfTheWhole(Reader& reader, size_t malformed_count) {
    RowBlock all;
    ASSERT_TRUE(reader.ReadColumns({}, {.hash = true}, &all).ok());
    EXPECT_EQ(all.malformed.size(), malformed_count);
    ASSERT_GT(all.row_count(), 1);
    for (const bool dense : {false, true}) {
      for (const bool ids : {false, true}) {
        SCOPED_TRACE(StrCat("dense ", dense, ", ids ", ids));
        RowBlock some;
        const auto result = reader.ReadColumns(
            {}, {.dense = dense, .ids = ids, .hash = true, .malformed = &all.malformed}, &some);
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(some.malformed, all.malformed);
        EXPECT_TRUE(result->problems.empty());
        EXPECT_EQ(some.hash, all.hash);
        EXPECT_EQ(some.labels, all.labels);
        EXPECT_EQ(some.lines, all.lines);
        EXPECT_EQ(some.dense_count, dense ? all.dense_count : 0);
        EXPECT_EQ(some.dense, dense ? all.dense : std::vector<float>());
        EXPECT_EQ(some.table_count, ids ? all.table_count : 0);
        EXPECT_EQ(some.ids, ids ? all.ids : std::vector<uint64_t>());
        EXPECT_EQ(some.id_ends, ids ? all.id_ends : std::vector<uint64_t>());
        EXPECT_EQ(some.weights, ids ? all.weights : std::vector<float>());
      }
    }
  }
};

TEST_F(ColumnChoiceTest, OfCriteoLogs) {
  ExpectTheColumnsOfTheWhole(*Criteo(false), 3);
  ExpectTheColumnsOfTheWhole(*Criteo(true), 3);
}

TEST_F(ColumnChoiceTest, OfCommaSeparatedValues) { ExpectTheColumnsOfTheWhole(*Csv(), 2); }
TEST_F(ColumnChoiceTest, OfLibsvmFiles) { ExpectTheColumnsOfTheWhole(*Libsvm(), 2); }
TEST_F(ColumnChoiceTest, OfTheSyntheticSet) {
  ExpectTheColumnsOfTheWhole(*Make(SyntheticConfig(100, 0)), 0);
}

// A bad integer is no business of a stage that does not read integers; a bad label is everyone's.
TEST_F(ColumnChoiceTest, AColumnThatIsNotReadIsNotLookedAt) {
  RowBlock block;
  std::vector<uint32_t> malformed = {3, 5};  // the blank line and the one of the bad label
  const auto reader = Criteo(false);
  ASSERT_TRUE(
      reader->ReadColumns({}, {.dense = false, .ids = true, .malformed = &malformed}, &block).ok());
  EXPECT_EQ(block.row_count(), 6);
  malformed = {2, 3};
  for (const bool ids : {false, true}) {
    const Status status =
        reader->ReadColumns({}, {.dense = false, .ids = ids, .malformed = &malformed}, &block)
            .status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr(":6: the label is \"7\", not 0 or 1"));
  }
}

TEST_F(ColumnChoiceTest, AnotherFileHasAnotherHash) {
  RowBlock one, other;
  const auto read = [this](const std::string& text, RowBlock* block) {
    return Make(CriteoConfig({Write("f", text)}))->ReadColumns({}, {.hash = true}, block).ok();
  };
  ASSERT_TRUE(read(CriteoLines(0, 4), &one) && read(CriteoLines(0, 4), &other));
  EXPECT_EQ(one.hash, other.hash);
  std::string changed = CriteoLines(0, 4);
  changed[changed.size() - 2] ^= 1;  // the last digit of the last id; labels are the same
  ASSERT_TRUE(read(changed, &other));
  EXPECT_EQ(one.labels, other.labels);
  EXPECT_NE(one.hash, other.hash);
  ASSERT_TRUE(read(CriteoLine(1) + "\n" + CriteoLine(0) + "\n" + CriteoLines(2, 4), &other));
  EXPECT_NE(one.hash, other.hash);
  ASSERT_TRUE(Make(SyntheticConfig(100, 0))->ReadColumns({}, {.hash = true}, &one).ok());
  v1::Config seed = SyntheticConfig(100, 0);
  seed.mutable_data()->mutable_synthetic()->set_seed(9);
  ASSERT_TRUE(Make(seed)->ReadColumns({}, {.hash = true}, &other).ok());
  EXPECT_NE(one.hash, other.hash);
}

TEST_F(ColumnChoiceTest, AnotherHeaderIsAnotherFile) {
  RowBlock one, other;
  for (RowBlock* block : {&one, &other}) {
    v1::Config config;
    config.mutable_data()->add_train(
        Write("f.csv", block == &one ? "y,h,s\n1,0,a\n" : "h,y,s\n1,0,a\n"));
    v1::CsvConfig& csv = *config.mutable_data()->mutable_csv();
    csv.mutable_label()->set_column("y");
    csv.add_dense()->set_column("h");
    csv.add_categorical()->set_column("s");
    csv.mutable_categorical(0)->set_rows(100);
    ASSERT_TRUE(Make(config)->ReadColumns({}, {.hash = true}, block).ok());
  }
  EXPECT_NE(one.labels, other.labels);
  EXPECT_NE(one.hash, other.hash);
}

// It came over the network.
TEST_F(ColumnChoiceTest, AListThatCannotBeIsAFailureOrPassedOver) {
  RowBlock block;
  const std::vector<std::vector<uint32_t>> lists = {
      {5, 3, 2}, {7, 7, 7, 7}, {0, 4'000'000'000}, {2, 3, 5, 99}};
  for (const std::vector<uint32_t>& malformed : lists) {
    for (const auto& reader : {Criteo(true), Csv(), Libsvm()}) {
      const Status status = reader->ReadColumns({}, {.malformed = &malformed}, &block).status();
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidData) << status;
    }
  }
}

}  // namespace
}  // namespace weir::data
