#include "worker/data/csv_format.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "worker/data/csv_columns.h"

namespace weir::data {
namespace {

class CsvParser : public LineParser {
 public:
  CsvParser(const Columns& columns, Places places, RowLabels labels)
      : columns_(columns),
        labels_(labels),
        places_(std::move(places)),
        fields_(columns, places_.width),
        no_markers_(columns.missing.empty()) {
    for (const CategoricalColumn& column : columns.categorical) {
      is_simple_.push_back(no_markers_ && column.hashes_alone() && !column.is_list());
    }
  }

  // Of a single column a blank line is a missing value.
  bool IsRow(const Line& line) const override { return !line.is_blank() || places_.width == 1; }

  std::string Append(const Line& line, const ColumnChoice& choice, RowBlock* block) override {
    const size_t dense_size = block->dense.size(), id_count = block->ids.size(),
                 list_count = block->id_ends.size();
    std::string problem = fields_.Split(line);
    if (problem.empty()) problem = AppendFields(choice, block);
    if (problem.empty()) return problem;
    block->dense.resize(dense_size);
    block->ids.resize(id_count);
    block->id_ends.resize(list_count);
    return problem;
  }

 private:
  std::string AppendFields(const ColumnChoice& choice, RowBlock* block) const {
    float label = std::numeric_limits<float>::quiet_NaN();
    if (std::string problem = FindLabel(&label); !problem.empty()) return problem;
    std::string problem = choice.dense ? AppendDense(block) : "";
    if (problem.empty() && choice.ids) problem = AppendCategorical(block);
    if (!problem.empty()) return problem;
    block->labels.push_back(label);
    return "";
  }

  // Leaves *label where there is none and need not be.
  std::string FindLabel(float* label) const {
    if (!places_.label) return "";
    const std::string_view text = fields_[*places_.label];
    const std::optional<float> found = columns_.labels.Find(text);
    if (!found && labels_ == RowLabels::kOptional) return "";
    if (!found) return StrCat("the label is ", Shown(text), ", none of ", columns_.labels.Known());
    *label = *found;
    return "";
  }

  std::string AppendDense(RowBlock* block) const {
    const size_t first = block->dense.size();
    block->dense.resize(first + columns_.dense.size());
    float* const out = block->dense.data() + first;
    for (size_t i = 0; i < columns_.dense.size(); ++i) {
      const DenseColumn& column = columns_.dense[i];
      int64_t count = 0;
      size_t length = 0;
      if (fields_.fields().ShortCount(places_.dense[i], &length, &count) &&
          (length > 0 ? no_markers_ : column.missing() == 0)) {
        out[i] = column.TransformedCount(count);
      } else {
        const std::string_view field = fields_[places_.dense[i]];
        double value = column.missing();
        if (!columns_.IsMissing(field) && !ParseNumber(field, &value)) {
          return Unreadable(columns_.config.dense(static_cast<int>(i)).column(), field,
                            NumberWantedFor(field));
        }
        out[i] = column.Transformed(value);
      }
      if (!std::isfinite(out[i])) {
        return Unreadable(columns_.config.dense(static_cast<int>(i)).column(),
                          fields_[places_.dense[i]], "a number that its transforms keep finite");
      }
    }
    return "";
  }

  std::string AppendCategorical(RowBlock* block) const {
    for (size_t i = 0; i < columns_.categorical.size(); ++i) {
      const CategoricalColumn& column = columns_.categorical[i];
      const size_t place = places_.categorical[i];
      uint64_t word = 0;
      size_t length = 0;
      if (is_simple_[i] && fields_.fields().ShortWord(place, &word, &length)) {
        block->ids.push_back(column.IdOfShort(word, length));
      } else if (!AppendIds(column, fields_[place], block)) {
        return Unreadable(columns_.config.categorical(static_cast<int>(i)).column(), fields_[place],
                          column.Wanted());
      }
      if (columns_.has_lists) block->id_ends.push_back(block->ids.size());
    }
    return "";
  }

  bool AppendIds(const CategoricalColumn& column, std::string_view field, RowBlock* block) const {
    if (columns_.IsMissing(field)) {
      if (!column.is_list()) block->ids.push_back(kMissingId);
      return true;
    }
    return column.ForEachValue(field, [&](std::string_view value) {
      const std::optional<uint64_t> key = column.Key(value);
      if (key) block->ids.push_back(column.IdOfKey(*key));
      return key.has_value();
    });
  }

  const Columns& columns_;
  const RowLabels labels_;
  const Places places_;
  RecordFields fields_;
  const bool no_markers_;           // only an empty field is a missing one
  std::vector<uint8_t> is_simple_;  // per categorical column: a short field is one hashed value
};

class CsvFormat : public TextFormat {
 public:
  CsvFormat(const v1::CsvConfig& config, const v1::LearnedColumns& learned, RowLabels labels)
      : columns_(config, learned), labels_(labels) {}

  int32_t dense_count() const override { return columns_.config.dense_size(); }
  int32_t table_count() const override { return columns_.config.categorical_size(); }
  std::optional<QuoteScanner> quotes() const override { return columns_.quotes(); }
  bool has_header() const override { return columns_.config.header(); }

  Result<std::unique_ptr<LineParser>> MakeParser(std::span<const Line> head) const override {
    WEIR_ASSIGN_OR_RETURN(Places places, FindPlaces(columns_, head, labels_));
    return std::unique_ptr<LineParser>(
        std::make_unique<CsvParser>(columns_, std::move(places), labels_));
  }

 private:
  const Columns columns_;
  const RowLabels labels_;
};

}  // namespace

std::unique_ptr<const TextFormat> MakeCsvFormat(const v1::CsvConfig& config,
                                                const v1::LearnedColumns& learned,
                                                RowLabels labels) {
  return std::make_unique<CsvFormat>(config, learned, labels);
}

}  // namespace weir::data
