#include "worker/data/libsvm_format.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "worker/data/csv_columns.h"
#include "worker/data/csv_fields.h"
#include "worker/data/dense_column.h"
#include "worker/data/labels.h"

namespace weir::data {
namespace {

bool ParseId(std::string_view text, uint64_t* id) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *id);
  return error == std::errc() && stop == end;
}

// The text up to the next white space, taken off the line; empty at its end.
std::string_view TakeWord(std::string_view* line) {
  *line = Trim(*line);
  const std::string_view word = line->substr(0, line->find_first_of(" \t"));
  line->remove_prefix(word.size());
  return word;
}

// The text up to the next colon, taken off the word with it; nothing when there is no colon.
std::optional<std::string_view> TakePart(std::string_view* word) {
  const size_t colon = word->find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view part = word->substr(0, colon);
  word->remove_prefix(colon + 1);
  return part;
}

class LibsvmParser : public LineParser {
 public:
  LibsvmParser(const v1::LibsvmConfig& config, RowLabels need)
      : labels_(config.positive(), config.negative(), "data.libsvm"),
        label_may_miss_(need == RowLabels::kOptional),
        has_fields_(config.fields() > 0),
        rows_per_table_(static_cast<uint64_t>(config.rows_per_table())),
        tables_(has_fields_ ? static_cast<size_t>(config.fields()) : 1) {}

  bool IsRow(const Line& line) const override {
    return line.too_long || !Trim(WithoutComment(line)).empty();
  }

  std::string Append(const Line& line, const ColumnChoice& choice, RowBlock* block) override {
    for (Table& table : tables_) table = {};
    std::string_view rest = WithoutComment(line);
    float label = std::numeric_limits<float>::quiet_NaN();
    if (std::string problem = TakeLabel(&rest, &label); !problem.empty()) return problem;
    for (std::string_view word = TakeWord(&rest); choice.ids && !word.empty();
         word = TakeWord(&rest)) {
      if (std::string problem = TakeFeature(word); !problem.empty()) return problem;
    }
    block->labels.push_back(label);
    if (!choice.ids) return "";
    for (const Table& table : tables_) {
      block->ids.insert(block->ids.end(), table.ids.begin(), table.ids.end());
      block->weights.insert(block->weights.end(), table.weights.begin(), table.weights.end());
      block->id_ends.push_back(block->ids.size());
    }
    return "";
  }

 private:
  struct Table {
    std::vector<uint64_t> ids;
    std::vector<float> weights;
  };

  static std::string_view WithoutComment(const Line& line) {
    return line.text.substr(0, line.text.find('#'));
  }

  std::string TakeLabel(std::string_view* rest, float* label) const {
    std::string_view behind = *rest;
    const std::string_view text = TakeWord(&behind);
    if (label_may_miss_ && text.find(':') != std::string_view::npos) return "";
    const std::optional<float> found = labels_.Find(text);
    if (!found && label_may_miss_) {
      *rest = behind;
      return "";
    }
    if (!found) return StrCat("the label is ", Shown(text), ", none of ", labels_.Known());
    *label = *found;
    *rest = behind;
    return "";
  }

  std::string TakeFeature(const std::string_view word) {
    std::string_view value_text = word;
    uint64_t field = 0, id = 0;
    double value = 0;
    if (has_fields_) {
      const auto part = TakePart(&value_text);
      if (!part || !ParseId(*part, &field)) return Malformed(word);
      if (field >= tables_.size()) {
        return StrCat(Shown(word), " has field ", field, ", and data.libsvm.fields is ",
                      tables_.size());
      }
    }
    const auto part = TakePart(&value_text);
    if (!part || !ParseId(*part, &id) || !ParseNumber(value_text, &value)) return Malformed(word);
    tables_[field].ids.push_back(id % rows_per_table_);
    tables_[field].weights.push_back(static_cast<float>(value));
    return "";
  }

  std::string Malformed(std::string_view word) const {
    return StrCat(Shown(word), " is not ", has_fields_ ? "field:id:value" : "id:value");
  }

  const Labels labels_;
  const bool label_may_miss_;
  const bool has_fields_;
  const uint64_t rows_per_table_;
  std::vector<Table> tables_;  // of the line being read
};

class LibsvmFormat : public TextFormat {
 public:
  LibsvmFormat(v1::LibsvmConfig config, RowLabels labels)
      : config_(std::move(config)), labels_(labels) {}

  int32_t dense_count() const override { return 0; }
  int32_t table_count() const override { return config_.fields() > 0 ? config_.fields() : 1; }
  Result<std::unique_ptr<LineParser>> MakeParser(std::span<const Line> /*head*/) const override {
    return std::unique_ptr<LineParser>(std::make_unique<LibsvmParser>(config_, labels_));
  }

 private:
  const v1::LibsvmConfig config_;
  const RowLabels labels_;
};

}  // namespace

std::unique_ptr<const TextFormat> MakeLibsvmFormat(const v1::LibsvmConfig& config,
                                                   RowLabels labels) {
  return std::make_unique<LibsvmFormat>(config, labels);
}

}  // namespace weir::data
