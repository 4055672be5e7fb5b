// A disk without room, for tests: the last bytes of a file cannot be written.
#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace weir::tools {

// While it lives, no file gets longer: writing what is more fails.
class LargestFile {
 public:
  explicit LargestFile(rlim_t byte_count) : on_signal_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {byte_count, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LargestFile() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, on_signal_);
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;

 private:
  void (*const on_signal_)(int);
  rlimit before_ = {};
};

}  // namespace weir::tools
