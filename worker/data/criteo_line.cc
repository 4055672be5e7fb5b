#include "worker/data/criteo_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "common/base/strings.h"

namespace weir::data {
namespace {

constexpr size_t kFieldCount = 1 + kCriteoDenseCount + kCriteoTableCount;
constexpr size_t kMaxHexDigits = 8;
constexpr uint8_t kNotHex = 0xff;

// Longest piece of a field that a message quotes.
constexpr size_t kQuotedBytes = 32;

constexpr std::array<uint8_t, 256> MakeHexValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kNotHex);
  for (uint8_t i = 0; i < 10; ++i) values[static_cast<size_t>('0' + i)] = i;
  for (uint8_t i = 0; i < 6; ++i) {
    values[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
    values[static_cast<size_t>('A' + i)] = static_cast<uint8_t>(10 + i);
  }
  return values;
}
constexpr std::array<uint8_t, 256> kHexValues = MakeHexValues();

// Gives the fields of a line from left to right; remembers when there were too few.
class FieldCursor {
 public:
  explicit FieldCursor(std::string_view line)
      : next_(line.data()), end_(line.data() + line.size()) {}

  // Fields are a few bytes long: a plain loop beats a call to memchr.
  std::string_view Next() {
    if (exhausted_) {
      ran_out_ = true;
      return {};
    }
    const char* first = next_;
    while (next_ != end_ && *next_ != '\t') ++next_;
    const auto length = static_cast<size_t>(next_ - first);
    exhausted_ = next_ == end_;
    if (!exhausted_) ++next_;
    return {first, length};
  }

  // True when exactly as many fields were taken as the line has.
  bool MatchesLine() const { return exhausted_ && !ran_out_; }

 private:
  const char* next_;
  const char* end_;
  bool exhausted_ = false;
  bool ran_out_ = false;
};

bool ParseInteger(std::string_view field, int64_t* value) {
  const std::from_chars_result result =
      std::from_chars(field.data(), field.data() + field.size(), *value);
  return result.ec == std::errc() && result.ptr == field.data() + field.size();
}

bool ParseHex(std::string_view field, uint32_t* value) {
  if (field.size() > kMaxHexDigits) return false;
  uint32_t sum = 0;
  uint8_t seen = 0;  // has its upper bits set as soon as one digit is none
  for (const char character : field) {
    const uint8_t digit = kHexValues[static_cast<uint8_t>(character)];
    seen |= digit;
    sum = sum << 4 | (digit & 0xf);
  }
  *value = sum;
  return seen < 0x10;
}

// The file's bytes may be anything; a message must stay printable and short.
std::string Quote(std::string_view field) {
  std::string quoted(field.substr(0, kQuotedBytes));
  for (char& character : quoted) {
    if (character < 0x20 || character > 0x7e) character = '?';
  }
  return StrCat("\"", quoted, field.size() > kQuotedBytes ? "...\"" : "\"");
}

// A wrong number of fields explains every other mistake, so it goes first.
std::string Explain(std::string_view line, std::string problem) {
  if (line.empty()) return "empty line";
  const auto fields = 1 + static_cast<size_t>(std::count(line.begin(), line.end(), '\t'));
  if (fields != kFieldCount) return StrCat(kFieldCount, " fields expected, found ", fields);
  return problem;
}

}  // namespace

std::string ParseCriteoLine(const Line& line, CriteoFields* fields) {
  if (line.too_long) return StrCat("line is longer than ", kMaxLineBytes, " bytes");
  FieldCursor cursor(line.text);
  const std::string_view label = cursor.Next();
  if (label != "0" && label != "1") {
    return Explain(line.text, StrCat("the label is ", Quote(label), ", not 0 or 1"));
  }
  fields->clicked = label == "1";
  uint64_t missing = 0;
  for (size_t i = 0; i < kCriteoDenseCount; ++i) {
    const std::string_view field = cursor.Next();
    fields->integers[i] = 0;
    missing |= uint64_t{field.empty()} << i;
    if (!field.empty() && !ParseInteger(field, &fields->integers[i])) {
      return Explain(line.text, StrCat("integer ", i + 1, " is ", Quote(field),
                                       ", not a whole number within 64 bits"));
    }
  }
  for (size_t i = 0; i < kCriteoTableCount; ++i) {
    const std::string_view field = cursor.Next();
    missing |= uint64_t{field.empty()} << (kCriteoDenseCount + i);
    if (!ParseHex(field, &fields->categoricals[i])) {
      return Explain(line.text, StrCat("categorical ", i + 1, " is ", Quote(field),
                                       ", not 1 to 8 hexadecimal digits"));
    }
  }
  fields->missing = missing;
  return cursor.MatchesLine() ? std::string() : Explain(line.text, "");
}

}  // namespace weir::data
