#include "tools/data/libsvm_sample.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/strings.h"
#include "tools/data/column_plan.h"
#include "tools/data/column_sample.h"
#include "tools/data/remedy.h"
#include "worker/data/csv_fields.h"
#include "worker/data/line_reader.h"

namespace weir::tools {
namespace {

// Lines by which the format is told.
constexpr int64_t kToldBy = 1000;
// Of libffm that a config takes.
constexpr uint64_t kMaxFields = 1024;
// A longer first word is no label.
constexpr size_t kLabelBytes = 24;

bool IsWord(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
}

bool IsNoNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return IsWord(text, "nan") || IsWord(text, "inf") || IsWord(text, "infinity");
}

std::optional<uint64_t> WholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// One word behind the label: "id:value" or "field:id:value".
struct Feature {
  enum class Kind { kFeature, kQuery, kNone };

  explicit Feature(std::string_view word) {
    const size_t last = word.rfind(':');
    if (last == std::string_view::npos) return;
    const std::string_view value = word.substr(last + 1);
    std::string_view key = word.substr(0, last);
    if (key == "qid") {
      kind = WholeNumber(value) ? Kind::kQuery : Kind::kNone;
      return;
    }
    if (const size_t colon = key.find(':'); colon != std::string_view::npos) {
      field = WholeNumber(key.substr(0, colon));
      if (!field) return;
      key.remove_prefix(colon + 1);
    }
    const auto number = WholeNumber(key);
    is_no_number = IsNoNumber(value);
    if (!number || (!is_no_number && !IsNumber(value))) return;
    id = *number;
    kind = Kind::kFeature;
  }

  Kind kind = Kind::kNone;
  std::optional<uint64_t> field;
  uint64_t id = 0;
  bool is_no_number = false;
};

class LibsvmSampler {
 public:
  void Add(std::string_view line) {
    line = data::Trim(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const std::string_view label = line.substr(0, line.find_first_of(" \t"));
    if (label.size() > kLabelBytes || label.find_first_of(":,") != std::string_view::npos ||
        !AddFeatures(line.substr(label.size()))) {
      ++other_count_;
      return;
    }
    ++sample_.row_count;
    ++sample_.labels[std::string(label)];
  }

  // Whether nearly all lines were of the format, and some told its kind.
  bool fits() const { return sample_.feature_count > 0 && 10 * other_count_ <= sample_.row_count; }
  LibsvmSample Finish() {
    sample_.is_libsvm = fits();
    return std::move(sample_);
  }

 private:
  bool AddFeatures(std::string_view rest) {
    LibsvmSample added = {};
    for (rest = data::Trim(rest); !rest.empty(); rest = data::Trim(rest)) {
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      rest.remove_prefix(word.size());
      const Feature feature(word);
      if (feature.kind == Feature::Kind::kNone) return false;
      AddFeature(feature, &added);
    }
    if (added.feature_count > 0 && sample_.feature_count > 0 &&
        added.has_fields != sample_.has_fields) {
      return false;
    }
    sample_.has_fields |= added.has_fields;
    sample_.feature_count += added.feature_count;
    sample_.query_count += added.query_count;
    sample_.not_a_number_count += added.not_a_number_count;
    sample_.largest_id = std::max(sample_.largest_id, added.largest_id);
    sample_.largest_field = std::max(sample_.largest_field, added.largest_field);
    return true;
  }

  static void AddFeature(const Feature& feature, LibsvmSample* added) {
    if (feature.kind == Feature::Kind::kQuery) {
      ++added->query_count;
      return;
    }
    ++added->feature_count;
    added->not_a_number_count += feature.is_no_number ? 1 : 0;
    added->has_fields |= feature.field.has_value();
    added->largest_field = std::max(added->largest_field, feature.field.value_or(0));
    added->largest_id = std::max(added->largest_id, feature.id);
  }

  LibsvmSample sample_;
  int64_t other_count_ = 0;
};

std::string Counts(const ValueCounts& labels) {
  constexpr size_t kShown = 8;
  std::vector<std::string> told;
  for (const auto& [label, count] : labels) {
    if (told.size() == kShown) {
      told.push_back(StrCat("and ", labels.size() - kShown, " more"));
      break;
    }
    told.push_back(StrCat(label, " (", count, " times)"));
  }
  return StrJoin(told, ", ");
}

// What the reader refuses for sure.
Status CheckReadable(const std::string& path, const LibsvmSample& sample) {
  if (sample.query_count > 0) {
    return InvalidData(StrCat(path, ": ", sample.query_count,
                              " words begin with qid:, which groups rows to be ranked and is not "
                              "read",
                              ToMend(path, "sed -E 's/[ \\t]+qid:[0-9]+//'")));
  }
  if (sample.not_a_number_count > 0) {
    return InvalidData(StrCat(path, ": ", sample.not_a_number_count,
                              " features have nan or inf for a value, which is not read; a feature "
                              "that is left out counts nothing",
                              ToMend(path, "sed -E 's/[ \\t]+[0-9:]+:[-+]?(nan|inf)[a-z]*//Ig'")));
  }
  if (sample.largest_field >= kMaxFields) {
    return InvalidData(StrCat(path, ": field ", sample.largest_field, " is above ", kMaxFields - 1,
                              ", the last that is read; number the fields from 0"));
  }
  return OkStatus();
}

}  // namespace

Result<LibsvmSample> SampleLibsvm(const std::string& path, int64_t line_limit) {
  WEIR_ASSIGN_OR_RETURN(const auto lines, data::LineReader::Open(path));
  LibsvmSampler sampler;
  data::Line line;
  while (lines->line_count() < line_limit) {
    WEIR_ASSIGN_OR_RETURN(const bool there, lines->Next(&line));
    if (!there) break;
    sampler.Add(line.text);
    if (lines->line_count() == kToldBy && !sampler.fits()) break;
  }
  return sampler.Finish();
}

Status ProposeLibsvm(const std::string& path, const LibsvmSample& sample, Proposal* proposal,
                     std::ostream& out) {
  out << "format      " << (sample.has_fields ? "libffm" : "libsvm") << "\n"
      << "rows        " << sample.row_count << " looked at, " << sample.feature_count
      << " features, largest id " << sample.largest_id;
  if (sample.has_fields) out << ", fields 0 to " << sample.largest_field;
  out << "\nlabels      " << Counts(sample.labels) << "\n";
  WEIR_RETURN_IF_ERROR(CheckReadable(path, sample));
  WEIR_ASSIGN_OR_RETURN(const LabelSides sides, DivideLabels(path, sample.labels));
  out << "positive    " << StrJoin(sides.positive, ", ") << ": " << sides.reason << "\n";
  v1::LibsvmConfig& libsvm = *proposal->config.mutable_data()->mutable_libsvm();
  if (sample.has_fields) libsvm.set_fields(static_cast<int32_t>(sample.largest_field) + 1);
  constexpr uint64_t kMost = uint64_t{1} << 40;
  libsvm.set_rows_per_table(
      RoundRows(static_cast<int64_t>(std::min(kMost, sample.largest_id)) + 1));
  for (const std::string& label : sides.positive) libsvm.add_positive(label);
  for (const std::string& label : sides.negative) libsvm.add_negative(label);
  proposal->size.value_count =
      std::min(static_cast<int64_t>(std::min(kMost, sample.largest_id)), sample.feature_count);
  return OkStatus();
}

}  // namespace weir::tools
