// Rows of text files, whatever their format: finds files and lines, counts what is malformed and
// says where it is. A format says how a line is read.
//
// Place in the life of a batch: lease -> **read -> parse** -> batch.
// Thread rule: thread-compatible; a worker has one reader thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "worker/data/batch.h"
#include "worker/data/line_reader.h"
#include "worker/data/quote_scanner.h"
#include "worker/data/reader.h"

namespace weir::data {

// Reads the lines of one file.
class LineParser {
 public:
  virtual ~LineParser() = default;
  // False for a line that need hold no row, a blank one for instance; it is passed over.
  virtual bool IsRow(const Line& /*line*/) const { return true; }
  // Appends the chosen columns of the line's row, and looks at no others. Returns what is wrong
  // with the line, for a person to read, and appends nothing then; empty when nothing is.
  virtual std::string Append(const Line& line, const ColumnChoice& choice, RowBlock* block) = 0;
};

class TextFormat {
 public:
  virtual ~TextFormat() = default;
  virtual int32_t dense_count() const = 0;
  virtual int32_t table_count() const = 0;
  // Of a format whose lines may go on behind a newline in quotes.
  virtual std::optional<QuoteScanner> quotes() const { return std::nullopt; }
  // Whether the first line of a file is no row.
  virtual bool has_header() const { return false; }
  // head: a file's first few lines, at least one, the header among them. Fails, without naming the
  // file, when they do not fit the format.
  virtual Result<std::unique_ptr<LineParser>> MakeParser(std::span<const Line> head) const = 0;
};

// The files of data.train and data.test. Checks that each is there and begins as the format wants.
Result<std::unique_ptr<Reader>> MakeTextReader(const v1::DataConfig& data,
                                               std::unique_ptr<const TextFormat> format,
                                               RowLabels labels = RowLabels::kRequired);

}  // namespace weir::data
