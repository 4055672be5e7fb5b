#include "common/cluster/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace weir::cluster {
namespace {

using testing::HasSubstr;

v1::Join JoinOf(uint32_t stage, uint32_t stage_count) {
  v1::Join join;
  join.set_stage(stage);
  join.set_stage_count(stage_count);
  if (stage > 0) join.set_link_address("tcp://h1:7200");
  return join;
}

v1::Join Reading(std::initializer_list<uint64_t> file_bytes, uint32_t train_files) {
  v1::Join join;
  for (const uint64_t bytes : file_bytes) join.add_file_bytes(bytes);
  join.set_train_files(train_files);
  return join;
}

TEST(Admission, WorkersHaveTheWholeModelOrAllItsStages) {
  Admission admission(/*config_stages=*/3);
  EXPECT_TRUE(admission.Check(JoinOf(2, 3), false).ok());
  EXPECT_TRUE(admission.Check(JoinOf(0, 1), false).ok());
  EXPECT_EQ(admission.Check(JoinOf(0, 2), false).message(),
            "a model of 2 stages; the config has 3");
  EXPECT_THAT(admission.Check(JoinOf(3, 3), false).message(), HasSubstr("there is no stage 3"));
  EXPECT_EQ(admission.stage_count(), 0u);
  admission.Take(JoinOf(0, 3), true);
  EXPECT_EQ(admission.stage_count(), 3u);
  EXPECT_THAT(admission.Check(JoinOf(0, 1), true).message(),
              HasSubstr("have one stage of it each, this one the whole model"));
}

TEST(Admission, ALaterStageSaysWhereItIsToBeFound) {
  v1::Join join = JoinOf(1, 2);
  EXPECT_TRUE(Admission(2).Check(join, false).ok());
  join.clear_link_address();
  EXPECT_THAT(Admission(2).Check(join, false).message(), HasSubstr("where it is to be found"));
}

TEST(Admission, OthersReadTheFilesOfTheFirst) {
  Admission admission(1);
  admission.Take(Reading({10, 20, 5}, 2), /*is_alone=*/true);
  EXPECT_TRUE(admission.Check(Reading({10, 20, 5}, 2), true).ok());
  EXPECT_THAT(admission.Check(Reading({10, 21, 5}, 2), true).message(),
              HasSubstr("data.train[1] has 21 bytes here and 20 at the workers"));
  EXPECT_THAT(admission.Check(Reading({10, 20, 6}, 2), true).message(),
              HasSubstr("data.test[0] has 6 bytes"));
  EXPECT_THAT(admission.Check(Reading({10, 20}, 2), true).message(),
              HasSubstr("it reads 2 files to train on and 0 to test on, the workers that are here "
                        "2 and 1"));
  EXPECT_TRUE(admission.Check(Reading({1}, 1), /*has_members=*/false).ok());
}

TEST(Admission, CountsOfFilesThatCannotBeAreRefused) {
  EXPECT_FALSE(Admission(1).Check(Reading({10}, 2), false).ok());
  EXPECT_FALSE(Admission(1).Check(Reading({10}, 0), false).ok());
  EXPECT_TRUE(Admission(1).Check(Reading({}, 0), false).ok()) << "made-up rows";
}

}  // namespace
}  // namespace weir::cluster
