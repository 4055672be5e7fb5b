// A folder for targets whose code reads files of the machine: it lies in memory, where that can be.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "common/base/bytes.h"
#include "common/base/check.h"

namespace weir::fuzz {

class MemoryFolder {
 public:
  MemoryFolder() {
    path_ = (access(kMemory, W_OK) == 0 ? std::string(kMemory) : std::string("/tmp")) +
            "/weir_fuzz_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  // Replaces what is there; nobody else may read it.
  void Write(const std::string& name, ByteSpan bytes) const {
    const std::string path = path_ + "/" + name;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK_GE(file, 0) << path;
    CHECK_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(file);
  }

 private:
  static constexpr const char* kMemory = "/dev/shm";

  std::string path_;
};

}  // namespace weir::fuzz
