// What delimits the fields of a file, and whether quotes stand around them: whichever puts most
// lines into records of one width. Lines, because records of several lines are fewer.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/base/status.h"
#include "tools/data/csv_records.h"

namespace weir::tools {

// How many of the records have which number of fields.
class Widths {
 public:
  void Add(const CsvRecords& records);

  // Of the width that most have, the wider of two; 0 when none has two fields.
  size_t common() const { return common_; }
  int64_t common_count() const;
  int64_t common_line_count() const;  // of the lines of those records
  int64_t record_count() const { return record_count_; }
  int64_t line_count() const { return line_count_; }

 private:
  struct Counts {
    int64_t records = 0;
    int64_t lines = 0;
  };
  Counts common_counts() const;

  std::map<size_t, Counts> counts_;  // of sound records with two fields or more
  size_t common_ = 0;
  int64_t record_count_ = 0;
  int64_t line_count_ = 0;
};

// The delimiter by the first lines, quotes by the first line_limit: a single one that does not
// close is enough to tell that it is a character of a text, where lines are whole without it. Fails
// when the file cannot be read; common() is 0 when no delimiter gives two columns.
struct FoundDialect {
  CsvDialect dialect;
  Widths widths;  // with it, of the first line_limit lines
};
Result<FoundDialect> FindDialect(const std::string& path, int64_t line_limit);

}  // namespace weir::tools
