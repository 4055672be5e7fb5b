// Pushes of a run in rounds (consistency.sync), kept until those that go together are all there.
//
// Place in the life of a batch: push -> **wait for the others** -> number -> strands -> answers.
// Thread rule: I/O thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/cluster/round_book.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"
#include "server/shard/pending.h"

namespace weir::server {

class RoundGate {
 public:
  struct Kept {
    uint32_t trainer = 0;
    transport::PeerId peer;
    v1::Push push;
    Contribution contribution;
  };

  // Rows that a trainer wants behind its push, as they are once its round is closed.
  struct Pull {
    transport::PeerId peer;
    v1::RowPull pull;
    transport::Message message;
  };

  // Keeps the push, or says why not, to whoever sent it.
  Status Keep(Kept kept);
  // The same of a pull, of a trainer whose push is kept.
  Status KeepPull(uint32_t trainer, Pull pull);
  // What the trainer has sent is on its way again.
  void Drop(uint32_t trainer);
  void Leave(const v1::Departure& departure) {
    book_.Leave(departure.trainer(), departure.last_round());
  }
  bool IsKept(uint32_t trainer) const { return kept_.contains(trainer); }

  // The next round that is whole: its pushes by trainers' numbers, and the pulls behind them.
  struct Round {
    std::vector<Kept> pushes;
    std::vector<Pull> pulls;
  };
  std::optional<Round> Close();

  // For those whose pushes wait: for whom.
  struct Notice {
    transport::PeerId peer;
    v1::RoundNotice notice;
  };
  std::vector<Notice> Notices() const;
  // Those that are due: every second, or as often as they were set to be.
  std::vector<Notice> TakeNotices(int64_t now_ms);
  void SetNoticeInterval(int64_t interval_ms) { notice_interval_ms_ = interval_ms; }

 private:
  cluster::RoundBook book_;
  std::map<uint32_t, Kept> kept_;  // by trainer
  std::map<uint32_t, std::vector<Pull>> pulls_;
  int64_t notice_interval_ms_ = 1000;
  int64_t next_notices_ms_ = 0;
};

}  // namespace weir::server
