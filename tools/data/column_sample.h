// What was seen of one column of a text file: its values, and what they are as numbers.
//
// Thread rule: thread-compatible. Memory is bounded: no more than kMaxDistinct values are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weir::tools {

// Whether a field is one of the words that usually stand for a missing value.
bool IsMissingMarker(std::string_view field);

// Whether the readers take it for a number.
bool IsNumber(std::string_view field);

struct ColumnSample {
  static constexpr size_t kMaxDistinct = 100'000;

  // A field that is neither empty nor a marker of a missing value.
  void Add(std::string_view value);

  bool is_number() const { return value_count > 0 && number_count == value_count; }
  bool is_whole() const { return is_number() && whole; }
  // No value came twice.
  bool is_unique() const { return !repeats; }
  double mean() const { return sum / static_cast<double>(number_count); }

  std::string name;  // or its number, from 0, without a header
  int64_t missing_count = 0;
  int64_t number_count = 0;  // of the values that are not missing
  int64_t value_count = 0;
  double smallest = 0, largest = 0, sum = 0;  // of the numbers
  bool whole = true;                          // all numbers are, without a point or an exponent
  bool ascending = true;                      // no number is below the one before
  size_t longest = 0;                         // bytes of a value
  // How often each value came.
  std::map<std::string, int64_t, std::less<>> values;
  bool more_values = false;  // than are kept
  bool repeats = false;      // one of those that are kept came again

 private:
  void AddNumber(std::string_view value, double number);

  double last_ = 0;
};

}  // namespace weir::tools
