// A file on a disk that does not answer: who opens it to write waits, until the disk answers.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "common/base/check.h"

namespace weir::test {

class SilentFile {
 public:
  // Nothing is there yet; its folder is.
  explicit SilentFile(std::string path) : path_(std::move(path)) {
    CHECK_EQ(mkfifo(path_.c_str(), 0600), 0) << path_;
  }
  SilentFile(const SilentFile&) = delete;
  SilentFile& operator=(const SilentFile&) = delete;
  ~SilentFile() {
    if (reader_ < 0) Answer();  // nobody waits for ever
    close(reader_);
  }

  // It takes what fits into a pipe, and cannot sync that.
  void Answer() {
    reader_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    CHECK_GE(reader_, 0) << path_;
  }

 private:
  const std::string path_;
  int reader_ = -1;
};

}  // namespace weir::test
