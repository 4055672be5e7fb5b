#include "tools/bench/criteo_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/strings.h"

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr int64_t kLogRows = 30;

class WrittenLog : public testing::Test {
 protected:
  WrittenLog() {
    EXPECT_TRUE(WriteLog(path_, kLogRows).ok());
    std::ifstream file(path_);
    lines_ = StrSplit(std::string{std::istreambuf_iterator<char>(file), {}}, '\n');
  }

  // Of the lines as they are then.
  Status VerifyLines() const {
    std::ofstream(path_) << StrJoin(lines_, "\n");
    return VerifyLog(path_, kLogRows);
  }
  // The field of a line, 0 being its label.
  void Replace(size_t line, size_t field, const std::string& text) {
    std::vector<std::string> fields = StrSplit(lines_[line], '\t');
    ASSERT_NE(fields[field], text);
    fields[field] = text;
    lines_[line] = StrJoin(fields, "\t");
  }

  const TemporaryFolder folder_ = TemporaryFolder::Make().value();
  const std::string path_ = folder_.File(kPlainLog);
  std::vector<std::string> lines_;  // and an empty one
};

TEST_F(WrittenLog, IsAcceptedAsItWasWritten) {
  const Status status = VerifyLines();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(WrittenLog, IsRefusedForAnotherLabel) {
  Replace(kLogRows - 1, 0, lines_[kLogRows - 1][0] == '0' ? "1" : "0");
  EXPECT_THAT(VerifyLines().message(), HasSubstr("was not read as written"));
}

TEST_F(WrittenLog, IsRefusedForAnotherIdOfAnyTable) {
  const std::vector<std::string> right = lines_;
  for (size_t table = 0; table < 26; ++table) {
    Replace(7, 14 + table, "0000000b");
    EXPECT_THAT(VerifyLines().message(), HasSubstr("was not read as written")) << table;
    lines_ = right;
  }
}

TEST_F(WrittenLog, IsRefusedForARowTooFewOrTooMany) {
  lines_.erase(lines_.end() - 2);
  EXPECT_THAT(VerifyLines().message(), HasSubstr("was not read as written"));
  EXPECT_THAT(VerifyLog(path_, kLogRows + 1).message(), HasSubstr("was not read as written"));
}

TEST_F(WrittenLog, IsRefusedForALineThatIsMalformed) {
  Replace(3, 0, "2");
  EXPECT_FALSE(VerifyLines().ok());
}

}  // namespace
}  // namespace weir::bench
