// The first records of a file of comma-separated values: how they are written, whether the first
// one names the columns, and what each column holds.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/data/column_sample.h"
#include "tools/data/csv_dialect.h"

namespace weir::tools {

struct CsvSample {
  CsvDialect dialect;
  bool has_header = true;
  std::string header_fault;  // for which the reader refuses the file, and what to do
  std::vector<ColumnSample> columns;
  std::vector<std::string> missing;  // markers that were seen, but for the empty field
  int64_t record_count = 0;          // without the header
  int64_t malformed_count = 0;       // of another width than most, or with quotes that do not pair

  // The column of this name, or number; columns.size() without one.
  size_t Find(const std::string& name) const;
};

// Looks at the first line_limit lines. Fails when the file cannot be read or has no two columns.
Result<CsvSample> SampleCsv(const std::string& path, int64_t line_limit);

}  // namespace weir::tools
