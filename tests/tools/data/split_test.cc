#include "tools/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "tests/tools/data/inspect_support.h"
#include "tests/tools/data/largest_file.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

using testing::HasSubstr;

class Splitting : public InspectTest {
 protected:
  Status SplitFile(const SplitOptions& options) {
    out_.str("");
    return Split(options, out_);
  }
  std::string File(const std::string& name) const {
    auto lines = data::LineReader::Open(Path(name));
    EXPECT_TRUE(lines.ok()) << lines.status();
    std::string text;
    data::Line line;
    while (lines.ok() && *(*lines)->Next(&line)) {
      text += StrCat(line.text, line.had_return ? "\r" : "", "\n");
    }
    return text;
  }
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory()), {}));
  }

  std::ostringstream out_;
};

std::string Clicks(int rows) {
  return Lines(rows + 1, [](int i) {
    return i == 0 ? std::string("label,user,x") : StrCat(i % 2, ",u", i % 10, ",", i, ".5");
  });
}

TEST_F(Splitting, WritesEachRowToOneSideAndTheHeaderToBoth) {
  ASSERT_TRUE(SplitFile({.path = Write("f.csv", Clicks(1000)), .test_share = 0.2}).ok());
  const std::string train = File("f.train.csv"), test = File("f.test.csv");
  EXPECT_TRUE(train.starts_with("label,user,x\n") && test.starts_with("label,user,x\n"));
  const auto rows = [](const std::string& text) {
    auto lines = StrSplit(text, '\n');
    return std::multiset<std::string>(lines.begin() + 1, lines.end() - 1);
  };
  std::multiset<std::string> all = rows(train);
  const auto of_test = rows(test);
  EXPECT_EQ(all.size() + of_test.size(), 1000u);
  EXPECT_NEAR(static_cast<double>(of_test.size()), 200, 60) << "of a fixed seed";
  all.insert(of_test.begin(), of_test.end());
  EXPECT_EQ(all, rows(File("f.csv")));
  EXPECT_THAT(out_.str(), HasSubstr(StrCat("test        ", Path("f.test.csv"), ", ", of_test.size(),
                                           " rows\n")));
}

// Their lines have as many fields as rows have, and are more than there are rows.
TEST_F(Splitting, KeepsRowsOfSeveralLinesWholeWhateverTheirLinesLookLike) {
  const std::string wide = Lines(301, [](int i) {
    return i == 0 ? std::string("click,review")
                  : StrCat(i % 2, ",\"good, x\nbad, y\nwow, ", i, "\"");
  });
  const std::string with_a_short_row =
      Lines(3001,
            [](int i) {
              return i == 0 ? std::string("click,note")
                            : StrCat(i % 2, i < 2000 ? ",plain" : ",\"many\na, b\nc, d\ne, f\"");
            }) +
      "1\n";
  for (const auto& [text, rows] : {std::pair(wide, 300), std::pair(with_a_short_row, 3001)}) {
    std::filesystem::remove(Path("f.train.csv"));
    std::filesystem::remove(Path("f.test.csv"));
    ASSERT_TRUE(SplitFile({.path = Write("f.csv", text), .last = true}).ok());
    const std::string header = text.substr(0, text.find('\n') + 1);
    const std::string test = File("f.test.csv");
    EXPECT_EQ(File("f.train.csv") + test.substr(header.size()), text);
    EXPECT_THAT(out_.str(), HasSubstr(StrCat(rows / 10, " rows"))) << out_.str();
  }
}

TEST_F(Splitting, ChoosesTheSameRowsEachTime) {
  ASSERT_TRUE(SplitFile({.path = Write("f.csv", Clicks(300))}).ok());
  ASSERT_TRUE(SplitFile({.path = Write("g.csv", Clicks(300))}).ok());
  EXPECT_EQ(File("f.test.csv"), File("g.test.csv"));
}

TEST_F(Splitting, TakesTheLastRows) {
  ASSERT_TRUE(
      SplitFile({.path = Write("f.csv", Clicks(10)), .test_share = 0.3, .last = true}).ok());
  EXPECT_EQ(File("f.test.csv"), "label,user,x\n0,u8,8.5\n1,u9,9.5\n0,u0,10.5\n");
}

TEST_F(Splitting, BlankLinesAreNoRows) {
  const std::string text = "label,x\n\n1,2.5\n\n0,3.5\n\n\n";
  ASSERT_TRUE(SplitFile({.path = Write("f.csv", text), .test_share = 0.5, .last = true}).ok());
  EXPECT_EQ(File("f.train.csv"), "label,x\n1,2.5\n");
  EXPECT_EQ(File("f.test.csv"), "label,x\n0,3.5\n");
}

TEST_F(Splitting, KeepsRowsOfOneValueTogether) {
  ASSERT_TRUE(
      SplitFile({.path = Write("f.csv", Clicks(500)), .test_share = 0.4, .by = "user"}).ok());
  const auto users = [](const std::string& text) {
    std::set<std::string> found;
    for (const std::string& row : StrSplit(text, '\n')) {
      if (!row.empty()) found.insert(StrSplit(row, ',')[1]);
    }
    found.erase("user");
    return found;
  };
  const auto train = users(File("f.train.csv")), test = users(File("f.test.csv"));
  EXPECT_EQ(train.size() + test.size(), 10u);
  EXPECT_GT(test.size(), 0u);
}

