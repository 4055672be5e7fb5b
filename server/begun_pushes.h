// Parts of a worker's pushes whose rest is still to come: layers that were ready first leave while
// others are computed. Of one connection; a new one begins anew with them.
//
// Place in the life of a batch: **push** -> number -> strands.
// Thread rule: I/O thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"

namespace weir::server {

class BegunPushes {
 public:
  // most_bytes: of all parts together.
  explicit BegunPushes(size_t most_bytes = SIZE_MAX) : most_bytes_(most_bytes) {}

  // InvalidData where they are more than any worker has. A part that comes twice, or behind one
  // that did not come, is not taken.
  Status Add(const v1::PushPart& part, transport::Message message);

  // All messages of the push, in their order. FailedPrecondition where parts of it are missing:
  // they were lost on the way.
  Result<std::vector<transport::Message>> Take(const v1::Push& push, transport::Message message);

  size_t push_count() const { return begun_.size(); }

 private:
  size_t most_bytes_;
  size_t byte_count_ = 0;
  std::map<uint64_t, std::vector<transport::Message>> begun_;  // by name
};

}  // namespace weir::server
