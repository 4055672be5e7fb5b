#include "tools/data/column_plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "common/base/strings.h"
#include "tools/data/time_form.h"
#include "worker/data/csv_columns.h"

namespace weir::tools {
namespace {

using Kind = ColumnPlan::Kind;

// A whole number with no more values than this is rather a name than a measure.
constexpr size_t kFewValues = 32;
// Fewer rows show by chance what more do not.
constexpr int64_t kTellingRows = 50;
// Of its range that ids of things fill, at least, and how many they are where no name says so.
constexpr double kDense = 0.5;
constexpr size_t kManyIds = 200;
constexpr int64_t kMostRows = int64_t{1} << 40;

constexpr std::array<std::string_view, 14> kThings = {
    "user", "item",   "movie",  "product", "customer", "session", "book",
    "song", "artist", "device", "site",    "app",      "zip",     "zipcode"};

// What the readers of RecBole's files are told behind a colon.
std::string_view NameOf(const ColumnSample& column) {
  return std::string_view(column.name).substr(0, column.name.find(':'));
}
std::string_view TypeOf(const ColumnSample& column) {
  const size_t colon = column.name.find(':');
  return colon == std::string::npos ? "" : std::string_view(column.name).substr(colon + 1);
}

// user_id, userId, "user id", USERID, user, zip_code.
bool IsCalledId(const ColumnSample& column) {
  const std::string_view written = NameOf(column);
  const bool has_camel_id = written.size() > 2 && written.ends_with("Id");
  const std::string name = Lower(written);
  if (has_camel_id || name == "id" || TypeOf(column) == "token") return true;
  for (const char* const end : {"_id", " id", "-id", ".id", "_code", "_key", "_no"}) {
    if (name.ends_with(end)) return true;
  }
  const auto is_thing = [&](std::string_view thing) {
    return name == thing || (name.ends_with("id") && name.substr(0, name.size() - 2) == thing);
  };
  return std::ranges::any_of(kThings, is_thing);
}

double RangeOf(const ColumnSample& column) { return column.largest - column.smallest + 1; }

bool FillsItsRange(const ColumnSample& column) {
  return static_cast<double>(column.values.size()) >= kDense * RangeOf(column);
}

// Ids spread over their range; counts and amounts are mostly near its low end.
bool LooksLikeId(const ColumnSample& column) {
  const double middle = (column.mean() - column.smallest) / RangeOf(column);
  return column.values.size() >= kManyIds && column.smallest >= 0 && column.smallest <= 1 &&
         FillsItsRange(column) && middle > 0.15 && middle < 0.85;
}

ColumnPlan LeftOut(const std::string& reason) { return {Kind::kLeftOut, reason + ": left out"}; }

ColumnPlan Hashed(const ColumnSample& column, std::string reason = "") {
  const auto count = static_cast<int64_t>(column.values.size());
  return {Kind::kHashed, std::move(reason), RowsForHashes(column.more_values ? 10 * count : count)};
}

ColumnPlan OfTime(const TimeForm& form) {
  if (!form.ends_in_hour) return LeftOut(StrCat("times (", form.name, "); ", form.derive));
  return {Kind::kHour, StrCat("times (", form.name, "): taken is the hour, the last two digits"),
          101};
}

// Whether no two rows have one value, or next to none, so that nothing can be learned of it.
bool IsRowId(const ColumnSample& column) {
  if (column.value_count < kTellingRows) return false;
  if (!column.is_number()) {
    return 10 * std::ssize(column.values) > 9 * column.value_count;
  }
  if (!column.whole || !column.is_unique()) return false;
  return IsCalledId(column) || column.ascending || FillsItsRange(column) ||
         column.value_count >= 10'000;
}

// Whole numbers that are names.
ColumnPlan OfIds(const ColumnSample& column) {
  const bool fits = column.smallest >= 0 && column.largest < static_cast<double>(kMostRows) &&
                    !column.more_values &&
                    RangeOf(column) <= 100 * static_cast<double>(column.values.size());
  if (!fits) return Hashed(column, "whole numbers that are ids of things");
  const int64_t rows = RoundRows(10 * (static_cast<int64_t>(column.largest) + 2));
  return {Kind::kInteger, "whole numbers that are ids of things", rows};
}

// Each whole number often enough that something can be learned of it alone: a code may look like a
// measure, and a measure need not matter evenly.
bool ComesAgain(const ColumnSample& column) {
  constexpr int64_t kOften = 20;
  return column.whole && !column.more_values &&
         column.value_count >= kOften * std::ssize(column.values);
}

ColumnPlan OfNumbers(const ColumnSample& column) {
  if (column.whole && column.values.size() <= kFewValues) return Hashed(column);
  if (column.whole && (IsCalledId(column) || LooksLikeId(column))) return OfIds(column);
  const bool comes_again = ComesAgain(column);
  if (comes_again && column.values.size() >= kManyIds) {
    return Hashed(column, "whole numbers that come again often");
  }
  ColumnPlan plan = {Kind::kNumber, ""};
  if (column.smallest >= 0 && column.largest > 20 * column.mean()) {
    plan = {Kind::kCount, "numbers of very different sizes: their logarithm"};
  }
  if (comes_again) plan.rows = RowsForHashes(std::ssize(column.values));
  return plan;
}

// The parts of a column's values, and how many values have two or more.
struct Parts {
  Parts(const ColumnSample& column, std::string_view separator) {
    constexpr size_t kTried = 5000;
    for (const auto& [value, count] : column.values) {
      if (++value_count > kTried) break;
      std::string_view rest = value;
      size_t end = rest.find(separator);
      list_count += end != std::string_view::npos ? 1 : 0;
      for (; end != std::string_view::npos; end = rest.find(separator)) {
        different.insert(rest.substr(0, end));
        rest.remove_prefix(end + separator.size());
      }
      different.insert(rest);
    }
  }

