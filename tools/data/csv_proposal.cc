#include "tools/data/csv_proposal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

// A whole number with no more values than this is rather a name than a measure.
constexpr size_t kFewValues = 20;
constexpr std::array<std::string_view, 9> kLabelNames = {
    "label", "target", "click", "clicked", "y", "class", "outcome", "conversion", "income"};
constexpr std::array<std::string_view, 8> kPositive = {"1",   "1.0", "+1", "true",
                                                       "yes", "y",   "t",  "positive"};

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool HasTwoValues(const ColumnSample& column) {
  return column.values.size() == 2 && !column.more_values;
}

std::optional<size_t> FindLabel(const CsvSample& sample, std::string* reason) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < sample.columns.size(); ++i) {
    if (HasTwoValues(sample.columns[i]) && !sample.columns[i].name.empty()) candidates.push_back(i);
  }
  if (candidates.empty()) return std::nullopt;
  for (const size_t i : candidates) {
    const std::string name = Lower(sample.columns[i].name);
    if (std::ranges::find(kLabelNames, name) == kLabelNames.end()) continue;
    *reason = "it has two values, and its name says so";
    return i;
  }
  if (candidates.back() + 1 == sample.columns.size()) {
    *reason = "it is the last column, and has two values";
    return candidates.back();
  }
  *reason = "it is the first column with two values";
  return candidates.front();
}

// Of two labels the one that usually means yes, else the rarer one.
void SetLabels(const ColumnSample& column, v1::CsvLabel* label) {
  auto positive = column.values.begin(), negative = std::next(positive);
  const auto means_yes = [](const std::string& value) {
    return std::ranges::find(kPositive, Lower(value)) != kPositive.end();
  };
  const bool swap = means_yes(positive->first) == means_yes(negative->first)
                        ? positive->second > negative->second
                        : means_yes(negative->first);
  if (swap) std::swap(positive, negative);
  label->set_column(column.name);
  label->add_positive(positive->first);
  label->add_negative(negative->first);
}

bool IsDense(const ColumnSample& column) {
  return column.is_number() && !(column.whole && column.values.size() <= kFewValues);
}

// Counts of very different sizes are told apart by their logarithm.
void AddDense(const ColumnSample& column, v1::CsvConfig* csv) {
  v1::DenseColumn& dense = *csv->add_dense();
  dense.set_column(column.name);
  const double mean = column.sum / static_cast<double>(column.number_count);
  if (column.smallest >= 0 && column.largest > 20 * mean) dense.mutable_log1p();
  dense.mutable_standardise();
}

void AddCategorical(const ColumnSample& column, v1::CsvConfig* csv) {
  v1::CategoricalColumn& categorical = *csv->add_categorical();
  categorical.set_column(column.name);
  int64_t rows = 16;
  while (rows < 2 * static_cast<int64_t>(column.values.size())) rows *= 2;
  categorical.set_rows(column.more_values ? 1'000'000 : rows);
}

}  // namespace

CsvProposal ProposeCsv(const std::string& path, const CsvSample& sample) {
  CsvProposal proposal;
  proposal.data.add_train(path);
  v1::CsvConfig& csv = *proposal.data.mutable_csv();
  if (sample.delimiter != ',') {
    csv.set_delimiter(sample.delimiter == '\t' ? "\\t" : std::string(1, sample.delimiter));
  }
  if (!sample.header) csv.set_header(false);
  const std::optional<size_t> label = FindLabel(sample, &proposal.label_reason);
  if (label) SetLabels(sample.columns[*label], csv.mutable_label());
  for (const std::string& marker : sample.missing) csv.add_missing(marker);
  for (size_t i = 0; i < sample.columns.size(); ++i) {
    const ColumnSample& column = sample.columns[i];
    if (i == label || column.values.empty() || column.name.empty()) continue;
    if (IsDense(column)) {
      AddDense(column, &csv);
    } else {
      AddCategorical(column, &csv);
    }
  }
  return proposal;
}

}  // namespace weir::tools
