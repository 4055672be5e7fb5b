#include "common/metrics/collapse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::metrics {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Of a run with so many steps, a quarter of whose labels are 1.
v1::WorkerReport Total(uint64_t steps = 500) {
  v1::WorkerReport total;
  total.set_steps(steps);
  total.mutable_labels()->set_rows(12800);
  total.mutable_labels()->set_positives(3200);
  return total;
}

TEST(Collapse, HasNoSignsWhereNothingIsKnown) {
  const v1::WorkerReport none;
  EXPECT_THAT(DescribeDeadUnits(none), IsEmpty());
  EXPECT_THAT(DescribeThinAnswers(none), IsEmpty());
  EXPECT_THAT(DescribeBurst({}, none), IsEmpty());
  EXPECT_THAT(DescribeLateLoss({}, none), IsEmpty());
}

TEST(Collapse, ShowsInAnswersThatBringLessThanTheyDid) {
  const auto of_last = [](uint64_t last, const std::string& policy, uint64_t steps = 500) {
    v1::WorkerReport total = Total(steps);
    total.add_layers()->set_policy(policy);
    v1::AnswerPartsReport& parts = *total.mutable_answer_parts();
    parts.set_first_bytes(150);
    parts.set_first_dense_bytes(100);
    parts.set_last_bytes(last);
    parts.set_last_dense_bytes(200);
    return DescribeThinAnswers(total);
  };
  EXPECT_THAT(of_last(100, "none"), IsEmpty())
      << "the very first one, which brings all, is no measure";
  EXPECT_THAT(of_last(98, "none"), AllOf(HasSubstr("49 % changed"), HasSubstr("100 % at first")));
  EXPECT_THAT(of_last(98, "dct"), IsEmpty()) << "that is what it is for";
  EXPECT_THAT(of_last(98, "none", 499), IsEmpty()) << "a part is a few answers";
}

TEST(Collapse, ShowsInALossAboveAnEvenGuess) {
  v1::Config config;
  const auto of_loss = [&](double sum, uint64_t rows) {
    v1::WorkerReport total = Total();
    total.mutable_training_parts()->set_worst_samples(rows);
    total.mutable_training_parts()->set_worst_logloss_sum(sum);
    return DescribeBurst(config, total);
  };
  EXPECT_THAT(of_loss(3200, 4000), IsEmpty());
  EXPECT_THAT(of_loss(3400, 4000), HasSubstr("was 0.85 over 4000 rows"));
  EXPECT_THAT(of_loss(3400, 1000), IsEmpty()) << "that may be chance";
  config.mutable_model()->mutable_loss()->mutable_weighted_bce()->set_positive_weight(9);
  EXPECT_THAT(of_loss(3400, 4000), IsEmpty());
}

TEST(Collapse, ShowsInALateLossThatTheBaseRateHasToo) {
  v1::Config config;
  const auto of_last = [&](double sum, uint64_t positives) {
    v1::WorkerReport total = Total();
    total.mutable_training_parts()->set_last_samples(4000);
    total.mutable_training_parts()->set_last_positives(positives);
    total.mutable_training_parts()->set_last_logloss_sum(sum);
    return DescribeLateLoss(config, total);
  };
  EXPECT_THAT(of_last(2230, 1000), IsEmpty());
  EXPECT_THAT(of_last(2248, 1000), AllOf(HasSubstr("of the last 4000 rows, 0.5620"),
                                         HasSubstr("no better than 0.5623")));
  EXPECT_THAT(of_last(2260, 1100), IsEmpty()) << "other labels than before are no fault of it";
  EXPECT_THAT(of_last(2260, 0), IsEmpty()) << "that is another warning's";
  config.mutable_model()->mutable_loss()->mutable_weighted_bce()->set_positive_weight(9);
  EXPECT_THAT(of_last(2260, 1000), IsEmpty());
}

}  // namespace
}  // namespace weir::metrics
