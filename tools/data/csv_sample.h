// The first records of a file of comma-separated values: how they are delimited, whether the first
// one names the columns, and what each column holds.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::tools {

struct ColumnSample {
  std::string name;  // or its number, from 0, without a header
  int64_t missing_count = 0;
  int64_t number_count = 0;  // of the values that are not missing
  int64_t value_count = 0;
  double smallest = 0, largest = 0, sum = 0;  // of the numbers
  bool whole = true;                          // all numbers are whole
  // How often each value came; no more values than kMaxDistinct are kept.
  std::map<std::string, int64_t> values;
  bool more_values = false;

  static constexpr size_t kMaxDistinct = 100'000;

  bool is_number() const { return value_count > 0 && number_count == value_count; }
};

struct CsvSample {
  char delimiter = ',';
  bool header = true;
  std::vector<ColumnSample> columns;
  std::vector<std::string> missing;  // markers that were seen, but for the empty field
  int64_t record_count = 0;          // without the header
  int64_t malformed_count = 0;       // of another width
};

// Looks at the first record_limit records. Fails when the file cannot be read or has no two
// columns.
Result<CsvSample> SampleCsv(const std::string& path, int64_t record_limit);

}  // namespace weir::tools
