#include "tools/data/split.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "tools/data/csv_sample.h"
#include "tools/data/inspect_criteo.h"
#include "tools/data/libsvm_sample.h"
#include "tools/data/new_file.h"
#include "tools/data/remedy.h"
#include "worker/data/csv_fields.h"
#include "worker/data/line_reader.h"
#include "worker/data/text_writer.h"

namespace weir::tools {
namespace {

constexpr uint64_t kSeed = 1;
// By which the shape of the file is told.
constexpr int64_t kLinesThatTellTheForm = 100'000;

// What must be known of a file to take its rows apart.
struct Shape {
  CsvDialect dialect = {'\t', false};
  bool has_header = false;
  size_t by = 0;  // the column of options.by
};

Result<Shape> ShapeOfCsv(const SplitOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const CsvSample sample, SampleCsv(options.path, kLinesThatTellTheForm));
  Shape shape = {sample.dialect, sample.has_header};
  if (options.by.empty()) return shape;
  shape.by = sample.Find(options.by);
  if (shape.by < sample.columns.size()) return shape;
  std::vector<std::string> names;
  for (const ColumnSample& column : sample.columns) names.push_back(column.name);
  return InvalidConfig(StrCat("--by=", options.by, " is no column of ", options.path, "; it has ",
                              StrJoin(names, ", ")));
}

Result<Shape> ShapeOf(const SplitOptions& options) {
  constexpr int64_t kToldBy = 1000;
  WEIR_ASSIGN_OR_RETURN(const LibsvmSample libsvm, SampleLibsvm(options.path, kToldBy));
  if (!libsvm.is_libsvm) {
    WEIR_ASSIGN_OR_RETURN(const bool is_criteo, IsCriteo(options.path));
    if (!is_criteo || !options.by.empty()) return ShapeOfCsv(options);
  } else if (!options.by.empty()) {
    return InvalidConfig(StrCat("--by=", options.by, ": ", options.path,
                                " is libsvm, which has no columns; leave it out, or use --last"));
  }
  return Shape();
}

// The rows of the file, without its header.
class Rows {
 public:
  static Result<Rows> Open(const std::string& path, const Shape& shape) {
    WEIR_ASSIGN_OR_RETURN(auto lines, data::LineReader::Open(path, shape.dialect.quotes()));
    Rows rows(path, std::move(lines));
    if (!shape.has_header) return rows;
    WEIR_RETURN_IF_ERROR(rows.Next(&rows.header_).status());
    rows.header_ += rows.line_end_;
    return rows;
  }

  // The next one; false when there is none.
  Result<bool> Next(std::string* text) {
    data::Line line;
    do {
      WEIR_ASSIGN_OR_RETURN(const bool there, lines_->Next(&line));
      if (!there) return false;
    } while (line.text.empty() && !line.too_long);  // no row
    if (line.too_long) {
      return InvalidData(
          StrCat(path_, ":", lines_->first_text_line(), ": ", data::TooLong(), "; take it out"));
    }
    text->assign(line.text);
    line_end_ = line.had_return ? "\r\n" : "\n";
    return true;
  }

  // Of the last row.
  const char* line_end() const { return line_end_; }
  // With its newline; empty where there is none.
  const std::string& header() const { return header_; }

 private:
  Rows(std::string path, std::unique_ptr<data::LineReader> lines)
      : path_(std::move(path)), lines_(std::move(lines)) {}

  std::string path_;
  std::unique_ptr<data::LineReader> lines_;
  const char* line_end_ = "";
  std::string header_;
};

// Which rows are tested with.
class Choice {
 public:
  static Result<Choice> Make(const SplitOptions& options, const Shape& shape) {
    Choice choice(options, shape);
    if (!options.last) return choice;
    WEIR_ASSIGN_OR_RETURN(Rows rows, Rows::Open(options.path, shape));
    std::string row;
    int64_t count = 0;
    for (;; ++count) {
      if (options.interrupted != nullptr && *options.interrupted) return Interrupted("interrupted");
      WEIR_ASSIGN_OR_RETURN(const bool there, rows.Next(&row));
      if (!there) break;
    }
    choice.first_last_ =
        count - static_cast<int64_t>(std::llround(options.test_share * static_cast<double>(count)));
    return choice;
  }

