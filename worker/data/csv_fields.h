// The fields of one record of comma-separated values (RFC 4180), without their quotes and without
// white space around them.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: thread-compatible; fields are valid as long as the record's text and until the next
// Split.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::data {

class CsvFields {
 public:
  explicit CsvFields(char delimiter) : delimiter_(delimiter) {}

  // At least one: an empty record is one empty field. A quote that is not closed goes up to the end.
  std::span<const std::string_view> Split(std::string_view record);

 private:
  void SplitPlain(std::string_view record);
  bool HasSpaces(std::string_view record) const;
  void AddFields(std::string_view record, size_t block, uint64_t delimiters);
  void SplitQuoted(std::string_view record);

  const char delimiter_;
  std::vector<std::string_view> fields_;
  size_t begin_ = 0;  // of the field that is looked at
  std::string unquoted_;  // the text of all fields of a record with quotes
};

// Without spaces and tabs around it.
std::string_view Trim(std::string_view text);

// Whether the text is UTF-8 (RFC 3629).
bool IsUtf8(std::string_view text);

}  // namespace weir::data
