#include "worker/data/data_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/config/defaults.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/csv_format.h"
#include "worker/data/input_files.h"

namespace weir::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class DataWarnings : public DataFilesTest {
 protected:
  // Of a file whose first chunk is its first four rows, read by a standardised x and a c of which
  // values that are there once are rare.
  std::vector<std::string> OfCsv(const std::string& text) const {
    v1::Config config;
    v1::DataConfig& data = *config.mutable_data();
    data.set_batch_size(2);
    data.set_chunk_batches(2);
    data.add_train(Write("a.csv", text));
    *data.mutable_csv() = LearningColumns();
    config::FillDefaults(&config);
    const auto learned = LearnColumns(data);
    EXPECT_TRUE(learned.ok()) << learned.status();
    return learned.ok() ? Warnings(data, *learned) : std::vector<std::string>();
  }
};

TEST_F(DataWarnings, TellOfAFileThatIsReadTwice) {
  Write("a", "x\n");
  v1::DataConfig data = CriteoConfig({"a", "./a"}).data();
  data.set_root(directory());
  data.add_test("*");
  const auto found = FindFiles(data);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(
      Warnings(*found, {}),
      UnorderedElementsAre(Path("a") + " is twice in data.train: their rows count twice",
                           Path("a") + " is in data.train and in data.test: the test is of rows "
                                       "trained on"));
  data.add_train("b");
  data.add_train("b");
  EXPECT_THAT(Warnings(data, {}),
              testing::Contains(HasSubstr("2 files, " + Path("a") + " for one, are twice in")));
  for (int i = 0; i < 2; ++i) data.mutable_train()->RemoveLast();
  data.set_test(0, "other");
  data.mutable_train()->RemoveLast();
  EXPECT_THAT(Warnings(data, {}), IsEmpty());
}

TEST_F(DataWarnings, NameColumnsThatLearnedFromTooLittle) {
  EXPECT_THAT(OfCsv("y,x,c\n1,5,a\n0,6,b\n1,5,a\n0,5,c\n"), IsEmpty());
  EXPECT_THAT(
      OfCsv("y,x,c\n1,5,a\n0,5,b\n1,5,a\n0,5,c\n1,6,d\n"),
      ElementsAre(AllOf(HasSubstr("column x does not change"), HasSubstr("0 in every row"))));
  EXPECT_THAT(OfCsv("y,x,c\n1,,a\n0,,b\n1,,a\n0,,c\n1,6,d\n"),
              ElementsAre(HasSubstr("column x does not change")))
      << "it is not there yet";
  EXPECT_THAT(OfCsv("y,x,c\n1,5,a\n0,6,b\n1,5,c\n0,5,d\n1,5,a\n"),
              ElementsAre(AllOf(HasSubstr("no value of column c is 2 times (minimum_frequency)"),
                                HasSubstr("the rare value"))));
}

// Whoever takes it over says what is wrong with it.
TEST_F(DataWarnings, AreNoneOfColumnsThatTheConfigDoesNotHave) {
  v1::DataConfig data;
  data.mutable_csv();
  v1::LearnedColumns learned;
  learned.add_dense();
  learned.add_categorical();
  EXPECT_THAT(Warnings(data, learned), IsEmpty());
}

}  // namespace
}  // namespace weir::data
