// What was damaged on its way here. Headers and frames have checksums, so it is known before
// anything of the message is taken: it is as good as lost. The worker makes a new connection, and
// what is not there is sent again.
//
// Place in the life of a batch: whatever comes -> **is it whole?** -> sessions.
// Thread rule: CheckFrames is a pure function; a DamageBook is its owner's.
#pragma once

#include <cstdint>
#include <map>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"

namespace weir::session {

// Of a message with this header. InvalidData where something behind it is no whole frame: which
// message it is, and where. What is behind a probe is nobody's.
Status CheckFrames(const v1::Header& header, const transport::Message& message);

// What comes damaged each time that it is sent is not damaged by chance.
class DamageBook {
 public:
  static constexpr int kMostTimes = 3;

  // A message with this header came damaged. Whether it has so kMostTimes one after the other:
  // among its kind no other came damaged since.
  bool Add(const v1::Header& header);

 private:
  struct Entry {
    uint64_t number = 0;
    int times = 0;
  };
  std::map<int, Entry> last_;  // of each kind
};

}  // namespace weir::session
