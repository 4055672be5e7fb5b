#include "tools/data/inspect.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "google/protobuf/text_format.h"
#include "tools/data/csv_proposal.h"
#include "tools/data/csv_sample.h"
#include "tools/data/inspect_criteo.h"
#include "worker/data/csv_fields.h"
#include "worker/data/dense_column.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

constexpr int64_t kSampledRecords = 100'000;
// Of libffm that a config takes.
constexpr int kMaxFields = 1024;
// A longer first word is no label.
constexpr size_t kLabelBytes = 8;

void PrintSection(const v1::DataConfig& data, std::ostream& out) {
  v1::Config config;
  *config.mutable_data() = data;
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  out << "--- a section to start from; look it over\n" << text << "---\n";
}

bool IsLabel(std::string_view word) {
  double number = 0;
  return word.size() <= kLabelBytes && data::ParseNumber(word, &number);
}

// Colons in each word behind the label: 1 for libsvm, 2 for libffm; nothing for other lines.
std::optional<int> ColonsOfWords(std::string_view line) {
  std::optional<int> colons;
  size_t space = line.find_first_of(" \t");
  if (!IsLabel(line.substr(0, space))) return std::nullopt;
  while (space != std::string_view::npos) {
    line = data::Trim(line.substr(space));
    space = line.find_first_of(" \t");
    const auto count = static_cast<int>(std::ranges::count(line.substr(0, space), ':'));
    if (count < 1 || count > 2 || (colons && *colons != count)) return std::nullopt;
    colons = count;
  }
  return colons;
}

// 1: libsvm, 2: libffm, nothing: neither. Lines with a label alone, or nothing, tell neither way.
// field_count: of libffm.
Result<std::optional<int>> FindLibsvm(const std::string& path, int64_t limit, int* field_count) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  std::optional<int> colons;
  data::Line line;
  *field_count = 0;
  while (lines->line_count() < limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    const std::string_view text = data::Trim(line.text.substr(0, line.text.find('#')));
    if (text.empty() || IsLabel(text)) continue;
    const std::optional<int> found = ColonsOfWords(text);
    if (!found || (colons && *colons != *found)) return std::optional<int>();
    colons = found;
    if (*found != 2) continue;
    for (size_t at = text.find_first_of(" \t"); at != std::string_view::npos;
         at = text.find_first_of(" \t", at + 1)) {
      const int field = std::atoi(std::string(text.substr(at + 1, 9)).c_str());
      *field_count = std::max(*field_count, field + 1);
    }
  }
  return colons;
}

void PrintLibsvm(const std::string& path, int colons, int field_count, std::ostream& out) {
  out << "file        " << path << "\n"
      << "format      " << (colons == 1 ? "libsvm" : "libffm") << "\n";
  v1::DataConfig data;
  data.add_train(path);
  data.mutable_libsvm()->set_rows_per_table(1'000'000);
  if (colons == 2) data.mutable_libsvm()->set_fields(field_count);
  PrintSection(data, out);
}

std::string Described(const ColumnSample& column) {
  std::string distinct =
      StrCat(column.values.size(), column.more_values ? " values or more" : " values");
  if (!column.is_number()) return distinct;
  return StrCat(distinct, ", numbers from ", column.smallest, " to ", column.largest);
}

// The first line tells other encodings, and files that are no text.
Status CheckText(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  data::Line line;
  WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
  if (!there || IsUtf8(line.text)) return OkStatus();
  return InvalidData(StrCat(path,
                            ": the first line is not UTF-8, which readers refuse; if it is "
                            "text of another encoding, convert it, for example with iconv"));
}

// Other lines of another encoding are rows that readers pass over as malformed.
Status TellOtherEncoding(const std::string& path, int64_t limit, std::ostream& out) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  data::Line line;
  int64_t count = 0, first = 0;
  while (lines->line_count() < limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    if (IsUtf8(line.text)) continue;
    if (++count == 1) first = lines->first_text_line();
  }
  if (count == 0) return OkStatus();
  out << "encoding    " << count << " of " << lines->line_count()
      << " lines are not UTF-8, which readers refuse, line " << first
      << " first; convert the file, for example with iconv\n";
  return OkStatus();
}

Status InspectCsv(const std::string& path, int64_t limit, std::ostream& out) {
  WEIR_RETURN_IF_ERROR(CheckText(path));
  WEIR_ASSIGN_OR_RETURN(const CsvSample sample, SampleCsv(path, limit));
  const CsvProposal proposal = ProposeCsv(path, sample);
  out << "file        " << path << "\n"
      << "format      comma-separated values, delimiter "
      << (sample.delimiter == '\t' ? "a tab" : StrCat("'", sample.delimiter, "'")) << ", "
      << (sample.header ? "with a header" : "without a header") << "\n"
      << "records     " << sample.record_count << " looked at, " << sample.malformed_count
      << " of another width\n";
  WEIR_RETURN_IF_ERROR(TellOtherEncoding(path, limit, out));
  for (const ColumnSample& column : sample.columns) {
    out << "  " << (column.name.empty() ? "(no name, so no config can use it)" : column.name)
        << ": " << Described(column);
    if (column.missing_count > 0) out << ", " << column.missing_count << " missing";
    out << "\n";
  }
  if (proposal.data.csv().label().column().empty()) {
    out << "label       no column has two values: name it yourself\n";
  } else {
    out << "label       " << proposal.data.csv().label().column() << ": " << proposal.label_reason
        << "\n";
  }
  PrintSection(proposal.data, out);
  return OkStatus();
}

}  // namespace

Status Inspect(const std::string& path, int64_t line_limit, std::ostream& out) {
  WEIR_ASSIGN_OR_RETURN(const bool is_criteo, IsCriteo(path));
  if (is_criteo) {
    WEIR_RETURN_IF_ERROR(InspectCriteo(path, line_limit, out));
    v1::DataConfig data;
    data.add_train(path);
    data.mutable_criteo_tsv()->set_rows_per_table(100'000);
    PrintSection(data, out);
    return OkStatus();
  }
  const int64_t limit = line_limit == 0 ? kSampledRecords : line_limit;
  int field_count = 0;
  WEIR_ASSIGN_OR_RETURN(const std::optional<int> colons, FindLibsvm(path, limit, &field_count));
  if (colons && field_count <= kMaxFields) {
    PrintLibsvm(path, *colons, field_count, out);
    return OkStatus();
  }
  return InspectCsv(path, limit, out);
}

}  // namespace weir::tools
