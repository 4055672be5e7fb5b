// The records of a file of comma-separated values of which only the delimiter is known, and whether
// quotes count: as the reader splits them.
//
// Thread rule: thread-compatible. Owns the open file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "worker/data/csv_fields.h"
#include "worker/data/line_reader.h"
#include "worker/data/quote_scanner.h"

namespace weir::tools {

struct CsvDialect {
  std::optional<data::QuoteScanner> quotes() const {
    return has_quotes ? std::optional(data::QuoteScanner(delimiter)) : std::nullopt;
  }

  char delimiter = ',';
  bool has_quotes = true;
};

class CsvRecords {
 public:
  static Result<CsvRecords> Open(const std::string& path, const CsvDialect& dialect);

  // Goes to the next record that is not blank; false when there is none.
  Result<bool> Next();

  // Valid until Next.
  const std::vector<std::string_view>& fields() const { return fields_; }
  // Whether its quotes close, and no text follows them.
  bool is_sound() const { return is_sound_; }
  // Newline-terminated lines gone past so far.
  int64_t text_line_count() const { return lines_->last_text_line(); }

 private:
  CsvRecords(std::unique_ptr<data::LineReader> lines, const CsvDialect& dialect)
      : lines_(std::move(lines)), split_(dialect.delimiter, dialect.has_quotes) {}

  std::unique_ptr<data::LineReader> lines_;
  data::CsvFields split_;
  std::vector<std::string_view> fields_;
  bool is_sound_ = true;
};

}  // namespace weir::tools
