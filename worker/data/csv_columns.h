// The columns of comma-separated values: what the config says of them, where they are in a file,
// and a record's fields.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: Columns are immutable; RecordFields are one thread's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "common/proto/learned.pb.h"
#include "worker/data/categorical_column.h"
#include "worker/data/csv_fields.h"
#include "worker/data/dense_column.h"
#include "worker/data/labels.h"
#include "worker/data/line_reader.h"
#include "worker/data/quote_scanner.h"
#include "worker/data/reader.h"

namespace weir::data {

// Whatever the file.
struct Columns {
  // csv: with defaults filled in and valid. learned: of these columns, or nothing yet.
  Columns(const v1::CsvConfig& csv, const v1::LearnedColumns& learned);

  bool IsMissing(std::string_view field) const;
  // For the lines of a file with these columns.
  std::optional<QuoteScanner> quotes() const;

  v1::CsvConfig config;
  char delimiter;
  bool has_quotes;
  Labels labels;
  std::vector<std::string> missing;
  std::vector<DenseColumn> dense;
  std::vector<CategoricalColumn> categorical;
  bool has_lists = false;
  size_t record_width = 0;  // as learned
};

// Which field of a file's records each column is.
struct Places {
  size_t width = 0;  // fields of a record
  std::optional<size_t> label;
  std::vector<size_t> dense, categorical;
};

// head: the file's first records, the header before them if it has one. Without one, records are as
// wide as the first that has all columns and the width that was learned; where labels are optional,
// they may lack the label alone, at their end.
Result<Places> FindPlaces(const Columns& columns, std::span<const Line> head,
                          RowLabels labels = RowLabels::kRequired);

// The fields of one record at a time.
class RecordFields {
 public:
  RecordFields(const Columns& columns, size_t width)
      : fields_(columns.delimiter, columns.has_quotes), width_(width) {}

  // What is wrong with the record; empty when nothing is.
  std::string Split(const Line& line);
  std::string_view operator[](size_t place) const { return fields_[place]; }
  const CsvFields& fields() const { return fields_; }

 private:
  CsvFields fields_;
  const size_t width_;
};

// A field as a message shows it: short, and printable whatever the file holds.
std::string Shown(std::string_view field);

// "column hour is 'x', not a number".
std::string Unreadable(const std::string& column, std::string_view field, std::string_view wanted);

}  // namespace weir::data
