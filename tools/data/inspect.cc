#include "tools/data/inspect.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/base/strings.h"
#include "common/base/utf8.h"
#include "tools/data/csv_proposal.h"
#include "tools/data/csv_sample.h"
#include "tools/data/foreign_format.h"
#include "tools/data/inspect_criteo.h"
#include "tools/data/libsvm_sample.h"
#include "tools/data/new_file.h"
#include "tools/data/proposal.h"
#include "tools/data/remedy.h"
#include "tools/data/run_proposal.h"
#include "tools/data/split.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

constexpr int64_t kSampledLines = 100'000;
// Counted at most, to know how many steps an epoch is.
constexpr int64_t kCountedLines = 5'000'000;

// Lines of another encoding are rows that readers pass over as malformed.
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

std::string NameOfDelimiter(char delimiter) {
  if (delimiter == '\t') return "a tab";
  if (delimiter == '\x01') return "^A";
  return StrCat("'", delimiter, "'");
}

// As "user_id:token", which RecBole reads.
bool HasTypes(const CsvSample& sample) {
  return std::ranges::any_of(sample.columns, [](const ColumnSample& column) {
    return column.name.find(":token") != std::string::npos ||
           column.name.find(":float") != std::string::npos;
  });
}

class Inspection {
 public:
  Inspection(const InspectOptions& options, std::ostream& out)
      : options_(options),
        limit_(options.line_limit == 0 ? kSampledLines : options.line_limit),
        out_(out) {}

  Status Run() {
    out_ << "file        " << options_.path << "\n";
    proposal_.config.mutable_data()->add_train(options_.path);
    if (!options_.test_path.empty()) proposal_.config.mutable_data()->add_test(options_.test_path);
    WEIR_RETURN_IF_ERROR(ProposeReader());
    WEIR_RETURN_IF_ERROR(CountRows());
    ProposeRun(proposal_.size, &proposal_.config);
    WEIR_RETURN_IF_ERROR(Try("reads       ", data::Split::kTrain, options_.path));
    if (!options_.test_path.empty()) {
      WEIR_RETURN_IF_ERROR(Try("reads test  ", data::Split::kTest, options_.test_path));
    }
    WEIR_RETURN_IF_ERROR(Show());
    TellNext();
    return OkStatus();
  }

 private:
  Status ProposeReader() {
    WEIR_ASSIGN_OR_RETURN(const bool is_criteo, IsCriteo(options_.path));
    if (is_criteo) WEIR_RETURN_IF_ERROR(RefuseLabel("a Criteo click log"));
    if (is_criteo) return ProposeCriteo(options_.path, options_.line_limit, &proposal_, out_);
    WEIR_ASSIGN_OR_RETURN(const LibsvmSample sample, SampleLibsvm(options_.path, limit_));
    if (sample.is_libsvm) WEIR_RETURN_IF_ERROR(RefuseLabel("libsvm"));
    if (sample.is_libsvm) return ProposeLibsvm(options_.path, sample, &proposal_, out_);
    WEIR_RETURN_IF_ERROR(RefuseForeignFormat(options_.path));
    return OfCsv();
  }

  // Of a format that has its label at a place of its own.
  Status RefuseLabel(const char* format) const {
    if (options_.label.empty()) return OkStatus();
    return InvalidConfig(StrCat("--label=", options_.label, ": ", options_.path, " is ", format,
                                ", whose label comes first; leave it out"));
  }

  Status OfCsv() {
    WEIR_ASSIGN_OR_RETURN(const CsvSample sample, SampleCsv(options_.path, limit_));
    header_lines_ = sample.has_header ? 1 : 0;
    out_ << "format      comma-separated values, delimiter "
         << NameOfDelimiter(sample.dialect.delimiter) << ", "
         << (sample.has_header ? "with a header" : "without a header")
         << (HasTypes(sample) ? "; types stand behind the names, and are taken" : "")
         << (sample.dialect.has_quotes ? "" : "; quotes do not pair: characters like any other")
         << "\nrecords     " << sample.record_count << " looked at, " << sample.malformed_count
         << " of another width\n";
    WEIR_RETURN_IF_ERROR(TellOtherEncoding(options_.path, limit_, out_));
    if (!sample.header_fault.empty()) return InvalidData(sample.header_fault);
    WEIR_RETURN_IF_ERROR(ProposeCsv(options_.path, sample, options_.label, &proposal_, out_));
    if (options_.test_path.empty()) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(const CsvSample test, SampleCsv(options_.test_path, limit_));
    AddLabelsOf(test, proposal_.config.mutable_data()->mutable_csv()->mutable_label());
    return OkStatus();
  }

  Status CountRows() {
    WEIR_ASSIGN_OR_RETURN(const int64_t lines, CountLines(options_.path, kCountedLines));
    proposal_.size.row_count = std::max<int64_t>(1, lines - header_lines_);
    proposal_.size.is_whole = lines < kCountedLines;
    return OkStatus();
  }

  // Lines that the reader passes over end a run when they are more than the config allows.
  Status Try(const char* what, data::Split split, const std::string& path) {
    constexpr double kAllowed = 0.001, kMost = 0.5;
    WEIR_ASSIGN_OR_RETURN(const Reading reading, TryReading(proposal_, split, limit_));
    out_ << what << Told(reading) << "\n";
    const double share = static_cast<double>(reading.malformed_count) /
                         static_cast<double>(std::max<int64_t>(1, reading.line_count));
    if (share <= kAllowed) return OkStatus();
    if (share > kMost) return InvalidData(StrCat(path, ": ", Told(reading)));
    v1::DataConfig& data = *proposal_.config.mutable_data();
    data.set_max_malformed_share(
        std::max(data.max_malformed_share(), std::ceil(200 * share) / 100));
    out_ << "            they are passed over: data.max_malformed_share allows so many; look at "
            "them "
            "first\n";
    return OkStatus();
  }

  Status Show() {
    const std::string text = ProposalText(proposal_);
    out_ << "--- a config to start from; look it over\n" << text << "---\n";
    return options_.out.empty() ? OkStatus() : WriteNewFile(options_.out, text);
  }

  void TellNext() {
    if (options_.test_path.empty()) {
      const SplitNames names(options_.path);
      out_ << "next        no rows are held back to test on; to hold some back:\n"
           << "  weir-data split " << ShellWord(options_.path) << " --test_share=0.1\n"
           << "  weir-data inspect " << ShellWord(names.train) << " " << ShellWord(names.test)
           << " --out=" << ShellWord(NameOfNext()) << "\n"
           << "            (--last for the latest rows, --by=COLUMN for whole users)\n";
    }
    if (options_.out.empty()) {
      out_ << "next        --out=my.textproto writes the config to a file\n";
    } else {
      out_ << "next        weir-local --config=" << ShellWord(options_.out)
           << " --servers=1 --trainers=1 --out=out\n";
    }
  }

  // Another than that of the config which was written.
  std::string NameOfNext() const {
    return options_.out.empty() ? "my.textproto"
                                : FileName(options_.out).stem + ".tested.textproto";
  }

  const InspectOptions& options_;
  const int64_t limit_;
  std::ostream& out_;
  Proposal proposal_;
  int64_t header_lines_ = 0;
};

}  // namespace

Status Inspect(const InspectOptions& options, std::ostream& out) {
  if (!options.out.empty()) WEIR_RETURN_IF_ERROR(CheckIsNew(options.out));
  return Inspection(options, out).Run();
}

}  // namespace weir::tools
