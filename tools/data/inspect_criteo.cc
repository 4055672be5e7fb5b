#include "tools/data/inspect_criteo.h"

#include <vector>

#include "common/base/strings.h"
#include "tools/data/column_plan.h"
#include "tools/data/column_summary.h"
#include "worker/data/criteo_line.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

// Malformed lines that are described.
constexpr size_t kDescribedProblems = 5;

}  // namespace

Result<bool> IsCriteo(const std::string& path) {
  constexpr int kTried = 20;
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  data::Line line;
  data::CriteoFields fields;
  int tried = 0, sound = 0;
  while (tried < kTried) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    if (line.text.empty()) continue;
    ++tried;
    sound += data::ParseCriteoLine(line.text, &fields).empty() ? 1 : 0;
  }
  return 2 * sound > tried;
}

Status ProposeCriteo(const std::string& path, int64_t line_limit, Proposal* proposal,
                     std::ostream& out) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  data::Line line;
  data::CriteoFields fields;
  ColumnSummary summary;
  std::vector<std::string> problems;
  while (line_limit == 0 || lines->line_count() < line_limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    const std::string problem =
        line.too_long ? data::TooLong() : data::ParseCriteoLine(line.text, &fields);
    if (problem.empty()) {
      summary.Add(fields);
    } else if (problems.size() < kDescribedProblems) {
      problems.push_back(StrCat(path, ":", lines->line_count(), ": ", problem));
    }
  }
  const int64_t rows = summary.row_count();
  out << "format      Criteo click log\n"
      << "rows        " << rows << "\n"
      << "malformed   " << lines->line_count() - rows << "\n";
  for (const std::string& problem : problems) out << "  " << problem << "\n";
  if (rows == 0) return InvalidData(StrCat(path, " holds no row of a Criteo log"));
  const double rate = static_cast<double>(summary.click_count()) / static_cast<double>(rows);
  out << "click rate  " << Format("%.4f", rate) << "\n";
  summary.Print(out);
  v1::CriteoTsvConfig& criteo = *proposal->config.mutable_data()->mutable_criteo_tsv();
  criteo.set_rows_per_table(RowsForHashes(summary.most_distinct()));
  proposal->size.value_count = summary.distinct_count();
  proposal->size.has_numbers = true;
  return OkStatus();
}

}  // namespace weir::tools
