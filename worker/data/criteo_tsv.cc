#include "worker/data/criteo_tsv.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

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
  explicit CriteoParser(int64_t rows_per_table)
      : keeps_values_(rows_per_table > kLargestValue),
        rows_per_table_(static_cast<uint32_t>(std::min(rows_per_table, kLargestValue))) {}

  std::string Append(const Line& line, RowBlock* block) override {
    CriteoFields fields;
    std::string problem = ParseCriteoLine(line.text, &fields);
    if (problem.empty()) AppendRow(fields, block);
    return problem;
  }

 private:
  void AppendRow(const CriteoFields& fields, RowBlock* block) const {
    std::array<float, kCriteoDenseCount> dense;
    LogCounts(fields.integers, dense);
    std::array<uint64_t, kCriteoTableCount> ids;
    for (size_t i = 0; i < kCriteoTableCount; ++i) {
      const uint32_t value = fields.categoricals[i];
      ids[i] = keeps_values_ ? value : rows_per_table_.Remainder(value);
    }
    block->labels.push_back(fields.clicked ? 1.0f : 0.0f);
    block->dense.insert(block->dense.end(), dense.begin(), dense.end());
    block->ids.insert(block->ids.end(), ids.begin(), ids.end());
  }

  const bool keeps_values_;
  const Divisor rows_per_table_;
};

class CriteoFormat : public TextFormat {
 public:
  explicit CriteoFormat(int64_t rows_per_table) : rows_per_table_(rows_per_table) {}

  int32_t dense_count() const override { return static_cast<int32_t>(kCriteoDenseCount); }
  int32_t table_count() const override { return static_cast<int32_t>(kCriteoTableCount); }
  Result<std::unique_ptr<LineParser>> MakeParser(const Line& /*first*/) const override {
    return std::unique_ptr<LineParser>(std::make_unique<CriteoParser>(rows_per_table_));
  }

 private:
  const int64_t rows_per_table_;
};

}  // namespace

Result<std::unique_ptr<Reader>> MakeCriteoTsvReader(const v1::Config& config) {
  return MakeTextReader(config.data(), std::make_unique<CriteoFormat>(
                                           config.data().criteo_tsv().rows_per_table()));
}

}  // namespace weir::data
