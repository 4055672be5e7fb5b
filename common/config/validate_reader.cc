#include "common/config/validate_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "common/base/strings.h"
#include "common/config/validate_teacher.h"

namespace weir::config {
namespace {

using Strings = google::protobuf::RepeatedPtrField<std::string>;

constexpr int64_t kMaxRows = int64_t{1} << 40;
constexpr int32_t kMaxFeatures = 65'536;
constexpr int32_t kMaxTables = 1024;

void RequireFiles(const char* reader, const v1::DataConfig& data, Violations* violations) {
  if (!data.train().empty()) return;
  violations->Add("data.train", "lists no file; ", reader, " needs at least one");
}

void ValidateLabels(const std::string& path, const Strings& positive, const Strings& negative,
                    Violations* violations) {
  for (const std::string& label : positive) {
    if (std::ranges::find(negative, label) == negative.end()) continue;
    violations->Add(path, "'", label, "' is both positive and negative; take it out of one list");
  }
}

void ValidateSynthetic(const v1::SyntheticConfig& synthetic, Violations* violations) {
  violations->RequireRange("data.synthetic.rows", synthetic.rows(), 1, kMaxRows);
  violations->RequireRange("data.synthetic.test_rows", synthetic.test_rows(), 0, kMaxRows);
  violations->RequireRange("data.synthetic.tables", synthetic.tables(), 0, kMaxTables);
  violations->RequireRange("data.synthetic.dense_features", synthetic.dense_features(), 1,
                           kMaxFeatures);
  violations->RequireRange("data.synthetic.rows_per_table", synthetic.rows_per_table(), 1,
                           kMaxRows);
  ValidateTeacher(synthetic, violations);
}

void ValidateLibsvm(const v1::LibsvmConfig& libsvm, Violations* violations) {
  violations->RequireRange("data.libsvm.fields", libsvm.fields(), 0, kMaxTables);
  violations->RequireRange("data.libsvm.rows_per_table", libsvm.rows_per_table(), 1, kMaxRows);
  ValidateLabels("data.libsvm", libsvm.positive(), libsvm.negative(), violations);
}

// Columns by name, or by number in files without a header.
class ColumnRules {
 public:
  ColumnRules(const v1::CsvConfig& csv, Violations* violations)
      : csv_(csv), violations_(*violations) {}

  void Validate() {
    ValidateDelimiter();
    if (!v1::CsvConfig::Quotes_IsValid(csv_.quotes())) {
      violations_.Add("data.csv.quotes", "unknown value ", csv_.quotes(),
                      "; choose DOUBLE or NONE");
    }
    RequireColumn("data.csv.label.column", csv_.label().column());
    ValidateLabels("data.csv.label", csv_.label().positive(), csv_.label().negative(),
                   &violations_);
    if (csv_.dense().empty() && csv_.categorical().empty()) {
      violations_.Add("data.csv", "names no column to learn from; add dense {} or categorical {}");
    }
    RequireFew("data.csv.dense", csv_.dense_size(), kMaxFeatures);
    RequireFew("data.csv.categorical", csv_.categorical_size(), kMaxTables);
    for (int i = 0; i < csv_.dense_size(); ++i) {
      ValidateDense(StrCat("data.csv.dense[", i, "]"), csv_.dense(i));
    }
    for (int i = 0; i < csv_.categorical_size(); ++i) {
      ValidateCategorical(StrCat("data.csv.categorical[", i, "]"), csv_.categorical(i));
    }
  }

 private:
  void ValidateDelimiter() {
    const std::string& delimiter = csv_.delimiter();
    if (delimiter == "\\t") return;
    constexpr std::string_view kNever("\0\n\r\"\x7f", 5);
    if (delimiter.size() == 1 && static_cast<uint8_t>(delimiter[0]) < 0x80 &&
        kNever.find(delimiter[0]) == std::string_view::npos) {
      return;
    }
    violations_.Add("data.csv.delimiter", "'", delimiter,
                    "' is not one character that can stand between fields; choose for example "
                    "\",\", \"\\\\t\" or \"\\001\"");
  }

  void RequireFew(const std::string& path, int count, int most) {
    if (count > most)
      violations_.Add(path, "has ", count, " columns; at most ", most, " are allowed");
  }

