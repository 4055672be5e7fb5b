// What of each server's pushes the replica contained when a step began to read it: what the link
// has taken, as of one moment. Its push tells the servers so.
//
// Place in the life of a batch: pull rows -> **mark** -> forward.
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::worker {

struct ReadMark {
  std::vector<uint64_t> versions;  // of the last answer taken, per server
  uint64_t accepted_sequence = 0;  // own push that every server had answered
  uint64_t durable_sequence = 0;   // and had promised to keep, whatever ends
};

}  // namespace weir::worker
