// What policies say that cannot do what they are asked for.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "common/base/strings.h"
#include "tests/common/compress/trainer_crowd.h"

namespace weir::compress {
namespace {

v1::PolicyRule Rule(const std::string& text) {
  v1::PolicyRule rule;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &rule)) << text;
  return rule;
}

TEST(Clamped, DeftSaysWhereEachPieceSendsMoreThanIsWanted) {
  Crowd two(Rule("deft { sparsity: 0.75 }"), 2, {4, 4, 2});
  const Layers gradient = {{1, 2, 3, 4}, {1, 2, 3, 4}, {5, 6}};
  StepTogether(two.trainers, 0, {gradient, gradient});
  EXPECT_EQ(two.trainers[1]->proposer->Clamped(), "") << "3 of 3 pieces";
  Crowd four(Rule("deft { sparsity: 0.75 }"), 4, {4, 4, 2});
  EXPECT_EQ(StepTogether(four.trainers, 0, {gradient, gradient, gradient, gradient}).union_count,
            9u);
  EXPECT_EQ(four.trainers[1]->proposer->Clamped(),
            "deft.sparsity: 0.75 would send 3 of 10 elements, but each of the 9 pieces for 4 "
            "trainers sends one at least, so 9 are sent; for less, leave small layers to another "
            "rule");
}

std::string ClampedOf(int32_t blocks, uint32_t trainers, int64_t elements,
                      const std::string& more = "") {
  Crowd crowd(Rule(StrCat("exdyna { sparsity: 0.5 blocks: ", blocks, " ", more, " }")), trainers,
              {elements});
  crowd.Step();
  return crowd.trainers[0]->proposer->Clamped();
}

TEST(Clamped, ExDynaSaysWhereBlocksAreFewerThanTrainers) {
  EXPECT_EQ(ClampedOf(4, 4, 1000), "");
  EXPECT_EQ(ClampedOf(3, 4, 1000),
            "exdyna.blocks: 3 are fewer than 4 trainers, so there is one for each, and none moves; "
            "set it to 1024");
  EXPECT_EQ(ClampedOf(1024, 4, 3),
            "exdyna.blocks: 3 elements make 3 blocks for 4 trainers, so in each step 1 of them "
            "select nothing; leave such small layers to another rule");
  EXPECT_EQ(ClampedOf(3, 4, 1000, "literal_partitions: true"),
            "exdyna.blocks: 3 are fewer than 4 trainers, so in each step 1 of them select nothing; "
            "set it to 1024");
}

}  // namespace
}  // namespace weir::compress
