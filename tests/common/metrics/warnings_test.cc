#include "common/metrics/warnings.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/base/strings.h"

namespace weir::metrics {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// A run that learned well; what its parts are laid over changes.
class Warnings : public testing::Test {
 protected:
  // report: a v1::RunReport, laid over the good run's.
  std::vector<std::string> Of(const std::string& report) {
    v1::RunReport run = report_;
    run.MergeFrom(Parse<v1::RunReport>(report));
    AddWarnings({.config = config_, .evaluations = evaluations_, .goes_on = goes_on_}, &run);
    return {run.warnings().begin(), run.warnings().end()};
  }

  v1::Config config_ = Parse<v1::Config>("update { dense { schedule { warmup_steps: 50 } } }");
  // A quarter of the labels are 1, by chance: the logloss of saying so is 0.5623.
  v1::RunReport report_ = Parse<v1::RunReport>(R"(
      total { samples: 12800 steps: 100 logloss_sum: 6400 lines: 12800 test_lines: 1000
              labels { rows: 12800 positives: 3200 groups: 100 squared_positives: 104800 }
              test_values { table: "user" values: 1000 unseen: 400 } }
      test { samples: 1000 positives: 250 logloss: 0.5 auc: 0.75 })");
  std::vector<v1::EvaluationReport> evaluations_;
  bool goes_on_ = false;
};

TEST_F(Warnings, AreNoneOfARunThatLearned) { EXPECT_THAT(Of(""), IsEmpty()); }

TEST_F(Warnings, AreNoneOfARunOfNothing) {
  report_.Clear();
  EXPECT_THAT(Of(""), IsEmpty());
}

TEST_F(Warnings, ReplaceThoseThatTheReportHad) {
  report_.add_warnings("of before");
  EXPECT_THAT(Of(""), IsEmpty());
}

TEST_F(Warnings, RepeatWhatWorkersNoticedButNotWithoutEnd) {
  EXPECT_THAT(Of(R"(total { notices: ["a is twice", "x is 0"] })"),
              ElementsAre("a is twice", "x is 0"));
  std::string many;
  for (int i = 0; i < 25; ++i) many += " notices: 'n'";
  const std::vector<std::string> warnings = Of("total {" + many + "}");
  ASSERT_EQ(warnings.size(), 21u);
  EXPECT_EQ(warnings.back(), "5 more such warnings are in workers' logs");
}

TEST_F(Warnings, NameALargeColumnAndTheTransformsThatHelp) {
  EXPECT_THAT(Of(R"(total { large_columns { name: "time" smallest: 1.4e9 largest: 1.5e9 } })"),
              ElementsAre(AllOf(HasSubstr("column time"), HasSubstr("1.4e+09 to 1.5e+09"),
                                HasSubstr("standardise {}"), HasSubstr("log1p {}"))));
  EXPECT_THAT(Of(R"(total { large_columns { name: "balance" smallest: -900 largest: 900 } })"),
              ElementsAre(Not(HasSubstr("log1p"))));
}

TEST_F(Warnings, TellOfTrainingThatDiverged) {
  EXPECT_THAT(Of("total { logloss_sum: 7.5e13 }"),
              ElementsAre(AllOf(HasSubstr("the training logloss, 5.859e+09"), HasSubstr("0.5623"),
                                HasSubstr("learning rate"))));
  EXPECT_THAT(Of("total { logloss_sum: 12000 }"), IsEmpty()) << "a bad beginning is none";
}

TEST_F(Warnings, TellOfATestLossThatTheBaseRateHasToo) {
  EXPECT_THAT(Of("test { logloss: 0.57 auc: 0.5 }"),
              ElementsAre(AllOf(HasSubstr("the test logloss, 0.5700"), HasSubstr("0.5623"),
                                HasSubstr("mean label of the training rows, 0.25,"),
                                HasSubstr("has learned nothing"))));
  EXPECT_THAT(Of("test { logloss: 0.5622 auc: 0.5 }"), Contains(HasSubstr("no better")))
      << "it is no better than by chance";
  EXPECT_THAT(Of("test { logloss: 0.56 auc: 0.53 }"), IsEmpty());
}

TEST_F(Warnings, SayOfRanksThatAreRightThatTheProbabilitiesAreNot) {
  EXPECT_THAT(Of("test { logloss: 0.8 auc: 0.75 }"),
              ElementsAre(AllOf(HasSubstr("AUC 0.7500"), HasSubstr("trained for too long"))));
}

TEST_F(Warnings, HoldTheTestAgainstTheTrainingRowsRate) {
  report_.mutable_test()->set_positives(500);
  EXPECT_THAT(Of("test { logloss: 0.8 }"), IsEmpty()) << "0.25 for half of them has 0.837";
  EXPECT_THAT(Of("test { logloss: 0.84 }"), Contains(HasSubstr("no better than 0.8370")));
}

TEST_F(Warnings, OfLossesAreNoneWhereLabelsHaveOtherWeights) {
  config_.mutable_model()->mutable_loss()->mutable_weighted_bce()->set_positive_weight(9);
  config_.mutable_model()->mutable_loss()->mutable_weighted_bce()->set_negative_weight(1);
  EXPECT_THAT(Of("test { logloss: 0.8 } total { logloss_sum: 20000 }"), IsEmpty());
}

TEST_F(Warnings, SayWhichLabelAllTestRowsHave) {
  report_.mutable_test()->set_auc(std::numeric_limits<double>::quiet_NaN());
  report_.mutable_test()->set_positives(0);
  EXPECT_THAT(Of(""), ElementsAre(AllOf(HasSubstr("the AUC is undefined: all 1000 test rows"),
                                        HasSubstr("negative label, 0"))));
  report_.mutable_test()->set_positives(1000);
  EXPECT_THAT(Of(""), ElementsAre(HasSubstr("positive label, 1")));
}

TEST_F(Warnings, SayThatRowsOfOneLabelTeachNothing) {
  report_.mutable_total()->mutable_labels()->set_positives(12800);
  EXPECT_THAT(Of(""),
              Contains(AllOf(HasSubstr("all 12800 rows that were trained have the positive"),
                             HasSubstr("nothing to learn"))));
  report_.mutable_total()->mutable_labels()->set_positives(0);
  EXPECT_THAT(Of(""), Contains(HasSubstr("have the negative label, 0")));
}

TEST_F(Warnings, TellOfRowsSortedByTheirLabel) {
  // 25 groups of 1 alone.
  EXPECT_THAT(Of("total { labels { squared_positives: 409600 } }"),
              ElementsAre(AllOf(HasSubstr("sorted by their label"), HasSubstr("alike by 1.00"),
                                HasSubstr("shuf"))));
  // Users of 128 rows each, whose rates are between 0.05 and 0.45.
  EXPECT_THAT(Of("total { labels { squared_positives: 125000 } }"), IsEmpty());
  // A few rows that happen to be alike.
  EXPECT_THAT(
      Of("total { labels { rows: 512 positives: 128 groups: 4 squared_positives: 16384 } }"),
      IsEmpty());
}

TEST_F(Warnings, TellOfSortedRowsThatAreRarelyPositive) {
  // One group of nothing else, in a thousand.
  report_.mutable_total()->mutable_labels()->set_positives(128);
  EXPECT_THAT(Of("total { labels { rows: 128000 groups: 1000 squared_positives: 16384 } "
                 "logloss_sum: 100 } test { logloss: 0.3 }"),
              ElementsAre(HasSubstr("sorted by their label")));
  // The same number by chance.
  EXPECT_THAT(Of("total { labels { rows: 128000 groups: 1000 squared_positives: 144 } "
                 "logloss_sum: 100 } test { logloss: 0.3 }"),
              IsEmpty());
}

TEST_F(Warnings, TellOfALayerOfWhichMostIsDead) {
  const auto of_dead = [&](int bottom, int top) {
    return Of(StrCat("total { dead_units { bias: 'bottom/0/bias' units: 100 dead: ", bottom,
                     "} dead_units { bias: 'top/0/bias' units: 10 dead: ", top, "} }"));
  };
  EXPECT_THAT(of_dead(50, 6), IsEmpty()) << "some are in every model";
  EXPECT_THAT(of_dead(70, 9), ElementsAre(AllOf(HasSubstr("90 % of the ReLUs with top/0/bias"),
                                                HasSubstr("cluster.concurrency_warmup_steps"))));
}

TEST_F(Warnings, TellOnceOfAModelThatFellApart) {
  const std::string late =
      "training_parts { last_samples: 4000 last_positives: 1000 "
      "last_logloss_sum: 2260 worst_samples: 4000 worst_logloss_sum: ";
  const std::string dead = "dead_units { bias: 'top/0/bias' units: 10 dead: 9 } ";
  EXPECT_THAT(
      Of("total { " + dead + late + "3400 } }"),
      ElementsAre(AllOf(HasSubstr("90 % of the ReLUs"), HasSubstr("; the training logloss was"),
                        HasSubstr("of the last 4000 rows"), HasSubstr("learns nothing any more"))));
  EXPECT_THAT(Of("total { " + late + "2300 } }"),
              ElementsAre(AllOf(HasSubstr("of the last 4000 rows"), HasSubstr("lost what it had"),
                                HasSubstr("cluster.max_concurrency"))));
  report_.mutable_test()->set_logloss(0.57);
  EXPECT_THAT(Of("total { " + late + "2300 } }"), ElementsAre(HasSubstr("the test logloss")));
}

TEST_F(Warnings, TellOfAWarmupLongerThanHalfOfTheRun) {
  config_.mutable_update()->mutable_dense()->mutable_schedule()->set_warmup_steps(51);
  EXPECT_THAT(Of(""),
              ElementsAre(AllOf(HasSubstr("update.dense rises for 51 steps"), HasSubstr("had 100"),
                                HasSubstr("most of it"), HasSubstr("warmup_steps: 10 "))));
  config_.mutable_update()->mutable_dense()->mutable_schedule()->set_warmup_steps(0);
  config_.mutable_update()->mutable_rows()->mutable_schedule()->set_warmup_steps(200);
  EXPECT_THAT(Of(""), ElementsAre(AllOf(HasSubstr("update.rows rises for 200 steps"),
                                        HasSubstr("never was what it is set to"))));
  goes_on_ = true;
  EXPECT_THAT(Of(""), IsEmpty()) << "it may have risen in the model's run";
}

TEST_F(Warnings, TellOfAScheduleThatEndedBeforeTheRun) {
  const auto with_steps = [&](const std::string& schedule) {
    config_ = Parse<v1::Config>("update { rows { schedule { " + schedule + " } } }");
    return Of("");  // of 100 steps
  };
  EXPECT_THAT(with_steps("cosine { steps: 100 }"), IsEmpty());
  EXPECT_THAT(with_steps("cosine { steps: 96 }"), IsEmpty()) << "as good as all of it";
  EXPECT_THAT(with_steps("cosine { steps: 50 }"),
              ElementsAre(HasSubstr("update.rows was 0 for the last 50 of 100 steps")));
  EXPECT_THAT(with_steps("decay_start: 40 polynomial { steps: 30 }"),
              ElementsAre(AllOf(HasSubstr("0 for the last 30 of 100"), HasSubstr("to 60"))));
  EXPECT_THAT(with_steps("cosine { steps: 50 end: 0.1 }"), IsEmpty());
  config_ = Parse<v1::Config>("update { rows { schedule { cosine { steps: 50 } } } }");
  EXPECT_THAT(Of("total { layers { steps_without_credit: 50 } }"), IsEmpty()) << "it had 50 pushes";
  goes_on_ = true;
  EXPECT_THAT(Of(""), IsEmpty());
}

TEST_F(Warnings, TellThatMoreTrainingMadeItWorse) {
  const auto evaluate = [&](const std::vector<double>& losses) {
    evaluations_.clear();
    for (const double loss : losses) {
      v1::EvaluationReport& each = evaluations_.emplace_back();
      each.set_samples(10'000);
      each.set_logloss(loss);
      each.set_at_samples(1000 * evaluations_.size());
    }
    return Of("");
  };
  EXPECT_THAT(evaluate({0.50, 0.45, 0.47, 0.49}),
              ElementsAre(AllOf(HasSubstr("was best, 0.4500, after 2000 samples"),
                                HasSubstr("0.4900 after 4000"), HasSubstr("data.epochs"))));
  EXPECT_THAT(evaluate({0.50, 0.48, 0.46, 0.45}), IsEmpty());
  EXPECT_THAT(evaluate({0.50, 0.45, 0.49}), IsEmpty()) << "once may be chance";
  EXPECT_THAT(evaluate({0.50, 0.450, 0.452, 0.453}), IsEmpty()) << "so little may be chance";
  EXPECT_THAT(evaluate({0.45, 0.55, 0.47, 0.44}), IsEmpty()) << "it came back";
}

TEST_F(Warnings, NameTheColumnWhoseTestValuesAreNew) {
  EXPECT_THAT(Of(R"(total { test_values { table: "item" values: 1000 unseen: 620
                                          example: "test.csv:7" } })"),
              ElementsAre(AllOf(HasSubstr("62 % of the values of column item"),
                                HasSubstr("test.csv:7"), HasSubstr("written otherwise"))));
  EXPECT_THAT(Of(R"(total { test_values { table: "item" values: 99 unseen: 99 } })"), IsEmpty());
}

