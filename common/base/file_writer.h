// A new file, byte after byte, that is on disk when Finish says so.
//
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace weir {

// "cannot write /a/b: No space left on device", of errno.
Status CannotWrite(const std::string& path);

// Unavailable where the disk of that folder has no room for so many bytes, of what `what` takes at
// least. A disk that does not say has room.
Status CheckRoom(const std::string& folder, std::string_view what, uint64_t least_bytes);

// What a folder names is as lasting as what its files hold.
Status SyncFolder(const std::string& path);

// The file has this text, whole: a reader, and whoever is killed meanwhile, finds the text before
// or this one. What is written aside, PATH.partial, does not stay. Where PATH is a link, that holds
// for the file that it names.
Status ReplaceFile(const std::string& path, std::string_view text);

class FileWriter {
 public:
  // Replaces what is there; a new one may be read and written by whom the umask lets. Unavailable,
  // here and below, when it cannot be written.
  static Result<FileWriter> Create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status Append(ByteSpan bytes);
  // Once, as the last.
  Status Finish();

  const std::string& path() const { return path_; }
  uint64_t byte_count() const { return byte_count_; }

 private:
  FileWriter(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;  // -1 once closed
  uint64_t byte_count_ = 0;
};

}  // namespace weir
