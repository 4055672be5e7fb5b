#include "tools/data/csv_dialect.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::tools {
namespace {

constexpr std::array<char, 6> kDelimiters = {',', '\t', ';', '|', '\x01', ' '};

Result<Widths> WidthsOf(const std::string& path, const CsvDialect& dialect, int64_t line_limit) {
  WEIR_ASSIGN_OR_RETURN(CsvRecords records, CsvRecords::Open(path, dialect));
  Widths widths;
  while (records.text_line_count() < line_limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, records.Next());
    if (!there) break;
    widths.Add(records);
  }
  return widths;
}

Result<CsvDialect> FindDelimiter(const std::string& path) {
  constexpr int64_t kTriedLines = 50;
  CsvDialect best;
  std::pair<int64_t, size_t> most = {0, 0};
  for (const bool has_quotes : {true, false}) {
    for (const char delimiter : kDelimiters) {
      const CsvDialect tried = {delimiter, has_quotes};
      WEIR_ASSIGN_OR_RETURN(const Widths widths, WidthsOf(path, tried, kTriedLines));
      const std::pair found = {widths.common_line_count(), widths.common()};
      // Spaces stand around other delimiters and in texts too, and quotes usually count.
      const bool is_rather = delimiter == ' ' || !has_quotes;
      if (is_rather ? found.first <= most.first : found <= most) continue;
      most = found;
      best = tried;
    }
  }
  return best;
}

}  // namespace

void Widths::Add(const CsvRecords& records) {
  ++record_count_;
  const int64_t lines = records.text_line_count() - line_count_;
  line_count_ += lines;
  const size_t width = records.fields().size();
  if (!records.is_sound() || width < 2) return;
  Counts& counts = counts_[width];
  ++counts.records;
  counts.lines += lines;
  if (std::pair(counts.records, width) > std::pair(common_count(), common_)) common_ = width;
}

Widths::Counts Widths::common_counts() const {
  const auto found = counts_.find(common_);
  return found == counts_.end() ? Counts() : found->second;
}

int64_t Widths::common_count() const { return common_counts().records; }

int64_t Widths::common_line_count() const { return common_counts().lines; }

Result<FoundDialect> FindDialect(const std::string& path, int64_t line_limit) {
  FoundDialect found;
  WEIR_ASSIGN_OR_RETURN(found.dialect, FindDelimiter(path));
  WEIR_ASSIGN_OR_RETURN(found.widths, WidthsOf(path, found.dialect, line_limit));
  if (!found.dialect.has_quotes || found.widths.common_count() == found.widths.record_count()) {
    return found;
  }
  const CsvDialect plain = {found.dialect.delimiter, false};
  WEIR_ASSIGN_OR_RETURN(Widths widths, WidthsOf(path, plain, line_limit));
  if (widths.common_line_count() <= found.widths.common_line_count()) return found;
  return FoundDialect{plain, std::move(widths)};
}

}  // namespace weir::tools
