#include "worker/data/csv_fields.h"

#include <bit>
#include <cstdint>

namespace weir::data {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

size_t CsvFields::Split(std::string_view record) {
  text_.assign(kWordBytes, '\0');
  text_.reserve(kWordBytes + record.size() + kBlockBytes);
  count_ = 0;
  has_text_after_quote_ = false;
  const bool is_quoted = has_quotes_ && record.find('"') != std::string_view::npos;
  if (is_quoted) {
    SplitQuoted(record);
  } else {
    SplitPlain(record);
  }
  if (is_quoted || HasSpaces(record)) TrimAll();
  return count_;
}

std::vector<std::string_view> CsvFields::All() const {
  std::vector<std::string_view> all;
  for (size_t i = 0; i < count_; ++i) all.push_back((*this)[i]);
  return all;
}

// Fields are short and of all lengths, so looking for one end after the other would mispredict a
// branch at each; this looks at all bytes and only then at the ends.
void CsvFields::SplitPlain(std::string_view record) {
  text_.append(record);
  text_.append(kBlockBytes, static_cast<char>(~delimiter_));
  Reserve(1);
  begins_[0] = kWordBytes;
  for (size_t at = kWordBytes; at < kWordBytes + record.size(); at += kBlockBytes) {
    AddEnds(at, DelimitersOfBlock(text_.data() + at, delimiter_));
  }
  ends_[count_++] = static_cast<uint32_t>(kWordBytes + record.size());
}

// Writes four at a time, whether they are there or not, for a branch that is seldom mispredicted.
void CsvFields::AddEnds(size_t block, Delimiters delimiters) {
  Reserve(count_ + delimiters.count + 1);
  uint32_t* const begins = begins_.data() + count_ + 1;
  uint32_t* const ends = ends_.data() + count_;
  for (size_t i = 0; i < delimiters.count; i += 4) {
    for (size_t j = i; j < i + 4; ++j) {
      const auto end =
          static_cast<uint32_t>(block) + static_cast<uint32_t>(std::countr_zero(delimiters.at));
      ends[j] = end;
      begins[j] = end + 1;
      delimiters.at &= delimiters.at - 1;
    }
  }
  count_ += delimiters.count;
}

// And a few more, which AddEnds writes before it knows.
void CsvFields::Reserve(size_t count) {
  constexpr size_t kMore = 8;
  if (count + kMore <= ends_.size()) return;
  begins_.resize(2 * (count + kMore));
  ends_.resize(2 * (count + kMore));
}

void CsvFields::SplitQuoted(std::string_view record) {
  for (size_t i = 0;; ++i) {
    Reserve(count_ + 1);
    begins_[count_] = static_cast<uint32_t>(text_.size());
    const bool is_quoted = i < record.size() && record[i] == '"';
    if (is_quoted) {
      for (++i; i < record.size(); ++i) {
        if (record[i] == '"' && (++i >= record.size() || record[i] != '"')) break;
        text_.push_back(record[i]);
      }
    }
    for (; i < record.size() && record[i] != delimiter_; ++i) {
      has_text_after_quote_ |= is_quoted && !IsSpace(record[i]);
      text_.push_back(record[i]);
    }
    ends_[count_++] = static_cast<uint32_t>(text_.size());
    if (i >= record.size()) return;
  }
}

bool CsvFields::HasSpaces(std::string_view record) const {
  return record.find(' ') != std::string_view::npos ||
         (delimiter_ != '\t' && record.find('\t') != std::string_view::npos);
}

void CsvFields::TrimAll() {
  for (size_t i = 0; i < count_; ++i) {
    const std::string_view field = Trim((*this)[i]);
    begins_[i] = static_cast<uint32_t>(field.data() - text_.data());
    ends_[i] = begins_[i] + static_cast<uint32_t>(field.size());
  }
}

}  // namespace weir::data
