#include "worker/data/csv_fields.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "worker/data/text_word.h"

namespace weir::data {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

// Bytes of the character that begins with this one, and the range of the second byte: it keeps out
// what could be written shorter, surrogates, and what lies beyond Unicode. 0: none begins so.
struct Lead {
  uint8_t length, low, high;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

bool IsAscii(std::string_view text) {
  uint64_t any = 0;
  size_t i = 0;
  for (; i + kWordBytes <= text.size(); i += kWordBytes) any |= LoadWord(text.data() + i);
  for (; i < text.size(); ++i) any |= static_cast<uint8_t>(text[i]) & 0x80u;
  return (any & InEachByte(0x80)) == 0;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool IsUtf8(std::string_view text) {
  if (IsAscii(text)) return true;
  for (size_t i = 0; i < text.size();) {
    const Lead lead = LeadOf(static_cast<uint8_t>(text[i]));
    if (lead.length == 0 || text.size() - i < lead.length) return false;
    for (size_t k = 1; k < lead.length; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      const uint8_t low = k == 1 ? lead.low : 0x80, high = k == 1 ? lead.high : 0xbf;
      if (byte < low || byte > high) return false;
    }
    i += lead.length;
  }
  return true;
}

std::span<const std::string_view> CsvFields::Split(std::string_view record) {
  fields_.clear();
  if (record.find('"') == std::string_view::npos) {
    SplitPlain(record);
  } else {
    SplitQuoted(record);
  }
  return fields_;
}

// Fields are short and of all lengths, so looking for one end after the other would mispredict a
// branch at each; this looks at all bytes and only then at the ends.
void CsvFields::SplitPlain(std::string_view record) {
  begin_ = 0;
  size_t at = 0;
  for (; at + kBlockBytes <= record.size(); at += kBlockBytes) {
    AddFields(record, at, DelimitersOfBlock(record.data() + at, delimiter_).at);
  }
  std::array<char, kBlockBytes> rest;
  rest.fill(static_cast<char>(~delimiter_));
  std::memcpy(rest.data(), record.data() + at, record.size() - at);
  AddFields(record, at, DelimitersOfBlock(rest.data(), delimiter_).at);
  fields_.push_back(record.substr(begin_));
  if (!HasSpaces(record)) return;
  for (std::string_view& field : fields_) field = Trim(field);
}

void CsvFields::AddFields(std::string_view record, size_t block, uint64_t delimiters) {
  for (; delimiters != 0; delimiters &= delimiters - 1) {
    const size_t end = block + static_cast<size_t>(std::countr_zero(delimiters));
    fields_.emplace_back(record.data() + begin_, end - begin_);
    begin_ = end + 1;
  }
}

bool CsvFields::HasSpaces(std::string_view record) const {
  return record.find(' ') != std::string_view::npos ||
         (delimiter_ != '\t' && record.find('\t') != std::string_view::npos);
}

// Quotes only ever make the text shorter, so what was taken from it does not move.
void CsvFields::SplitQuoted(std::string_view record) {
  unquoted_.clear();
  unquoted_.reserve(record.size());
  for (size_t i = 0;; ++i) {
    const size_t field = unquoted_.size();
    if (i < record.size() && record[i] == '"') {
      for (++i; i < record.size(); ++i) {
        if (record[i] == '"' && (++i >= record.size() || record[i] != '"')) break;
        unquoted_.push_back(record[i]);
      }
    }
    for (; i < record.size() && record[i] != delimiter_; ++i) unquoted_.push_back(record[i]);
    fields_.push_back(Trim(std::string_view(unquoted_).substr(field)));
    if (i >= record.size()) return;
  }
}

}  // namespace weir::data
