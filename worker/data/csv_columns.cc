#include "worker/data/csv_columns.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/base/utf8.h"

namespace weir::data {
namespace {

// Characters of a field that a message shows.
constexpr size_t kShownBytes = 40;
constexpr const char* kQuotesAsText =
    "where quotes are characters like any other, set data.csv.quotes to NONE";

// With a '?' for each byte that a terminal would not show as it is; messages are of one line.
std::string OnOneLine(std::string text, bool is_utf8) {
  for (char& c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f || (byte > 0x7f && !is_utf8)) c = '?';
  }
  return text;
}

std::string OpenQuote() { return StrCat("a quote is opened and not closed; ", kQuotesAsText); }

char Delimiter(const v1::CsvConfig& config) {
  return config.delimiter() == "\\t" ? '\t' : config.delimiter()[0];
}

// A whole header in one field has another delimiter than the config.
std::string OtherDelimiter(std::span<const std::string_view> header) {
  if (header.size() != 1) return "";
  for (const auto& [delimiter, written] :
       {std::pair('\t', "\\t"), {';', ";"}, {',', ","}, {'|', "|"}, {'\1', "\\001"}}) {
    if (header[0].find(delimiter) == std::string_view::npos) continue;
    return StrCat(", in one field: set data.csv { delimiter: \"", written, "\" }");
  }
  return "";
}

class PlaceFinder {
 public:
  PlaceFinder(std::span<const std::string_view> header, bool has_names)
      : header_(header), has_names_(has_names) {}

  Result<Places> Find(const v1::CsvConfig& config, RowLabels labels) {
    if (has_names_) WEIR_RETURN_IF_ERROR(CheckNames());
    Places places;
    places.width = header_.size();
    auto label = FindOne("label", config.label().column());
    if (label.ok()) {
      places.label = *label;
    } else if (labels == RowLabels::kRequired) {
      return label.status();
    }
    for (const v1::DenseColumn& column : config.dense()) {
      places.dense.emplace_back();
      WEIR_ASSIGN_OR_RETURN(places.dense.back(), FindOne("dense", column.column()));
    }
    for (const v1::CategoricalColumn& column : config.categorical()) {
      places.categorical.emplace_back();
      WEIR_ASSIGN_OR_RETURN(places.categorical.back(), FindOne("categorical", column.column()));
    }
    return places;
  }

 private:
  Status CheckNames() const {
    for (size_t i = 0; i < header_.size(); ++i) {
      const auto first = std::ranges::find(header_, header_[i]);
      if (first != header_.begin() + static_cast<std::ptrdiff_t>(i)) {
        return InvalidData(
            StrCat("the header names ", Shown(header_[i]), " twice; rename one of the columns"));
      }
    }
    return OkStatus();
  }

  Result<size_t> FindOne(const char* kind, const std::string& column) const {
    if (has_names_) {
      const auto found = std::ranges::find(header_, column);
      if (found != header_.end()) return static_cast<size_t>(found - header_.begin());
      std::vector<std::string> names;
      for (const std::string_view name : header_)
        names.push_back(OnOneLine(std::string(name), true));
      return InvalidData(StrCat("data.csv.", kind, " names column '", column,
                                "', which the file does not have; it has ", StrJoin(names, ", "),
                                OtherDelimiter(header_)));
    }
    size_t number = 0;
    const char* const end = column.data() + column.size();
    const auto [stop, error] = std::from_chars(column.data(), end, number);
    CHECK(error == std::errc() && stop == end) << "validate_config lets only numbers through";
    if (number < header_.size()) return number;
    return InvalidData(StrCat("data.csv.", kind, " names column ", number,
                              ", and the first line has ", header_.size(), " fields, 0 to ",
                              header_.size() - 1));
  }

