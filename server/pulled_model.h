// The server's part of the model as a worker that saves it pulls it: the sections of one cut, each
// when it is asked for, whatever is pushed meanwhile.
//
// Who asks for a section that was given before, because the reply was lost or this server was
// started again, gets it of a new cut: the same one, once nothing is pushed any more.
//
// Place in the life of a batch: after the last one.
// Thread rule: I/O thread only. Borrows the shard, of whose cuts it has the only one meanwhile.
#pragma once

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

  // Asks for that section, or for those before it. InvalidData: there is none.
  Status Pull(const transport::PeerId& peer, const v1::ModelPull& pull);
  // A section has come. What is to be sent, to whom; nothing where it is not the one asked for, for
  // which the next is asked.
  struct Reply {
    transport::PeerId peer;
    Result<transport::Message> message;
  };
  std::optional<Reply> Take(const std::shared_ptr<PendingSection>& section);
  // Another wants a cut of the shard; who pulls on begins anew.
  void YieldCut() { cut_.reset(); }
  bool holds_cut() const { return cut_ != nullptr; }

 private:
  struct Place {
    uint32_t strand = 0;
    uint64_t row = 0;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  Status AskNext();

  Shard* const shard_;
  std::unique_ptr<ShardCut> cut_;
  std::shared_ptr<PendingSection> asked_;
  Place next_, wanted_;  // the first that was not asked for; what the worker pulls
  transport::PeerId peer_;
  uint64_t request_id_ = 0;
};

}  // namespace weir::server
