// How large the bodies of a thread's last push were: a message owns its bytes, so each buffer is
// new, but it need not grow.
//
// Place in the life of a batch: select -> **encode** -> push.
// Thread rule: thread-compatible.
#pragma once

#include <cstddef>
#include <vector>

#include "common/session/body.h"

namespace weir::worker {

class BodySizes {
 public:
  // Empty, with room for a little more than the last ones.
  std::vector<session::BodyWriter> MakeWriters(size_t server_count) const;
  void Remember(const std::vector<session::BodyWriter>& writers);
  // Bytes for each server.
  const std::vector<size_t>& last() const { return last_; }

 private:
  std::vector<size_t> last_;
};

}  // namespace weir::worker
