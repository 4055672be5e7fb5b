// A file of parameters in memory, as it lies on disk: what is not looked at takes none.
//
// Place in the life of a batch: none; at the start of a run, and of programs that only predict.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace weir::saved_model {

class MappedFile {
 public:
  // InvalidData when it is not there, is no file, or has another size.
  static Result<MappedFile> Open(const std::string& path, uint64_t expected_bytes);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  ByteSpan bytes() const { return bytes_; }

 private:
  explicit MappedFile(ByteSpan bytes) : bytes_(bytes) {}

  ByteSpan bytes_;
};

}  // namespace weir::saved_model
