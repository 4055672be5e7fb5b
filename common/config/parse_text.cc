#include "common/config/parse_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/base/nearest_word.h"
#include "common/base/strings.h"

namespace weir::config {
namespace {

constexpr int kMaxAttempts = 50;
// Only unknown fields can nest deeper than the schema; skipping them recurses.
constexpr int kMaxNesting = 64;

struct Mistake {
  int line = 0;
  int column = 0;
  std::string message;

  auto operator<=>(const Mistake&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Unknown fields arrive as warnings, everything else as errors.
class Collector : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(std::set<Mistake>& mistakes) : mistakes_(mistakes) {}

  void AddError(int line, int column, const std::string& message) override {
    if (!first_error_line_) first_error_line_ = line;
    mistakes_.insert({line, column, message});
  }
  void AddWarning(int line, int column, const std::string& message) override {
    mistakes_.insert({line, column, message});
  }
  std::optional<int> first_error_line() const { return first_error_line_; }

 private:
  std::set<Mistake>& mistakes_;
  std::optional<int> first_error_line_;
};

bool IsBalanced(std::string_view line) {
  const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
  return count('{') == count('}') && count('[') == count(']') && count('<') == count('>');
}

// Overwrites a line with spaces, so that the others keep their numbers. False when that would break
// the text around it, or when there is nothing to overwrite.
bool BlankFieldLine(std::string& text, int line) {
  size_t begin = 0;
  for (int i = 0; i < line && begin != std::string::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin >= text.size()) return false;
  const size_t end = std::min(text.find('\n', begin), text.size());
  const std::string_view content = std::string_view(text).substr(begin, end - begin);
  if (content.find(':') == std::string_view::npos || !IsBalanced(content)) return false;
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
            text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  return true;
}

// For 'Message type "weir.v1.DataConfig" has no field named "batchsize".'
std::string FieldThatWasMeant(const std::string& message) {
  const std::vector<std::string> words = StrSplit(message, '"');
  constexpr size_t kType = 1, kField = 3;
  if (words.size() <= kField || message.find("has no field named") == std::string::npos) return "";
  const auto* const type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(words[kType]);
  if (type == nullptr) return "";
  std::vector<std::string> fields;
  for (int i = 0; i < type->field_count(); ++i) fields.push_back(type->field(i)->name());
  return DidYouMean(words[kField], fields);
}

std::string Describe(const std::string& name, const Mistake& mistake) {
  if (mistake.line < 0) return StrCat(name, ": ", mistake.message);
  return StrCat(name, ":", mistake.line + 1, ":", mistake.column + 1, ": ", mistake.message,
                FieldThatWasMeant(mistake.message));
}

}  // namespace

ParsedText ParseText(const std::string& name, std::string text) {
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMaxNesting);

  ParsedText parsed;
  std::set<Mistake> mistakes;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Collector collector(mistakes);
    parser.RecordErrorsTo(&collector);
    if (parser.ParseFromString(text, &parsed.config)) break;
    parsed.whole = false;
    const std::optional<int> line = collector.first_error_line();
    if (!line || !BlankFieldLine(text, *line)) break;
  }
  for (const Mistake& mistake : mistakes) parsed.mistakes.push_back(Describe(name, mistake));
  if (!parsed.whole && mistakes.empty()) {
    parsed.mistakes.push_back(StrCat(name, ": is not protobuf text"));
  }
  return parsed;
}

}  // namespace weir::config
