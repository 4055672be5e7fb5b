#include "tools/data/csv_header.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "common/base/strings.h"
#include "tools/data/column_sample.h"
#include "tools/data/remedy.h"
#include "worker/data/csv_columns.h"

namespace weir::tools {
namespace {

bool IsMissing(const std::string& field) { return field.empty() || IsMissingMarker(field); }

// What the first record says of itself in one column.
enum class Evidence { kNone, kName, kRow };

Evidence OfColumn(std::span<const CsvRecord> records, size_t column) {
  const std::string& first = records.front()[column];
  if (IsMissing(first)) return Evidence::kNone;
  bool is_number = true, any = false;
  for (const CsvRecord& row : records.subspan(1)) {
    if (column >= row.size() || IsMissing(row[column])) continue;
    any = true;
    is_number &= IsNumber(row[column]);
    if (row[column] == first) return IsNumber(first) ? Evidence::kNone : Evidence::kRow;
  }
  return any && is_number && !IsNumber(first) ? Evidence::kName : Evidence::kNone;
}

// What it says in all columns.
Evidence OfRecord(std::span<const CsvRecord> records) {
  Evidence found = Evidence::kNone;
  for (size_t column = 0; column < records.front().size(); ++column) {
    const Evidence evidence = OfColumn(records, column);
    if (evidence == Evidence::kRow) return evidence;
    if (evidence == Evidence::kName) found = evidence;
  }
  return found;
}

bool NamesDiffer(const CsvRecord& header) {
  return std::set<std::string>(header.begin(), header.end()).size() == header.size();
}

// Each a name of its own.
CsvRecord Renamed(const CsvRecord& header) {
  CsvRecord names;
  std::set<std::string> taken(header.begin(), header.end());
  for (size_t i = 0; i < header.size(); ++i) {
    std::string name = header[i];
    const bool again = std::ranges::find(names, name) != names.end();
    for (int number = 2; again && !taken.insert(name).second; ++number) {
      name = StrCat(header[i].empty() ? "column" : header[i], "_", number);
    }
    names.push_back(name);
  }
  return names;
}

std::string Repeated(const std::string& path, char delimiter, const CsvRecord& header) {
  for (size_t i = 0; i < header.size(); ++i) {
    if (std::ranges::find(header, header[i]) - header.begin() == static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    std::string fault =
        StrCat("the header names ", data::Shown(header[i]), " twice; rename one of the columns");
    const std::string names = StrJoin(Renamed(header), std::string(1, delimiter));
    if (names.find_first_of("'/&\\\"") == std::string::npos) {
      fault += ToMend(path, StrCat("sed '1s/.*/", names, "/'"));
    }
    return fault;
  }
  return "";
}

bool EndsInNothing(std::span<const CsvRecord> rows, size_t width) {
  return std::ranges::all_of(
      rows, [&](const CsvRecord& row) { return row.size() != width || row.back().empty(); });
}

std::string OfOtherWidth(const std::string& path, char delimiter, const CsvRecord& header,
                         std::span<const CsvRecord> rows, size_t width) {
  const std::string fault =
      StrCat("the header names ", header.size(), " columns, and most rows have ", width, " fields");
  const std::string mark = delimiter == '\t'     ? "\\t"
                           : delimiter == '\x01' ? "\\x01"
                                                 : std::string(1, delimiter);
  if (width == header.size() + 1 && EndsInNothing(rows, width)) {
    return StrCat(fault, ": rows end in a delimiter, and the header does not",
                  ToMend(path, StrCat("sed '1s/\\r\\?$/", mark, "/'")));
  }
  if (width == header.size() + 1) {
    return StrCat(fault, "; if it is the first column that lacks a name",
                  ToMend(path, StrCat("sed '1s/^/row", mark, "/'")));
  }
  if (width + 1 == header.size() && header.back().empty()) {
    return StrCat(fault, ": the header ends in a delimiter, and rows do not",
                  ToMend(path, StrCat("sed '1s/", mark, "\\r\\?$//'")));
  }
  return fault + "; give the header a name for each field";
}

}  // namespace

bool IsHeader(std::span<const CsvRecord> records) {
  if (records.size() < 2) return false;
  const CsvRecord& first = records.front();
  const Evidence evidence = OfRecord(records);
  if (evidence == Evidence::kName) return true;
  // Of files that were put together each brought its header.
  std::vector<CsvRecord> others = {first};
  std::ranges::copy_if(records.subspan(1), std::back_inserter(others),
                       [&](const CsvRecord& record) { return record != first; });
  if (OfRecord(others) == Evidence::kName && std::ranges::none_of(first, IsNumber)) return true;
  // Nothing but texts below: no evidence but the names themselves.
  return evidence == Evidence::kNone && NamesDiffer(first) && std::ranges::none_of(first, IsNumber);
}

std::string FaultOfHeader(const std::string& path, char delimiter, const CsvRecord& header,
                          std::span<const CsvRecord> rows, size_t row_width) {
  if (header.size() != row_width) return OfOtherWidth(path, delimiter, header, rows, row_width);
  return Repeated(path, delimiter, header);
}

}  // namespace weir::tools
