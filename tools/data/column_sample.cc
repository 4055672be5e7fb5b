#include "tools/data/column_sample.h"

#include <algorithm>
#include <array>

#include "worker/data/dense_column.h"

namespace weir::tools {
namespace {

constexpr std::array<std::string_view, 9> kMissing = {"?",    "NA",   "N/A",  "NaN", "nan",
                                                      "null", "NULL", "None", "\\N"};

}  // namespace

bool IsMissingMarker(std::string_view field) {
  return std::ranges::find(kMissing, field) != kMissing.end();
}

bool IsNumber(std::string_view field) {
  double ignored;
  return data::ParseNumber(field, &ignored);
}

void ColumnSample::Add(std::string_view value) {
  ++value_count;
  longest = std::max(longest, value.size());
  double number = 0;
  if (data::ParseNumber(value, &number)) AddNumber(value, number);
  if (const auto known = values.find(value); known != values.end()) {
    ++known->second;
    repeats = true;
  } else if (values.size() < kMaxDistinct) {
    values.emplace(value, 1);
  } else {
    more_values = true;
  }
}

void ColumnSample::AddNumber(std::string_view value, double number) {
  const bool first = number_count == 0;
  smallest = first ? number : std::min(smallest, number);
  largest = first ? number : std::max(largest, number);
  ascending &= first || number >= last_;
  last_ = number;
  sum += number;
  whole &= value.find_first_of(".eE") == std::string_view::npos;
  ++number_count;
}

}  // namespace weir::tools