  std::unordered_set<std::string_view> different;
  size_t value_count = 0, list_count = 0;
};

// "|" of "Action|Comedy", where parts come again more often than whole fields. What spaces stand
// between may be a text, unless the column is said to be a list.
std::optional<ColumnPlan> OfList(const ColumnSample& column) {
  const bool is_said = TypeOf(column) == "token_seq";
  for (const std::string_view separator : {"|", ";", ",", " "}) {
    const Parts parts(column, separator);
    const bool looks_like_list = separator != " " && parts.value_count >= kFewValues &&
                                 2 * parts.list_count >= parts.value_count &&
                                 2 * parts.different.size() <= parts.value_count;
    if (is_said ? parts.list_count == 0 : !looks_like_list) continue;
    return ColumnPlan{Kind::kList, StrCat("several values in a field, between '", separator, "'"),
                      RowsForHashes(std::ssize(parts.different)), std::string(separator)};
  }
  return std::nullopt;
}

// Numbers but for a few words.
ColumnPlan OfMixed(const ColumnSample& column) {
  std::string first;
  int64_t words = 0;
  for (const auto& [value, count] : column.values) {
    if (IsNumber(value)) continue;
    if (words++ == 0) first = value;
  }
  const int64_t others = column.value_count - column.number_count;
  const std::string told = StrCat("numbers but for ", others, others == 1 ? " value" : " values",
                                  ", such as ", data::Shown(first));
  const bool are_names = column.whole && column.values.size() <= kFewValues;
  if (words > 1 || column.more_values || are_names || 2 * others > column.value_count) {
    return Hashed(column, told + ": taken as a category");
  }
  ColumnPlan plan = {Kind::kNumber, told + ", which is taken for a missing one"};
  plan.missing = first;
  return plan;
}

}  // namespace

int64_t RoundRows(int64_t least) {
  for (int64_t unit = 10; unit < kMostRows; unit *= 10) {
    for (const int64_t digit : {1, 2, 5}) {
      if (digit * unit >= least) return std::min(kMostRows, digit * unit);
    }
  }
  return kMostRows;
}

int64_t RowsForHashes(int64_t value_count) {
  return RoundRows(100 * std::max<int64_t>(10, value_count));
}

ColumnPlan PlanColumn(const ColumnSample& column) {
  if (column.values.empty()) return LeftOut("no value");
  const auto form = FindTimeForm(column);
  if (form && form->ends_in_hour) return OfTime(*form);  // further rows have other hours
  if (column.values.size() == 1) {
    return LeftOut(StrCat("always ", data::Shown(column.values.begin()->first)));
  }
  if (form) return OfTime(*form);
  if (TypeOf(column) == "float" && column.is_number()) return OfNumbers(column);
  if (auto list = column.is_number() ? std::nullopt : OfList(column)) return *list;
  if (IsRowId(column)) return LeftOut("nearly each row has a value of its own");
  if (column.is_number()) return OfNumbers(column);
  if (2 * column.number_count >= column.value_count) return OfMixed(column);
  return Hashed(column);
}

}  // namespace weir::tools
