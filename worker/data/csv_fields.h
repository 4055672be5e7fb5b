// The fields of one record of comma-separated values (RFC 4180), without their quotes and without
// white space around them.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: thread-compatible; fields are valid until the next Split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/data/text_word.h"

namespace weir::data {

class CsvFields {
 public:
  // has_quotes: quotes stand around fields; else they are characters like any other.
  explicit CsvFields(char delimiter, bool has_quotes = true)
      : delimiter_(delimiter), has_quotes_(has_quotes) {}

  // Returns how many fields there are, at least one: an empty record is one empty field. A quote
  // that is not closed goes up to the end.
  size_t Split(std::string_view record);

  std::string_view operator[](size_t field) const {
    return {text_.data() + begins_[field], ends_[field] - begins_[field]};
  }

  std::vector<std::string_view> All() const;

  // Whether text stands between a closing quote and the delimiter, which RFC 4180 does not allow.
  bool has_text_after_quote() const { return has_text_after_quote_; }

  // A field of at most eight characters in the low bytes of a word, zeros above; false for a longer
  // one.
  bool ShortWord(size_t field, uint64_t* word, size_t* length) const {
    *length = ends_[field] - begins_[field];
    *word = LowBytes(WordBefore(ends_[field]), *length);
    return *length <= kWordBytes;
  }
  // A field of at most eight digits, 0 for an empty one; false for anything else.
  bool ShortCount(size_t field, size_t* length, int64_t* value) const {
    *length = ends_[field] - begins_[field];
    return *length <= kWordBytes && DecimalWord(WordBefore(ends_[field]), *length, value);
  }

 private:
  void SplitPlain(std::string_view record);
  void SplitQuoted(std::string_view record);
  bool HasSpaces(std::string_view record) const;
  void Reserve(size_t count);
  void AddEnds(size_t block, Delimiters delimiters);
  void TrimAll();
  uint64_t WordBefore(size_t end) const { return LoadWord(text_.data() + end - kWordBytes); }

  const char delimiter_;
  const bool has_quotes_;
  // A word of nothing, the fields' characters, a block of nothing: so that whatever is loaded is
  // there. Fields are counted from its begin.
  std::string text_;
  size_t count_ = 0;
  bool has_text_after_quote_ = false;
  std::vector<uint32_t> begins_, ends_;
};

// Without spaces and tabs around it.
std::string_view Trim(std::string_view text);

}  // namespace weir::data
