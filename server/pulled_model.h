// The server's part of the model as a worker that saves it pulls it: the sections of one cut, each
// when it is asked for, whatever is pushed meanwhile.
//
// Who asks for a section that was given before, because the reply was lost or this server was
// started again, gets it of a new cut: the same one, once nothing is pushed any more. So does whose
// cut was taken away by another who wants the shard; it waits until that one is done.
//
// Place in the life of a batch: after the last one.
// Thread rule: I/O thread only. Borrows the shard, of whose cuts it has the only one meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"
#include "server/shard/pending.h"
#include "server/shard/shard.h"
#include "server/shard/shard_cut.h"

namespace weir::server {

class PulledModel {
 public:
  explicit PulledModel(Shard* shard) : shard_(shard) {}

  // What is to be sent, to whom.
  struct Reply {
    transport::PeerId peer;
    Result<transport::Message> message;
  };

  // That section is wanted, and no longer what was wanted before.
  void Pull(const transport::PeerId& peer, const v1::ModelPull& pull);
  // Often: asks strands for what is wanted, or what comes before it. may_cut: whether the shard may
  // be cut now. InvalidData in the reply: there is no such section.
  std::optional<Reply> Step(const std::function<bool()>& may_cut);
  // A section has come. Nothing where it is not the one that is wanted.
  std::optional<Reply> Take(const std::shared_ptr<PendingSection>& section);
  // Another wants a cut of the shard.
  void YieldCut();
  bool holds_cut() const { return cut_ != nullptr; }
  // Who waits until the shard may be cut: once a second, to be told so.
  std::optional<transport::PeerId> TakeKeptWaiting(int64_t now_ms);

 private:
  struct Place {
    uint32_t strand = 0;
    uint64_t row = 0;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  Shard* const shard_;
  std::unique_ptr<ShardCut> cut_;
  std::shared_ptr<PendingSection> asked_;  // and not there yet
  Place next_;                             // the first that was not asked for
  std::optional<Place> wanted_;            // what the worker pulls
  transport::PeerId peer_;
  uint64_t request_id_ = 0;
  int64_t told_ms_ = 0;  // when who waits was told last
};

}  // namespace weir::server
