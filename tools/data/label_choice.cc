#include "tools/data/label_choice.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "common/base/strings.h"
#include "worker/data/csv_columns.h"
#include "worker/data/dense_column.h"

namespace weir::tools {
namespace {

constexpr std::array<std::string_view, 21> kLabelNames = {
    "label",      "labels",   "target", "click",      "clicked",   "is_click", "y",
    "class",      "outcome",  "income", "converted",  "purchase",  "churn",    "response",
    "conversion", "survived", "like",   "is_clicked", "purchased", "bought",   "click_label"};
constexpr std::array<std::string_view, 6> kScaleNames = {"rating",  "ratings", "stars",
                                                         "overall", "score",   "rate"};
constexpr std::array<std::string_view, 8> kPositive = {"1",   "1.0", "+1", "true",
                                                       "yes", "y",   "t",  "positive"};
// More different numbers than a scale has are a measure.
constexpr size_t kMostLabels = 101;
// From here to the end of a scale one likes it: 4 of 1 to 5, 8 of 1 to 10.
constexpr double kLiked = 0.75;

// A column's name without what follows a colon, its type in some formats.
template <size_t kCount>
bool IsNamed(const ColumnSample& column, const std::array<std::string_view, kCount>& names) {
  const std::string name = Lower(std::string_view(column.name).substr(0, column.name.find(':')));
  return std::ranges::find(names, name) != names.end();
}

// Two numbers without strays, words that are rarer than one in a hundred, all of them: a word that
// is cut off, a header that is not quite the first one. A third word among words may be a class.
ValueCounts WithoutStrays(const ValueCounts& values) {
  constexpr int64_t kUsual = 99, kAll = 100;
  ValueCounts numbers;
  int64_t number_count = 0, count = 0;
  for (const auto& [value, times] : values) {
    count += times;
    if (!IsNumber(value)) continue;
    numbers.emplace(value, times);
    number_count += times;
  }
  return numbers.size() == 2 && kAll * number_count >= kUsual * count ? numbers : values;
}

std::map<double, std::vector<std::string>> ByNumber(const ValueCounts& values) {
  std::map<double, std::vector<std::string>> numbers;
  for (const auto& [value, count] : values) {
    double number = 0;
    if (!data::ParseNumber(value, &number)) return {};
    numbers[number].push_back(value);
  }
  return numbers;
}

LabelSides DivideNumbers(const std::map<double, std::vector<std::string>>& numbers) {
  const double least = numbers.begin()->first, most = numbers.rbegin()->first;
  const double liked = least + kLiked * (most - least);
  LabelSides sides;
  for (const auto& [number, texts] : numbers) {
    std::vector<std::string>& side = number >= liked ? sides.positive : sides.negative;
    side.insert(side.end(), texts.begin(), texts.end());
  }
  sides.reason = numbers.size() == 2 ? "the larger number"
                                     : StrCat("the upper end of a scale from ", least, " to ", most,
                                              "; move the border if you mean another");
  return sides;
}

LabelSides DivideTexts(const ValueCounts& values) {
  auto positive = values.begin(), negative = std::next(positive);
  const auto means_yes = [](const std::string& value) {
    return std::ranges::find(kPositive, Lower(value)) != kPositive.end();
  };
  const bool alike = means_yes(positive->first) == means_yes(negative->first);
  const bool swap = alike ? positive->second > negative->second : means_yes(negative->first);
  if (swap) std::swap(positive, negative);
  return {{positive->first}, {negative->first}, alike ? "the rarer one" : "it says so"};
}

bool HasTwoValues(const ColumnSample& column) {
  return column.values.size() == 2 && !column.more_values && !column.name.empty();
}

bool HasTwoNumbersButForStrays(const ColumnSample& column) {
  return WithoutStrays(column.values).size() == 2 && !column.more_values && !column.name.empty();
}

bool IsScale(const ColumnSample& column) {
  return IsNamed(column, kScaleNames) && column.is_number() && column.values.size() > 1 &&
         column.values.size() <= kMostLabels;
}

std::optional<LabelColumn> Guess(const CsvSample& sample) {
  const std::vector<ColumnSample>& columns = sample.columns;
  const auto first = [&](const auto& fits) -> std::optional<size_t> {
    const auto found = std::ranges::find_if(columns, fits);
    if (found == columns.end()) return std::nullopt;
    return static_cast<size_t>(found - columns.begin());
  };
  const auto is_named = [](const auto& c) { return HasTwoValues(c) && IsNamed(c, kLabelNames); };
  if (const auto i = first(is_named)) return {{*i, "it has two values, and its name says so"}};
  const auto is_nearly = [](const auto& c) {
    return HasTwoNumbersButForStrays(c) && IsNamed(c, kLabelNames);
  };
  if (const auto i = first(is_nearly)) {
    return {{*i, "its name says so, and it has two values but for a few strays"}};
  }
  if (const auto i = first(IsScale)) return {{*i, "its name says so"}};
  if (HasTwoValues(columns.back())) {
    return {{columns.size() - 1, "it is the last column, and has two values"}};
  }
  if (HasTwoValues(columns.front())) return {{0, "it is the first column, and has two values"}};
  const std::string guess = "a guess: it is the first column with two values";
  if (const auto i = first(HasTwoValues)) return {{*i, guess}};
  return std::nullopt;
}

}  // namespace

Result<LabelSides> DivideLabels(const std::string& where, const ValueCounts& all_values) {
  const ValueCounts values = WithoutStrays(all_values);
  if (values.size() < 2) {
    return InvalidData(
        StrCat(where,
               values.empty() ? " has no label"
                              : StrCat(" has no label but ", data::Shown(values.begin()->first)),
               ": there is nothing to tell apart; add rows of the other kind"));
  }
  const auto numbers = ByNumber(values);
  if (numbers.size() == 1) {
    return InvalidData(StrCat(where, " has no label but ", numbers.begin()->first,
                              ": there is nothing to tell apart; add rows of the other kind"));
  }
  if (numbers.size() > 1 && numbers.size() <= kMostLabels) return DivideNumbers(numbers);
  if (numbers.empty() && values.size() == 2) return DivideTexts(values);
  return InvalidData(StrCat(where, " has ", values.size(), " different values, such as ",
                            data::Shown(values.begin()->first), " and ",
                            data::Shown(values.rbegin()->first),
                            "; a label says yes or no: make two values of them"));
}

Result<LabelColumn> FindLabel(const std::string& path, const CsvSample& sample,
                              const std::string& name) {
  if (!name.empty()) {
    const size_t column = sample.Find(name);
    if (column < sample.columns.size()) return LabelColumn{column, "you named it"};
    std::vector<std::string> names;
    for (const ColumnSample& other : sample.columns) names.push_back(other.name);
    return InvalidConfig(
        StrCat("--label=", name, " is no column of ", path, "; it has ", StrJoin(names, ", ")));
  }
  if (const auto guess = Guess(sample)) return *guess;
  return InvalidData(StrCat(path,
                            ": no column has two values, or the name of a label or a rating; "
                            "name the one to predict with --label=COLUMN"));
}

}  // namespace weir::tools
