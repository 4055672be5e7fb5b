// A text file of data.train or data.test: where it is being read, whether it is still the file that
// it was, and how to come to a line of it.
//
// It stays open at its place, so increasing lines cost one pass; going back opens it again. A place
// that another trainer has found spares the way from there to where the file is.
//
// Place in the life of a batch: lease -> **read** -> parse -> batch.
// Thread rule: thread-compatible. Owns the open file; borrows the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "worker/data/file_kind.h"
#include "worker/data/open_file.h"
#include "worker/data/text_reader.h"

namespace weir::data {

class InputFile {
 public:
  InputFile(std::string path, const TextFormat& format, Passes passes, int64_t lines_per_chunk);

  // Before anything else: whether it can be read. Remembers its state.
  Status Try();
  // Chunks are lines counted from the file's beginning, and columns are those of its header.
  Status CheckUnchanged() const;

  // Puts the file at a line, counted from 0 behind the header. False when it ends before. place: of
  // a chunk's beginning, as it was received; a wrong one is passed over.
  Result<bool> Seek(int64_t line, const std::optional<v1::ChunkPlace>& place);
  // Where the line begins that is so many behind the next one, which stays that. Nothing when the
  // file has none, or it is too far.
  std::optional<LinePlace> FindBehind(int64_t line_count);

  // The end was met: closes the file.
  void Finish();
  void Close() { open_.reset(); }

  const std::string& path() const { return path_; }
  bool is_open() const { return open_ != nullptr; }
  OpenFile& open() { return *open_; }
  // Known once the end was met; before that more than any file has.
  int64_t line_count() const { return line_count_; }
  // Lines that it was put past, or that were looked behind.
  int64_t passed_lines() const { return passed_lines_; }

 private:
  // What tells a file from another that was put in its place, or from itself after a change.
  struct State {
    uintmax_t byte_count = 0;
    std::filesystem::file_time_type written = {};

    bool operator==(const State&) const = default;
  };

  static std::optional<State> StateOf(const std::string& path);
  Status Open();
  Status Enter(const v1::ChunkPlace& place, int64_t line);

  const std::string path_;
  const TextFormat& format_;
  const Passes passes_;
  const int64_t lines_per_chunk_;
  std::optional<State> state_;      // when the run began
  std::unique_ptr<OpenFile> open_;  // null when not being read
  bool trusts_places_ = true;       // none was wrong so far
  int64_t line_count_ = std::numeric_limits<int64_t>::max();
  int64_t passed_lines_ = 0;
};

}  // namespace weir::data
