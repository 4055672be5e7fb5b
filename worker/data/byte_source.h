// The bytes of a file, unpacked if they are packed (worker/data/unpacker.h; told by the first
// bytes, not by the name). All members of a file count, and whatever is not one is an error:
// nothing of a file is left out in silence.
//
// Place in the life of a batch: **read** -> lines -> parse.
// Thread rule: one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/data/unpacker.h"

namespace weir::data {

inline constexpr const char* kStandardInput = "standard input";

class ByteSource {
 public:
  // path: a file, or whatever else gives bytes when it is opened; kStandardInput is standard input.
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  bool is_packed() const { return unpacker_ != nullptr; }

  // Up to `size` > 0 of the next bytes; 0 at the end.
  Result<size_t> Read(char* to, size_t size);

 private:
  ByteSource(std::string path, int file);

  Result<size_t> ReadRaw(char* to, size_t size);
  Result<size_t> Unpack(char* to, size_t size);
  Status ReadMagic();
  // More of the file's bytes behind what was used; false at its end.
  Result<bool> FillInput();

  const std::string path_;
  const int file_;
  std::unique_ptr<Unpacker> unpacker_;  // null for a file that is not packed
  std::string damage_;                  // told once what is sound before it was given out
  std::vector<unsigned char> buffer_;
  std::span<const unsigned char> input_;  // of buffer_: read and not used
};

}  // namespace weir::data
