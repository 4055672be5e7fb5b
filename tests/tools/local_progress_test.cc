#include "tools/local/progress.h"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "tests/tools/local_support.h"
#include "tools/local/number_text.h"

namespace weir::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kTrainLine =
    R"({"kind": "train", "seconds": 6.2, "samples": 50000, "steps": 390,)"
    R"( "samples_per_second": 8130.4, "logloss": 0.48461, "bytes": {"total": 7839000}})"
    "\n";
constexpr const char* kTestLine =
    R"({"kind": "test", "samples": 50000, "logloss": 0.4846, "auc": 0.75773})"
    "\n";

TEST(LocalNumberText, WritesCountsWithCommas) {
  EXPECT_EQ(CountWithCommas(0), "0");
  EXPECT_EQ(CountWithCommas(999), "999");
  EXPECT_EQ(CountWithCommas(1000), "1,000");
  EXPECT_EQ(CountWithCommas(1234567.8), "1,234,568");
  EXPECT_EQ(CountWithCommas(-5), "0");
  EXPECT_EQ(CountWithCommas(std::nan("")), "0");
}

TEST(LocalNumberText, WritesDurationsAsClocksDo) {
  EXPECT_EQ(DurationText(0), "00:00");
  EXPECT_EQ(DurationText(75.2), "01:16");
  EXPECT_EQ(DurationText(3725), "1:02:05");
}

TEST(LocalProgressText, ShowsWhatIsKnown) {
  MetricsRecord record = *ParseMetricsLine(kTrainLine);
  EXPECT_EQ(TrainText(record), "50,000 samples  8,130 samples/s  loss 0.4846  20.1 kB/step");
  record.total_samples = 100000;
  EXPECT_EQ(TrainText(record),
            "50,000 of 100,000 samples (50 %)  8,130 samples/s  loss 0.4846  20.1 kB/step  "
            "00:07 left");
  EXPECT_EQ(TestText(*ParseMetricsLine(kTestLine)),
            "test after 50,000 samples  loss 0.4846  AUC 0.7577");
}

TEST(LocalProgressText, LeavesOutWhatIsUndefined) {
  const auto record =
      ParseMetricsLine(R"({"kind": "train", "samples": 10, "logloss": null, "steps": "x"})");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(TrainText(*record), "10 samples  0 samples/s");
  EXPECT_FALSE(ParseMetricsLine("[1]").has_value());
  EXPECT_FALSE(ParseMetricsLine("{\"kind\": ").has_value());
}

class LocalMetricsTail : public LocalTest {};

TEST_F(LocalMetricsTail, GivesEachWholeLineOnce) {
  MetricsTail tail(Path("m"));
  EXPECT_THAT(tail.ReadNew(), IsEmpty()) << "no file yet";
  WriteFile(Path("m"), R"({"kind": "train", "samples": 1})");
  EXPECT_THAT(tail.ReadNew(), IsEmpty()) << "not finished";
  AppendFile(Path("m"), "\nrubbish\n{\"kind\": \"test\"}\n{\"ki");
  const auto records = tail.ReadNew();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].samples, 1);
  EXPECT_EQ(records[1].kind, "test");
  AppendFile(Path("m"), "nd\": \"train\"}\n");
  EXPECT_THAT(tail.ReadNew(), SizeIs(1));
  EXPECT_THAT(tail.ReadNew(), IsEmpty());
}

class LocalProgress : public LocalTest {
 protected:
  Progress Make(int columns) { return {Path("m"), 100000, Display{out_, columns}, clock_}; }

  // What was shown since the last call.
  std::string Shown() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  std::ostringstream out_;
  ManualClock clock_;
};

TEST_F(LocalProgress, RewritesOneLineOnATerminal) {
  Progress progress = Make(200);
  AppendFile(Path("m"), kTrainLine);
  progress.Update();
  const std::string shown = Shown();
  EXPECT_EQ(shown.front(), '\r');
  EXPECT_THAT(shown, HasSubstr("50,000 of 100,000"));
  EXPECT_THAT(shown, Not(HasSubstr("\n")));
  progress.Update();
  EXPECT_EQ(Shown(), "") << "nothing is new";
  AppendFile(Path("m"), kTestLine);
  progress.Update();
  EXPECT_EQ(Shown(), "\r\x1b[Ktest after 50,000 samples  loss 0.4846  AUC 0.7577\n");
}

// It has no rate and no loss.
TEST_F(LocalProgress, LeavesCheckpointsAlone) {
  Progress progress = Make(200);
  AppendFile(Path("m"), kTrainLine);
  progress.Update();
  Shown();
  AppendFile(Path("m"), R"({"kind": "checkpoint", "seconds": 7, "samples": 60000, "number": 1})"
                        "\n");
  progress.Update();
  EXPECT_EQ(Shown(), "");
}

TEST_F(LocalProgress, CutsTheLineToTheTerminal) {
  Progress progress = Make(11);
  AppendFile(Path("m"), kTrainLine);
  progress.Update();
  EXPECT_EQ(Shown(), "\r50,000 of \x1b[K");
  progress.Finish();
  EXPECT_EQ(Shown(), "\r\x1b[K");
}

TEST_F(LocalProgress, WritesPlainLinesNowAndThenElsewhere) {
  Progress progress = Make(0);
  AppendFile(Path("m"), kTrainLine);
  progress.Update();
  EXPECT_EQ(Shown(), "") << "too early";
  clock_.Advance(5000);
  progress.Update();
  const std::string shown = Shown();
  EXPECT_THAT(shown, HasSubstr("50,000 of 100,000"));
  EXPECT_THAT(shown, EndsWith("left\n"));
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
  clock_.Advance(5000);
  progress.Update();
  EXPECT_EQ(Shown(), "") << "nothing is new";
}

TEST_F(LocalProgress, SaysThatThereIsNoReportYet) {
  Progress plain = Make(0);
  Progress terminal = Make(80);
  clock_.Advance(2000);
  plain.Update();
  EXPECT_EQ(Shown(), "");
  terminal.Update();
  EXPECT_THAT(Shown(), HasSubstr("no report from trainer-0 yet, after 2 s"));
  clock_.Advance(13000);
  plain.Update();
  EXPECT_EQ(Shown(), "no report from trainer-0 yet, after 15 s\n");
}

}  // namespace
}  // namespace weir::tools
