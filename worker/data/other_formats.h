// Files that hold no text that is read here, told by their first bytes: archives, columns in binary
// form, what other packers have packed. Each is named, with what makes a file of it that is read.
//
// Place in the life of a batch: **read** -> lines -> parse.
// Thread rule: constant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir::data {

// Bytes of a file that stand at one place in every file of its format.
struct Mark {
  size_t at = 0;
  std::string_view bytes;
};

struct OtherFormat {
  const char* name;
  Mark mark;
  Mark second;  // without bytes: there is none
  // What to do; 'IN' stands for the file, 'OUT' for the text that is made of it, as words of a
  // shell, and as texts of SQL within {}, which is a word.
  const char* advice;
};

std::span<const OtherFormat> OtherFormats();

// So many of the first bytes, or all there are, tell.
inline constexpr size_t kTellingBytes = 512;

// "x.parquet is a Parquet file; make CSV of it, for example: ..." when the file begins as one of
// them; empty when it does not. begin: unpacked, where gzip or zstd has packed the file.
std::string DescribeOtherFormat(const std::string& path, bool is_packed, std::string_view begin);

}  // namespace weir::data
