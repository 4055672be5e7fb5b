#include "tools/data/time_form.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

constexpr std::array<std::string_view, 9> kTimeWords = {
    "time", "date", "hour", "day", "ts", "created", "when", "datetime", "timestamp"};
// 1990 and 2040.
constexpr double kFirstSecond = 631'152'000, kLastSecond = 2'208'988'800;

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLetter(char c) { return IsUpper(c) || (c >= 'a' && c <= 'z'); }

// "event", "time" of event_time, EventTime2 and EVENT-TIME.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  for (size_t i = 0; i < name.size(); ++i) {
    if (!IsLetter(name[i])) continue;
    const bool goes_on = i > 0 && IsLetter(name[i - 1]);
    const bool rises = goes_on && IsUpper(name[i]) && !IsUpper(name[i - 1]);
    const bool falls = goes_on && IsUpper(name[i]) && i + 1 < name.size() &&
                       IsLetter(name[i + 1]) && !IsUpper(name[i + 1]);
    if (!goes_on || rises || falls) words.emplace_back();
    words.back() += name[i];
  }
  for (std::string& word : words) word = Lower(word);
  return words;
}

// candidate_id has no date in it.
bool IsCalledTime(const ColumnSample& column) {
  const std::vector<std::string> words = WordsOf(column.name);
  if (words.size() > 1 && words.back() == "at") return true;  // updated_at
  return std::ranges::any_of(words, [](std::string_view word) {
    const bool is_plural = word.size() > 2 && word.ends_with('s');
    const std::string_view one = word.substr(0, word.size() - (is_plural ? 1 : 0));
    return std::ranges::find(kTimeWords, one) != kTimeWords.end();
  });
}

// form: '9' is any digit, other characters are themselves; the text may go on behind it.
bool BeginsLike(std::string_view text, std::string_view form) {
  return text.size() >= form.size() &&
         std::ranges::equal(text.substr(0, form.size()), form, [](char c, char wanted) {
           return wanted == '9' ? c >= '0' && c <= '9' : c == wanted;
         });
}

// Two digits from `at` on.
int TwoDigits(std::string_view text, size_t at) {
  return 10 * (text[at] - '0') + (text[at + 1] - '0');
}

bool IsMonthAndDay(std::string_view text, size_t at) {
  const int month = TwoDigits(text, at), day = TwoDigits(text, at + 2);
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

bool IsHour(std::string_view text, size_t at) { return TwoDigits(text, at) < 24; }

template <typename Fits>
bool All(const ColumnSample& column, const Fits& fits) {
  return std::ranges::all_of(column.values, [&](const auto& value) { return fits(value.first); });
}

bool IsYear(std::string_view text) { return text.starts_with("19") || text.starts_with("20"); }

std::optional<TimeForm> OfDigits(const ColumnSample& column) {
  const auto digits = [](std::string_view text, size_t count) {
    return text.size() == count && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string hour = "the hour of the day is its last two digits";
  if (All(column, [&](std::string_view text) {
        return digits(text, 10) && IsYear(text) && IsMonthAndDay(text, 4) && IsHour(text, 8);
      })) {
    return TimeForm{"hours, YYYYMMDDHH", hour, true};
  }
  if (!IsCalledTime(column)) return std::nullopt;
  if (All(column, [&](std::string_view text) {
        return digits(text, 8) && IsYear(text) && IsMonthAndDay(text, 4);
      })) {
    return TimeForm{"days, YYYYMMDD", "make a column of the day of the week", false};
  }
  if (All(column, [&](std::string_view text) {
        return digits(text, 8) && IsMonthAndDay(text, 2) && IsHour(text, 6);
      })) {
    return TimeForm{"hours, YYMMDDHH", hour, true};
  }
  return std::nullopt;
}

// In units of which there are so many in a second.
bool AreSince1970(const ColumnSample& column, int units) {
  return column.smallest >= kFirstSecond * units && column.largest <= kLastSecond * units;
}

std::optional<TimeForm> OfSeconds(const ColumnSample& column) {
  // Without a header, the name is a number.
  if (!IsCalledTime(column) && !IsNumber(column.name)) return std::nullopt;
  for (const auto& [units, name] : {std::pair(1, "seconds"), std::pair(1000, "milliseconds")}) {
    if (!AreSince1970(column, units)) continue;
    return TimeForm{
        StrCat(name, " since 1970"),
        StrCat("make columns of the hour of the day, int(t / ", 3600 * units,
               ") % 24, and of the day of the week, int(t / ", 86'400LL * units, ") % 7"),
        false};
  }
  return std::nullopt;
}

std::optional<TimeForm> OfText(const ColumnSample& column) {
  for (const std::string_view form :
       {"9999-99-99", "9999/99/99", "99/99/9999", "99.99.9999", "99-99-9999"}) {
    if (All(column, [&](std::string_view text) { return BeginsLike(text, form); })) {
      return TimeForm{"dates", "make columns of the hour of the day and the day of the week",
                      false};
    }
  }
  const auto is_time_of_day = [](std::string_view text) {
    return BeginsLike(text, "99:99") || BeginsLike(text, "9:99");
  };
  if (!All(column, is_time_of_day)) return std::nullopt;
  return TimeForm{"times of day", "make a column of the hour", false};
}

}  // namespace

std::optional<TimeForm> FindTimeForm(const ColumnSample& column) {
  if (column.values.empty()) return std::nullopt;
  if (column.number_count == 0) return OfText(column);
  if (!column.is_whole()) return std::nullopt;
  auto form = OfDigits(column);
  return form ? form : OfSeconds(column);
}

}  // namespace weir::tools
