#include "tools/data/csv_sample.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "common/base/strings.h"
#include "tools/data/csv_header.h"

namespace weir::tools {
namespace {

// Records that tell whether the first one is a header.
constexpr size_t kHeadRecords = 1000;

Result<std::vector<CsvRecord>> ReadHead(const std::string& path, const CsvDialect& dialect) {
  WEIR_ASSIGN_OR_RETURN(CsvRecords records, CsvRecords::Open(path, dialect));
  std::vector<CsvRecord> head;
  while (head.size() < kHeadRecords) {
    WEIR_ASSIGN_OR_RETURN(const bool there, records.Next());
    if (!there) break;
    head.emplace_back(records.fields().begin(), records.fields().end());
  }
  return head;
}

// Columns have the names of the header, or numbers.
void NameColumns(const std::string& path, size_t width, std::span<const CsvRecord> head,
                 CsvSample* sample) {
  sample->has_header = IsHeader(head);
  sample->columns.resize(width);
  const CsvRecord& first = head.front();
  for (size_t i = 0; i < width; ++i) {
    sample->columns[i].name = !sample->has_header ? StrCat(i) : i < first.size() ? first[i] : "";
  }
  if (!sample->has_header) return;
  const std::string fault =
      FaultOfHeader(path, sample->dialect.delimiter, first, head.subspan(1), width);
  if (!fault.empty()) sample->header_fault = StrCat(path, ": ", fault);
}

class Sampler {
 public:
  explicit Sampler(CsvSample* sample) : sample_(*sample) {}

  void Add(const CsvRecords& records) {
    ++sample_.record_count;
    if (!records.is_sound() || records.fields().size() != sample_.columns.size()) {
      ++sample_.malformed_count;
      return;
    }
    for (size_t i = 0; i < sample_.columns.size(); ++i) {
      AddField(records.fields()[i], &sample_.columns[i]);
    }
  }

  void Finish() { sample_.missing.assign(markers_.begin(), markers_.end()); }

 private:
  void AddField(std::string_view field, ColumnSample* column) {
    const bool is_marker = IsMissingMarker(field);
    if (is_marker) markers_.emplace(field);
    if (!is_marker && !field.empty()) return column->Add(field);
    ++column->missing_count;
  }

  CsvSample& sample_;
  std::set<std::string> markers_;
};

}  // namespace

size_t CsvSample::Find(const std::string& name) const {
  const auto found = std::ranges::find(columns, name, &ColumnSample::name);
  return static_cast<size_t>(found - columns.begin());
}

Result<CsvSample> SampleCsv(const std::string& path, int64_t line_limit) {
  WEIR_ASSIGN_OR_RETURN(const FoundDialect found, FindDialect(path, line_limit));
  if (found.widths.common() == 0) {
    return InvalidData(StrCat(path, " has no two columns, whatever the delimiter"));
  }
  CsvSample sample;
  sample.dialect = found.dialect;
  WEIR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> head, ReadHead(path, sample.dialect));
  NameColumns(path, found.widths.common(), head, &sample);
  WEIR_ASSIGN_OR_RETURN(CsvRecords records, CsvRecords::Open(path, sample.dialect));
  Sampler sampler(&sample);
  while (records.text_line_count() < line_limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, records.Next());
    if (!there) break;
    // Files that were put together have it again in their middle.
    const bool is_header = sample.has_header && std::ranges::equal(records.fields(), head.front());
    if (!is_header) sampler.Add(records);
  }
  sampler.Finish();
  return sample;
}

}  // namespace weir::tools
