// Of a run in rounds (consistency.sync): all that waits at a server for a round's others, in the
// order in which a trainer sends it: proposals, pushes, and the row pulls behind these.
//
// Place in the life of a batch: propose -> **union** -> push -> **wait for the others** -> strands.
// Thread rule: I/O thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "common/proto/protocol.pb.h"
#include "server/kept_pulls.h"
#include "server/proposal_gate.h"
#include "server/round_gate.h"
#include "server/shard/pending.h"

namespace weir::server {

struct KeptPush {
  v1::Push push;
  Contribution contribution;
};

class Rounds {
 public:
  // The run is one in rounds; who waits is told so as often.
  void Begin(int64_t notice_interval_ms) {
    has_begun_ = true;
    notice_interval_ms_ = notice_interval_ms;
  }
  bool has_begun() const { return has_begun_; }

  ProposalGate& proposals() { return proposals_; }
  RoundGate<KeptPush>& pushes() { return pushes_; }
  KeptPulls& pulls() { return pulls_; }

  // What the trainer has sent is on its way again.
  void Drop(uint32_t trainer);
  void Leave(const std::vector<v1::Departure>& departures);

  // For those who wait; none until the next are due.
  std::vector<AddressedNotice> TakeNotices(int64_t now_ms);

 private:
  bool has_begun_ = false;
  ProposalGate proposals_;
  RoundGate<KeptPush> pushes_{"push"};
  KeptPulls pulls_;
  int64_t notice_interval_ms_ = 1000;
  int64_t next_notices_ms_ = 0;
};

}  // namespace weir::server