  bool IsTest(std::string_view row, int64_t number) {
    if (options_.last) return number >= first_last_;
    return UnitFromHash(options_.by.empty() ? KeyedHash(kSeed, number) : HashOfGroup(row, number)) <
           options_.test_share;
  }

 private:
  Choice(const SplitOptions& options, const Shape& shape)
      : options_(options),
        shape_(shape),
        fields_(shape.dialect.delimiter, shape.dialect.has_quotes) {}

  // A row without a value is a group of its own.
  uint64_t HashOfGroup(std::string_view row, int64_t number) {
    const size_t count = fields_.Split(row);
    const std::string_view value = shape_.by < count ? fields_[shape_.by] : "";
    if (value.empty()) return KeyedHash(kSeed, number);
    uint64_t hash = kSeed;
    for (const char c : value) hash = Mix64(hash ^ static_cast<uint8_t>(c));
    return hash;
  }

  const SplitOptions& options_;
  const Shape shape_;
  data::CsvFields fields_;
  int64_t first_last_ = 0;
};

struct Part {
  Status Create(const std::string& to, const std::string& header) {
    path = to;
    WEIR_RETURN_IF_ERROR(CheckIsNew(path));
    WEIR_ASSIGN_OR_RETURN(writer, data::TextWriter::Create(path));
    return writer->Write(header);
  }
  Status Add(const std::string& row) {
    ++row_count;
    return writer->Write(row);
  }

  std::string path;
  std::unique_ptr<data::TextWriter> writer;
  int64_t row_count = 0;
};

Status Divide(const SplitOptions& options, Rows* rows, Choice* choice, Part* train, Part* test) {
  std::string row;
  for (int64_t number = 0;; ++number) {
    if (options.interrupted != nullptr && *options.interrupted) return Interrupted("interrupted");
    WEIR_ASSIGN_OR_RETURN(const bool there, rows->Next(&row));
    if (!there) return OkStatus();
    Part* const part = choice->IsTest(row, number) ? test : train;
    WEIR_RETURN_IF_ERROR(part->Add(row += rows->line_end()));
  }
}

Status Finish(const SplitOptions& options, Part* train, Part* test) {
  for (const Part* part : {train, test}) {
    if (part->row_count > 0) continue;
    return InvalidConfig(StrCat("--test_share=", options.test_share, " of the ",
                                train->row_count + test->row_count, " rows of ", options.path,
                                " leaves none for ", part->path, "; choose another share",
                                options.by.empty() ? "" : ", or another column"));
  }
  for (Part* part : {train, test}) WEIR_RETURN_IF_ERROR(part->writer->Finish());
  for (Part* part : {train, test}) WEIR_RETURN_IF_ERROR(CheckIsNew(part->path));
  WEIR_RETURN_IF_ERROR(train->writer->Close());
  Status placed = test->writer->Close();
  std::error_code ignored;
  if (!placed.ok()) std::filesystem::remove(train->path, ignored);
  return placed;
}

}  // namespace

SplitNames::SplitNames(const std::string& path) {
  const FileName name(path);
  const std::string end = name.type + (name.packing.empty() ? "" : ".gz");
  train = StrCat(name.stem, ".train", end);
  test = StrCat(name.stem, ".test", end);
}

Status Split(const SplitOptions& options, std::ostream& out) {
  const SplitNames names(options.path);
  for (const std::string& name : {names.train, names.test}) WEIR_RETURN_IF_ERROR(CheckIsNew(name));
  WEIR_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(options));
  WEIR_ASSIGN_OR_RETURN(Choice choice, Choice::Make(options, shape));
  WEIR_ASSIGN_OR_RETURN(Rows rows, Rows::Open(options.path, shape));
  Part train, test;
  WEIR_RETURN_IF_ERROR(train.Create(names.train, rows.header()));
  WEIR_RETURN_IF_ERROR(test.Create(names.test, rows.header()));
  WEIR_RETURN_IF_ERROR(Divide(options, &rows, &choice, &train, &test));
  WEIR_RETURN_IF_ERROR(Finish(options, &train, &test));
  out << "header      " << (shape.has_header ? "the first line, in both files" : "none") << "\n";
  for (const Part* part : {&train, &test}) {
    out << (part == &train ? "train       " : "test        ") << part->path << ", "
        << part->row_count << " rows\n";
  }
  return OkStatus();
}

}  // namespace weir::tools
