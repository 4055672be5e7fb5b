// Servers that cannot serve yet because they make or load their parameters: how that is told, and
// how a worker's wait for them goes on as long as they progress.
//
// Place in the life of a batch: before the first.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <string>

#include "common/proto/protocol.pb.h"

namespace weir::session {

// "is loading, 40 %".
std::string DescribeLoading(const v1::Loading& loading);

// Of one server, or of several together: whether they progress.
class LoadingWatch {
 public:
  // Whether more is done than was ever said before.
  bool HasProgressed(const v1::Loading& loading) {
    if (is_told_ && loading.done_bytes() <= most_bytes_) return false;
    is_told_ = true;
    most_bytes_ = loading.done_bytes();
    return true;
  }

 private:
  bool is_told_ = false;
  uint64_t most_bytes_ = 0;
};

}  // namespace weir::session
