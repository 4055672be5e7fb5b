#include "tools/data/csv_records.h"

#include <utility>

namespace weir::tools {

Result<CsvRecords> CsvRecords::Open(const std::string& path, const CsvDialect& dialect) {
  WEIR_ASSIGN_OR_RETURN(auto lines, data::LineReader::Open(path, dialect.quotes()));
  return CsvRecords(std::move(lines), dialect);
}

Result<bool> CsvRecords::Next() {
  data::Line line;
  do {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines_->Next(&line));
    if (!there) return false;
  } while (line.is_blank());
  split_.Split(line.text);
  fields_ = split_.All();
  is_sound_ = !line.open_quote && !line.too_long && !split_.has_text_after_quote();
  return true;
}

}  // namespace weir::tools
