#include "worker/data/train_rows.h"

#include <gtest/gtest.h>

#include "common/config/defaults.h"
#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

class TrainRows : public DataFilesTest {
 protected:
  // Chunks of four lines; a test file that is not counted.
  v1::Config Config(const std::vector<std::string>& train) const {
    v1::Config config = CriteoConfig(train);
    config.mutable_data()->add_test(Write("test.tsv", CriteoLines(0, 50)));
    config::FillDefaults(&config);
    return config;
  }
};

TEST_F(TrainRows, AreThoseOfAllFilesThatCanBeTrained) {
  const v1::Config config =
      Config({Write("a.tsv", CriteoLines(0, 11) + "no row\n" + CriteoLines(11, 15)),
              WriteGzip("b.tsv.gz", CriteoLines(0, 8))});
  EXPECT_EQ(CountTrainRows(config, 1000).value(), 23);
  EXPECT_EQ(FindTrainRows(config).ShortDebugString(), "data { train_rows: 23 }");
}

TEST_F(TrainRows, AreCountedUpToWhatMatters) {
  const v1::Config config = Config({Write("a.tsv", CriteoLines(0, 30)), Path("a.tsv")});
  EXPECT_EQ(CountTrainRows(config, 10).value(), 10);
  EXPECT_EQ(CountTrainRows(config, 35).value(), 35);
}

TEST_F(TrainRows, AreNotSoughtInAllOfAFileWhoseLinesAreMalformed) {
  std::string malformed;
  for (int i = 0; i < 2000; ++i) malformed += "no row\n";
  v1::Config config = Config({Write("a.tsv", malformed + CriteoLines(0, 3000))});
  EXPECT_FALSE(CountTrainRows(config, 3000).ok());
  config.mutable_data()->set_max_malformed_share(1);  // so many lines may be
  EXPECT_EQ(CountTrainRows(config, 3000).value(), 3000);
  EXPECT_FALSE(CountTrainRows(config, 10).ok());  // and yet most of them need not be looked at
}

TEST_F(TrainRows, AreCountedBeforeColumnsHaveLearned) {
  v1::Config config;
  v1::DataConfig& data = *config.mutable_data();
  data.add_train(Write("a.csv", "y,x,c\n1,5,a\n0,5,b\n1,5,a\n"));
  data.add_train(Write("b.csv", "x,y,c\n5,0,b\n"));
  *data.mutable_csv() = LearningColumns();
  config::FillDefaults(&config);
  EXPECT_EQ(CountTrainRows(config, 10).value(), 4);
}

TEST_F(TrainRows, AreNotCountedWhereTheConfigKnowsThem) {
  v1::Config config = Config({Write("a.tsv", CriteoLines(0, 9))});
  config.mutable_data()->set_train_rows(5);
  EXPECT_FALSE(FindTrainRows(config).has_data());
  v1::Config synthetic = SyntheticConfig(100, 10);
  config::FillDefaults(&synthetic);
  EXPECT_FALSE(FindTrainRows(synthetic).has_data());
}

TEST_F(TrainRows, OfFilesThatCannotBeReadAreNotKnown) {
  v1::Config config = Config({Write("a.tsv", CriteoLines(0, 9))});
  config.mutable_data()->set_train(0, Path("none.tsv"));
  EXPECT_FALSE(CountTrainRows(config, 10).ok());
  EXPECT_FALSE(FindTrainRows(config).has_data());
}

}  // namespace
}  // namespace weir::data
