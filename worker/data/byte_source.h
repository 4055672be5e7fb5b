// The bytes of a file, unpacked if it is gzip (RFC 1952; told by its first bytes, not its name).
// All members of a file count, and whatever is not one is an error: nothing of a file is left out
// in silence.
//
// Place in the life of a batch: **read** -> lines -> parse.
// Thread rule: one thread at a time.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::data {

class ByteSource {
 public:
  // path: a regular file.
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Up to `size` > 0 of the next bytes; 0 at the end.
  Result<size_t> Read(char* to, size_t size);

 private:
  ByteSource(std::string path, int file);

  Result<size_t> ReadRaw(char* to, size_t size);
  Result<size_t> Unpack(char* to, size_t size);
  // More packed bytes behind what was used; false at the end of the file.
  Result<bool> FillInput();

  const std::string path_;
  const int file_;
  bool is_packed_ = false;
  bool inside_member_ = false;
  std::vector<unsigned char> input_;
  z_stream stream_ = {};
};

}  // namespace weir::data
