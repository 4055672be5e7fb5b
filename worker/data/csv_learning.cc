// What columns learn from the data: a pass over the first chunk, in which lines become no rows.

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "worker/data/csv_columns.h"
#include "worker/data/csv_format.h"

namespace weir::data {
namespace {

// Running mean and sum of squared differences (Welford 1962).
class Spread {
 public:
  void Add(double value) {
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }
  v1::LearnedNumber Learned() const {
    v1::LearnedNumber learned;
    learned.set_mean(mean_);
    learned.set_deviation(count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_)));
    return learned;
  }

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// What was seen so far.
struct Seen {
  explicit Seen(const v1::CsvConfig& config)
      : columns(config, {}), spreads(columns.dense.size()), counts(columns.categorical.size()) {}

  bool learns() const {
    if (!columns.config.header()) return true;  // the width of records
    const auto column_learns = [](const auto& column) { return column.learns(); };
    return std::ranges::any_of(columns.dense, column_learns) ||
           std::ranges::any_of(columns.categorical, column_learns);
  }

  v1::LearnedColumns Learned() const {
    v1::LearnedColumns learned;
    learned.set_record_width(record_width);
    for (size_t i = 0; i < spreads.size(); ++i) {
      *learned.add_dense() = columns.dense[i].learns() ? spreads[i].Learned() : v1::LearnedNumber();
    }
    for (size_t i = 0; i < counts.size(); ++i) {
      const int64_t least = columns.config.categorical(static_cast<int>(i)).minimum_frequency();
      auto& frequent = *learned.add_categorical()->mutable_frequent();
      for (const auto& [key, count] : counts[i]) {
        if (count >= least) frequent.Add(key);
      }
      std::sort(frequent.begin(), frequent.end());
    }
    return learned;
  }

  const Columns columns;
  std::vector<Spread> spreads;
  std::vector<std::unordered_map<uint64_t, int64_t>> counts;
  uint64_t record_width = 0;
};

// Fields that cannot be read teach nothing; whoever makes rows of them reports them.
class LearningParser : public LineParser {
 public:
  LearningParser(Places places, Seen* seen)
      : places_(std::move(places)), fields_(seen->columns, places_.width), seen_(*seen) {}

  std::string Append(const Line& line, const ColumnChoice& /*choice*/,
                     RowBlock* /*block*/) override {
    if (std::string problem = fields_.Split(line); !problem.empty()) return problem;
    for (size_t i = 0; i < seen_.columns.dense.size(); ++i) {
      if (seen_.columns.dense[i].learns()) LearnNumber(i, fields_[places_.dense[i]]);
    }
    for (size_t i = 0; i < seen_.columns.categorical.size(); ++i) {
      if (seen_.columns.categorical[i].learns()) LearnValues(i, fields_[places_.categorical[i]]);
    }
    return "";
  }

 private:
  void LearnNumber(size_t column, std::string_view field) {
    const DenseColumn& dense = seen_.columns.dense[column];
    double value = dense.missing();
    if (!seen_.columns.IsMissing(field) && !ParseNumber(field, &value)) return;
    seen_.spreads[column].Add(dense.Prepared(value));
  }

  void LearnValues(size_t column, std::string_view field) {
    if (seen_.columns.IsMissing(field)) return;
    const CategoricalColumn& categorical = seen_.columns.categorical[column];
    categorical.ForEachValue(field, [&](std::string_view value) {
      const std::optional<uint64_t> key = categorical.Key(value);
      if (key) ++seen_.counts[column][*key];
      return true;
    });
  }

  const Places places_;
  RecordFields fields_;
  Seen& seen_;
};

class LearningFormat : public TextFormat {
 public:
  explicit LearningFormat(Seen* seen) : seen_(seen) {}

  int32_t dense_count() const override { return 0; }
  int32_t table_count() const override { return 0; }
  std::optional<QuoteScanner> quotes() const override { return seen_->columns.quotes(); }
  bool has_header() const override { return seen_->columns.config.header(); }
  Result<std::unique_ptr<LineParser>> MakeParser(std::span<const Line> head) const override {
    WEIR_ASSIGN_OR_RETURN(Places places, FindPlaces(seen_->columns, head));
    if (!has_header()) seen_->record_width = places.width;
    return std::unique_ptr<LineParser>(std::make_unique<LearningParser>(std::move(places), seen_));
  }

 private:
  Seen* const seen_;
};

}  // namespace

Result<v1::LearnedColumns> LearnColumns(const v1::DataConfig& data) {
  Seen seen(data.csv());
  if (!seen.learns()) return seen.Learned();
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Reader> reader,
                        MakeTextReader(data, std::make_unique<LearningFormat>(&seen)));
  RowBlock no_rows;
  WEIR_RETURN_IF_ERROR(reader->ReadChunk({}, &no_rows).status());
  return seen.Learned();
}

}  // namespace weir::data