  const std::span<const std::string_view> header_;
  const bool has_names_;
};

// Columns told by their number are others where a field is left out or put in before them.
Status CheckWidth(const Columns& columns, const Places& places) {
  if (columns.record_width == 0 || places.width == columns.record_width) return OkStatus();
  if (places.width + 1 == columns.record_width && !places.label) return OkStatus();
  return InvalidData(StrCat("the first line has ", places.width,
                            " fields, and those of training had ", columns.record_width,
                            "; columns are told by their number, so every file needs the same "
                            "fields in the same order, a label that is not there being empty"));
}

Result<Places> FindPlacesIn(const Columns& columns, const Line& first, RowLabels labels) {
  if (first.open_quote) return InvalidData(StrCat("in the first line ", OpenQuote()));
  if (first.too_long) return InvalidData(StrCat("the first ", TooLong()));
  if (!IsUtf8(first.text)) return InvalidData("the first line is not UTF-8");
  CsvFields fields(columns.delimiter, columns.has_quotes);
  fields.Split(first.text);
  const std::vector<std::string_view> header = fields.All();
  WEIR_ASSIGN_OR_RETURN(Places places,
                        PlaceFinder(header, columns.config.header()).Find(columns.config, labels));
  WEIR_RETURN_IF_ERROR(CheckWidth(columns, places));
  return places;
}

}  // namespace

Columns::Columns(const v1::CsvConfig& csv, const v1::LearnedColumns& learned)
    : config(csv),
      delimiter(Delimiter(csv)),
      has_quotes(csv.quotes() != v1::CsvConfig::NONE),
      labels(csv.label().positive(), csv.label().negative(), "data.csv.label"),
      missing(csv.missing().begin(), csv.missing().end()),
      record_width(learned.record_width()) {
  for (int i = 0; i < csv.dense_size(); ++i) {
    dense.emplace_back(csv.dense(i),
                       i < learned.dense_size() ? learned.dense(i) : v1::LearnedNumber());
  }
  for (int i = 0; i < csv.categorical_size(); ++i) {
    categorical.emplace_back(csv.categorical(i), i < learned.categorical_size()
                                                     ? learned.categorical(i)
                                                     : v1::LearnedValues());
    has_lists |= categorical.back().is_list();
  }
}

bool Columns::IsMissing(std::string_view field) const {
  return field.empty() || std::ranges::find(missing, field) != missing.end();
}

Result<Places> FindPlaces(const Columns& columns, std::span<const Line> head, RowLabels labels) {
  Result<Places> places = FindPlacesIn(columns, head.front(), labels);
  if (columns.config.header()) return places;
  for (size_t i = 1; i < head.size() && !places.ok(); ++i) {
    if (auto other = FindPlacesIn(columns, head[i], labels); other.ok()) places = std::move(other);
  }
  return places;
}

std::optional<QuoteScanner> Columns::quotes() const {
  return has_quotes ? std::optional(QuoteScanner(delimiter)) : std::nullopt;
}

std::string RecordFields::Split(const Line& line) {
  if (line.open_quote) return OpenQuote();
  if (!IsUtf8(line.text)) return "the line is not UTF-8";
  const size_t found = fields_.Split(line.text);
  if (fields_.has_text_after_quote()) {
    return StrCat("text follows a closing quote; ", kQuotesAsText);
  }
  if (found == width_) return "";
  return StrCat(width_, " fields expected, found ", found);
}

std::string Shown(std::string_view field) {
  const bool is_utf8 = IsUtf8(field);
  size_t length = std::min(field.size(), kShownBytes);
  // Not within a character: its bytes but the first begin with 10.
  while (length < field.size() && (static_cast<uint8_t>(field[length]) & 0xc0) == 0x80) ++length;
  if (!is_utf8) length = std::min(length, kShownBytes);
  std::string shown(field.substr(0, length));
  return StrCat("'", OnOneLine(std::move(shown), is_utf8), length < field.size() ? "...'" : "'");
}

std::string Unreadable(const std::string& column, std::string_view field, std::string_view wanted) {
  return StrCat("column ", column, " is ", Shown(field), ", not ", wanted);
}

}  // namespace weir::data