TEST_F(Splitting, CutsNoRecordWhoseQuotesHideNewlines) {
  const std::string text = Lines(200, [](int i) {
    return i == 0 ? std::string("label,title,x") : StrCat(i % 2, ",\"a\nb,", i, "\",", i, ".5");
  });
  ASSERT_TRUE(SplitFile({.path = Write("f.csv", text), .test_share = 0.5}).ok());
  for (const char* name : {"f.train.csv", "f.test.csv"}) {
    EXPECT_THAT(Inspected(Path(name)), HasSubstr(" looked at, 0 of another width")) << name;
  }
}

TEST_F(Splitting, PacksThePartsOfAPackedFile) {
  ASSERT_TRUE(SplitFile({.path = WriteGzip("f.csv.gz", Clicks(50)), .last = true}).ok());
  EXPECT_EQ(File("f.test.csv.gz").substr(0, 13), "label,user,x\n");
  std::ifstream file(Path("f.test.csv.gz"), std::ios::binary);
  EXPECT_EQ(file.get(), 0x1f);
  ASSERT_TRUE(SplitFile({.path = WriteZstd("g.csv.zst", Clicks(50)), .last = true}).ok());
  EXPECT_EQ(File("g.test.csv.gz"), File("f.test.csv.gz"));
}

TEST_F(Splitting, AClickLogHasNoHeader) {
  ASSERT_TRUE(
      SplitFile(
          {.path = Write("day.tsv", data::CriteoLines(0, 40)), .test_share = 0.25, .last = true})
          .ok());
  EXPECT_EQ(File("day.test.tsv"), data::CriteoLines(30, 40));
  ASSERT_TRUE(SplitFile({.path = Write("f.svm", "1 1:1\n0 2:1\n1 3:1\n0 4:1\n"),
                         .test_share = 0.25,
                         .last = true})
                  .ok());
  EXPECT_EQ(File("f.test.svm"), "0 4:1\n");
}

TEST_F(Splitting, OverwritesNothing) {
  const std::string path = Write("f.csv", Clicks(50));
  const std::string mine = Write("f.test.csv", "mine\n");
  const Status status = SplitFile({.path = path});
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_THAT(status.message(), HasSubstr("f.test.csv is there already"));
  EXPECT_EQ(File("f.test.csv"), "mine\n");
  EXPECT_EQ(FileCount(), 2u);
}

TEST_F(Splitting, WritesNothingUnlessBothPartsHaveRows) {
  const Status status =
      SplitFile({.path = Write("f.csv", Clicks(3)), .test_share = 0.01, .last = true});
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_THAT(status.message(), HasSubstr("--test_share=0.01 of the 3 rows"));
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Splitting, LeavesNothingWhenItIsInterruptedOrFails) {
  const std::atomic<bool> interrupted = true;
  EXPECT_EQ(SplitFile({.path = Write("f.csv", Clicks(50)), .interrupted = &interrupted}).code(),
            StatusCode::kInterrupted);
  const std::string too_long = Clicks(50) + "1,u1," + std::string(2'000'000, '1') + "\n";
  const Status status = SplitFile({.path = Write("g.csv", too_long)});
  EXPECT_THAT(status.message(), HasSubstr("g.csv:52: line is longer than"));
  EXPECT_EQ(FileCount(), 2u);
}

TEST_F(Splitting, KeepsTheNewlinesOfWindows) {
  const std::string header = "label,x,user\r\n",
                    text = Lines(300,
                                 [](int i) { return StrCat(i % 2, ",", i, ".5,u", i % 9, "\r"); });
  const std::string path = Write("f.csv", header + text);
  ASSERT_TRUE(SplitFile({.path = path, .test_share = 0.5, .last = true}).ok());
  EXPECT_EQ(File("f.train.csv") + File("f.test.csv").substr(header.size()), header + text);
  // They are no part of a value.
  const std::string plain = Write("g.csv", "label,x,user\n" + Lines(300, [](int i) {
                                             return StrCat(i % 2, ",", i, ".5,u", i % 9);
                                           }));
  std::filesystem::remove(Path("f.train.csv"));
  std::filesystem::remove(Path("f.test.csv"));
  ASSERT_TRUE(SplitFile({.path = path, .test_share = 0.5, .by = "user"}).ok());
  ASSERT_TRUE(SplitFile({.path = plain, .test_share = 0.5, .by = "user"}).ok());
  std::string test = File("f.test.csv");
  std::erase(test, '\r');
  EXPECT_EQ(test, File("g.test.csv"));
}

TEST_F(Splitting, PutsNeitherPartInPlaceWhenTheLastBytesOfOneCannotBeWritten) {
  const std::string path = Write("f.csv", Clicks(2000));
  const Status status = [&] {
    const LargestFile few(std::filesystem::file_size(path) / 2);  // the part to train on fits in
    return SplitFile({.path = path, .test_share = 0.9, .last = true});
  }();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("f.test.csv.partial-"));
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Splitting, NamesAColumnThatIsNotThere) {
  EXPECT_THAT(SplitFile({.path = Write("f.csv", Clicks(50)), .by = "session"}).message(),
              HasSubstr("--by=session is no column of"));
  EXPECT_THAT(SplitFile({.path = Write("f.svm", "1 1:1\n0 2:1\n"), .by = "1"}).message(),
              HasSubstr("is libsvm, which has no columns"));
}

}  // namespace
}  // namespace weir::tools
