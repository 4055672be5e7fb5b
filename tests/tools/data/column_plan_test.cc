#include "tools/data/column_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/base/random.h"
#include "common/base/strings.h"

namespace weir::tools {
namespace {

using testing::HasSubstr;
using Kind = ColumnPlan::Kind;

// The plan of a column of 400 rows, each value made of a number from 0.
ColumnPlan PlanOf(const std::string& name, const std::function<std::string(int)>& value) {
  ColumnSample column;
  column.name = name;
  for (int i = 0; i < 400; ++i) column.Add(value(i));
  return PlanColumn(column);
}

uint64_t Hashed(int i) { return KeyedHash(1, i); }

// In no order, the same each time.
int Shuffled(int i, int count) {
  return static_cast<int>(Hashed(i) % static_cast<uint64_t>(count));
}

TEST(ColumnPlan, LeavesRowNumbersAndNamesOfRowsOut) {
  for (const char* name : {"id", "row", "3"}) {
    const ColumnPlan plan = PlanOf(name, [](int i) { return StrCat(i); });
    EXPECT_EQ(plan.kind, Kind::kLeftOut) << name;
    EXPECT_THAT(plan.reason, HasSubstr("nearly each row has a value of its own: left out"));
  }
  EXPECT_EQ(PlanOf("id", [](int i) { return StrCat("1000", Hashed(i)); }).kind, Kind::kLeftOut);
  EXPECT_EQ(PlanOf("hash", [](int i) { return StrCat(std::hex, "x", Hashed(i)); }).kind,
            Kind::kLeftOut);
  EXPECT_EQ(PlanOf("salary", [](int i) { return StrCat(Hashed(i) % 100'000'000); }).kind,
            Kind::kNumber)
      << "numbers that happen to differ are measures";
}

TEST(ColumnPlan, LeavesOutWhatNeverChanges) {
  EXPECT_EQ(PlanOf("a", [](int) { return "x"; }).reason, "always 'x': left out");
  EXPECT_EQ(PlanColumn(ColumnSample()).reason, "no value: left out");
}

TEST(ColumnPlan, FewWholeNumbersAreCategories) {
  const ColumnPlan plan = PlanOf("weekday", [](int i) { return StrCat(i % 7); });
  EXPECT_EQ(plan.kind, Kind::kHashed);
  EXPECT_EQ(plan.rows, 1000);
  EXPECT_EQ(PlanOf("x", [](int i) { return StrCat(i % 7, ".5"); }).kind, Kind::kNumber);
}

TEST(ColumnPlan, IdsOfThingsAreIntegersWhereTheyLieClose) {
  for (const char* name : {"user_id", "userId", "movie", "zip_code", "user_id:token"}) {
    const ColumnPlan plan = PlanOf(name, [](int i) { return StrCat(Shuffled(i, 100)); });
    EXPECT_EQ(plan.kind, Kind::kInteger) << name;
    EXPECT_EQ(plan.rows, 1000) << "far above the largest id, of which others may come";
  }
  const auto far = [](int i) { return StrCat(Hashed(Shuffled(i, 100)) % 1'000'000'000); };
  EXPECT_EQ(PlanOf("user_id", far).kind, Kind::kHashed);
  EXPECT_EQ(PlanOf("user_id", far).rows, 10'000) << "a hundred times the values";
  const auto negative = [](int i) { return StrCat(Shuffled(i, 100) - 50); };
  const auto huge = [](int i) { return StrCat("1", std::string(30, '0'), Shuffled(i, 9) + 1); };
  EXPECT_NE(PlanOf("x_id", [&](int i) { return huge(i) + StrCat(i % 40); }).kind, Kind::kInteger);
  EXPECT_EQ(PlanOf("user_id", negative).kind, Kind::kHashed) << "a remainder is of another sign";
}

TEST(ColumnPlan, NumbersOfVeryDifferentSizesAreCounts) {
  const ColumnPlan plan =
      PlanOf("views", [](int i) { return i % 40 == 0 ? StrCat(1000 * i + 7) : StrCat(i % 37); });
  EXPECT_EQ(plan.kind, Kind::kCount);
  EXPECT_EQ(PlanOf("price", [](int i) { return StrCat(Shuffled(i, 250) + 0.5); }).kind,
            Kind::kNumber);
}

TEST(ColumnPlan, WholeNumbersThatComeAgainOftenHaveATableBesideTheNumber) {
  ColumnSample age;
  age.name = "age";
  for (int i = 0; i < 4000; ++i) age.Add(StrCat(17 + Shuffled(i, 73)));
  const ColumnPlan plan = PlanColumn(age);
  EXPECT_EQ(plan.kind, Kind::kNumber);
  EXPECT_EQ(plan.rows, 10'000);
  EXPECT_EQ(PlanOf("age", [](int i) { return StrCat(17 + Shuffled(i, 73)); }).rows, 0)
      << "five rows a value teach little of it";
}

TEST(ColumnPlan, NamesTimesAndWhatToMakeOfThem) {
  struct Case {
    const char* name;
    std::function<std::string(int)> value;
    const char* told;
  };
  const Case cases[] = {
      {"timestamp", [](int i) { return StrCat(978'300'760 + 1000 * i); }, "seconds since 1970"},
      {"ts", [](int i) { return StrCat(978'300'760'000 + 1000 * i); }, "int(t / 3600000) % 24"},
      {"3", [](int i) { return StrCat(978'300'760 + 1000 * i); }, "int(t / 3600) % 24"},
      {"when", [](int i) { return StrCat("2014-10-", 10 + i % 20, " 10:20:30"); }, "dates"},
      {"date", [](int i) { return StrCat("201410", 10 + i % 20); }, "YYYYMMDD"},
      {"x", [](int i) { return StrCat(10 + i % 10, ":15"); }, "times of day"},
  };
  for (const Case& one : cases) {
    const ColumnPlan plan = PlanOf(one.name, one.value);
    EXPECT_EQ(plan.kind, Kind::kLeftOut) << one.name;
    EXPECT_THAT(plan.reason, HasSubstr(one.told));
  }
  EXPECT_EQ(PlanOf("amount", [](int i) { return StrCat(978'300'760 + Shuffled(i, 300)); }).kind,
            Kind::kNumber);
}

TEST(ColumnPlan, TakesTheHourOfTimesThatEndInIt) {
  const auto hour = [](int i) { return StrCat("141021", i % 24 < 10 ? "0" : "", i % 24); };
  const ColumnPlan plan = PlanOf("hour", hour);
  EXPECT_EQ(plan.kind, Kind::kHour);
  EXPECT_EQ(plan.rows, 101) << "an id is 1 + the number modulo 100";
  EXPECT_EQ(PlanOf("hour", [](int) { return "14102100"; }).kind, Kind::kHour)
      << "later rows have other hours";
  EXPECT_NE(PlanOf("C14", hour).kind, Kind::kHour) << "which may be anything";
}

TEST(ColumnPlan, TakesOneWordAmongNumbersForAMissingOne) {
  const ColumnPlan plan = PlanOf("size", [](int i) { return i % 9 == 4 ? "x" : StrCat(0.5 * i); });
  EXPECT_EQ(plan.kind, Kind::kNumber);
  EXPECT_EQ(plan.missing, "x");
  EXPECT_THAT(plan.reason, HasSubstr("numbers but for 44 values, such as 'x'"));
  const ColumnPlan names = PlanOf(
      "size", [](int i) { return i % 9 == 4 ? StrCat("x", i % 4) : StrCat(Shuffled(i, 50)); });
  EXPECT_EQ(names.kind, Kind::kHashed);
  EXPECT_THAT(names.reason, HasSubstr("numbers but for 44 values, such as 'x0': taken as a"));
}

TEST(ColumnPlan, TakesFieldsOfSeveralValuesApart) {
  const ColumnPlan plan =
      PlanOf("genres", [](int i) { return StrCat("g", i % 7, "|h", i % 5, "|k", i % 3); });
  EXPECT_EQ(plan.kind, Kind::kList);
  EXPECT_EQ(plan.separator, "|");
  EXPECT_EQ(plan.rows, 2000);
  EXPECT_EQ(
      PlanOf("tags:token_seq", [](int i) { return StrCat("a", i % 7, " b", i % 5); }).separator,
      " ");
  EXPECT_EQ(PlanOf("city", [](int i) { return StrCat("New ", i % 40, " Town"); }).kind,
            Kind::kHashed);
}

TEST(ColumnPlan, RowsAreRound) {
  EXPECT_EQ(RowsForHashes(1), 1000);
  EXPECT_EQ(RowsForHashes(11), 2000);
  EXPECT_EQ(RowsForHashes(4000), 500'000);
  EXPECT_EQ(RoundRows(1'000'001), 2'000'000);
  EXPECT_EQ(RoundRows(int64_t{1} << 41), int64_t{1} << 40) << "no config holds more";
}

}  // namespace
}  // namespace weir::tools
