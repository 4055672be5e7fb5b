#include "worker/data/criteo_line.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/base/strings.h"
#include "worker/data/text_word.h"

namespace weir::data {
namespace {

constexpr size_t kFieldCount = 1 + kCriteoDenseCount + kCriteoTableCount;
constexpr size_t kMaxHexDigits = 8;

// Longest piece of a field that a message quotes.
constexpr size_t kQuotedBytes = 32;

// Where the fields of a line end. Fields are short and of all lengths, so looking for one end after
// the other would mispredict a branch at each; this looks at all bytes and only then at the ends.
class FieldEnds {
 public:
  // False unless there are exactly kFieldCount fields.
  bool Find(std::string_view line) {
    size_t at = 0;
    for (; at + kBlockBytes <= line.size(); at += kBlockBytes) {
      if (!Add(at, DelimitersOfBlock(line.data() + at, '\t'))) return false;
    }
    std::array<char, kBlockBytes> rest{};
    std::memcpy(rest.data(), line.data() + at, line.size() - at);
    if (!Add(at, DelimitersOfBlock(rest.data(), '\t'))) return false;
    ends_[count_] = line.size();
    return count_ + 1 == kFieldCount;
  }

  size_t begin(size_t field) const { return field == 0 ? 0 : ends_[field - 1] + 1; }
  size_t end(size_t field) const { return ends_[field]; }

 private:
  // Writes four at a time, whether they are there or not, for a branch that is seldom mispredicted.
  bool Add(size_t block, Delimiters tabs) {
    if (count_ + tabs.count >= kFieldCount) return false;
    for (size_t i = count_; tabs.at != 0; i += 4) {
      for (size_t j = i; j < i + 4; ++j) {
        ends_[j] = block + static_cast<size_t>(std::countr_zero(tabs.at));
        tabs.at &= tabs.at - 1;
      }
    }
    count_ += tabs.count;
    return true;
  }

  size_t count_ = 0;
  std::array<size_t, kFieldCount + 4> ends_;
};

bool ParseInteger(std::string_view field, int64_t* value) {
  const std::from_chars_result result =
      std::from_chars(field.data(), field.data() + field.size(), *value);
  return result.ec == std::errc() && result.ptr == field.data() + field.size();
}

bool IsHex(std::string_view field) {
  return field.size() <= kMaxHexDigits &&
         field.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool ParseIntegers(std::string_view line, const FieldEnds& ends, CriteoFields* fields) {
  // Words are loaded by their ends, so those of the first fields begin before the line.
  std::array<char, 3 * kWordBytes> head{};
  std::memcpy(head.data() + kWordBytes, line.data(), kWordBytes);
  for (size_t i = 0; i < kCriteoDenseCount; ++i) {
    const size_t begin = ends.begin(1 + i), end = ends.end(1 + i), length = end - begin;
    fields->missing |= uint64_t{length == 0} << i;
    const uint64_t word =
        LoadWord(end < kWordBytes ? head.data() + end : line.data() + end - kWordBytes);
    if (length <= kWordBytes && DecimalWord(word, length, &fields->integers[i])) continue;
    if (!ParseInteger(line.substr(begin, length), &fields->integers[i])) return false;
  }
  return true;
}

bool ParseCategoricals(std::string_view line, const FieldEnds& ends, CriteoFields* fields) {
  std::array<uint64_t, kCriteoTableCount> words, reversed;
  bool too_long = false;
  for (size_t i = 0; i < kCriteoTableCount; ++i) {
    const size_t field = 1 + kCriteoDenseCount + i;
    const size_t end = ends.end(field), length = end - ends.begin(field);
    fields->missing |= uint64_t{length == 0} << (kCriteoDenseCount + i);
    too_long |= length > kMaxHexDigits;
    words[i] = PadWord(LoadWord(line.data() + end - kWordBytes), std::min(length, kMaxHexDigits));
  }
  if (!HexWords(words, &reversed) || too_long) return false;
  for (size_t i = 0; i < kCriteoTableCount; ++i) {
    fields->categoricals[i] = ReverseBytes(reversed[i]);
  }
  return true;
}

// Reads a line that is sound as far as it is looked at; false for any other.
bool ParseSound(std::string_view line, const ColumnChoice& choice, CriteoFields* fields) {
  if (line.size() < kFieldCount) return false;  // label and tabs alone are as long
  if (line[1] != '\t' || (line[0] != '0' && line[0] != '1')) return false;
  fields->clicked = line[0] == '1';
  fields->missing = 0;
  if (!choice.dense && !choice.ids) return true;
  FieldEnds ends;
  return ends.Find(line) && (!choice.dense || ParseIntegers(line, ends, fields)) &&
         (!choice.ids || ParseCategoricals(line, ends, fields));
}

// The file's bytes may be anything; a message must stay printable and short.
std::string Quote(std::string_view field) {
  std::string quoted(field.substr(0, kQuotedBytes));
  for (char& character : quoted) {
    if (character < 0x20 || character > 0x7e) character = '?';
  }
  return StrCat("\"", quoted, field.size() > kQuotedBytes ? "...\"" : "\"");
}

std::vector<std::string_view> SplitLine(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

// What is wrong with a line that is not sound. A wrong number of fields explains every other
// mistake, so it goes first.
std::string Explain(std::string_view line) {
  if (line.empty()) return "empty line";
  const std::vector<std::string_view> fields = SplitLine(line);
  if (fields.size() != kFieldCount) {
    return StrCat(kFieldCount, " fields expected, found ", fields.size());
  }
  if (fields[0] != "0" && fields[0] != "1") {
    return StrCat("the label is ", Quote(fields[0]), ", not 0 or 1");
  }
  for (size_t i = 1; i <= kCriteoDenseCount; ++i) {
    int64_t ignored;
    if (fields[i].empty() || ParseInteger(fields[i], &ignored)) continue;
    return StrCat("integer ", i, " is ", Quote(fields[i]), ", not a whole number within 64 bits");
  }
  for (size_t i = 1; i <= kCriteoTableCount; ++i) {
    const std::string_view field = fields[kCriteoDenseCount + i];
    if (IsHex(field)) continue;
    return StrCat("categorical ", i, " is ", Quote(field), ", not 1 to 8 hexadecimal digits");
  }
  return "not a line of a Criteo log";
}

}  // namespace

std::string ParseCriteoLine(std::string_view line, CriteoFields* fields,
                            const ColumnChoice& choice) {
  return ParseSound(line, choice, fields) ? std::string() : Explain(line);
}

}  // namespace weir::data
