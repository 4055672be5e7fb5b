#include "tools/data/csv_sample.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "common/base/strings.h"
#include "worker/data/csv_fields.h"
#include "worker/data/dense_column.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

using Record = std::vector<std::string>;

constexpr std::array<char, 5> kDelimiters = {',', '\t', ';', '|', ' '};
constexpr std::array<std::string_view, 7> kMissing = {"?",   "NA",   "N/A", "NaN",
                                                      "nan", "null", "\\N"};

bool IsMissingMarker(std::string_view field) {
  return std::ranges::find(kMissing, field) != kMissing.end();
}

bool IsNumber(std::string_view field) {
  double ignored;
  return data::ParseNumber(field, &ignored);
}

Result<std::vector<Record>> ReadRecords(const std::string& path, char delimiter, int64_t limit) {
  WEIR_ASSIGN_OR_RETURN(const auto lines,
                        data::LineReader::Open(path, data::QuoteScanner(delimiter)));
  data::CsvFields fields(delimiter);
  std::vector<Record> records;
  data::Line line;
  while (static_cast<int64_t>(records.size()) < limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    if (line.text.empty()) continue;
    fields.Split(line.text);
    const std::vector<std::string_view> found = fields.All();
    records.emplace_back(found.begin(), found.end());
  }
  return records;
}

// Records of the width that most have, and that width; 0 when it is 1.
std::pair<size_t, size_t> CommonWidth(const std::vector<Record>& records) {
  std::map<size_t, size_t> widths;
  for (const Record& record : records) ++widths[record.size()];
  std::pair<size_t, size_t> best = {0, 0};
  for (const auto& [width, count] : widths) {
    if (width > 1) best = std::max(best, {count, width});
  }
  return best;
}

// The delimiter that gives most records one width, the wider on a tie, but for spaces.
Result<char> FindDelimiter(const std::string& path) {
  constexpr int64_t kTried = 50;
  std::pair<size_t, size_t> best = {0, 0};
  char delimiter = 0;
  for (const char candidate : kDelimiters) {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Record> records, ReadRecords(path, candidate, kTried));
    const std::pair<size_t, size_t> width = CommonWidth(records);
    // Spaces stand around other delimiters and in texts too.
    if (candidate == ' ' ? width.first <= best.first : width <= best) continue;
    best = width;
    delimiter = candidate;
  }
  if (delimiter == 0) {
    return InvalidData(StrCat(path, " has no two columns, whatever the delimiter"));
  }
  return delimiter;
}

// Names are no numbers, differ, and stand where others have numbers, or at least do not come again.
// One column may be without a name: row numbers, or what stands behind a delimiter at the end.
bool LooksLikeHeader(const std::vector<Record>& records) {
  const Record& first = records.front();
  if (std::set<std::string>(first.begin(), first.end()).size() < first.size()) return false;
  if (std::ranges::any_of(first, IsNumber)) return false;
  for (size_t column = 0; column < first.size(); ++column) {
    if (first[column].empty()) continue;
    for (size_t i = 1; i < records.size(); ++i) {
      if (records[i].size() == first.size() && records[i][column] == first[column]) return false;
    }
  }
  return true;
}

void AddValue(const std::string& value, std::set<std::string>* markers, ColumnSample* column) {
  if (value.empty() || IsMissingMarker(value)) {
    ++column->missing_count;
    if (!value.empty()) markers->insert(value);
    return;
  }
  ++column->value_count;
  double number = 0;
  if (data::ParseNumber(value, &number)) {
    const bool first = column->number_count == 0;
    column->smallest = first ? number : std::min(column->smallest, number);
    column->largest = first ? number : std::max(column->largest, number);
    column->sum += number;
    column->whole &= value.find_first_of(".eE") == std::string::npos;
    ++column->number_count;
  }
  const bool known = column->values.contains(value);
  if (known || column->values.size() < ColumnSample::kMaxDistinct) {
    ++column->values[value];
  } else {
    column->more_values = true;
  }
}

}  // namespace

Result<CsvSample> SampleCsv(const std::string& path, int64_t record_limit) {
  CsvSample sample;
  WEIR_ASSIGN_OR_RETURN(sample.delimiter, FindDelimiter(path));
  WEIR_ASSIGN_OR_RETURN(const std::vector<Record> records,
                        ReadRecords(path, sample.delimiter, record_limit));
  const size_t width = CommonWidth(records).second;
  sample.header = records.size() > 1 && records.front().size() == width && LooksLikeHeader(records);
  sample.columns.resize(width);
  for (size_t i = 0; i < width; ++i) {
    sample.columns[i].name = sample.header ? records.front()[i] : StrCat(i);
  }
  std::set<std::string> markers;
  for (size_t r = sample.header ? 1 : 0; r < records.size(); ++r) {
    ++sample.record_count;
    if (records[r].size() != width) {
      ++sample.malformed_count;
      continue;
    }
    for (size_t i = 0; i < width; ++i) AddValue(records[r][i], &markers, &sample.columns[i]);
  }
  sample.missing.assign(markers.begin(), markers.end());
  return sample;
}

}  // namespace weir::tools
