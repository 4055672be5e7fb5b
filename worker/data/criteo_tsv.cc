#include "worker/data/criteo_tsv.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "common/base/divisor.h"
#include "worker/data/criteo_line.h"
#include "worker/data/dense_transform.h"
#include "worker/data/text_reader.h"

namespace weir::data {
namespace {

// Criteo's values have 32 bits: a table of more rows leaves them as they are.
constexpr int64_t kLargestValue = std::numeric_limits<uint32_t>::max();

class CriteoParser : public LineParser {
 public:
  CriteoParser(int64_t rows_per_table, RowLabels labels)
      : labels_(labels),
        keeps_values_(rows_per_table > kLargestValue),
        rows_per_table_(static_cast<uint32_t>(std::min(rows_per_table, kLargestValue))) {}

  std::string Append(const Line& line, const ColumnChoice& choice, RowBlock* block) override {
    CriteoFields fields;
    const bool labelled = labels_ == RowLabels::kRequired || HasLabel(line.text);
    std::string_view text = line.text;
    if (!labelled) {
      const size_t behind_label = HasLabelField(text) ? text.find('\t') + 1 : 0;
      with_label_.assign("0\t").append(text.substr(behind_label));
      text = with_label_;
    }
    std::string problem = ParseCriteoLine(text, &fields, choice);
    if (!problem.empty()) return problem;
    block->labels.push_back(fields.clicked ? 1.0f : 0.0f);
    if (choice.dense) AppendDense(fields, block);
    if (choice.ids) AppendIds(fields, block);
    if (!labelled) block->labels.back() = std::numeric_limits<float>::quiet_NaN();
    return problem;
  }

 private:
  static bool HasLabelField(std::string_view line) {
    constexpr auto kTabs = static_cast<std::ptrdiff_t>(kCriteoDenseCount + kCriteoTableCount);
    return std::ranges::count(line, '\t') >= kTabs;
  }
  static bool HasLabel(std::string_view line) {
    return HasLabelField(line) && (line.starts_with("0\t") || line.starts_with("1\t"));
  }

  static void AppendDense(const CriteoFields& fields, RowBlock* block) {
    std::array<float, kCriteoDenseCount> dense;
    LogCounts(fields.integers, dense);
    block->dense.insert(block->dense.end(), dense.begin(), dense.end());
  }

  void AppendIds(const CriteoFields& fields, RowBlock* block) const {
    std::array<uint64_t, kCriteoTableCount> ids;
    for (size_t i = 0; i < kCriteoTableCount; ++i) {
      const uint32_t value = fields.categoricals[i];
      ids[i] = keeps_values_ ? value : rows_per_table_.Remainder(value);
    }
    block->ids.insert(block->ids.end(), ids.begin(), ids.end());
  }

  const RowLabels labels_;
  std::string with_label_;
  const bool keeps_values_;
  const Divisor rows_per_table_;
};

class CriteoFormat : public TextFormat {
 public:
  CriteoFormat(int64_t rows_per_table, RowLabels labels)
      : rows_per_table_(rows_per_table), labels_(labels) {}

  int32_t dense_count() const override { return static_cast<int32_t>(kCriteoDenseCount); }
  int32_t table_count() const override { return static_cast<int32_t>(kCriteoTableCount); }
  Result<std::unique_ptr<LineParser>> MakeParser(std::span<const Line> /*head*/) const override {
    return std::unique_ptr<LineParser>(std::make_unique<CriteoParser>(rows_per_table_, labels_));
  }

 private:
  const int64_t rows_per_table_;
  const RowLabels labels_;
};

}  // namespace

Result<std::unique_ptr<Reader>> MakeCriteoTsvReader(const v1::Config& config, RowLabels labels) {
  const int64_t rows_per_table = config.data().criteo_tsv().rows_per_table();
  return MakeTextReader(config.data(), std::make_unique<CriteoFormat>(rows_per_table, labels),
                        labels);
}

}  // namespace weir::data