  void RequireColumn(const std::string& path, const std::string& column) {
    if (column.empty()) return violations_.Add(path, "is not set; name a column");
    constexpr size_t kMaxDigits = 6;
    const bool is_number =
        column.size() <= kMaxDigits && column.find_first_not_of("0123456789") == std::string::npos;
    if (csv_.header() || is_number) return;
    violations_.Add(path, "'", column,
                    "' is no number, and without a header columns are numbers, from 0");
  }

  // A column to learn from.
  void RequireFeature(const std::string& path, const std::string& column) {
    RequireColumn(path, column);
    if (column.empty() || column != csv_.label().column()) return;
    violations_.Add(path, "'", column,
                    "' is the label's: a model would learn to copy it; take it out");
  }

  void ValidateDense(const std::string& path, const v1::DenseColumn& column) {
    RequireFeature(path + ".column", column.column());
    if (!std::isfinite(column.missing())) {
      violations_.Add(path + ".missing", column.missing(), " is not finite; choose a number");
    }
    if (!column.has_log1p()) return;
    const v1::Log1pTransform& log1p = column.log1p();
    if (!(log1p.low() > -1)) {
      violations_.Add(path + ".log1p.low", log1p.low(), " is not above -1, where log1p ends");
    }
    if (!(log1p.low() <= log1p.high()) || !std::isfinite(log1p.high())) {
      violations_.Add(path + ".log1p.high", log1p.high(), " is not a number from low, ",
                      log1p.low(), ", on");
    }
  }

  void ValidateCategorical(const std::string& path, const v1::CategoricalColumn& column) {
    RequireFeature(path + ".column", column.column());
    if (!names_.insert(column.name()).second) {
      violations_.Add(path + ".name", "'", column.name(),
                      "' names two tables; give each a name of its own");
    }
    violations_.RequireRange(path + ".minimum_frequency", column.minimum_frequency(), 0,
                             std::numeric_limits<int64_t>::max());
    if (!column.separator().empty() && column.separator() == csv_.delimiter()) {
      violations_.Add(path + ".separator", "'", column.separator(),
                      "' is the delimiter of the fields; values of one field need another");
    }
    ValidateBoundaries(path + ".bucketise.boundaries", column.bucketise());
    if (column.has_bucketise() && column.bucketise().boundaries().empty()) {
      violations_.Add(path + ".bucketise.boundaries", "is empty; give at least one number");
    }
    ValidateRows(path + ".rows", column);
  }

  void ValidateBoundaries(const std::string& path, const v1::BucketEncoding& buckets) {
    for (int i = 0; i < buckets.boundaries_size(); ++i) {
      const double boundary = buckets.boundaries(i);
      if (std::isfinite(boundary) && (i == 0 || boundary > buckets.boundaries(i - 1))) continue;
      return violations_.Add(StrCat(path, "[", i, "]"), boundary,
                             " is not a number above the one before; let them ascend");
    }
  }

  void ValidateRows(const std::string& path, const v1::CategoricalColumn& column) {
    const int64_t reserved = column.minimum_frequency() > 0 ? 2 : 1;  // missing, rare
    const int64_t values = column.has_bucketise() ? column.bucketise().boundaries_size() + 1 : 1;
    if (!column.has_rows()) {
      return violations_.Add(path, "is not set; give the size of the table's id space");
    }
    violations_.RequireRange(path, column.rows(), reserved + values, kMaxRows);
  }

  const v1::CsvConfig& csv_;
  Violations& violations_;
  std::set<std::string> names_;
};

}  // namespace

void ValidateReader(const v1::DataConfig& data, Violations* violations) {
  switch (data.reader_case()) {
    case v1::DataConfig::kCriteoTsv:
      violations->RequireRange("data.criteo_tsv.rows_per_table", data.criteo_tsv().rows_per_table(),
                               1, kMaxRows);
      return RequireFiles("criteo_tsv", data, violations);
    case v1::DataConfig::kSynthetic:
      return ValidateSynthetic(data.synthetic(), violations);
    case v1::DataConfig::kCsv:
      ColumnRules(data.csv(), violations).Validate();
      return RequireFiles("csv", data, violations);
    case v1::DataConfig::kLibsvm:
      ValidateLibsvm(data.libsvm(), violations);
      return RequireFiles("libsvm", data, violations);
    case v1::DataConfig::READER_NOT_SET:
      return violations->Add("data", "no reader is chosen; write criteo_tsv { ... }, csv { ... }, ",
                             "libsvm { ... } or synthetic { ... }");
  }
}

}  // namespace weir::config
