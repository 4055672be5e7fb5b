// A line of a text file, and where in the file one begins.
//
// Place in the life of a batch: lease -> **read** -> parse -> batch.
// Thread rule: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "worker/data/byte_source.h"

namespace weir::data {

// Bytes of the longest line that is read.
inline constexpr size_t kMaxLineBytes = size_t{1} << 20;

struct Line {
  std::string_view text;  // valid until the next call
  bool too_long = false;  // text is then empty
  bool open_quote = false;
  bool had_return = false;  // the '\r' that was dropped

  bool is_blank() const { return text.empty() && !too_long && !open_quote; }
};

// Where a line begins, and what was before it.
struct LinePlace {
  BytePlace at;
  int64_t line_count = 0;
  int64_t text_line_count = 0;  // newline-terminated ones
};

}  // namespace weir::data
