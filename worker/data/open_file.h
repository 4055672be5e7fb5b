// A text file that is being read: its lines, behind the header if it has one, and what makes rows
// of them.
//
// Place in the life of a batch: lease -> **read** -> parse -> batch.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "worker/data/file_kind.h"
#include "worker/data/line_reader.h"
#include "worker/data/text_reader.h"

namespace weir::data {

uint64_t HashOf(const Line& line);

class OpenFile {
 public:
  // Fails, naming the file, when it cannot be read or does not begin as the format wants.
  static Result<std::unique_ptr<OpenFile>> Open(const std::string& path, const TextFormat& format,
                                                Passes passes);

  // Lines after the header.
  int64_t line_count() const { return lines_->line_count() - header_lines_; }
  int64_t header_lines() const { return header_lines_; }
  uint64_t header_hash() const { return header_hash_; }
  LineReader& lines() { return *lines_; }
  LineParser& parser() { return *parser_; }

 private:
  OpenFile(std::unique_ptr<LineReader> lines, std::unique_ptr<LineParser> parser);

  const std::unique_ptr<LineReader> lines_;
  const std::unique_ptr<LineParser> parser_;
  int64_t header_lines_ = 0;
  uint64_t header_hash_ = 0;  // of no header: 0
};

}  // namespace weir::data
