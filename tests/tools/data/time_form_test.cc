#include "tools/data/time_form.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

// Whether numbers that may be seconds since 1970 are, in a column of that name.
bool AreTimes(const std::string& name) {
  ColumnSample column;
  column.name = name;
  for (int i = 0; i < 50; ++i) column.Add(StrCat(1'400'000'000 + 1000 * i));
  return FindTimeForm(column).has_value();
}

TEST(TimeForm, NumbersAreTimesWhereAWordOfTheNameSaysSo) {
  for (const char* name :
       {"time", "event_time", "eventTime", "EVENT-TIME", "unixReviewTime", "time2",
        "timestamp:float", "created_at", "updatedAt", "ts", "click.ts", "UTCDate", "days", "3"}) {
    EXPECT_TRUE(AreTimes(name)) << name;
  }
}

TEST(TimeForm, LettersOfAnotherWordSayNothing) {
  for (const char* name : {"candidate_id", "mandate", "sentiment", "holiday", "sometimes", "at",
                           "hats", "user_id", "format_atom"}) {
    EXPECT_FALSE(AreTimes(name)) << name;
  }
}

}  // namespace
}  // namespace weir::tools
