// A new text file, compressed where its name says so.
//
// Place in the life of a batch: before it; weir-data makes input files.
// Thread rule: thread-compatible. Call order: Create Write* [Finish] Close.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace weir::data {

class TextWriter {
 public:
  // Gzip-compressed when path ends in .gz. The text goes to a file beside it until Close, so that
  // an interrupted run leaves no half-written path behind.
  static Result<std::unique_ptr<TextWriter>> Create(const std::string& path);

  // Unless it is in its place, removes what was written.
  ~TextWriter();
  TextWriter(const TextWriter&) = delete;  // owns the open file
  TextWriter& operator=(const TextWriter&) = delete;

  // At most 2^31 - 1 bytes at a time.
  Status Write(std::string_view text);

  // Writes what is left of it, still beside its place; what can fail for want of room has then
  // failed.
  Status Finish();
  // Puts the file in its place, finished or not yet. Nothing may be called after it.
  Status Close();

 private:
  TextWriter(std::string path, std::string partial_path, gzFile file);

  Status Failure() const;

  const std::string path_, partial_path_;
  gzFile file_;               // null once it is finished
  bool is_there_ = true;      // at partial_path_
  bool is_finished_ = false;  // all bytes are
};

}  // namespace weir::data