TEST_F(Warnings, OfNewValuesAreNoneWhileWorkersKeepRowsBack) {
  EXPECT_THAT(Of(R"(total { rows { gradients: 100 sent: 20 }
                            test_values { table: "item" values: 1000 unseen: 620 } })"),
              IsEmpty());
}

TEST_F(Warnings, CountMalformedLinesAndShowTheFirst) {
  EXPECT_THAT(Of(R"(total { malformed_lines: 16 first_malformed: "train.csv:3: no label"
                            malformed_test_lines: 1 })"),
              ElementsAre(AllOf(HasSubstr("16 of 12800 lines to train on (0.125 %)"),
                                HasSubstr("the first: train.csv:3: no label")),
                          HasSubstr("1 of 1000 lines to test on (0.1 %)")));
}

TEST_F(Warnings, NameTrainersWhosePushesWereScaledDown) {
  EXPECT_THAT(Of("bounded { trainer: 3 pushes: 12 pieces: 20 rows: 400 } "
                 "bounded { trainer: 5 pushes: 1 rows: 2 }"),
              ElementsAre(AllOf(HasSubstr("above max_push_norm"),
                                HasSubstr("of trainer 3 (pushes: 12, pieces: 20, rows: 400), 5 "
                                          "(pushes: 1, pieces: 0, rows: 2):"))));
  std::string many;
  for (int i = 0; i < 25; ++i) many += StrCat("bounded { trainer: ", i, " pushes: 1 } ");
  EXPECT_THAT(Of(many), ElementsAre(AllOf(HasSubstr("19 (pushes: 1"), HasSubstr(", 5 more:"),
                                          Not(HasSubstr("20 (pushes: 1")))));
}

}  // namespace
}  // namespace weir::metrics
