// What a worker that waits for servers to load says of them: a line every few seconds.
//
// Place in the life of a batch: before the first.
// Thread rule: owner thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/check.h"

namespace weir::worker {

class LoadingNotice {
 public:
  // "server 1 at tcp://h1:7100 is loading, 40 %".
  void Tell(const std::string& what, int64_t now_ms) {
    if (told_ms_ && now_ms - *told_ms_ < kEveryMs) return;
    told_ms_ = now_ms;
    LOG(INFO) << "waits: " << what;
  }

 private:
  static constexpr int64_t kEveryMs = 5000;

  std::optional<int64_t> told_ms_;
};

}  // namespace weir::worker
